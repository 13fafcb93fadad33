//! Keys: the columns that identify a row, packed into one or two words where they fit.
//!
//! Keys have identifiers with their offsets where there is room, and numbers elsewhere. A security is its number: the
//! text `S_SYMB` is a column of SECURITY alone. Homes are granules (see `scale`), and each key begins with the columns
//! that determine its home, so that homes ascend with keys. What belongs to no granule and is written has home 0.

use core::ops::RangeInclusive;

use engine::{Home, Key, Text};

use super::rows::{NEWS_OF_COMPANY, StatusId, TradeType};
use super::scale::{
    BROKERS, COMPANIES, CUSTOMERS, SECURITIES, account_of_slot, account_slot, customer_of_id,
    granule_of_account, granule_of_trade, number_of_trade, trade_id,
};

/// The bits of the number of a security, a company, a broker or a customer.
const NUMBER_BITS: u32 = 20;
/// The bits of the place of an account among all accounts.
const SLOT_BITS: u32 = 24;
/// The bits of a calendar time in milliseconds.
const TIME_BITS: u32 = 44;
/// The bits of the identifier of a trade.
const TRADE_BITS: u32 = 48;
/// The bits of the number of a trade in its granule, and more.
const TRADE_NUMBER_BITS: u32 = 40;
/// The bits of a lot within its position.
const LOT_MASK: u128 = (1 << (TIME_BITS + TRADE_NUMBER_BITS)) - 1;
/// The home of what belongs to no granule.
pub(super) const SHARED_HOME: u64 = 0;

/// Returns the home of the customers and accounts of a granule.
pub(super) fn home_of_granule(granule: u32) -> u64 {
    u64::from(granule)
}

/// Returns the home of a security.
pub(super) fn home_of_security(security: u32) -> u64 {
    home_of_granule(security / SECURITIES)
}

/// Returns the home of a company.
pub(super) fn home_of_company(company: u32) -> u64 {
    home_of_granule(company / COMPANIES)
}

/// Returns the `bits` of a key above the lowest `shift`.
const fn field(key: u128, shift: u32, bits: u32) -> u64 {
    (key >> shift) as u64 & ((1 << bits) - 1)
}

macro_rules! key {
    (
        $(#[$doc:meta])* $name:ident($word:ty; $($column:ident: $type:ty),*) = $packed:expr, $home:expr
        $(, suffix $suffix_bits:expr)?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) struct $name($word);

        impl $name {
            #[inline]
            pub(super) fn new($($column: $type),*) -> Self {
                Self($packed)
            }
        }

        impl Key for $name {
            $(const SUFFIX_BITS: u32 = $suffix_bits;)?

            type Ordered = $word;

            #[inline]
            fn ordered(self) -> $word {
                self.0
            }

            #[inline]
            fn from_ordered(ordered: $word) -> Self {
                Self(ordered)
            }

            #[inline]
            fn home(self) -> Home {
                $home(self)
            }
        }
    };
}

