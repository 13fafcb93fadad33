//! Implicit rows: the rows of the large tables as functions of their keys, for simulated runs, which make only those
//! that they touch. They are the rows that `load` inserts.

use core::ops::Range;

use engine::{AnyKey, Groups, ImplicitRows, Key, TableId, Which};
use sync::Latched;

use super::keys::{
    CustomerKey, CustomerNameKey, CustomerOrderKey, NewOrderKey, OrderKey, OrderLineKey, StockKey,
};
use super::random::{NAMES, NuRand, last_name};
use super::rows::{DISTRICTS, NewOrder};
use super::schema::Tables;
use super::settings::Settings;

/// The rows of the tables whose sizes are proportional to the number of customers or of stocks. Each group of entries
/// of an index is a district.
#[derive(Debug)]
pub(super) struct Rows {
    settings: Settings,
    tables: Tables,
    names: NuRand,
    /// The place of each last name, by its number, among all in the order of keys.
    ranks: Vec<u16>,
    cache: Latched<Cache>,
}

/// The order of the entries of districts, which takes long to compute.
#[derive(Debug)]
struct Cache {
    /// The customers of each district by last name, counted from 0; none if not computed yet.
    by_name: Vec<Option<Box<[u16]>>>,
    /// The initial orders of the customers of each district, counted from 0; none if not computed yet.
    by_customer: Vec<Option<Box<[u16]>>>,
    /// The number of order lines before each initial order of a district, and of all; of the district that was
    /// looked at last.
    lines: Option<(usize, Vec<u32>)>,
    /// The number of order lines of each district; none if not computed yet.
    all_lines: Option<Vec<usize>>,
}

impl Rows {
    pub(super) fn new(settings: &Settings, tables: Tables) -> Self {
        let none = || vec![None; settings.districts()];
        let cache = Cache { by_name: none(), by_customer: none(), lines: None, all_lines: None };
        let names = NuRand::names_load(u64::from(settings.customers));
        Self { settings: settings.clone(), tables, names, ranks: ranks(), cache: Latched::new(cache) }
    }

    fn has_district(&self, warehouse: u16, district: u8) -> bool {
        (1..=self.settings.warehouses).contains(&warehouse) && (1..=DISTRICTS).contains(&district)
    }

    fn has_number(&self, number: u32) -> bool {
        (1..=self.settings.customers).contains(&number)
    }

    /// The keys of some entries of the index by name of a district.
    fn name_keys(&self, number: usize, places: Range<usize>) -> Vec<CustomerNameKey> {
        let (warehouse, district) = Settings::district_of(number);
        let key = |customer: u16| {
            self.settings.customer_name(warehouse, district, u32::from(customer) + 1, self.names)
        };
        let rank = |customer: u16| {
            let name = self.settings.last_name_of(warehouse, district, u32::from(customer) + 1, self.names);
            self.ranks[name as usize]
        };
        let mut cache = self.cache.lock();
        let order = cache.by_name[number].get_or_insert_with(|| {
            let mut all: Vec<_> = (0..self.settings.customers as u16).map(|at| (rank(at), at)).collect();
            all.sort_unstable();
            all.into_iter().map(|(_, customer)| customer).collect()
        });
        // The order by last name alone is cheap. First names decide only among those of one last name, of which there
        // are few.
        let is_one_name = |place: usize| rank(order[place - 1]) == rank(order[place]);
        let (mut start, mut end) = (places.start, places.end);
        while (1..order.len()).contains(&start) && is_one_name(start) {
            start -= 1;
        }
        while (1..order.len()).contains(&end) && is_one_name(end) {
            end += 1;
        }
        let mut keys: Vec<CustomerNameKey> =
            order[start..end].iter().map(|&customer| key(customer)).collect();
        keys.sort_unstable_by_key(|key| key.ordered());
        keys[places.start - start..places.end - start].to_vec()
    }

