//! Keys: the columns that identify a row, packed into one integer so that indexes compare one word.
//!
//! All one-word keys share a layout, from the highest bit: warehouse (16), district (8), number of the
//! customer, order or item (32), order line (8). The warehouse and the district come first and are the
//! prefix of orders, so that inserts and deliveries of different districts touch different leaves.

use engine::{Home, Key, Text};

use super::rows::DISTRICTS;

/// The number of bits of a number and an order line, in the common layout.
const IN_DISTRICT_BITS: u32 = 40;

const fn pack(warehouse: u16, district: u8, number: u32, line: u8) -> u64 {
    (warehouse as u64) << 48 | (district as u64) << 40 | (number as u64) << 8 | line as u64
}

/// Returns the home of a warehouse. Homes are numbered from 0, warehouses from 1.
pub(super) fn home_number(warehouse: u16) -> u64 {
    u64::from(warehouse).wrapping_sub(1)
}

/// Returns the number of a district, counted from 0 over all warehouses.
pub(super) fn district_number(warehouse: u16, district: u8) -> usize {
    (usize::from(warehouse) - 1) * usize::from(DISTRICTS) + usize::from(district) - 1
}

/// Returns the home of a key in the common layout.
fn at_warehouse(key: u64) -> Home {
    Home::At(home_number((key >> 48) as u16))
}

macro_rules! one_word_key {
    (
        $(#[$doc:meta])* $name:ident($($column:ident: $type:ty),*) = $packed:expr, $home:expr
        $(, suffix $suffix_bits:expr)?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) struct $name(u64);

        impl $name {
            #[inline]
            pub(super) const fn new($($column: $type),*) -> Self {
                Self($packed)
            }
        }

        impl Key for $name {
            $(const SUFFIX_BITS: u32 = $suffix_bits;)?

            type Ordered = u64;

            #[inline]
            fn ordered(self) -> u64 {
                self.0
            }

            #[inline]
            fn from_ordered(ordered: u64) -> Self {
                Self(ordered)
            }

            #[inline]
            fn home(self) -> Home {
                $home(self.0)
            }
        }
    };
}

one_word_key!(
    /// The key (`W_ID`). Also gives the home of a row of HISTORY or of the log of the analytic transactions, which has
    /// no key.
    WarehouseKey(warehouse: u16) = pack(warehouse, 0, 0, 0), at_warehouse
);
one_word_key!(
    /// The key (`D_W_ID`, `D_ID`).
    DistrictKey(warehouse: u16, district: u8) = pack(warehouse, district, 0, 0), at_warehouse
);
one_word_key!(
    /// The key (`C_W_ID`, `C_D_ID`, `C_ID`).
    CustomerKey(warehouse: u16, district: u8, customer: u32) = pack(warehouse, district, customer, 0),
    at_warehouse
);
one_word_key!(
    /// The key (`O_W_ID`, `O_D_ID`, `O_ID`).
    OrderKey(warehouse: u16, district: u8, order: u32) = pack(warehouse, district, order, 0), at_warehouse,
    suffix IN_DISTRICT_BITS
);
one_word_key!(
    /// The key (`NO_W_ID`, `NO_D_ID`, `NO_O_ID`).
    NewOrderKey(warehouse: u16, district: u8, order: u32) = pack(warehouse, district, order, 0), at_warehouse,
    suffix IN_DISTRICT_BITS
);
one_word_key!(
    /// The key (`OL_W_ID`, `OL_D_ID`, `OL_O_ID`, `OL_NUMBER`).
    OrderLineKey(warehouse: u16, district: u8, order: u32, line: u8) = pack(warehouse, district, order, line),
    at_warehouse, suffix IN_DISTRICT_BITS
);
one_word_key!(
    /// The key (`S_W_ID`, `S_I_ID`).
    StockKey(warehouse: u16, item: u32) = pack(warehouse, 0, item, 0), at_warehouse
);
one_word_key!(
    /// The key (`I_ID`). The table is read-only, so that every partition may read it without a lock.
    ItemKey(item: u32) = pack(0, 0, item, 0), |_| Home::Everywhere
);
one_word_key!(
    /// The secondary key (`O_W_ID`, `O_D_ID`, `O_C_ID`, `O_ID` descending): a customer's last order
    /// comes first. Its layout is: warehouse counted from 0 (12 bits), district (4), customer (16),
    /// order (32). These four columns do not fit the common layout.
    CustomerOrderKey(warehouse: u16, district: u8, customer: u32, order: u32) =
        (warehouse as u64 - 1) << 52 | (district as u64) << 48 | (customer as u64) << 32 | !order as u64,
    |key| Home::At(key >> 52), suffix 48
);