/// Returns the range of keys from the first to the last value of all columns that are not given.
macro_rules! range {
    ($(#[$doc:meta])* $key:ident::$name:ident($($column:ident: $type:ty),*) = $low:expr, $high:expr) => {
        impl $key {
            $(#[$doc])*
            #[inline]
            pub(super) fn $name($($column: $type),*) -> RangeInclusive<Self> {
                $low..=$high
            }
        }
    };
}

const EVERYWHERE: Home = Home::Everywhere;
const SHARED: Home = Home::At(SHARED_HOME);

// Customers.

key!(
    /// The key (`C_ID`): CUSTOMER.
    CustomerKey(u64; id: u64) = id, |key: Self| at_customer(key.0)
);
key!(
    /// The key (`CA_ID`): CUSTOMER_ACCOUNT. Also gives the home of a row of the analytic history, which has no key.
    AccountKey(u64; id: u64) = id, |key: Self| at_account(key.0)
);
key!(
    /// The secondary key (`CA_C_ID`, `CA_ID`). Identifiers of accounts contain the customer.
    CustomerAccountKey(u64; account: u64) = account, |key: Self| at_account(key.0)
);
key!(
    /// The key (`CX_C_ID`, `CX_TX_ID`): CUSTOMER_TAXRATE, the customer first.
    CustomerTaxrateKey(u64; customer: u64, rate: u16) = customer << 10 | rate as u64,
    |key: Self| CustomerKey::new(key.0 >> 10).home()
);
range!(
    /// All rates of a customer.
    CustomerTaxrateKey::of_customer(customer: u64) = Self::new(customer, 0), Self::new(customer, 0x3ff)
);
key!(
    /// The key (`WL_ID`): WATCH_LIST. A list has the identifier of its customer.
    WatchListKey(u64; id: u64) = id, |key: Self| CustomerKey::new(key.0).home()
);
key!(
    /// The secondary key (`WL_C_ID`, `WL_ID`): watch lists by customer.
    CustomerWatchListKey(u128; customer: u64, list: u64) = (customer as u128) << 64 | list as u128,
    |key: Self| CustomerKey::new((key.0 >> 64) as u64).home()
);
range!(
    /// All watch lists of a customer.
    CustomerWatchListKey::of_customer(customer: u64) = Self::new(customer, 0), Self::new(customer, u64::MAX)
);
key!(
    /// The key (`WI_WL_ID`, `WI_S_SYMB`): WATCH_ITEM.
    WatchItemKey(u64; list: u64, security: u32) = list << NUMBER_BITS | security as u64,
    |key: Self| CustomerKey::new(key.0 >> NUMBER_BITS).home()
);
range!(
    /// All items of a watch list.
    WatchItemKey::of_list(list: u64) = Self::new(list, 0), Self::new(list, (1 << NUMBER_BITS) - 1)
);
key!(
    /// The key (`HS_CA_ID`, `HS_S_SYMB`): HOLDING_SUMMARY.
    SummaryKey(u64; account: u64, security: u32) = account << NUMBER_BITS | security as u64,
    |key: Self| at_account(key.account())
);
range!(
    /// All positions of accounts.
    SummaryKey::of_accounts(first: u64, last: u64) = Self::new(first, 0), Self::new(last, (1 << NUMBER_BITS) - 1)
);
key!(
    /// The key (`H_CA_ID`, `H_S_SYMB`, `H_DTS`, `H_T_ID`): HOLDING in the order in which lots are closed. The trade
    /// alone identifies a lot, but is never asked for.
    HoldingKey(u128; account: u64, security: u32, time: u64, trade: u64) =
        ((account_slot(account) as u128) << NUMBER_BITS | security as u128) << (TIME_BITS + TRADE_NUMBER_BITS)
            | (time as u128 & ((1 << TIME_BITS) - 1)) << TRADE_NUMBER_BITS
            | number_of_trade(trade) as u128,
    |key: Self| at_account(key.account())
);
range!(
    /// All lots of a position.
    HoldingKey::of_position(account: u64, security: u32) =
        Self(Self::new(account, security, 0, 0).0 & !LOT_MASK), Self(Self::new(account, security, 0, 0).0 | LOT_MASK)
);
range!(
    /// All lots of accounts.
    HoldingKey::of_accounts(first: u64, last: u64) =
        *Self::of_position(first, 0).start(), *Self::of_position(last, (1 << NUMBER_BITS) - 1).end()
);
key!(
    /// The key (`HH_H_T_ID`, `HH_T_ID`): HOLDING_HISTORY.
    HoldingHistoryKey(u128; lot: u64, trade: u64) = (lot as u128) << 64 | trade as u128,
    |key: Self| at_trade(key.lot())
);
range!(
    /// All changes of a lot.
    HoldingHistoryKey::of_lot(lot: u64) = Self::new(lot, 0), Self::new(lot, u64::MAX)
);
key!(
    /// The secondary key (`HH_T_ID`, `HH_H_T_ID`): changes of lots by the trade that made them.
    HoldingHistoryByTradeKey(u128; trade: u64, lot: u64) = (trade as u128) << 64 | lot as u128,
    |key: Self| at_trade((key.0 >> 64) as u64)
);
range!(
    /// All changes that a trade made.
    HoldingHistoryByTradeKey::of_trade(trade: u64) = Self::new(trade, 0), Self::new(trade, u64::MAX)
);

// Brokers and trades.

key!(
    /// The number of `B_ID`: BROKER.
    BrokerKey(u64; broker: u32) = broker as u64,
    |key: Self| Home::At(home_of_granule(key.0 as u32 / BROKERS))
);
key!(
    /// The key (`T_ID`): TRADE, SETTLEMENT, CASH_TRANSACTION, TRADE_REQUEST.
    TradeKey(u64; id: u64) = id, |key: Self| at_trade(key.0)
);
key!(
    /// The secondary key (`T_CA_ID`, `T_DTS`, `T_ID`): trades by account.
    AccountTradeKey(u128; account: u64, time: u64, trade: u64) =
        (account_slot(account) as u128) << (TIME_BITS + TRADE_BITS)
            | (time as u128 & ((1 << TIME_BITS) - 1)) << TRADE_BITS
            | trade as u128 & ((1 << TRADE_BITS) - 1),
    |key: Self| at_account(key.account())
);
range!(
    /// The trades of an account in a period, both ends included.
    AccountTradeKey::of_account(account: u64, from: u64, to: u64) =
        Self::new(account, from, 0), Self::new(account, to, u64::MAX)
);
key!(
    /// The secondary key (`T_S_SYMB`, `T_DTS`, `T_ID`): trades by security.
    SecurityTradeKey(u128; security: u32, time: u64, trade: u64) =
        (security as u128) << (TIME_BITS + TRADE_BITS)
            | (time as u128 & ((1 << TIME_BITS) - 1)) << TRADE_BITS
            | trade as u128 & ((1 << TRADE_BITS) - 1),
    |key: Self| Home::At(home_of_security(field(key.0, TIME_BITS + TRADE_BITS, NUMBER_BITS) as u32))
);
range!(
    /// The trades of a security in a period, both ends included.
    SecurityTradeKey::of_security(security: u32, from: u64, to: u64) =
        Self::new(security, from, 0), Self::new(security, to, u64::MAX)
);
key!(
    /// The key (`TH_T_ID`, `TH_ST_ID`): TRADE_HISTORY. The states of a trade are in the order in which it has them.
    TradeHistoryKey(u64; trade: u64, status: StatusId) = trade << 3 | status as u64,
    |key: Self| at_trade(key.0 >> 3)
);
range!(
    /// All states that a trade had.
    TradeHistoryKey::of_trade(trade: u64) = Self(trade << 3), Self(trade << 3 | 7)
);
key!(
    /// The secondary key (`TR_S_SYMB`, `TR_TT_ID`, `TR_BID_PRICE`, `TR_T_ID`): pending orders by limit.
    LimitKey(u128; security: u32, kind: TradeType, limit: u32, trade: u64) =
        ((security as u128) << 3 | kind as u128) << (32 + TRADE_BITS)
            | (limit as u128) << TRADE_BITS
            | trade as u128 & ((1 << TRADE_BITS) - 1),
    |key: Self| Home::At(home_of_security(field(key.0, 35 + TRADE_BITS, NUMBER_BITS) as u32))
);
range!(
    /// The pending orders of a type for a security with limits in a range, both ends included.
    LimitKey::between(security: u32, kind: TradeType, low: u32, high: u32) =
        Self::new(security, kind, low, 0), Self::new(security, kind, high, u64::MAX)
);
key!(
    /// The secondary key (`TR_B_ID`, `TR_S_SYMB`, `TR_T_ID`): pending orders by broker.
    BrokerRequestKey(u128; broker: u32, security: u32, trade: u64) =
        ((broker as u128) << NUMBER_BITS | security as u128) << TRADE_BITS
            | trade as u128 & ((1 << TRADE_BITS) - 1),
    |key: Self| BrokerKey::new(field(key.0, NUMBER_BITS + TRADE_BITS, NUMBER_BITS) as u32).home()
);
range!(
    /// All pending orders of a broker.
    BrokerRequestKey::of_broker(broker: u32) =
        Self::new(broker, 0, 0), Self::new(broker, (1 << NUMBER_BITS) - 1, u64::MAX)
);
key!(
    /// The key (`CH_TT_ID`, `CH_C_TIER`): CHARGE.
    ChargeKey(u64; kind: TradeType, tier: u8) = (kind as u64) << 8 | tier as u64, |_| EVERYWHERE
);
key!(
    /// The key (`CR_C_TIER`, `CR_TT_ID`, `CR_EX_ID`, `CR_FROM_QTY`): COMMISSION_RATE.
    CommissionKey(u64; tier: u8, kind: TradeType, exchange: u8, from: u32) =
        ((tier as u64) << 16 | (kind as u64) << 8 | exchange as u64) << 32 | from as u64,
    |_| EVERYWHERE
);
range!(
    /// The bands that begin at a quantity or below.
    CommissionKey::up_to(tier: u8, kind: TradeType, exchange: u8, quantity: u32) =
        Self::new(tier, kind, exchange, 0), Self::new(tier, kind, exchange, quantity)
);

// The market.

key!(
    /// The number of `S_SYMB`: SECURITY, LAST_TRADE.
    SecurityKey(u64; security: u32) = security as u64, |key: Self| Home::At(home_of_security(key.0 as u32))
);
key!(
    /// The secondary key (`S_CO_ID`, `S_ISSUE`), with the security: securities by company.
    IssueKey(u64; company: u32, issue: u8, security: u32) =
        ((company as u64) << 4 | issue as u64) << NUMBER_BITS | security as u64,
    |key: Self| Home::At(home_of_company((key.0 >> (4 + NUMBER_BITS)) as u32))
);
range!(
    /// All securities of a company.
    IssueKey::of_company(company: u32) = Self::new(company, 0, 0), Self::new(company, 15, (1 << NUMBER_BITS) - 1)
);
range!(
    /// One issue of a company.
    IssueKey::of_issue(company: u32, issue: u8) =
        Self::new(company, issue, 0), Self::new(company, issue, (1 << NUMBER_BITS) - 1)
);
key!(
    /// The number of `CO_ID`: COMPANY.
    CompanyKey(u64; company: u32) = company as u64, |key: Self| Home::At(home_of_company(key.0 as u32))
);
key!(
    /// The secondary key (`CO_IN_ID`, `CO_ID`): companies by industry. An industry has companies of all granules, so
    /// that its companies have one home in this index.
    IndustryCompanyKey(u64; industry: u8, company: u32) = (industry as u64) << NUMBER_BITS | company as u64, |_| SHARED
);
range!(
    /// The companies of an industry within a range of numbers, both ends included.
    IndustryCompanyKey::of_industry(industry: u8, first: u32, last: u32) =
        Self::new(industry, first), Self::new(industry, last)
);
key!(
    /// The key (`CP_CO_ID`, `CP_COMP_CO_ID`, `CP_IN_ID`): COMPANY_COMPETITOR.
    CompetitorKey(u64; company: u32, competitor: u32, industry: u8) =
        ((company as u64) << NUMBER_BITS | competitor as u64) << 8 | industry as u64,
    |key: Self| Home::At(home_of_company((key.0 >> (NUMBER_BITS + 8)) as u32))
);
range!(
    /// All competitors of a company.
    CompetitorKey::of_company(company: u32) =
        Self::new(company, 0, 0), Self::new(company, (1 << NUMBER_BITS) - 1, u8::MAX)
);
key!(
    /// The key (`DM_S_SYMB`, `DM_DATE`): DAILY_MARKET, the security first.
    DailyMarketKey(u64; security: u32, date: u32) = (security as u64) << 32 | date as u64,
    |key: Self| Home::At(home_of_security((key.0 >> 32) as u32))
);
range!(
    /// The days of a security from a date on.
    DailyMarketKey::from_date(security: u32, date: u32) = Self::new(security, date), Self::new(security, u32::MAX)
);
key!(
    /// The key (`EX_ID`), with exchanges numbered from 0: the columns of EXCHANGE that no transaction writes.
    ExchangeKey(u64; exchange: u8) = exchange as u64, |_| EVERYWHERE
);
key!(
    /// The same key: the column of EXCHANGE that Data-Maintenance writes.
    ExchangeDescriptionKey(u64; exchange: u8) = exchange as u64, |_| SHARED
);
key!(
    /// The key (`FI_CO_ID`, `FI_YEAR`, `FI_QTR`): FINANCIAL.
    FinancialKey(u64; company: u32, year: u16, quarter: u8) =
        ((company as u64) << 16 | year as u64) << 8 | quarter as u64,
    |key: Self| Home::At(home_of_company((key.0 >> 24) as u32))
);
range!(
    /// All quarters of a company.
    FinancialKey::of_company(company: u32) = Self::new(company, 0, 0), Self::new(company, u16::MAX, u8::MAX)
);
key!(
    /// The key (`IN_ID`), with industries numbered from 0: INDUSTRY.
    IndustryKey(u64; industry: u8) = industry as u64, |_| EVERYWHERE
);
key!(
    /// The secondary key (`IN_SC_ID`, `IN_ID`): industries by sector.
    SectorIndustryKey(u64; sector: u8, industry: u8) = (sector as u64) << 8 | industry as u64, |_| EVERYWHERE
);
key!(
    /// The number of `NI_ID`: NEWS_ITEM. The items of a company have neighbouring numbers.
    NewsKey(u64; item: u32) = item as u64, |key: Self| Home::At(home_of_company(key.0 as u32 / NEWS_OF_COMPANY))
);
key!(
    /// The key (`NX_CO_ID`, `NX_NI_ID`): NEWS_XREF, the company first.
    CompanyNewsKey(u64; company: u32, item: u32) = (company as u64) << 32 | item as u64,
    |key: Self| Home::At(home_of_company((key.0 >> 32) as u32))
);
range!(
    /// All news of a company.
    CompanyNewsKey::of_company(company: u32) = Self::new(company, 0), Self::new(company, u32::MAX)
);
key!(
    /// The key (`SC_ID`), with sectors numbered from 0: SECTOR.
    SectorKey(u64; sector: u8) = sector as u64, |_| EVERYWHERE
);

// Dimensions.

key!(
    /// The number of `AD_ID`: ADDRESS.
    AddressKey(u64; address: u32) = address as u64, |_| SHARED
);
key!(
    /// The key (`ST_ID`): STATUS_TYPE.
    StatusKey(u64; status: StatusId) = status as u64, |_| EVERYWHERE
);
key!(
    /// The key (`TT_ID`): TRADE_TYPE.
    TradeTypeKey(u64; kind: TradeType) = kind as u64, |_| EVERYWHERE
);
key!(
    /// The key (`TX_ID`), with rates numbered from 0: the columns of TAXRATE that no transaction writes.
    TaxrateKey(u64; rate: u16) = rate as u64, |_| EVERYWHERE
);
key!(
    /// The same key: the column of TAXRATE that Data-Maintenance writes.
    TaxrateNameKey(u64; rate: u16) = rate as u64, |_| SHARED
);
key!(
    /// The key (`ZC_CODE`), with codes numbered from 0: ZIP_CODE.
    ZipKey(u64; code: u32) = code as u64, |_| EVERYWHERE
);

fn at_customer(id: u64) -> Home {
    Home::At(home_of_granule(customer_of_id(id) / CUSTOMERS))
}

fn at_account(account: u64) -> Home {
    Home::At(home_of_granule(granule_of_account(account)))
}

fn at_trade(trade: u64) -> Home {
    Home::At(home_of_granule(granule_of_trade(trade)))
}

impl AccountKey {
    /// Returns `CA_ID`.
    pub(super) fn id(self) -> u64 {
        self.0
    }
}

impl CustomerTaxrateKey {
    /// Returns the number of the rate.
    pub(super) fn rate(self) -> u16 {
        self.0 as u16 & 0x3ff
    }
}

impl CustomerWatchListKey {
    /// Returns `WL_ID`.
    pub(super) fn list(self) -> u64 {
        self.0 as u64
    }
}

impl WatchItemKey {
    /// Returns the security.
    pub(super) fn security(self) -> u32 {
        field(u128::from(self.0), 0, NUMBER_BITS) as u32
    }
}

impl SummaryKey {
    /// Returns `HS_CA_ID`.
    pub(super) fn account(self) -> u64 {
        self.0 >> NUMBER_BITS
    }

    /// Returns the security.
    pub(super) fn security(self) -> u32 {
        field(u128::from(self.0), 0, NUMBER_BITS) as u32
    }
}

impl HoldingKey {
    /// Returns `H_CA_ID`.
    pub(super) fn account(self) -> u64 {
        account_of_slot(field(self.0, NUMBER_BITS + TIME_BITS + TRADE_NUMBER_BITS, SLOT_BITS))
    }

    /// Returns the security.
    pub(super) fn security(self) -> u32 {
        field(self.0, TIME_BITS + TRADE_NUMBER_BITS, NUMBER_BITS) as u32
    }

    /// Returns `H_DTS`.
    pub(super) fn time(self) -> u64 {
        field(self.0, TRADE_NUMBER_BITS, TIME_BITS)
    }

    /// Returns `H_T_ID`.
    pub(super) fn trade(self) -> u64 {
        trade_id(granule_of_account(self.account()), field(self.0, 0, TRADE_NUMBER_BITS))
    }
}

impl HoldingHistoryKey {
    /// Returns `HH_H_T_ID`.
    pub(super) fn lot(self) -> u64 {
        (self.0 >> 64) as u64
    }

    /// Returns `HH_T_ID`.
    pub(super) fn trade(self) -> u64 {
        self.0 as u64
    }
}

impl HoldingHistoryByTradeKey {
    /// Returns the primary key.
    pub(super) fn primary(self) -> HoldingHistoryKey {
        HoldingHistoryKey::new(self.0 as u64, (self.0 >> 64) as u64)
    }
}

impl TradeKey {
    /// Returns `T_ID`.
    pub(super) fn id(self) -> u64 {
        self.0
    }
}

impl AccountTradeKey {
    /// Returns `T_CA_ID`.
    pub(super) fn account(self) -> u64 {
        account_of_slot(field(self.0, TIME_BITS + TRADE_BITS, SLOT_BITS))
    }

    /// Returns `T_ID`.
    pub(super) fn trade(self) -> u64 {
        field(self.0, 0, TRADE_BITS)
    }
}

impl SecurityTradeKey {
    /// Returns `T_ID`.
    pub(super) fn trade(self) -> u64 {
        field(self.0, 0, TRADE_BITS)
    }
}

impl TradeHistoryKey {
    /// Returns `TH_T_ID`.
    pub(super) fn trade(self) -> u64 {
        self.0 >> 3
    }

    /// Returns `TH_ST_ID`.
    pub(super) fn status(self) -> StatusId {
        StatusId::of(self.0 as u8 & 7)
    }
}

impl LimitKey {
    /// Returns `TR_T_ID`.
    pub(super) fn trade(self) -> u64 {
        field(self.0, 0, TRADE_BITS)
    }
}

impl BrokerRequestKey {
    /// Returns `TR_T_ID`.
    pub(super) fn trade(self) -> u64 {
        field(self.0, 0, TRADE_BITS)
    }
}

impl IssueKey {
    /// Returns the security.
    pub(super) fn security(self) -> u32 {
        field(u128::from(self.0), 0, NUMBER_BITS) as u32
    }
}

impl SecurityKey {
    /// Returns the security.
    pub(super) fn security(self) -> u32 {
        self.0 as u32
    }
}

impl CompanyKey {
    /// Returns the company.
    pub(super) fn company(self) -> u32 {
        self.0 as u32
    }
}

impl IndustryCompanyKey {
    /// Returns the company.
    pub(super) fn company(self) -> u32 {
        field(u128::from(self.0), 0, NUMBER_BITS) as u32
    }
}

impl CompetitorKey {
    /// Returns the competitor.
    pub(super) fn competitor(self) -> u32 {
        field(u128::from(self.0), 8, NUMBER_BITS) as u32
    }

    /// Returns the industry.
    pub(super) fn industry(self) -> u8 {
        self.0 as u8
    }
}

impl DailyMarketKey {
    /// Returns `DM_DATE`.
    pub(super) fn date(self) -> u32 {
        self.0 as u32
    }
}

impl CompanyNewsKey {
    /// Returns the number of the item.
    pub(super) fn item(self) -> u32 {
        self.0 as u32
    }
}

impl SectorIndustryKey {
    /// Returns the industry.
    pub(super) fn industry(self) -> u8 {
        self.0 as u8
    }
}

/// The key (`AP_CA_ID`, `AP_TAX_ID`): ACCOUNT_PERMISSION.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PermissionKey {
    pub(super) account: u64,
    pub(super) tax_id: Text<20>,
}

impl PermissionKey {
    /// Returns the range of keys of an account.
    pub(super) fn of_account(account: u64) -> RangeInclusive<Self> {
        Self { account, tax_id: Text::default() }..=Self { account, tax_id: Text::new(&[0xff; 20]) }
    }
}

impl Key for PermissionKey {
    type Ordered = [u64; 6];

    #[inline]
    fn ordered(self) -> [u64; 6] {
        let [a, b, c, ..] = words::<20>(self.tax_id);
        [self.account, a, b, c, 0, 0]
    }

    #[inline]
    fn from_ordered([account, a, b, c, ..]: [u64; 6]) -> Self {
        Self { account, tax_id: text([a, b, c, 0, 0]) }
    }

    #[inline]
    fn home(self) -> Home {
        at_account(self.account)
    }
}

/// A secondary key by name: the name, and the number of the row. It is for tables whose rows are found by name or by
/// tax identifier, and `NameKey` itself says nothing of their homes: the index of all names has one home.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NameKey {
    pub(super) name: Text<40>,
    pub(super) number: u64,
}