    /// The keys of some entries of the index by customer of a district.
    fn customer_keys(&self, number: usize, places: Range<usize>) -> Vec<CustomerOrderKey> {
        let (warehouse, district) = Settings::district_of(number);
        let mut cache = self.cache.lock();
        let orders = cache.by_customer[number].get_or_insert_with(|| {
            let ordered_by = self.settings.ordered_by(warehouse, district);
            let mut orders = vec![0; self.settings.customers as usize].into_boxed_slice();
            for order in 0..self.settings.customers {
                orders[ordered_by.apply(u64::from(order)) as usize] = order as u16;
            }
            orders
        });
        let key =
            |at: usize| CustomerOrderKey::new(warehouse, district, at as u32 + 1, u32::from(orders[at]) + 1);
        places.map(key).collect()
    }

    /// The keys of some order lines of a district.
    fn line_keys(&self, number: usize, places: Range<usize>) -> Vec<OrderLineKey> {
        let (warehouse, district) = Settings::district_of(number);
        let mut cache = self.cache.lock();
        if cache.lines.as_ref().is_none_or(|(of, _)| *of != number) {
            let mut before = Vec::with_capacity(self.settings.customers as usize + 1);
            before.push(0);
            for lines in self.settings.lines(warehouse, district) {
                before.push(before[before.len() - 1] + u32::from(lines));
            }
            cache.lines = Some((number, before));
        }
        let (_, before) = cache.lines.as_ref().expect("just computed");
        let key = |place: usize| {
            let order = before.partition_point(|&before| before as usize <= place);
            let line = place as u32 - before[order - 1] + 1;
            OrderLineKey::new(warehouse, district, order as u32, line as u8)
        };
        places.map(key).collect()
    }
}

/// The place of each last name, by its number, among all in the order of keys.
fn ranks() -> Vec<u16> {
    let key = |number: u64| CustomerNameKey::all_named(1, 1, last_name(number)).start().ordered();
    let mut names: Vec<_> = (0..NAMES).map(|number| (key(number), number)).collect();
    names.sort_unstable();
    let mut ranks = vec![0; names.len()];
    for (rank, (_, number)) in (0..).zip(names) {
        ranks[number as usize] = rank;
    }
    ranks
}

/// Appends the words of the column groups of a row.
fn append<G: Groups>(_table: G, rows: G::Rows<'_>, to: &mut Vec<u64>) {
    G::words(rows).as_ref().iter().for_each(|group| to.extend_from_slice(group));
}

fn typed<K: Key<Ordered = u64>>(key: AnyKey) -> K {
    let AnyKey::One(key) = key else { panic!("the key has one word") };
    K::from_ordered(key)
}

impl ImplicitRows for Rows {
    fn rows(&self, table: TableId) -> Option<u64> {
        let (settings, tables) = (&self.settings, &self.tables);
        let customers = settings.districts() as u64 * u64::from(settings.customers);
        if table == tables.stock.id() {
            Some(u64::from(settings.warehouses) * u64::from(settings.items))
        } else if table == tables.new_order.id() {
            Some(settings.districts() as u64 * u64::from(settings.undelivered()))
        } else if table == tables.order_line.id() {
            Some(self.groups(table, Which::Primary).iter().map(|&lines| lines as u64).sum())
        } else {
            let are_customers =
                [tables.customer.id(), tables.history.id(), tables.order.id()].contains(&table);
            are_customers.then_some(customers)
        }
    }

    fn has(&self, table: TableId, key: AnyKey) -> bool {
        if table == self.tables.stock.id() {
            let (warehouse, item) = typed::<StockKey>(key).columns();
            return (1..=self.settings.warehouses).contains(&warehouse)
                && (1..=self.settings.items).contains(&item)
                && StockKey::new(warehouse, item) == typed(key);
        }
        // Customers and orders have the same number and the same form of key.
        let (warehouse, district, number) = typed::<CustomerKey>(key).columns();
        self.has_district(warehouse, district)
            && self.has_number(number)
            && CustomerKey::new(warehouse, district, number) == typed(key)
    }

