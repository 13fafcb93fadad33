//! The initial rows (TPC-C 4.3.3.1). Each row is a pure function of (seed, table, key), so that any
//! number of loaders makes the same bytes, and a check can make a row again.

use engine::{Loader, Share, Text};
use stdx::{Path, Permutation, Rng};

use super::Tpcc;
use super::keys::{
    CustomerKey, CustomerNameKey, DistrictKey, ItemKey, NewOrderKey, OrderKey, OrderLineKey, StockKey,
    WarehouseKey,
};
use super::random::{NuRand, Stream, digits, fill_letters, item_data, last_name, letters};
use super::rows::{
    Address, CUSTOMER_DATA_BYTES, Customer, CustomerData, CustomerInfo, DISTRICTS, DistrictInfo,
    DistrictNext, DistrictYtd, History, Item, NewOrder, Order, OrderLine, Person, Site, Stock, StockInfo,
    Warehouse, WarehouseInfo,
};
use super::settings::Settings;

/// The time of loading, in milliseconds since 1970: 2020-01-01. It is fixed, so that the same seed
/// makes the same bytes.
pub(super) const LOADED_AT_MS: u64 = 1_577_836_800_000;
/// The amount that every customer paid before the load, in cents.
const FIRST_PAYMENT: u32 = 1_000;

impl Tpcc {
    /// Loads a share of all tables. Each table is divided by its own keys, so that shares are equal
    /// even with fewer warehouses than loaders.
    pub(super) fn load_share(&self, share: Share, loader: &mut impl Loader) {
        let (settings, tables) = (&self.settings, &self.tables);
        self.load_small(share, loader);
        for stock in share.of_range(u64::from(settings.warehouses) * u64::from(settings.items)) {
            let (warehouse, item) = settings.stock_of(stock as usize);
            let rows = settings.stock(warehouse, item);
            let groups = (tables.stock, tables.stock_info);
            loader.insert(groups, StockKey::new(warehouse, item), (&rows.0, &rows.1));
        }
        for district in share.of_range(u64::from(settings.warehouses) * u64::from(DISTRICTS)) {
            let (warehouse, district) = Settings::district_of(district as usize);
            self.load_district(warehouse, district, loader);
        }
    }

    /// Loads a share of the tables that are not [implicit](super::implicit): their rows are few beside those of the
    /// others.
    pub(super) fn load_small(&self, share: Share, loader: &mut impl Loader) {
        let (settings, tables) = (&self.settings, &self.tables);
        for item in share.of_range(u64::from(settings.items)) {
            let item = item as u32 + 1;
            loader.insert(tables.item, ItemKey::new(item), &settings.item(item));
        }
        for warehouse in share.of_range(u64::from(settings.warehouses)) {
            let warehouse = warehouse as u16 + 1;
            let rows = settings.warehouse(warehouse);
            let groups = (tables.warehouse, tables.warehouse_info);
            loader.insert(groups, WarehouseKey::new(warehouse), (&rows.0, &rows.1));
        }
        for district in share.of_range(u64::from(settings.warehouses) * u64::from(DISTRICTS)) {
            let (warehouse, district) = Settings::district_of(district as usize);
            let rows = settings.district(warehouse, district);
            let groups = (tables.district_next, tables.district_ytd, tables.district_info);
            loader.insert(groups, DistrictKey::new(warehouse, district), (&rows.0, &rows.1, &rows.2));
        }
    }

    fn load_district(&self, warehouse: u16, district: u8, loader: &mut impl Loader) {
        let (settings, tables) = (&self.settings, &self.tables);
        let names = NuRand::names_load(u64::from(settings.customers));
        for customer in 1..=settings.customers {
            let key = CustomerKey::new(warehouse, district, customer);
            let rows = settings.customer(warehouse, district, customer, names);
            let groups = (tables.customer, tables.customer_info, tables.customer_data);
            loader.insert(groups, key, (&rows.0, &rows.1, &rows.2));
            let paid = settings.history(warehouse, district, customer);
            loader.insert(tables.history, WarehouseKey::new(warehouse), &paid);
        }
        let ordered_by = settings.ordered_by(warehouse, district);
        for order in 1..=settings.customers {
            let row = settings.order(warehouse, district, order, &ordered_by);
            loader.insert(tables.order, OrderKey::new(warehouse, district, order), &row);
            for line in 1..=row.lines {
                let key = OrderLineKey::new(warehouse, district, order, line);
                loader.insert(tables.order_line, key, &settings.order_line(warehouse, district, order, line));
            }
            if order > settings.delivered() {
                let queued = NewOrder { order: u64::from(order) };
                loader.insert(tables.new_order, NewOrderKey::new(warehouse, district, order), &queued);
            }
        }
    }
}

