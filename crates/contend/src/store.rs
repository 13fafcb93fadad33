//! The engine under a scheme. Only this module knows the type of the scheme. The rest of the library uses two trait
//! objects, the store and its sessions, so that a scheme is compiled once, and not for each transaction of a program.

use core::marker::PhantomData;

use durability::{Layouts, Log, LogSink};
use engine::setting::{Settings, Values, nearest};
use engine::{
    AnyKey, Database, Env, Facts, Family, Info, Isolation, MakeError, RawError, RawSession, RawTxn, Schema,
    Scheme, Session, Sink, TableId, Ticket, Views,
};
use schemes::catalogue::{self, Visit};
use storage::{NoMemory, Tables};
use sync::limits::MemoryLeft;
use sync::{Arc, Borrowing, Tied};

use crate::limits;
use crate::open_error::{MemoryLimit, OpenError};
use crate::options::Options;

/// The standard scheme, which is used unless the options name another.
pub(crate) const STANDARD: Info = <catalogue::Standard as Scheme>::INFO;

/// A concurrency-control scheme, described for the choice of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemeInfo {
    /// The scheme's name for [`Options::scheme`].
    pub name: &'static str,
    /// The isolation that the scheme promises under its standard settings.
    pub isolation: &'static str,
    /// The states that transactions may see in attempts that do not commit, under standard settings and without
    /// [`Options::consistent_reads`](crate::Options::consistent_reads). Schemes that are `Unconfirmed` do not support
    /// that option.
    pub views: Views,
    /// Whether the scheme is in this build. With the feature `all-schemes`, all schemes are.
    pub is_built: bool,
    /// The reason for which the library does not offer the scheme; `None` if it does.
    pub unsuited: Option<&'static str>,
}

/// Lists all schemes, offered or not.
pub fn schemes() -> impl Iterator<Item = SchemeInfo> {
    catalogue::infos().map(|info| SchemeInfo {
        name: info.name,
        isolation: info.isolation.name(),
        views: info.views,
        is_built: cfg!(feature = "all-schemes") || info.name == STANDARD.name,
        unsuited: unsuited(info),
    })
}

/// Returns the reason for which a scheme cannot serve the library's callers, who come one by one, from any thread, and
/// do not declare their accesses; `None` if it can.
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

/// An engine's database, with the type of its scheme erased.
pub(crate) trait Store: Send + Sync {
    /// Opens a session, which owns a reference to the store, and writes its commits to the log, if there is one.
    fn session(self: Arc<Self>, log: Option<&Log>) -> Box<dyn Sitting + Send>;

    /// Bytes in use.
    fn bytes(&self) -> usize;

    /// The layouts of the tables, for the log.
    fn layouts(&self) -> Layouts;

    /// Returns a function that puts rows into the empty store: a table, a key, the words of a row.
    fn loader(&self) -> Box<Load<'_>>;
}

/// A function that puts a row into a store.
pub(crate) type Load<'s> = dyn FnMut(TableId, AnyKey, &[u64]) + 's;

/// A session, with the type of its scheme erased.
pub(crate) trait Sitting: RawSession {
    /// The part of the log that must be durable before the last commit, and all that it has seen, is durable.
    fn ticket(&mut self) -> durability::CommitTicket;
}

/// A store, and the properties of its scheme.
pub(crate) struct Opened {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) scheme: &'static str,
    /// The isolation under the chosen settings.
    pub(crate) isolation: Isolation,
    /// Whether reads of bodies have to be confirmed.
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
    fn ticket(&mut self) -> durability::CommitTicket {
        durability::CommitTicket::default()
    }
}

impl<S: Scheme> Sitting for Seated<S, LogSink> {
    fn ticket(&mut self) -> durability::CommitTicket {
        self.0.with(|session| session.sink().ticket())
    }
}

/// Makes an empty store as the options say.
pub(crate) fn open(options: &Options, schema: &Schema) -> Result<Opened, OpenError> {
    let name = options.scheme.as_str();
    let Some(info) = catalogue::infos().find(|info| info.name == name) else {
        let nearest = nearest(name, catalogue::infos().map(|info| info.name));
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

/// Whether reads of bodies have to be confirmed, given whether bodies are to see one state.
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
        // Known at compile time, so that nothing below is compiled for a scheme that is not offered.
        if const { unsuited(&S::INFO).is_some() } {
            let says = unsuited(&S::INFO).unwrap_or_default();
            return Err(OpenError::Unsuited { name: S::INFO.name, says });
        }
        let Self { options, schema } = self;
        let refused = |error: engine::setting::SettingError| OpenError::Setting(error.0);
        let values = Values::new(S::Settings::ALL, &options.settings).map_err(refused)?;
        let facts = Facts::under::<S>(&values);
        let confirms = confirms(S::INFO.name, facts.views, options.consistent_reads)?;
        let env = Env { slots: options.sessions, workers: options.sessions };
        let first = Tables::<S>::first_memory(schema);
        limits::check_memory(first, options.memory_bytes, MemoryLeft::of_this_process)?;
        let db = Database::<S>::try_new(schema, &values, env).map_err(|error| match error {
            MakeError::Setting(error) => refused(error),
            // The memory that was left a moment ago is taken by now.
            MakeError::Memory(NoMemory(most)) => {
                limits::refusal(&most, most.bytes.unwrap_or(usize::MAX), MemoryLimit::System)
            }
        })?;
        Ok(Opened { store: Arc::new(db), scheme: S::INFO.name, isolation: facts.isolation, confirms })
    }
}
