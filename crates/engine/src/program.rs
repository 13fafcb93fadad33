//! Programs: a workload's stored procedures as the drivers of one scheme call them.
//!
//! Drivers are compiled once for each scheme, and not once for each pair of scheme and workload: they hold a
//! [`Program`] behind a reference, and a transaction costs four indirect calls (generate, execute, rest, committed),
//! whose targets are the same in a whole run and so are predicted. Within `execute` nothing is indirect: the stored
//! procedure is compiled for the sessions of the scheme.

use core::any::Any;
use core::fmt;

use stdx::Rng;
use sync::clock;

use crate::{
    Abort, Attempt, ClientId, ErasedAttempt, Homes, InputFootprint, Observer, Pace, Scheme, Sink, TxnType,
    Workload,
};

/// Instructions of a request beyond its attempts: its input is drawn, and its end is counted.
const REQUEST_INSTRUCTIONS: u64 = 1_700;

/// A call of a stored procedure: the input, and the output once it was executed. Used for one request after the other.
pub struct Call {
    /// The type of the transaction, an index into [`Program::types`].
    pub kind: usize,
    /// [`Values`] of the workload.
    values: Box<dyn Any + Send>,
}

/// The buffers in which stored procedures work: [`Workload::Scratch`].
pub struct Scratch(Box<dyn Any + Send>);

/// A worker's notes on its commits: [`Workload::Ledger`].
pub struct Ledger(Box<dyn Any + Send + Sync>);

impl Call {
    /// The call, in whose place nothing stays that could be executed.
    pub(crate) fn take(&mut self) -> Self {
        Self { kind: self.kind, values: core::mem::replace(&mut self.values, Box::new(())) }
    }
}

/// The values of a call.
struct Values<W: Workload> {
    input: Option<W::Input>,
    output: Option<W::Output>,
    /// The part of the request that is sent after the commit of this one.
    rest: Option<W::Input>,
}

/// A workload as the drivers of a scheme call it, whose sessions have observers `O` and sinks `L`.
///
/// Calls, scratches and ledgers belong to the program that made them.
///
/// # Panics
/// All functions panic when they are given another program's.
pub trait Program<S: Scheme, O: Observer, L: Sink>: Sync {
    /// [`Workload::TYPES`].
    fn types(&self) -> &'static [TxnType];

    /// [`Workload::pace`].
    fn pace(&self, kind: usize) -> Pace;

    /// A call without an input.
    fn call(&self) -> Call;

    /// An empty scratch.
    fn scratch(&self) -> Scratch;

    /// An empty ledger.
    fn ledger(&self) -> Ledger;

    /// Gives the call the input of a client's request: [`Workload::generate`].
    fn generate(&self, call: &mut Call, client: ClientId, sequence: u64, rng: &mut Rng);

    /// The homes that the call's input touches: [`Workload::homes`].
    fn homes(&self, call: &Call) -> Homes;

    /// Adds the rows that the call is known to touch: [`Workload::footprint`].
    fn footprint(&self, call: &Call, footprint: &mut InputFootprint);

    /// Executes the stored procedure; the call keeps its output.
    ///
    /// # Errors
    /// Those of [`Workload::execute`].
    fn execute(
        &self,
        call: &mut Call,
        scratch: &mut Scratch,
        txn: &mut Attempt<'_, '_, S, O, L>,
    ) -> Result<(), Abort>;

    /// Whether a part of the request is left after the commit of this one: [`Workload::rest`].
    fn has_rest(&self, call: &mut Call) -> bool;

    /// Notes a commit: [`Workload::committed`]. If a part of the request is left, it is the call's next input.
    fn committed(&self, ledger: &mut Ledger, call: &mut Call);
}

/// The program of a workload.
#[derive(Debug)]
pub struct Procedures<'w, W>(pub &'w W);

fn values<W: Workload>(call: &Call) -> &Values<W> {
    call.values.downcast_ref().expect("a call belongs to its program")
}

fn values_mut<W: Workload>(call: &mut Call) -> &mut Values<W> {
    call.values.downcast_mut().expect("a call belongs to its program")
}

impl Ledger {
    /// A ledger of no program.
    #[cfg(test)]
    pub(crate) fn empty() -> Self {
        Self(Box::new(()))
    }

    /// Returns the ledger of the workload that made it.
    ///
    /// # Panics
    /// When another workload made it.
    pub fn into_inner<W: Workload>(self) -> W::Ledger {
        *self.0.downcast().expect("a ledger belongs to its program")
    }
}

impl<S: Scheme, O: Observer, L: Sink, W: Workload> Program<S, O, L> for Procedures<'_, W> {
    fn types(&self) -> &'static [TxnType] {
        W::TYPES
    }

    fn pace(&self, kind: usize) -> Pace {
        self.0.pace(kind)
    }

    fn call(&self) -> Call {
        Call { kind: 0, values: Box::new(Values::<W> { input: None, output: None, rest: None }) }
    }

    fn scratch(&self) -> Scratch {
        Scratch(Box::<W::Scratch>::default())
    }

    fn ledger(&self) -> Ledger {
        Ledger(Box::<W::Ledger>::default())
    }

    fn generate(&self, call: &mut Call, client: ClientId, sequence: u64, rng: &mut Rng) {
        clock::compute(REQUEST_INSTRUCTIONS);
        let values = values_mut::<W>(call);
        let input = values.input.insert(self.0.generate(client, sequence, rng));
        call.kind = self.0.kind(input);
    }

    fn homes(&self, call: &Call) -> Homes {
        self.0.homes(input::<W>(values(call)))
    }

    fn footprint(&self, call: &Call, footprint: &mut InputFootprint) {
        self.0.footprint(input::<W>(values(call)), footprint);
    }

    fn execute(
        &self,
        call: &mut Call,
        scratch: &mut Scratch,
        txn: &mut Attempt<'_, '_, S, O, L>,
    ) -> Result<(), Abort> {
        let scratch = scratch.0.downcast_mut().expect("a scratch belongs to its program");
        let values = values_mut::<W>(call);
        let output = if W::COMPILED_ONCE || sync::IS_STEPPED {
            self.0.execute(input::<W>(values), scratch, &mut ErasedAttempt::new(txn))?
        } else {
            self.0.execute(input::<W>(values), scratch, txn)?
        };
        values.output = Some(output);
        Ok(())
    }

    fn has_rest(&self, call: &mut Call) -> bool {
        let values = values_mut::<W>(call);
        let Some(rest) = self.0.rest(input::<W>(values), output::<W>(values)) else { return false };
        values.rest = Some(rest);
        true
    }

    fn committed(&self, ledger: &mut Ledger, call: &mut Call) {
        let ledger = ledger.0.downcast_mut().expect("a ledger belongs to its program");
        let values = values_mut::<W>(call);
        self.0.committed(ledger, input::<W>(values), output::<W>(values));
        if values.rest.is_some() {
            values.input = values.rest.take();
        }
    }
}

fn input<W: Workload>(values: &Values<W>) -> &W::Input {
    values.input.as_ref().expect("generated before it is used")
}

fn output<W: Workload>(values: &Values<W>) -> &W::Output {
    values.output.as_ref().expect("the call was executed")
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").finish_non_exhaustive()
    }
}
