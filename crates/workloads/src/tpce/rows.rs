//! Rows: the 33 tables of TPC-E 2.2 as column groups of fixed layout.
//!
//! Columns that are written apart from the others of their table form a column group, which is copied, locked and
//! validated by itself. Rows do not repeat key columns, unless a key has them as a number only. Money is in cents,
//! rates are in 1/100,000, calendar times in milliseconds since 1970, dates in days since 1970, and 0 stands for null.
//!
//! Two tables of the specification are two tables each here, EXCHANGE and TAXRATE: of each, Data-Maintenance writes one
//! column of text, and all others are read by every Trade-Order or Security-Detail and written by nobody, so that
//! schemes that own partitions may read them everywhere.

use engine::{IndexOn, Row, Text};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::keys::{
    AccountKey, AccountTradeKey, AddressKey, BrokerKey, BrokerRequestKey, ChargeKey, CommissionKey,
    CompanyKey, CompanyNewsKey, CompetitorKey, CustomerAccountKey, CustomerKey, CustomerTaxrateKey,
    CustomerWatchListKey, DailyMarketKey, ExchangeDescriptionKey, ExchangeKey, FinancialKey,
    HoldingHistoryByTradeKey, HoldingHistoryKey, HoldingKey, IndustryCompanyKey, IndustryKey, IssueKey,
    LimitKey, NameKey, NewsKey, PermissionKey, SectorIndustryKey, SectorKey, SecurityKey, SecurityTradeKey,
    StatusKey, SummaryKey, TaxrateKey, TaxrateNameKey, TradeHistoryKey, TradeKey, TradeTypeKey, WatchItemKey,
    WatchListKey, ZipKey,
};

/// The number of news items of a company.
pub(super) const NEWS_OF_COMPANY: u32 = 2;
/// The bytes of `NI_ITEM`. The specification has up to 100,000; ERMIA's port has 1,000, too.
pub(super) const NEWS_BYTES: usize = 1_000;
/// The number of exchanges.
pub(super) const EXCHANGES: u8 = 4;
/// The number of sectors.
pub(super) const SECTORS: u8 = 12;
/// The number of industries.
pub(super) const INDUSTRIES: u8 = 102;
/// The number of tax rates of countries, which are the first ones: US1 to US5 and CN1 to CN4.
pub(super) const COUNTRY_RATES: u16 = 9;
/// The number of tax rates.
pub(super) const TAXRATES: u16 = 320;
/// The number of zip codes.
pub(super) const ZIP_CODES: u32 = 14_741;

/// A status of STATUS_TYPE. The states of a trade are in the order in which it has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum StatusId {
    /// `PNDG`: a limit order waits for its price.
    Pending,
    /// `SBMT`: the order was sent to the market.
    Submitted,
    /// `CMPT`: the trade is done.
    Completed,
    /// `CNCL`: the trade will not be done.
    Canceled,
    /// `ACTV`: of customers, companies, securities and brokers.
    Active,
}

impl StatusId {
    /// All states, with `ST_ID` and `ST_NAME`.
    pub(super) const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::Pending, "PNDG", "Pending"),
        (Self::Submitted, "SBMT", "Submitted"),
        (Self::Completed, "CMPT", "Completed"),
        (Self::Canceled, "CNCL", "Canceled"),
        (Self::Active, "ACTV", "Active"),
    ];

    /// Returns the status with a number. Numbers that are none mean the last one: rows may be read while they change.
    #[inline]
    pub(super) fn of(number: u8) -> Self {
        match number {
            0 => Self::Pending,
            1 => Self::Submitted,
            2 => Self::Completed,
            3 => Self::Canceled,
            _ => Self::Active,
        }
    }
}

/// A type of order: the rows of TRADE_TYPE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum TradeType {
    /// `TMB`.
    MarketBuy,
    /// `TMS`.
    MarketSell,
    /// `TSL`: sells when the price is at the limit or below.
    StopLoss,
    /// `TLS`: sells when the price is at the limit or above.
    LimitSell,
    /// `TLB`: buys when the price is at the limit or below.
    LimitBuy,
}