impl Settings {
    /// Returns the warehouse and the district with a number, counted from 0 over all warehouses.
    pub(super) fn district_of(number: usize) -> (u16, u8) {
        let districts = usize::from(DISTRICTS);
        ((number / districts) as u16 + 1, (number % districts) as u8 + 1)
    }

    /// Returns the warehouse and the item of the stock with a number, counted from 0 over all
    /// warehouses.
    pub(super) fn stock_of(&self, number: usize) -> (u16, u32) {
        let items = self.items as usize;
        ((number / items) as u16 + 1, (number % items) as u32 + 1)
    }

    fn stream(&self, stream: Stream, key: &[u64]) -> Rng {
        Path::new(&[self.seed, stream as u64]).join(key).rng()
    }

    fn item(&self, item: u32) -> Item {
        let rng = &mut self.stream(Stream::Item, &[u64::from(item)]);
        Item {
            price: rng.between(100, 10_000) as u32,
            image: rng.between(1, 10_000) as u32,
            name: letters(rng, 14, 24),
            data: item_data(rng),
            pad: [0; 6],
        }
    }

    fn warehouse(&self, warehouse: u16) -> (Warehouse, WarehouseInfo) {
        let rng = &mut self.stream(Stream::Warehouse, &[u64::from(warehouse)]);
        let ytd = i64::from(DISTRICTS) * self.first_payments();
        (Warehouse { ytd }, WarehouseInfo { site: site(rng) })
    }

    fn district(&self, warehouse: u16, district: u8) -> (DistrictNext, DistrictYtd, DistrictInfo) {
        let rng = &mut self.stream(Stream::District, &[u64::from(warehouse), u64::from(district)]);
        let next = DistrictNext { order: u64::from(self.customers) + 1 };
        (next, DistrictYtd { ytd: self.first_payments() }, DistrictInfo { site: site(rng) })
    }

    /// The sum that the customers of a district paid before the load, in cents.
    fn first_payments(&self) -> i64 {
        i64::from(self.customers) * i64::from(FIRST_PAYMENT)
    }

    pub(super) fn customer(
        &self,
        warehouse: u16,
        district: u8,
        customer: u32,
        names: NuRand,
    ) -> (Customer, CustomerInfo, CustomerData) {
        let key = [u64::from(warehouse), u64::from(district), u64::from(customer)];
        let rng = &mut self.stream(Stream::Customer, &key);
        let money = Customer {
            balance: -i64::from(FIRST_PAYMENT),
            ytd_payment: i64::from(FIRST_PAYMENT),
            payment_cnt: 1,
            delivery_cnt: 0,
        };
        let named = Named::draw(rng, customer, names);
        let person = Person {
            since: LOADED_AT_MS,
            credit_lim: 5_000_000,
            discount: named.discount,
            credit: Text::new(if named.is_bad { b"BC" } else { b"GC" }),
            middle: Text::new(b"OE"),
            last: named.last,
            first: named.first,
            phone: digits(rng),
            address: address(rng),
            pad: [0],
        };
        let mut data = CustomerData { data: [0; CUSTOMER_DATA_BYTES], pad: [0; 4] };
        let len = rng.between(300, CUSTOMER_DATA_BYTES as u64) as usize;
        fill_letters(rng, &mut data.data[..len]);
        (money, CustomerInfo { person }, data)
    }

    /// The key of a customer in the index by name, computed without the rest of the row.
    pub(super) fn customer_name(
        &self,
        warehouse: u16,
        district: u8,
        customer: u32,
        names: NuRand,
    ) -> CustomerNameKey {
        let key = [u64::from(warehouse), u64::from(district), u64::from(customer)];
        let Named { last, first, .. } =
            Named::draw(&mut self.stream(Stream::Customer, &key), customer, names);
        CustomerNameKey { warehouse, district, last, first, customer }
    }

    /// The number of a customer's last name, computed without the rest of the row.
    pub(super) fn last_name_of(&self, warehouse: u16, district: u8, customer: u32, names: NuRand) -> u64 {
        let key = [u64::from(warehouse), u64::from(district), u64::from(customer)];
        Named::number(&mut self.stream(Stream::Customer, &key), customer, names)
    }

    fn history(&self, warehouse: u16, district: u8, customer: u32) -> History {
        let key = [u64::from(warehouse), u64::from(district), u64::from(customer)];
        let rng = &mut self.stream(Stream::History, &key);
        History {
            date: LOADED_AT_MS,
            amount: FIRST_PAYMENT,
            customer,
            customer_warehouse: warehouse,
            warehouse,
            customer_district: district,
            district,
            data: letters(rng, 12, 24),
            pad: [0; 2],
        }
    }

