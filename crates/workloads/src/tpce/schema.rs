//! The schema: the tables, their kinds of lookup, their column groups and their secondary indexes.
//!
//! Tables that are read by single keys are hashed. Ordered are those of which a transaction reads the rows of an
//! account, a customer, a trade, a security or a company.

use engine::{Index, Lookup, Schema, Table};

use super::rows::{
    Account, AccountBalance, Address, AssetsHistory, Broker, BrokerTotals, ByAccount, ByBrokerName, ByChange,
    ByCompany, ByCompanyName, ByCustomer, ByIndustry, ByLimit, ByListOwner, ByRequestBroker, BySector,
    BySectorName, BySecurity, ByTaxId, CashTransaction, Charge, CommissionRate, Company, CompanyNews,
    CompanyRating, Competitor, Customer, CustomerEmail, CustomerTaxrate, DailyMarket, EXCHANGES, Exchange,
    ExchangeDescription, Financial, Holding, HoldingHistory, INDUSTRIES, Industry, LastTrade,
    NEWS_OF_COMPANY, News, NewsBody, Permission, SECTORS, Sector, Security, SecurityExchangeDate, Settlement,
    StatusType, Summary, TAXRATES, Taxrate, TaxrateName, Trade, TradeExecutor, TradeHistory, TradeRequest,
    TradeTypeRow, WatchItem, WatchList, ZIP_CODES, ZipCode,
};
use super::settings::Settings;
use super::time::MARKET_DAYS;

/// The trades that a run may add before the hash indexes of TRADE and of the tables beside it have to grow.
const TRADES_ADDED: usize = 1 << 20;
/// The mean number of accounts of a customer.
const ACCOUNTS: usize = 5;
/// The orders for which TRADE_REQUEST has room from the beginning.
const REQUESTS: usize = 1 << 12;

/// The declared tables, with one handle for each column group, and the secondary indexes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables {
    pub(super) permission: Table<Permission>,
    pub(super) customer: Table<Customer>,
    pub(super) customer_email: Table<CustomerEmail>,
    pub(super) customer_by_tax_id: Index<Customer, ByTaxId>,
    pub(super) account_balance: Table<AccountBalance>,
    pub(super) account: Table<Account>,
    pub(super) account_by_customer: Index<Account, ByCustomer>,
    pub(super) customer_taxrate: Table<CustomerTaxrate>,
    pub(super) holding: Table<Holding>,
    pub(super) holding_history: Table<HoldingHistory>,
    pub(super) holding_history_by_trade: Index<HoldingHistory, ByChange>,
    pub(super) summary: Table<Summary>,
    pub(super) watch_item: Table<WatchItem>,
    pub(super) watch_list: Table<WatchList>,
    pub(super) watch_list_by_customer: Index<WatchList, ByListOwner>,
    pub(super) broker_totals: Table<BrokerTotals>,
    pub(super) broker: Table<Broker>,
    pub(super) broker_by_name: Index<Broker, ByBrokerName>,
    pub(super) cash_transaction: Table<CashTransaction>,
    pub(super) charge: Table<Charge>,
    pub(super) commission_rate: Table<CommissionRate>,
    pub(super) settlement: Table<Settlement>,
    pub(super) trade: Table<Trade>,
    pub(super) trade_executor: Table<TradeExecutor>,
    pub(super) trade_by_account: Index<Trade, ByAccount>,
    pub(super) trade_by_security: Index<Trade, BySecurity>,
    pub(super) trade_history: Table<TradeHistory>,
    pub(super) trade_request: Table<TradeRequest>,
    pub(super) request_by_limit: Index<TradeRequest, ByLimit>,
    pub(super) request_by_broker: Index<TradeRequest, ByRequestBroker>,
    pub(super) trade_type: Table<TradeTypeRow>,
    pub(super) company: Table<Company>,
    pub(super) company_rating: Table<CompanyRating>,
    pub(super) company_by_name: Index<Company, ByCompanyName>,
    pub(super) company_by_industry: Index<Company, ByIndustry>,
    pub(super) competitor: Table<Competitor>,
    pub(super) daily_market: Table<DailyMarket>,
    pub(super) exchange: Table<Exchange>,
    pub(super) exchange_description: Table<ExchangeDescription>,
    pub(super) financial: Table<Financial>,
    pub(super) industry: Table<Industry>,
    pub(super) industry_by_sector: Index<Industry, BySector>,
    pub(super) last_trade: Table<LastTrade>,
    pub(super) news: Table<News>,
    pub(super) news_body: Table<NewsBody>,
    pub(super) company_news: Table<CompanyNews>,
    pub(super) sector: Table<Sector>,
    pub(super) sector_by_name: Index<Sector, BySectorName>,
    pub(super) security: Table<Security>,
    pub(super) security_exchange_date: Table<SecurityExchangeDate>,
    pub(super) security_by_company: Index<Security, ByCompany>,
    pub(super) address: Table<Address>,
    pub(super) status_type: Table<StatusType>,
    pub(super) taxrate: Table<Taxrate>,
    pub(super) taxrate_name: Table<TaxrateName>,
    pub(super) zip_code: Table<ZipCode>,
    pub(super) assets_history: Table<AssetsHistory>,
}

