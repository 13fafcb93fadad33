//! What a worker counts about commits: enough to say of every object whether it is what a commit left.

use engine::ClientId;

use super::input::{Input, Writer};

/// Objects are counted in this many parts, told apart by the top bits of their names.
pub(super) const PARTS: usize = 64;
/// Of so many of the hottest objects a client's last write is known.
pub(super) const HOT: usize = 64;

/// The commits of a client.
#[derive(Debug)]
struct Commits {
    /// By number of the request: a bit each.
    requests: Vec<u64>,
    /// By rank of the object.
    last_writes: [Option<Writer>; HOT],
}

impl Commits {
    fn none() -> Self {
        Self { requests: Vec::new(), last_writes: [None; HOT] }
    }
}

/// What a worker counts about commits.
#[derive(Debug)]
pub struct Ledger {
    pub(super) writes: [u64; PARTS],
    /// By client, those who belong to other workers left out. Empty where nothing is written blindly.
    clients: Vec<Option<Box<Commits>>>,
    pub(super) missing: u64,
    pub(super) digest: u64,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { writes: [0; PARTS], clients: Vec::new(), missing: 0, digest: 0 }
    }
}

impl Ledger {
    /// A transaction has committed.
    pub(super) fn count(&mut self, input: &Input) {
        for object in input.written() {
            self.writes[object.part(PARTS)] += 1;
        }
    }

    /// One that wrote blindly: whose value an object has must be known by name. A bit for each request of a client is
    /// what it takes; the list grows so seldom that it does not show.
    pub(super) fn remember(&mut self, input: &Input) {
        let (client, sequence) = input.writer.request();
        let client = client.0 as usize;
        if self.clients.len() <= client {
            self.clients.resize_with(client + 1, || None);
        }
        let commits = self.clients[client].get_or_insert_with(|| Box::new(Commits::none()));
        let (word, bit) = ((sequence / 64) as usize, sequence % 64);
        if commits.requests.len() <= word {
            commits.requests.resize(word + 1, 0);
        }
        commits.requests[word] |= 1 << bit;
        for &rank in input.ranks_written() {
            if let Some(last) = commits.last_writes.get_mut(rank as usize) {
                *last = Some(input.writer);
            }
        }
    }

    fn of(&self, client: ClientId) -> Option<&Commits> {
        self.clients.get(client.0 as usize)?.as_deref()
    }

    /// Whether a request has committed.
    pub(super) fn has(&self, (client, sequence): (ClientId, u64)) -> bool {
        let word = self.of(client).and_then(|commits| commits.requests.get((sequence / 64) as usize));
        word.is_some_and(|word| word >> (sequence % 64) & 1 == 1)
    }

    /// What a client wrote last to a hot object.
    pub(super) fn last_write(&self, client: ClientId, rank: usize) -> Option<Writer> {
        self.of(client)?.last_writes[rank]
    }

    /// Whether anybody wrote to a hot object.
    pub(super) fn is_written(&self, rank: usize) -> bool {
        self.clients.iter().flatten().any(|commits| commits.last_writes[rank].is_some())
    }
}
