//! An engine under a scheme whose type is known here and nowhere else: what the library does with it goes through two
//! objects, the store and its sessions, so that a scheme is instantiated once, and not for each transaction of a
//! program.

use core::marker::PhantomData;

use durability::{Layouts, Log, LogSink};
use engine::setting::{Values, nearest};
use engine::{
    AnyKey, Database, Env, Family, Info, Isolation, MakeError, RawError, RawSession, RawTxn, Schema, Scheme,
    Session, Sink, TableId, Ticket, Views,
};
use schemes::catalogue::{self, Visit};
use storage::{NoMemory, Tables};
use sync::limits::MemoryLeft;
use sync::{Arc, Borrowing, Tied};

use crate::limits;
use crate::open_error::{MemoryLimit, OpenError};
use crate::options::Options;

/// The scheme that is taken unless another is asked for.
pub(crate) const STANDARD: Info = <catalogue::Standard as Scheme>::INFO;

/// A concurrency-control scheme, as far as those who choose one need to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemeInfo {
    /// Its name for [`Options::scheme`].
    pub name: &'static str,
    /// What it promises under its standard settings.
    pub isolation: &'static str,
    /// The states that its transactions may see in attempts that do not commit, under its standard settings, unless
    /// [`Options::consistent_reads`](crate::Options::consistent_reads) is asked for, which those that are `Unconfirmed`
    /// cannot do.
    pub views: Views,
    /// Whether it is in this build: all are with the feature `all-schemes`.
    pub is_built: bool,
    /// Why the library does not offer it, if it does not.
    pub unsuited: Option<&'static str>,
}

/// All schemes there are, offered or not.
pub fn schemes() -> impl Iterator<Item = SchemeInfo> {
    catalogue::INFO.iter().map(|info| SchemeInfo {
        name: info.name,
        isolation: info.isolation.name(),
        views: info.views,
        is_built: cfg!(feature = "all-schemes") || info.name == STANDARD.name,
        unsuited: unsuited(info),
    })
}

/// Why a scheme does not serve callers who come one by one, from any thread, and say nothing of what they will do.
const fn unsuited(info: &Info) -> Option<&'static str> {
    if info.family.is_in_batches() {
        return Some(
            "decides transactions in batches, which single callers do not form: take one that runs each by itself",
        );
    }
    if matches!(info.family, Family::Partitioned) {
        return Some(
            "must know ahead which partitions a transaction touches, which callers do not say: take another",
        );
    }
    if matches!(info.isolation, Isolation::None) {
        return Some("does not keep transactions apart, and measures what the others cost: take another");
    }
    None
}

/// An engine's database, its scheme forgotten.
pub(crate) trait Store: Send + Sync {
    /// A session, which keeps the store, and tells the log of its commits, if there is one.
    fn session(self: Arc<Self>, log: Option<&Log>) -> Box<dyn Sitting + Send>;

    /// Bytes in use.
    fn bytes(&self) -> usize;

    /// What the log has to know of the tables.
    fn layouts(&self) -> Layouts;

    /// Puts rows into the empty store: a table, a key, the words of a row.
    fn loader(&self) -> Box<Load<'_>>;
}

/// Puts a row into a store.
pub(crate) type Load<'s> = dyn FnMut(TableId, AnyKey, &[u64]) + 's;

/// A session, its scheme forgotten.
pub(crate) trait Sitting: RawSession {
    /// What the last commit waits for to be durable, and with it all that it has seen.
    fn ticket(&mut self) -> durability::Ticket;
}

/// A store, and what is known of it.
pub(crate) struct Opened {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) scheme: &'static str,
    /// Under its settings.
    pub(crate) isolation: Isolation,
    /// Whether what bodies see has to be confirmed.
    pub(crate) confirms: bool,
}

impl<S: Scheme> Store for Database<S> {
    fn session(self: Arc<Self>, log: Option<&Log>) -> Box<dyn Sitting + Send> {
        match log {
            None => Box::new(Seated::<S, ()>(Tied::new(self, |db| db.session_with((), ())))),
            Some(log) => Box::new(Seated::<S, LogSink>(Tied::new(self, |db| {
                db.session_with((), log.sink(db.tables()))
            }))),
        }
    }

    fn bytes(&self) -> usize {
        Self::bytes(self)
    }

    fn layouts(&self) -> Layouts {
        Layouts::of(self.tables())
    }

    fn loader(&self) -> Box<Load<'_>> {
        let mut loader = self.word_loader();
        Box::new(move |table, key, row| loader.insert(table, key, row))
    }
}

/// The type of a database's sessions, each with a sink.
struct Sessions<S, L>(PhantomData<(S, L)>);