impl Tables {
    /// Declares the tables, sized for the loaded rows.
    #[allow(clippy::too_many_lines, reason = "a table after the other")]
    pub(super) fn declare(settings: &Settings, schema: &mut Schema) -> Self {
        let customers = settings.scale.customers as usize;
        schema.set_homes(settings.scale.granules() as usize);
        let accounts = customers * ACCOUNTS;
        let companies = settings.scale.companies() as usize;
        let securities = settings.scale.securities() as usize;
        let brokers = settings.scale.brokers() as usize;
        let loaded = settings.initial_trades() as usize;
        // A hash index that grows disturbs the running transactions, so room is reserved in advance. The room is
        // limited in proportion to the loaded rows, which keeps small databases small.
        let trades = loaded + TRADES_ADDED.min(4 * loaded);

        let permission = schema.table("account_permission", Lookup::Ordered, accounts * 3 / 2).group();
        let mut table = schema.table("customer", Lookup::Point, customers);
        let (customer, customer_email) = (table.constant_group(), table.group());
        let customer_by_tax_id = table.index(customer, "customer_by_tax_id");
        let mut table = schema.table("customer_account", Lookup::Ordered, accounts);
        let (account_balance, account) = (table.group(), table.constant_group());
        let account_by_customer = table.index(account, "account_by_customer");
        let customer_taxrate = schema.table("customer_taxrate", Lookup::Ordered, customers * 2).group();
        let holding = schema.table("holding", Lookup::Ordered, loaded / 4).group();
        let mut table = schema.table("holding_history", Lookup::Ordered, loaded * 4 / 3);
        let holding_history = table.group();
        let holding_history_by_trade = table.index(holding_history, "holding_history_by_trade");
        let summary = schema.table("holding_summary", Lookup::Ordered, accounts * 10).group();
        let watch_item = schema.table("watch_item", Lookup::Ordered, customers * 100).group();
        let mut table = schema.table("watch_list", Lookup::Point, customers);
        let watch_list = table.group();
        let watch_list_by_customer = table.index(watch_list, "watch_list_by_customer");

        let mut table = schema.table("broker", Lookup::Point, brokers);
        let (broker_totals, broker) = (table.group(), table.constant_group());
        let broker_by_name = table.index(broker, "broker_by_name");
        let cash_transaction = schema.table("cash_transaction", Lookup::Point, trades).group();
        let charge = schema.table("charge", Lookup::Point, 15).group();
        let commission_rate = schema.table("commission_rate", Lookup::Ordered, 240).group();
        let settlement = schema.table("settlement", Lookup::Point, trades).group();
        let mut table = schema.table("trade", Lookup::Point, trades);
        let (trade, trade_executor) = (table.group(), table.group());
        let trade_by_account = table.index(trade, "trade_by_account");
        let trade_by_security = table.index(trade, "trade_by_security");
        let trade_history = schema.table("trade_history", Lookup::Ordered, loaded * 12 / 5).group();
        let mut table = schema.table("trade_request", Lookup::Point, REQUESTS);
        let trade_request = table.group();
        let request_by_limit = table.index(trade_request, "request_by_limit");
        let request_by_broker = table.index(trade_request, "request_by_broker");
        let trade_type = schema.table("trade_type", Lookup::Point, 5).group();

        let mut table = schema.table("company", Lookup::Point, companies);
        let (company, company_rating) = (table.constant_group(), table.group());
        let company_by_name = table.index(company, "company_by_name");
        let company_by_industry = table.index(company, "company_by_industry");
        let competitor = schema.table("company_competitor", Lookup::Ordered, companies * 3).group();
        let market_days = securities * MARKET_DAYS as usize;
        let daily_market = schema.table("daily_market", Lookup::Ordered, market_days).group();
        let exchange = schema.table("exchange", Lookup::Point, usize::from(EXCHANGES)).group();
        let exchange_description =
            schema.table("exchange_description", Lookup::Point, usize::from(EXCHANGES)).group();
        let financial = schema.table("financial", Lookup::Ordered, companies * 20).group();
        let mut table = schema.table("industry", Lookup::Point, usize::from(INDUSTRIES));
        let industry = table.group();
        let industry_by_sector = table.index(industry, "industry_by_sector");
        let last_trade = schema.table("last_trade", Lookup::Point, securities).group();
        let mut table = schema.table("news_item", Lookup::Point, companies * NEWS_OF_COMPANY as usize);
        let (news, news_body) = (table.group(), table.constant_group());
        let company_news =
            schema.table("news_xref", Lookup::Ordered, companies * NEWS_OF_COMPANY as usize).group();
        let mut table = schema.table("sector", Lookup::Point, usize::from(SECTORS));
        let sector = table.group();
        let sector_by_name = table.index(sector, "sector_by_name");
        let mut table = schema.table("security", Lookup::Point, securities);
        let (security, security_exchange_date) = (table.constant_group(), table.group());
        let security_by_company = table.index(security, "security_by_company");

        let addresses = usize::from(EXCHANGES) + companies + customers;
        let address = schema.table("address", Lookup::Point, addresses).group();
        let status_type = schema.table("status_type", Lookup::Point, 5).group();
        let taxrate = schema.table("taxrate", Lookup::Point, usize::from(TAXRATES)).group();
        let taxrate_name = schema.table("taxrate_name", Lookup::Point, usize::from(TAXRATES)).group();
        let zip_code = schema.table("zip_code", Lookup::Point, ZIP_CODES as usize).group();
        let assets_history = schema.table("assets_history", Lookup::Heap, 0).group();
        Self {
            permission,
            customer,
            customer_email,
            customer_by_tax_id,
            account_balance,
            account,
            account_by_customer,
            customer_taxrate,
            holding,
            holding_history,
            holding_history_by_trade,
            summary,
            watch_item,
            watch_list,
            watch_list_by_customer,
            broker_totals,
            broker,
            broker_by_name,
            cash_transaction,
            charge,
            commission_rate,
            settlement,
            trade,
            trade_executor,
            trade_by_account,
            trade_by_security,
            trade_history,
            trade_request,
            request_by_limit,
            request_by_broker,
            trade_type,
            company,
            company_rating,
            company_by_name,
            company_by_industry,
            competitor,
            daily_market,
            exchange,
            exchange_description,
            financial,
            industry,
            industry_by_sector,
            last_trade,
            news,
            news_body,
            company_news,
            sector,
            sector_by_name,
            security,
            security_exchange_date,
            security_by_company,
            address,
            status_type,
            taxrate,
            taxrate_name,
            zip_code,
            assets_history,
        }
    }
}