impl NameKey {
    /// Returns the range of keys with a name.
    pub(super) fn named(name: Text<40>) -> RangeInclusive<Self> {
        Self { name, number: 0 }..=Self { name, number: u64::MAX }
    }
}

impl Key for NameKey {
    type Ordered = [u64; 6];

    #[inline]
    fn ordered(self) -> [u64; 6] {
        let [a, b, c, d, e] = words::<40>(self.name);
        [a, b, c, d, e, self.number]
    }

    #[inline]
    fn from_ordered([a, b, c, d, e, number]: [u64; 6]) -> Self {
        Self { name: text([a, b, c, d, e]), number }
    }

    #[inline]
    fn home(self) -> Home {
        SHARED
    }
}

/// Converts a text to integers that compare like the text.
fn words<const N: usize>(text: Text<N>) -> [u64; 5] {
    let mut bytes = [0; 40];
    bytes[..N].copy_from_slice(text.padded());
    core::array::from_fn(|i| u64::from_be_bytes(core::array::from_fn(|byte| bytes[i * 8 + byte])))
}

fn text<const N: usize>(words: [u64; 5]) -> Text<N> {
    let bytes: [u8; 40] = core::array::from_fn(|i| words[i / 8].to_be_bytes()[i % 8]);
    Text::new(&bytes[..N])
}

