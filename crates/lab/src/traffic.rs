//! Traffic: the arrival of requests and the costs of their messages, from a request for runs and as text.

use engine::driver::{Arrivals, ClientMode, OpenLoop, Process, Traffic};
use engine::setting::Values;

use crate::Refusal;
use crate::plan::Request;
use crate::text::{count, duration, plural};

/// The longest round trip, in microseconds.
const RTT_US_MAX: u64 = 1_000_000;
/// Round trips that have a name, in microseconds: RDMA on 56 Gb/s, TCP on 10 Gb/s, and two distances.
const RTTS: [(&str, u64); 4] = [("rdma", 3), ("tcp", 50), ("10ms", 10_000), ("100ms", 100_000)];
/// The maximum number of requests in a message.
const BATCH_MAX: u64 = 10_000;
/// The maximum of arrivals a second: more cannot be drawn in time.
const RATE_MAX: f64 = 1e7;

/// The arrival process of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrival {
    /// Closed loop: a client sends the next request when the last one was answered.
    #[default]
    Closed,
    /// Open loop: requests arrive at equal distances in time.
    Constant,
    /// Open loop: requests arrive at random times, as a Poisson process.
    Poisson,
    /// Open loop: requests arrive at random times, in bursts.
    Bursty,
}

impl Arrival {
    /// All arrival processes.
    pub const ALL: [Self; 4] = [Self::Closed, Self::Constant, Self::Poisson, Self::Bursty];

    /// Returns the name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Constant => "constant",
            Self::Poisson => "poisson",
            Self::Bursty => "bursty",
        }
    }

    /// Returns the arrival process of a job's traffic.
    pub(crate) fn of(traffic: &Traffic) -> Self {
        match traffic.arrivals {
            Arrivals::Closed => Self::Closed,
            Arrivals::Open(OpenLoop { process: Process::Constant, .. }) => Self::Constant,
            Arrivals::Open(OpenLoop { process: Process::Poisson, .. }) => Self::Poisson,
            Arrivals::Open(OpenLoop { process: Process::Bursty { .. }, .. }) => Self::Bursty,
        }
    }
}

/// Returns the microseconds of a round trip from a number or a name.
///
/// # Errors
/// A text that is neither a whole number in range nor a name. The error lists the names.
pub fn rtt_us(text: &str) -> Result<u64, Refusal> {
    let named = RTTS.iter().find(|(name, _)| *name == text).map(|(_, us)| *us);
    let us = named.or_else(|| text.parse().ok());
    us.filter(|us| *us <= RTT_US_MAX).ok_or_else(|| {
        let names: Vec<String> = RTTS.iter().map(|(name, us)| format!("`{name}` ({us})")).collect();
        Refusal(format!(
            "`{text}` is no round trip: give whole microseconds from 0 to {RTT_US_MAX}, or one of {}",
            names.join(", ")
        ))
    })
}

/// Returns the traffic of a request for runs.
///
/// # Errors
/// Numbers out of range, and options that contradict each other.
pub(crate) fn traffic(request: &Request, values: &Values, is_paced: bool) -> Result<Traffic, Refusal> {
    let refuse = |says: String| Err(Refusal(says));
    let Request { mode, batch, .. } = *request;
    let rtt_us = request.rtt_us.unwrap_or_default();
    if rtt_us > RTT_US_MAX {
        return refuse(format!("`--rtt-us {rtt_us}`: must be a whole number from 0 to {RTT_US_MAX}"));
    }
    if !(1..=BATCH_MAX).contains(&batch) {
        return refuse(format!("`--batch {batch}`: must be a whole number from 1 to {BATCH_MAX}"));
    }
    if mode == ClientMode::Interactive && batch > 1 {
        return refuse(
            "an interactive client sends one statement at a time: leave out `--batch`, or give `--mode procedure`"
                .to_owned(),
        );
    }
    if mode == ClientMode::Interactive && request.rtt_us.is_none() {
        return refuse(
            "`--mode interactive` without a network is `--mode procedure`: give a round trip, for example `--rtt-us \
             tcp`, or `--rtt-us 0` for no network"
                .to_owned(),
        );
    }
    let arrivals = arrivals(request, values)?;
    if is_paced && (batch > 1 || arrivals != Arrivals::Closed) {
        return refuse(
            "terminals send one request at a time, after a think time: leave out `--batch` \
             and `--arrivals`"
                .to_owned(),
        );
    }
    Ok(Traffic { mode, rtt_ns: rtt_us * 1_000, batch, arrivals, is_paced })
}

fn arrivals(request: &Request, values: &Values) -> Result<Arrivals, Refusal> {
    let name = request.arrivals.name();
    let process = match (request.arrivals, request.rate) {
        (Arrival::Closed, None) => return Ok(Arrivals::Closed),
        (Arrival::Closed, Some(rate)) => {
            return Err(Refusal(format!(
                "`--rate {rate}` is the rate of an open loop: give `--arrivals poisson`, for example, or leave out \
                 `--rate`"
            )));
        }
        (_, None) => {
            return Err(Refusal(format!(
                "`--arrivals {name}` needs a rate: give `--rate`, for example `--rate 10000`"
            )));
        }
        (Arrival::Constant, _) => Process::Constant,
        (Arrival::Poisson, _) => Process::Poisson,
        (Arrival::Bursty, _) => Process::Bursty {
            on_ns: values.int("run.burst_ms") * 1_000_000,
            off_ns: values.int("run.lull_ms") * 1_000_000,
        },
    };
    let rate_txn_s = request.rate.unwrap_or_default();
    if !(rate_txn_s > 0.0 && rate_txn_s <= RATE_MAX) {
        return Err(Refusal(format!(
            "`--rate {rate_txn_s}`: must be a number of transactions a second above 0, up to {RATE_MAX}"
        )));
    }
    Ok(Arrivals::Open(OpenLoop { process, rate_txn_s, queue_max: values.int("run.queue_max") as usize }))
}