impl CustomerKey {
    /// Returns `C_W_ID`, `C_D_ID` and `C_ID`.
    pub(super) fn columns(self) -> (u16, u8, u32) {
        ((self.0 >> 48) as u16, (self.0 >> 40) as u8, (self.0 >> 8) as u32)
    }
}

impl StockKey {
    /// Returns `S_W_ID` and `S_I_ID`.
    pub(super) fn columns(self) -> (u16, u32) {
        ((self.0 >> 48) as u16, (self.0 >> 8) as u32)
    }
}

impl OrderKey {
    /// Returns `O_W_ID` and `O_D_ID`.
    pub(super) fn district(self) -> (u16, u8) {
        ((self.0 >> 48) as u16, (self.0 >> 40) as u8)
    }

    /// Returns `O_ID`.
    pub(super) fn order(self) -> u32 {
        (self.0 >> 8) as u32
    }
}

impl ItemKey {
    /// Returns `I_ID`.
    pub(super) fn item(self) -> u32 {
        (self.0 >> 8) as u32
    }
}

impl NewOrderKey {
    /// Returns `NO_O_ID`.
    pub(super) fn order(self) -> u32 {
        (self.0 >> 8) as u32
    }
}

impl OrderLineKey {
    /// Returns `OL_W_ID` and `OL_D_ID`.
    pub(super) fn district(self) -> (u16, u8) {
        ((self.0 >> 48) as u16, (self.0 >> 40) as u8)
    }

    /// Returns `OL_O_ID`.
    pub(super) fn order(self) -> u32 {
        (self.0 >> 8) as u32
    }

    /// Returns `OL_NUMBER`.
    pub(super) fn line(self) -> u8 {
        self.0 as u8
    }
}

impl CustomerOrderKey {
    /// Returns `O_W_ID` and `O_D_ID`.
    pub(super) fn district(self) -> (u16, u8) {
        ((self.0 >> 52) as u16 + 1, (self.0 >> 48) as u8 & 0xf)
    }

    /// Returns `O_C_ID`.
    pub(super) fn customer(self) -> u32 {
        u32::from((self.0 >> 32) as u16)
    }

    /// Returns `O_ID`.
    pub(super) fn order(self) -> u32 {
        !(self.0 as u32)
    }
}

/// The secondary key (`C_W_ID`, `C_D_ID`, `C_LAST`, `C_FIRST`, `C_ID`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CustomerNameKey {
    pub(super) warehouse: u16,
    pub(super) district: u8,
    pub(super) last: Text<16>,
    pub(super) first: Text<16>,
    pub(super) customer: u32,
}

impl CustomerNameKey {
    /// Returns the range of keys of the customers with a last name.
    pub(super) fn all_named(warehouse: u16, district: u8, last: Text<16>) -> core::ops::RangeInclusive<Self> {
        let least = Self { warehouse, district, last, first: Text::default(), customer: 0 };
        least..=Self { first: Text::new(&[0xff; 16]), customer: u32::MAX, ..least }
    }

    /// Returns the range of keys of a district's customers.
    pub(super) fn all_in(warehouse: u16, district: u8) -> core::ops::RangeInclusive<Self> {
        let (least, _) = Self::all_named(warehouse, district, Text::default()).into_inner();
        let (_, greatest) = Self::all_named(warehouse, district, Text::new(&[0xff; 16])).into_inner();
        least..=greatest
    }
}

impl Key for CustomerNameKey {
    type Ordered = [u64; 6];

    #[inline]
    fn ordered(self) -> [u64; 6] {
        let district = u64::from(self.warehouse) << 8 | u64::from(self.district);
        let ([last_1, last_2], [first_1, first_2]) = (halves(self.last), halves(self.first));
        [district, last_1, last_2, first_1, first_2, u64::from(self.customer)]
    }

    #[inline]
    fn from_ordered([district, last_1, last_2, first_1, first_2, customer]: [u64; 6]) -> Self {
        Self {
            warehouse: (district >> 8) as u16,
            district: district as u8,
            last: joined([last_1, last_2]),
            first: joined([first_1, first_2]),
            customer: customer as u32,
        }
    }