    /// Maps a district's initial orders to the customers who placed them, both counted from 0.
    pub(super) fn ordered_by(&self, warehouse: u16, district: u8) -> Permutation {
        let rng = &mut self.stream(Stream::OrderedBy, &[u64::from(warehouse), u64::from(district)]);
        Permutation::new(u64::from(self.customers), rng.next_u64())
    }

    pub(super) fn order(&self, warehouse: u16, district: u8, order: u32, ordered_by: &Permutation) -> Order {
        let key = [u64::from(warehouse), u64::from(district), u64::from(order)];
        let rng = &mut self.stream(Stream::Order, &key);
        let carrier = rng.between(1, 10) as u8;
        Order {
            entry_date: entry_date(order),
            customer: ordered_by.apply(u64::from(order) - 1) as u32 + 1,
            carrier: if order <= self.delivered() { carrier } else { 0 },
            lines: rng.between(5, 15) as u8,
            all_local: 1,
            pad: 0,
        }
    }

    /// The numbers of lines of a district's initial orders, computed without the rest of the rows.
    pub(super) fn lines(&self, warehouse: u16, district: u8) -> impl Iterator<Item = u8> {
        let of_district =
            Path::new(&[self.seed, Stream::Order as u64, u64::from(warehouse), u64::from(district)]);
        (1..=u64::from(self.customers)).map(move |order| {
            let mut rng = of_district.join(&[order]).rng();
            rng.between(1, 10); // The carrier.
            rng.between(5, 15) as u8
        })
    }

    pub(super) fn order_line(&self, warehouse: u16, district: u8, order: u32, line: u8) -> OrderLine {
        let key = [u64::from(warehouse), u64::from(district), u64::from(order), u64::from(line)];
        let rng = &mut self.stream(Stream::OrderLine, &key);
        let is_delivered = order <= self.delivered();
        OrderLine {
            delivery_date: if is_delivered { entry_date(order) } else { 0 },
            item: rng.between(1, u64::from(self.items)) as u32,
            amount: if is_delivered { 0 } else { rng.between(1, 999_999) as u32 },
            supply_warehouse: warehouse,
            quantity: 5,
            dist_info: letters(rng, 24, 24),
            pad: [0; 4],
        }
    }

    /// Returns `S_QUANTITY` as loaded. It has its own random stream, so that a check can compute it
    /// without the strings.
    pub(super) fn stock_quantity(&self, warehouse: u16, item: u32) -> i32 {
        self.stream(Stream::StockQuantity, &[u64::from(warehouse), u64::from(item)]).between(10, 100) as i32
    }

    pub(super) fn stock(&self, warehouse: u16, item: u32) -> (Stock, StockInfo) {
        let rng = &mut self.stream(Stream::Stock, &[u64::from(warehouse), u64::from(item)]);
        let quantity = self.stock_quantity(warehouse, item);
        let dist = core::array::from_fn(|_| letters(rng, 24, 24));
        let info = StockInfo { dist, data: item_data(rng), pad: [0; 6] };
        (Stock { quantity, ytd: 0, order_cnt: 0, remote_cnt: 0 }, info)
    }
}

/// The columns of a customer that are drawn first.
struct Named {
    discount: u32,
    is_bad: bool,
    last: Text<16>,
    first: Text<16>,
}

impl Named {
    fn draw(rng: &mut Rng, customer: u32, names: NuRand) -> Self {
        let name = Self::number(rng, customer, names);
        let discount = rng.below(5_001) as u32;
        let is_bad = rng.below(10) == 0;
        Self { discount, is_bad, last: last_name(name), first: letters(rng, 8, 16) }
    }

    /// Draws the number of the last name: the first draw of a customer.
    fn number(rng: &mut Rng, customer: u32, names: NuRand) -> u64 {
        // The first 1,000 customers have the 1,000 names, so that every name is in use.
        if customer <= 1_000 { u64::from(customer) - 1 } else { names.draw(rng) }
    }
}

/// Returns the entry date of an initial order: one order a second.
fn entry_date(order: u32) -> u64 {
    LOADED_AT_MS + u64::from(order) * 1_000
}

fn site(rng: &mut Rng) -> Site {
    Site { tax: rng.below(2_001) as u32, name: letters(rng, 6, 10), address: address(rng), pad: [0; 3] }
}

fn address(rng: &mut Rng) -> Address {
    let mut zip = *b"000011111";
    zip[..4].copy_from_slice(digits::<4>(rng).padded());
    Address {
        street_1: letters(rng, 10, 20),
        street_2: letters(rng, 10, 20),
        city: letters(rng, 10, 20),
        state: letters(rng, 2, 2),
        zip: Text::new(&zip),
    }
}