/// Returns the requested rate of an open loop, in transactions a second; `None` for a closed loop.
pub(crate) fn rate_txn_s(traffic: &Traffic) -> Option<f64> {
    match traffic.arrivals {
        Arrivals::Closed => None,
        Arrivals::Open(open) => Some(open.rate_txn_s),
    }
}

/// Returns the traffic in words; `None` if clients send one request after the other without a network.
pub(crate) fn told(traffic: &Traffic) -> Option<String> {
    let mut parts = Vec::new();
    if traffic.rtt_ns > 0 {
        let per = match traffic.mode {
            ClientMode::Procedure if traffic.batch > 1 => "message",
            ClientMode::Procedure => "request",
            ClientMode::Interactive => "statement",
        };
        parts.push(format!("{}, {} a {per}", traffic.mode.name(), duration(traffic.rtt_ns)));
    }
    if traffic.batch > 1 {
        parts.push(format!("{} a message", plural(traffic.batch as usize, "request")));
    }
    if let Arrivals::Open(open) = traffic.arrivals {
        let (name, rate) = (Arrival::of(traffic).name(), count(open.rate_txn_s));
        parts.push(format!(
            "{name} arrivals, {rate} txn/s, of which {} may wait",
            count(open.queue_max as f64)
        ));
    }
    if traffic.is_paced {
        parts.push("clients key and think".to_owned());
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::tests::catalogue;
    use crate::{ClientCount, Plan};

    fn plan(change: impl FnOnce(&mut Request)) -> Result<Plan, Refusal> {
        let mut request = Request { set: vec!["ycsb.records=100".to_owned()], ..Request::new("ycsb") };
        request.schemes = Some("silo".to_owned());
        change(&mut request);
        Plan::new(catalogue(), &request)
    }

    fn refusal(change: impl FnOnce(&mut Request)) -> String {
        plan(change).expect_err("refused").0
    }

    #[test]
    fn round_trips_are_numbers_or_names() {
        assert_eq!(
            ["0", "7", "rdma", "tcp", "100ms"].map(|text| rtt_us(text).expect("one")),
            [0, 7, 3, 50, 100_000]
        );
        for text in ["-1", "1.5", "1000001", "udp", ""] {
            assert!(rtt_us(text).expect_err("refused").0.contains("`tcp` (50)"), "{text}");
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused_with_the_way_out() {
        let open = |request: &mut Request, arrivals, rate| {
            (request.arrivals, request.rate) = (arrivals, rate);
        };
        assert!(refusal(|request| open(request, Arrival::Closed, Some(5.0))).contains("--arrivals poisson"));
        assert!(refusal(|request| open(request, Arrival::Poisson, None)).contains("--rate 10000"));
        for rate in [0.0, -1.0, 1e9, f64::NAN] {
            assert!(
                refusal(|request| open(request, Arrival::Constant, Some(rate))).contains("above 0"),
                "{rate}"
            );
        }
        assert!(refusal(|request| request.batch = 0).contains("from 1 to"));
        assert!(refusal(|request| request.mode = ClientMode::Interactive).contains("--rtt-us tcp"));
        let dialogue =
            |request: &mut Request| (request.mode, request.rtt_us) = (ClientMode::Interactive, Some(50));
        assert!(plan(dialogue).is_ok());
        let in_messages = |request: &mut Request| {
            dialogue(request);
            request.batch = 2;
        };
        assert!(refusal(in_messages).contains("leave out `--batch`"));
        let in_batches = |request: &mut Request| {
            dialogue(request);
            request.schemes = Some("silo,aria".to_owned());
        };
        assert!(refusal(in_batches).starts_with("aria: a batch"));
    }

    #[test]
    fn terminals_are_as_many_as_the_workload_says_and_send_one_request_at_a_time() {
        let request = |more: &[&str]| {
            let set =
                [&["tpcc.terminals=on", "tpcc.items=10", "tpcc.customers_per_district=10"], more].concat();
            let set = set.iter().map(|&setting| setting.to_owned()).collect();
            Request { schemes: Some("silo".to_owned()), workers: Some(1), set, ..Request::new("tpcc") }
        };
        let plan = Plan::new(catalogue(), &request(&["tpcc.warehouses=3"])).expect("legal");
        assert_eq!((plan.job.clients, plan.job.traffic.is_paced), (30, true));
        let other = Plan::new(catalogue(), &Request { clients: Some(ClientCount::All(4)), ..request(&[]) })
            .expect_err("refused")
            .0;
        assert!(other.contains("leave out `--clients`"), "{other}");
        let open = Request { arrivals: Arrival::Poisson, rate: Some(1.0), ..request(&[]) };
        assert!(Plan::new(catalogue(), &open).expect_err("refused").0.contains("`--arrivals`"));
    }

    #[test]
    fn traffic_is_told_in_words() {
        assert_eq!(told(&Traffic::default()), None);
        let open = plan(|request| {
            (request.arrivals, request.rate) = (Arrival::Bursty, Some(1_500.0));
            (request.rtt_us, request.batch) = (Some(50), 4);
        });
        let text = told(&open.expect("legal").job.traffic).expect("more than the usual");
        assert_eq!(
            text,
            "procedure, 50.0 us a message; 4 requests a message; bursty arrivals, 1,500 txn/s, of which 1,000 may wait"
        );
    }
}