    #[inline]
    fn home(self) -> Home {
        Home::At(home_number(self.warehouse))
    }
}

/// Converts a text to two integers that compare like the text.
fn halves(text: Text<16>) -> [u64; 2] {
    let all = u128::from_be_bytes(*text.padded());
    [(all >> 64) as u64, all as u64]
}

fn joined([high, low]: [u64; 2]) -> Text<16> {
    Text::new(&(u128::from(high) << 64 | u128::from(low)).to_be_bytes())
}

#[cfg(test)]
mod tests {
    use storage::OrderedKey;

    use super::*;

    #[test]
    fn the_orders_of_a_district_are_a_prefix() {
        fn prefix<K: Key>(key: K) -> K::Ordered {
            key.ordered().prefix(K::SUFFIX_BITS)
        }
        let of = |warehouse, district, order| {
            [
                prefix(OrderKey::new(warehouse, district, order)),
                prefix(NewOrderKey::new(warehouse, district, order)),
                prefix(OrderLineKey::new(warehouse, district, order, 15)),
                prefix(CustomerOrderKey::new(warehouse, district, 3_000, order)),
            ]
        };
        assert_eq!(of(7, 10, 1), of(7, 10, u32::MAX));
        for others in [of(7, 9, 1), of(8, 10, 1)] {
            assert!(of(7, 10, 1).iter().zip(others).all(|(one, other)| *one != other));
        }
    }

    #[test]
    fn keys_come_back_from_their_integers() {
        let line = OrderLineKey::from_ordered(OrderLineKey::new(4_096, 10, u32::MAX, 15).ordered());
        assert_eq!((line.district(), line.order(), line.line()), ((4_096, 10), u32::MAX, 15));
        let order = CustomerOrderKey::from_ordered(CustomerOrderKey::new(4_096, 10, 3_000, 77).ordered());
        assert_eq!((order.district(), order.customer(), order.order()), ((4_096, 10), 3_000, 77));
        let (last, first) = (Text::new(b"BARBARBAR"), Text::new(b"x"));
        let name = CustomerNameKey { warehouse: 4_096, district: 10, last, first, customer: 3_000 };
        assert_eq!(CustomerNameKey::from_ordered(name.ordered()), name);
    }

    #[test]
    fn a_warehouse_is_the_home_of_all_that_names_it() {
        let last = Text::new(b"BARBARBAR");
        let homes = [
            WarehouseKey::new(7).home(),
            DistrictKey::new(7, 10).home(),
            CustomerKey::new(7, 10, 1).home(),
            OrderKey::new(7, 10, 1).home(),
            NewOrderKey::new(7, 10, 1).home(),
            OrderLineKey::new(7, 10, 1, 1).home(),
            StockKey::new(7, 1).home(),
            CustomerOrderKey::new(7, 10, 1, 1).home(),
            CustomerNameKey { warehouse: 7, district: 10, last, first: last, customer: 1 }.home(),
        ];
        assert_eq!(homes, [Home::At(6); 9]);
        assert_eq!(ItemKey::new(1).home(), Home::Everywhere);
    }

    #[test]
    fn later_orders_of_a_customer_come_first_and_stay_among_his() {
        let key = |customer, order| CustomerOrderKey::new(1, 1, customer, order).ordered();
        assert!(key(5, 2) < key(5, 1));
        assert!(key(5, 0) < key(6, u32::MAX));
        assert!(
            CustomerOrderKey::new(1, 10, 3_000, 0).ordered() < CustomerOrderKey::new(2, 1, 1, 9).ordered()
        );
    }

    #[test]
    fn names_are_ordered_by_last_then_first() {
        let key = |last: &[u8], first: &[u8], customer| {
            let (last, first) = (Text::new(last), Text::new(first));
            CustomerNameKey { warehouse: 1, district: 1, last, first, customer }.ordered()
        };
        assert!(key(b"ABLE", b"z", 9) < key(b"ABLEABLE", b"a", 1));
        assert!(key(b"ABLE", b"a", 9) < key(b"ABLE", b"b", 1));
        let named = CustomerNameKey::all_named(1, 1, Text::new(b"ABLE"));
        assert!(named.start().ordered() < key(b"ABLE", b"a", 1));
        assert!(named.end().ordered() > key(b"ABLE", b"zzzz", 3_000));
        assert!(named.end().ordered() < key(b"ABLEABLE", b"", 0));
    }
}