#[cfg(test)]
mod tests {
    use super::super::scale::{self, account_id, customer_id};
    use super::*;

    const LAST: u32 = scale::GRANULES_MAX * scale::CUSTOMERS - 1;

    #[test]
    fn keys_come_back_from_their_integers() {
        let account = account_id(LAST, 9);
        let trade = trade_id(granule_of_account(account), (1 << 34) - 1);
        let time = (1 << TIME_BITS) - 1;
        let security = (1 << NUMBER_BITS) - 1;
        let summary = SummaryKey::from_ordered(SummaryKey::new(account, security).ordered());
        assert_eq!((summary.account(), summary.security()), (account, security));
        let holding = HoldingKey::from_ordered(HoldingKey::new(account, security, time, trade).ordered());
        assert_eq!(
            (holding.account(), holding.security(), holding.time(), holding.trade()),
            (account, security, time, trade)
        );
        let by_account = AccountTradeKey::new(account, time, trade);
        assert_eq!((by_account.account(), by_account.trade()), (account, trade));
        assert_eq!(SecurityTradeKey::new(security, time, trade).trade(), trade);
        assert_eq!(LimitKey::new(security, TradeType::LimitBuy, u32::MAX, trade).trade(), trade);
        assert_eq!(BrokerRequestKey::new(security, 77, trade).trade(), trade);
        let history = TradeHistoryKey::new(trade, StatusId::Canceled);
        assert_eq!((history.trade(), history.status()), (trade, StatusId::Canceled));
        let permission = PermissionKey { account, tax_id: Text::new(b"12345678901234567890") };
        assert_eq!(PermissionKey::from_ordered(permission.ordered()), permission);
        let name = NameKey { name: Text::new(&[b'x'; 40]), number: u64::MAX };
        assert_eq!(NameKey::from_ordered(name.ordered()), name);
    }