    fn row(&self, table: TableId, key: AnyKey, words: &mut Vec<u64>) {
        let (settings, tables) = (&self.settings, &self.tables);
        if table == tables.stock.id() {
            let (warehouse, item) = typed::<StockKey>(key).columns();
            let rows = settings.stock(warehouse, item);
            append((tables.stock, tables.stock_info), (&rows.0, &rows.1), words);
        } else if table == tables.customer.id() {
            let (warehouse, district, customer) = typed::<CustomerKey>(key).columns();
            let rows = settings.customer(warehouse, district, customer, self.names);
            let groups = (tables.customer, tables.customer_info, tables.customer_data);
            append(groups, (&rows.0, &rows.1, &rows.2), words);
        } else if table == tables.order.id() {
            let key = typed::<OrderKey>(key);
            let (warehouse, district) = key.district();
            let ordered_by = settings.ordered_by(warehouse, district);
            append(tables.order, &settings.order(warehouse, district, key.order(), &ordered_by), words);
        } else if table == tables.order_line.id() {
            let key = typed::<OrderLineKey>(key);
            let (warehouse, district) = key.district();
            append(
                tables.order_line,
                &settings.order_line(warehouse, district, key.order(), key.line()),
                words,
            );
        } else {
            let order = u64::from(typed::<NewOrderKey>(key).order());
            append(tables.new_order, &NewOrder { order }, words);
        }
    }

    fn groups(&self, table: TableId, _: Which) -> Vec<usize> {
        let settings = &self.settings;
        let districts = 0..settings.districts();
        if table == self.tables.order_line.id() {
            let lines = |district| {
                let (warehouse, district) = Settings::district_of(district);
                settings.lines(warehouse, district).map(usize::from).sum()
            };
            let mut cache = self.cache.lock();
            return cache.all_lines.get_or_insert_with(|| districts.map(lines).collect()).clone();
        }
        let is_new = table == self.tables.new_order.id();
        let len = if is_new { settings.undelivered() } else { settings.customers };
        districts.map(|_| len as usize).collect()
    }

    fn keys(&self, table: TableId, _: Which, group: usize, places: Range<usize>, to: &mut Vec<AnyKey>) {
        let (settings, tables) = (&self.settings, &self.tables);
        if table == tables.customer.id() {
            to.extend(self.name_keys(group, places).into_iter().map(|key| AnyKey::Six(key.ordered())));
        } else if table == tables.order.id() {
            to.extend(self.customer_keys(group, places).into_iter().map(|key| AnyKey::One(key.ordered())));
        } else if table == tables.order_line.id() {
            to.extend(self.line_keys(group, places).into_iter().map(|key| AnyKey::One(key.ordered())));
        } else {
            let (warehouse, district) = Settings::district_of(group);
            let first = settings.delivered() + 1;
            let key = |place| NewOrderKey::new(warehouse, district, first + place as u32);
            to.extend(places.map(|place| AnyKey::One(key(place).ordered())));
        }
    }

    fn loaded_at(&self, table: TableId, which: Which, key: AnyKey) -> Option<u64> {
        match (which, key) {
            (Which::Primary, _) => None,
            (_, AnyKey::Six(key)) => Some(u64::from(CustomerNameKey::from_ordered(key).customer)),
            (_, key) => {
                assert_eq!(table, self.tables.order.id(), "orders have the other secondary index");
                Some(u64::from(typed::<CustomerOrderKey>(key).order()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::declared;
    use super::*;

    /// With more customers than last names, first names decide among those of one last name.
    #[test]
    fn any_part_of_a_district_is_in_the_order_of_names() {
        let (tpcc, _) = declared(&[("warehouses", "2")], 1);
        let rows = Rows::new(&tpcc.settings, tpcc.tables);
        for number in [0, 13] {
            let (warehouse, district) = Settings::district_of(number);
            let key = |customer| rows.settings.customer_name(warehouse, district, customer, rows.names);
            let mut all: Vec<CustomerNameKey> = (1..=3_000).map(key).collect();
            all.sort_unstable_by_key(|key| key.ordered());
            for places in [0..0, 0..3_000, 0..7, 2_991..3_000, 1_500..1_513, 700..701, 3_000..3_000] {
                assert_eq!(
                    rows.name_keys(number, places.clone()),
                    all[places.clone()],
                    "{number} {places:?}"
                );
            }
            assert!((0..2_990).step_by(10).all(|at| rows.name_keys(number, at..at + 10) == all[at..at + 10]));
        }
    }
}