impl<S: Scheme, L: Sink + 'static> Borrowing<Database<S>> for Sessions<S, L> {
    type Of<'db> = Session<'db, S, (), L>;
}

/// A session and its database.
struct Seated<S: Scheme, L: Sink + 'static>(Tied<Database<S>, Sessions<S, L>>);

impl<S: Scheme, L: Sink + 'static> RawSession for Seated<S, L> {
    fn transact(
        &mut self,
        ticket: &Ticket,
        body: &mut dyn FnMut(&mut dyn RawTxn) -> Result<(), RawError>,
    ) -> Result<(), RawError> {
        self.0.with(|session| session.transact(ticket, body))
    }

    fn maintain(&mut self, worker: usize) {
        self.0.with(|session| session.maintain(worker));
    }
}

impl<S: Scheme> Sitting for Seated<S, ()> {
    fn ticket(&mut self) -> durability::Ticket {
        durability::Ticket::default()
    }
}

impl<S: Scheme> Sitting for Seated<S, LogSink> {
    fn ticket(&mut self) -> durability::Ticket {
        self.0.with(|session| session.sink().ticket())
    }
}

/// Makes an empty store as the options say.
pub(crate) fn open(options: &Options, schema: &Schema) -> Result<Opened, OpenError> {
    let name = options.scheme.as_str();
    let Some(info) = catalogue::INFO.iter().find(|info| info.name == name) else {
        let nearest = nearest(name, catalogue::INFO.iter().map(|info| info.name));
        return Err(OpenError::UnknownScheme { name: name.into(), nearest });
    };
    if let Some(says) = unsuited(info) {
        return Err(OpenError::Unsuited { name: info.name, says });
    }
    with(name, Open { options, schema }).unwrap_or(Err(OpenError::NotBuilt { name: info.name }))
}

/// Calls the visitor with the scheme of this name, if it is in this build.
#[cfg(feature = "all-schemes")]
fn with<V: Visit>(name: &str, visitor: V) -> Option<V::Out> {
    catalogue::with(name, visitor)
}

/// Calls the visitor with the scheme of this name, if it is in this build.
#[cfg(not(feature = "all-schemes"))]
fn with<V: Visit>(name: &str, visitor: V) -> Option<V::Out> {
    (name == STANDARD.name).then(|| visitor.visit::<catalogue::Standard>())
}

/// Whether what bodies see has to be confirmed, where they are to see one state.
fn confirms(name: &'static str, views: Views, consistent_reads: bool) -> Result<bool, OpenError> {
    match views {
        Views::Unconfirmed if consistent_reads => Err(OpenError::Unsuited {
            name,
            says: "shows bodies what may never be committed, which `Options::consistent_reads` rules out, and with it \
                   every program that is built with `panic = \"abort\"`: take a scheme whose `SchemeInfo::views` are \
                   others, the standard one for example, or build the program with `panic = \"unwind\"`",
        }),
        Views::Confirmed => Ok(consistent_reads),
        Views::Consistent | Views::Unconfirmed => Ok(false),
    }
}

struct Open<'o> {
    options: &'o Options,
    schema: &'o Schema,
}

impl Visit for Open<'_> {
    type Out = Result<Opened, OpenError>;

    fn visit<S: Scheme>(self) -> Self::Out {
        // Known when this is compiled, so that nothing below is, for a scheme that is not offered.
        if const { unsuited(&S::INFO).is_some() } {
            let says = unsuited(&S::INFO).unwrap_or_default();
            return Err(OpenError::Unsuited { name: S::INFO.name, says });
        }
        let Self { options, schema } = self;
        let refused = |error: engine::setting::SettingError| OpenError::Setting(error.0);
        let values = Values::new(S::SETTINGS, &options.settings).map_err(refused)?;
        let confirms = confirms(S::INFO.name, S::views(&values), options.consistent_reads)?;
        let env = Env { slots: options.sessions, workers: options.sessions };
        let first = Tables::<S>::first_memory(schema);
        limits::check_memory(first, options.memory_bytes, MemoryLeft::of_this_process)?;
        let db = Database::<S>::try_new(schema, &values, env).map_err(|error| match error {
            MakeError::Setting(error) => refused(error),
            // Others have taken what was left a moment ago.
            MakeError::Memory(NoMemory(most)) => {
                limits::refusal(&most, most.bytes.unwrap_or(usize::MAX), MemoryLimit::System)
            }
        })?;
        Ok(Opened { store: Arc::new(db), scheme: S::INFO.name, isolation: S::isolation(&values), confirms })
    }
}