    #[test]
    fn the_granule_of_a_customer_is_the_home_of_all_that_is_his() {
        let (id, account) = (customer_id(401), account_id(401, 2));
        let trade = trade_id(2, 5);
        let homes = [
            CustomerKey::new(id).home(),
            AccountKey::new(account).home(),
            CustomerTaxrateKey::new(id, 319).home(),
            WatchItemKey::new(id, 1).home(),
            SummaryKey::new(account, 1).home(),
            HoldingKey::new(account, 1, 1, trade).home(),
            HoldingHistoryKey::new(trade, trade).home(),
            TradeKey::new(trade).home(),
            AccountTradeKey::new(account, 1, trade).home(),
            TradeHistoryKey::new(trade, StatusId::Completed).home(),
            BrokerKey::new(5).home(),
            BrokerRequestKey::new(5, 1, trade).home(),
            SecurityKey::new(300).home(),
            SecurityTradeKey::new(300, 1, trade).home(),
            LimitKey::new(300, TradeType::LimitBuy, 1, trade).home(),
            CompanyKey::new(299).home(),
            FinancialKey::new(299, 2_000, 1).home(),
        ];
        assert_eq!(homes, [Home::At(2); 17]);
    }

    #[test]
    fn the_ends_of_a_range_have_the_homes_of_what_is_in_it() {
        fn homes<K: Key>(range: &RangeInclusive<K>) -> [Home; 2] {
            [range.start().home(), range.end().home()]
        }
        let (account, trade) = (account_id(401, 2), trade_id(2, 5));
        let homes = [
            homes(&AccountTradeKey::of_account(account, 0, u64::MAX)),
            homes(&SecurityTradeKey::of_security(300, 0, u64::MAX)),
            homes(&HoldingKey::of_position(account, 5)),
            homes(&SummaryKey::of_accounts(account, account)),
            homes(&HoldingHistoryKey::of_lot(trade)),
            homes(&HoldingHistoryByTradeKey::of_trade(trade)),
            homes(&TradeHistoryKey::of_trade(trade)),
            homes(&LimitKey::between(300, TradeType::LimitBuy, 0, u32::MAX)),
            homes(&BrokerRequestKey::of_broker(5)),
            homes(&CustomerTaxrateKey::of_customer(customer_id(401))),
            homes(&CustomerWatchListKey::of_customer(customer_id(401))),
            homes(&WatchItemKey::of_list(customer_id(401))),
            homes(&PermissionKey::of_account(account)),
            homes(&IssueKey::of_company(299)),
            homes(&CompetitorKey::of_company(299)),
            homes(&FinancialKey::of_company(299)),
            homes(&CompanyNewsKey::of_company(299)),
            homes(&DailyMarketKey::from_date(300, 0)),
        ];
        assert_eq!(homes, [[Home::At(2); 2]; 18]);
    }