impl TradeType {
    /// All types, with `TT_ID` and `TT_NAME`.
    pub(super) const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::MarketBuy, "TMB", "Market-Buy"),
        (Self::MarketSell, "TMS", "Market-Sell"),
        (Self::StopLoss, "TSL", "Stop-Loss"),
        (Self::LimitSell, "TLS", "Limit-Sell"),
        (Self::LimitBuy, "TLB", "Limit-Buy"),
    ];

    /// Returns the type with a number. Numbers that are none mean the last one: rows may be read while they change.
    #[inline]
    pub(super) fn of(number: u8) -> Self {
        match number {
            0 => Self::MarketBuy,
            1 => Self::MarketSell,
            2 => Self::StopLoss,
            3 => Self::LimitSell,
            _ => Self::LimitBuy,
        }
    }

    /// Returns `true` if the order sells: `TT_IS_SELL`.
    #[inline]
    pub(super) fn is_sell(self) -> bool {
        matches!(self, Self::MarketSell | Self::StopLoss | Self::LimitSell)
    }

    /// Returns `true` if the order has no limit: `TT_IS_MRKT`.
    #[inline]
    pub(super) fn is_market(self) -> bool {
        matches!(self, Self::MarketBuy | Self::MarketSell)
    }
}

macro_rules! row {
    ($(#[$doc:meta])* $name:ident of $key:ty $(, indexes $indexes:ty)? {
        $($(#[$column_doc:meta])* $column:ident: $type:ty,)*
    }) => {
        row!(@columns $(#[$doc])* $name { $($(#[$column_doc])* $column: $type,)* });

        impl Row for $name {
            type Key = $key;
            type Indexes = row!(@indexes $($indexes)?);
        }
    };
    ($(#[$doc:meta])* $name:ident of $key:ty, additive {
        $($(#[$column_doc:meta])* $column:ident: $type:ty,)*
    }) => {
        row!(@columns $(#[$doc])* $name { $($(#[$column_doc])* $column: $type,)* });

        engine::additive!($name of $key { $($column),* });
    };
    (@indexes) => { () };
    (@indexes $indexes:ty) => { $indexes };
    (@columns $(#[$doc:meta])* $name:ident { $($(#[$column_doc:meta])* $column:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, FromBytes, IntoBytes, KnownLayout, Immutable)]
        #[repr(C, align(8))]
        pub(super) struct $name {
            $($(#[$column_doc])* pub(super) $column: $type,)*
        }
    };
}

// Customers.

row!(
    /// ACCOUNT_PERMISSION: Trade-Order reads, Data-Maintenance writes the list of rights.
    Permission of PermissionKey {
        acl: Text<4>,
        last_name: Text<25>,
        first_name: Text<20>,
        pad: [u8; 7],
    }
);

row!(
    /// CUSTOMER, the columns that nobody writes. Found by tax identifier.
    Customer of CustomerKey, indexes (ByTaxId,) {
        address: u32,
        birth_date: u32,
        tax_id: Text<20>,
        last_name: Text<25>,
        first_name: Text<20>,
        middle_name: Text<1>,
        gender: Text<1>,
        status: u8,
        tier: u8,
        phones: [Phone; 3],
        email_1: Text<50>,
        pad: [u8; 2],
    }
);

/// A telephone number: `C_CTRY` to `C_EXT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub(super) struct Phone {
    pub(super) country: Text<3>,
    pub(super) area: Text<3>,
    pub(super) local: Text<10>,
    pub(super) extension: Text<5>,
}

row!(
    /// CUSTOMER, the column that Data-Maintenance writes: `C_EMAIL_2`.
    CustomerEmail of CustomerKey {
        email_2: Text<50>,
        pad: [u8; 6],
    }
);

row!(
    /// CUSTOMER_ACCOUNT, the column that Trade-Result writes.
    AccountBalance of AccountKey {
        balance: i64,
    }
);

row!(
    /// CUSTOMER_ACCOUNT, the columns that nobody writes.
    Account of AccountKey, indexes (ByCustomer,) {
        customer: u64,
        broker: u32,
        /// 0: not taxable, 1: taxed and withheld, 2: taxed and not withheld.
        tax_status: u8,
        name: Text<50>,
        pad: [u8; 1],
    }
);

row!(
    /// CUSTOMER_TAXRATE: two rates a customer, of the country and of the division. All columns are in the key.
    CustomerTaxrate of CustomerTaxrateKey {
        rate: u64,
    }
);

row!(
    /// HOLDING: a lot of a position that is not closed yet. A short position has negative quantities.
    Holding of HoldingKey {
        price: u32,
        quantity: i32,
    }
);

row!(
    /// HOLDING_HISTORY: by which trade a lot got which quantity.
    HoldingHistory of HoldingHistoryKey, indexes (ByChange,) {
        before: i32,
        after: i32,
    }
);

row!(
    /// HOLDING_SUMMARY: the position of an account in a security, never 0.
    Summary of SummaryKey {
        quantity: i64,
    }
);

row!(
    /// WATCH_ITEM. All columns are in the key.
    WatchItem of WatchItemKey {
        security: u64,
    }
);

row!(
    /// WATCH_LIST: one a customer.
    WatchList of WatchListKey, indexes (ByListOwner,) {
        customer: u64,
    }
);

// Brokers and trades.

row!(
    /// BROKER, the columns that Trade-Result adds to: the hottest rows that are written.
    BrokerTotals of BrokerKey, additive {
        trades: i64,
        commission: i64,
    }
);

row!(
    /// BROKER, the columns that nobody writes.
    Broker of BrokerKey, indexes (ByBrokerName,) {
        name: Text<49>,
        status: u8,
        pad: [u8; 6],
    }
);

row!(
    /// CASH_TRANSACTION: of trades that are not on margin.
    CashTransaction of TradeKey {
        time: u64,
        amount: i64,
        name: Text<100>,
        pad: [u8; 4],
    }
);

row!(
    /// CHARGE.
    Charge of ChargeKey {
        charge: i64,
    }
);

row!(
    /// COMMISSION_RATE: the rate of a band of quantities, in 1/100,000 of the price.
    CommissionRate of CommissionKey {
        to: u32,
        rate: u32,
    }
);

row!(
    /// SETTLEMENT: of each trade that is done.
    Settlement of TradeKey {
        amount: i64,
        due_date: u32,
        cash_type: Text<40>,
        pad: [u8; 4],
    }
);

row!(
    /// TRADE, the columns that say what is traded and how far it is.
    #[allow(clippy::struct_field_names, reason = "the specification's name is `T_TRADE_PRICE`")]
    Trade of TradeKey, indexes (ByAccount, BySecurity) {
        /// `T_DTS`: of the last change of the status.
        time: u64,
        account: u64,
        /// `T_CHRG`.
        charge: i64,
        /// `T_COMM`.
        commission: i64,
        /// `T_TAX`.
        tax: i64,
        security: u32,
        quantity: u32,
        /// `T_BID_PRICE`: the limit, or the last price if there is no limit.
        bid_price: u32,
        /// `T_TRADE_PRICE`, 0 for null.
        trade_price: u32,
        status: u8,
        kind: u8,
        is_cash: u8,
        is_lifo: u8,
        pad: [u8; 4],
    }
);

row!(
    /// TRADE, the column that Trade-Update writes: `T_EXEC_NAME`.
    TradeExecutor of TradeKey {
        name: Text<49>,
        pad: [u8; 7],
    }
);

row!(
    /// TRADE_HISTORY: when a trade got a status.
    TradeHistory of TradeHistoryKey {
        time: u64,
    }
);

row!(
    /// TRADE_REQUEST: the orders that wait for their price. Found by limit, and by broker.
    TradeRequest of TradeKey, indexes (ByLimit, ByRequestBroker) {
        security: u32,
        quantity: u32,
        bid_price: u32,
        broker: u32,
        kind: u8,
        pad: [u8; 7],
    }
);

row!(
    /// TRADE_TYPE.
    TradeTypeRow of TradeTypeKey {
        id: Text<3>,
        name: Text<12>,
        is_sell: u8,
        is_market: u8,
        pad: [u8; 7],
    }
);

// The market.

row!(
    /// COMPANY, the columns that nobody writes.
    Company of CompanyKey, indexes (ByCompanyName, ByIndustry) {
        open_date: u32,
        address: u32,
        industry: u8,
        status: u8,
        name: Text<60>,
        ceo: Text<46>,
        description: Text<150>,
        pad: [u8; 6],
    }
);

row!(
    /// COMPANY, the column that Data-Maintenance writes: `CO_SP_RATE`.
    CompanyRating of CompanyKey {
        rating: Text<4>,
        pad: [u8; 4],
    }
);

row!(
    /// COMPANY_COMPETITOR. All columns are in the key.
    Competitor of CompetitorKey {
        competitor: u64,
    }
);

row!(
    /// DAILY_MARKET: Data-Maintenance writes the volume.
    DailyMarket of DailyMarketKey {
        volume: i64,
        close: u32,
        high: u32,
        low: u32,
        pad: [u8; 4],
    }
);

row!(
    /// EXCHANGE, the columns that nobody writes.
    Exchange of ExchangeKey {
        securities: u32,
        open: u32,
        close: u32,
        address: u32,
        id: Text<6>,
        name: Text<100>,
        pad: [u8; 6],
    }
);

row!(
    /// EXCHANGE, the column that Data-Maintenance writes: `EX_DESC`.
    ExchangeDescription of ExchangeDescriptionKey {
        description: Text<150>,
        pad: [u8; 2],
    }
);

row!(
    /// FINANCIAL: Data-Maintenance writes the date of the quarter.
    Financial of FinancialKey {
        revenue: i64,
        net_earnings: i64,
        basic_eps: i64,
        diluted_eps: i64,
        margin: i64,
        inventory: i64,
        assets: i64,
        liability: i64,
        basic_out: i64,
        diluted_out: i64,
        quarter_start: u32,
        pad: [u8; 4],
    }
);

row!(
    /// INDUSTRY.
    Industry of IndustryKey, indexes (BySector,) {
        id: Text<2>,
        name: Text<50>,
        sector: u8,
        pad: [u8; 3],
    }
);

row!(
    /// LAST_TRADE: read by nearly all types, written by Market-Feed.
    LastTrade of SecurityKey {
        time: u64,
        volume: i64,
        price: u32,
        open_price: u32,
    }
);

row!(
    /// NEWS_ITEM without its body: Data-Maintenance writes the time.
    News of NewsKey {
        time: u64,
        headline: Text<80>,
        summary: Text<255>,
        source: Text<30>,
        author: Text<30>,
        pad: [u8; 5],
    }
);

row!(
    /// NEWS_ITEM, its body: `NI_ITEM`.
    NewsBody of NewsKey {
        text: [u8; NEWS_BYTES],
    }
);

row!(
    /// NEWS_XREF. All columns are in the key.
    CompanyNews of CompanyNewsKey {
        item: u64,
    }
);

row!(
    /// SECTOR.
    Sector of SectorKey, indexes (BySectorName,) {
        id: Text<2>,
        name: Text<30>,
    }
);

row!(
    /// SECURITY, the columns that nobody writes.
    Security of SecurityKey, indexes (ByCompany,) {
        outstanding: i64,
        company: u32,
        start_date: u32,
        price_earnings: u32,
        high_52_weeks: u32,
        high_date: u32,
        low_52_weeks: u32,
        low_date: u32,
        dividend: u32,
        yield_rate: u32,
        exchange: u8,
        /// `S_ISSUE`: 0 for `COMMON`, from 1 on for `PREF_A` and the following.
        issue: u8,
        status: u8,
        symbol: Text<15>,
        name: Text<70>,
        pad: [u8; 4],
    }
);

row!(
    /// SECURITY, the column that Data-Maintenance writes: `S_EXCH_DATE`.
    SecurityExchangeDate of SecurityKey {
        date: u64,
    }
);

// Dimensions.

row!(
    /// ADDRESS: Data-Maintenance writes the second line.
    Address of AddressKey {
        zip_code: u32,
        line_1: Text<80>,
        line_2: Text<80>,
        country: Text<80>,
        pad: [u8; 4],
    }
);

row!(
    /// STATUS_TYPE.
    StatusType of StatusKey {
        id: Text<4>,
        name: Text<10>,
        pad: [u8; 2],
    }
);

row!(
    /// TAXRATE, the columns that nobody writes. The rate is in 1/100,000.
    Taxrate of TaxrateKey {
        rate: u32,
        id: Text<4>,
    }
);

row!(
    /// TAXRATE, the column that Data-Maintenance writes: `TX_NAME`.
    TaxrateName of TaxrateNameKey {
        name: Text<50>,
        pad: [u8; 6],
    }
);

row!(
    /// ZIP_CODE.
    ZipCode of ZipKey {
        code: Text<12>,
        town: Text<80>,
        division: Text<80>,
        pad: [u8; 4],
    }
);

row!(
    /// The log of the analytic transaction, which is no table of the specification: ERMIA's `assets_history`.
    AssetsHistory of AccountKey {
        first_account: u64,
        last_account: u64,
        total: i64,
    }
);

macro_rules! index {
    (
        $(#[$doc:meta])* $name:ident of $row:ty, $secondary:ty: |$key:ident, $columns:ident| $make:expr,
        |$from:ident| $primary:expr
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $name;

        impl IndexOn<$row> for $name {
            type Key = $secondary;

            #[inline]
            fn key($key: <$row as Row>::Key, $columns: &$row) -> $secondary {
                $make
            }

            #[inline]
            fn primary($from: $secondary) -> <$row as Row>::Key {
                $primary
            }
        }
    };
}

/// Returns the part of a name by which it is found: names are distinct within it.
fn shown<const N: usize>(name: &Text<N>) -> Text<40> {
    Text::new(name.as_bytes())
}

index!(
    /// CUSTOMER by `C_TAX_ID`.
    ByTaxId of Customer, NameKey: |key, row| NameKey { name: shown(&row.tax_id), number: engine::Key::ordered(key) },
    |from| CustomerKey::new(from.number)
);
index!(
    /// CUSTOMER_ACCOUNT by `CA_C_ID`.
    ByCustomer of Account, CustomerAccountKey: |key, _row| CustomerAccountKey::new(key.id()),
    |from| AccountKey::new(engine::Key::ordered(from))
);
index!(
    /// HOLDING_HISTORY by `HH_T_ID`.
    ByChange of HoldingHistory, HoldingHistoryByTradeKey:
    |key, _row| HoldingHistoryByTradeKey::new(key.trade(), key.lot()), |from| from.primary()
);
index!(
    /// WATCH_LIST by `WL_C_ID`.
    ByListOwner of WatchList, CustomerWatchListKey:
    |key, row| CustomerWatchListKey::new(row.customer, engine::Key::ordered(key)), |from| WatchListKey::new(from.list())
);
index!(
    /// BROKER by `B_NAME`.
    ByBrokerName of Broker, NameKey: |key, row| NameKey { name: shown(&row.name), number: engine::Key::ordered(key) },
    |from| BrokerKey::new(from.number as u32)
);
index!(
    /// TRADE by `T_CA_ID`, in the order of time.
    ByAccount of Trade, AccountTradeKey: |key, row| AccountTradeKey::new(row.account, row.time, key.id()),
    |from| TradeKey::new(from.trade())
);
index!(
    /// TRADE by `T_S_SYMB`, in the order of time.
    BySecurity of Trade, SecurityTradeKey: |key, row| SecurityTradeKey::new(row.security, row.time, key.id()),
    |from| TradeKey::new(from.trade())
);
index!(
    /// TRADE_REQUEST by security, type and limit.
    ByLimit of TradeRequest, LimitKey:
    |key, row| LimitKey::new(row.security, TradeType::of(row.kind), row.bid_price, key.id()),
    |from| TradeKey::new(from.trade())
);
index!(
    /// TRADE_REQUEST by broker and security.
    ByRequestBroker of TradeRequest, BrokerRequestKey:
    |key, row| BrokerRequestKey::new(row.broker, row.security, key.id()), |from| TradeKey::new(from.trade())
);
index!(
    /// COMPANY by `CO_NAME`.
    ByCompanyName of Company, NameKey: |key, row| NameKey { name: shown(&row.name), number: engine::Key::ordered(key) },
    |from| CompanyKey::new(from.number as u32)
);
index!(
    /// COMPANY by `CO_IN_ID`.
    ByIndustry of Company, IndustryCompanyKey: |key, row| IndustryCompanyKey::new(row.industry, key.company()),
    |from| CompanyKey::new(from.company())
);
index!(
    /// INDUSTRY by `IN_SC_ID`.
    BySector of Industry, SectorIndustryKey:
    |key, row| SectorIndustryKey::new(row.sector, engine::Key::ordered(key) as u8),
    |from| IndustryKey::new(from.industry())
);
index!(
    /// SECTOR by `SC_NAME`.
    BySectorName of Sector, NameKey: |key, row| NameKey { name: shown(&row.name), number: engine::Key::ordered(key) },
    |from| SectorKey::new(from.number as u8)
);
index!(
    /// SECURITY by `S_CO_ID` and `S_ISSUE`.
    ByCompany of Security, IssueKey: |key, row| IssueKey::new(row.company, row.issue & 15, key.security()),
    |from| SecurityKey::new(from.security())
);
