//! The schema: the tables, their kinds of lookup, their column groups and their secondary indexes.
//!
//! Tables that are read only by single keys are hashed. NEW-ORDER and ORDER-LINE are ordered, because
//! Delivery reads the oldest order and Stock-Level reads a range. HISTORY and the log of the analytic transactions are
//! heaps.

use engine::{Index, Lookup, Schema, Table};

use super::rows::{
    AnalyticHistory, ByCustomer, ByName, Customer, CustomerData, CustomerInfo, DISTRICTS, DistrictInfo,
    DistrictNext, DistrictYtd, History, Item, NewOrder, Order, OrderLine, Stock, StockInfo, Warehouse,
    WarehouseInfo,
};
use super::settings::Settings;

/// The number of orders that a run may add before the hash index of ORDER has to grow.
const ORDERS_ADDED: usize = 1 << 20;

/// The declared tables, with one handle for each column group, and the secondary indexes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables {
    pub(super) warehouse: Table<Warehouse>,
    pub(super) warehouse_info: Table<WarehouseInfo>,
    pub(super) district_next: Table<DistrictNext>,
    pub(super) district_ytd: Table<DistrictYtd>,
    pub(super) district_info: Table<DistrictInfo>,
    pub(super) customer: Table<Customer>,
    pub(super) customer_info: Table<CustomerInfo>,
    pub(super) customer_data: Table<CustomerData>,
    pub(super) history: Table<History>,
    pub(super) new_order: Table<NewOrder>,
    pub(super) order: Table<Order>,
    pub(super) order_line: Table<OrderLine>,
    pub(super) item: Table<Item>,
    pub(super) stock: Table<Stock>,
    pub(super) stock_info: Table<StockInfo>,
    pub(super) analytic_history: Table<AnalyticHistory>,
    pub(super) customer_by_name: Index<CustomerInfo, ByName>,
    pub(super) order_by_customer: Index<Order, ByCustomer>,
}

impl Tables {
    /// Declares the tables, sized for the loaded rows.
    pub(super) fn declare(settings: &Settings, schema: &mut Schema) -> Self {
        let warehouses = usize::from(settings.warehouses);
        schema.set_homes(warehouses);
        let districts = warehouses * usize::from(DISTRICTS);
        let customers = districts * settings.customers as usize;
        let items = settings.items as usize;
        // A hash index that grows disturbs the running transactions, so room is reserved in advance. The
        // room is limited in proportion to the loaded rows, which keeps small databases small.
        let orders = customers + ORDERS_ADDED.min(15 * customers);

        let mut table = schema.table("warehouse", Lookup::Point, warehouses);
        let (warehouse, warehouse_info) = (table.group(), table.constant_group());
        let mut table = schema.table("district", Lookup::Point, districts);
        let (district_next, district_ytd, district_info) =
            (table.group(), table.group(), table.constant_group());
        let mut table = schema.table("customer", Lookup::Point, customers);
        let (customer, customer_info, customer_data) = (table.group(), table.constant_group(), table.group());
        let customer_by_name = table.index(customer_info, "customer_by_name");
        let history = schema.table("history", Lookup::Heap, customers).group();
        let new_order =
            schema.table("new_order", Lookup::Ordered, settings.undelivered() as usize).numbered().group();
        let mut table = schema.table("order", Lookup::Point, orders).numbered();
        let order = table.group();
        let order_by_customer = table.index(order, "order_by_customer");
        let order_line = schema.table("order_line", Lookup::Ordered, customers * 10).numbered().group();
        let item = schema.table("item", Lookup::Point, items).group();
        let mut table = schema.table("stock", Lookup::Point, warehouses * items);
        let (stock, stock_info) = (table.group(), table.constant_group());
        let analytic_history = schema.table("analytic_history", Lookup::Heap, 0).group();
        Self {
            warehouse,
            warehouse_info,
            district_next,
            district_ytd,
            district_info,
            customer,
            customer_info,
            customer_data,
            history,
            new_order,
            order,
            order_line,
            item,
            stock,
            stock_info,
            analytic_history,
            customer_by_name,
            order_by_customer,
        }
    }
}