    fn holds<K: Key>(range: &RangeInclusive<K>, key: K) -> bool {
        (range.start().ordered()..=range.end().ordered()).contains(&key.ordered())
    }

    #[test]
    fn ranges_have_what_they_name() {
        let (account, trade) = (account_id(7, 0), trade_id(0, 9));
        let position = HoldingKey::of_position(account, 5);
        assert!(holds(&position, HoldingKey::new(account, 5, 1 << 43, trade)));
        assert!(!holds(&position, HoldingKey::new(account, 6, 0, trade)));
        assert!(!holds(&position, HoldingKey::new(account, 4, 1 << 43, trade)));
        let day = AccountTradeKey::of_account(account, 10, 20);
        assert!(holds(&day, AccountTradeKey::new(account, 20, trade)));
        assert!(!holds(&day, AccountTradeKey::new(account, 21, trade)));
        let limits = LimitKey::between(5, TradeType::LimitSell, 0, 2_500);
        assert!(holds(&limits, LimitKey::new(5, TradeType::LimitSell, 2_500, trade)));
        assert!(!holds(&limits, LimitKey::new(5, TradeType::LimitSell, 2_501, trade)));
        assert!(!holds(&limits, LimitKey::new(5, TradeType::LimitBuy, 2_000, trade)));
        let named = NameKey::named(Text::new(b"ABC"));
        assert!(holds(&named, NameKey { name: Text::new(b"ABC"), number: 7 }));
        assert!(!holds(&named, NameKey { name: Text::new(b"ABCD"), number: 7 }));
    }
}
