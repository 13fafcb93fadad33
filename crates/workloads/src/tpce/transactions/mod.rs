//! The stored procedures, one file each, in the order of TPC-E 3.3.

mod analytic;
mod broker_volume;
mod customer_position;
mod data_maintenance;
mod market_feed;
mod market_watch;
mod security_detail;
mod trade_cleanup;
mod trade_lookup;
mod trade_order;
mod trade_result;
mod trade_status;
mod trade_update;
