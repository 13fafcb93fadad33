//! A worker's counts of its commits: sufficient to decide for every object if a commit wrote its version.

use engine::ClientId;

use super::input::{Input, Writer};

/// The number of parts by which writes are counted. The top bits of an object's name select the part.
pub(super) const PARTS: usize = 64;
/// The number of the hottest objects for which each client's last write is kept.
pub(super) const HOT: usize = 64;

/// The commits of a client.
#[derive(Debug)]
struct Commits {
    /// A bit for each committed request, by number.
    requests: Vec<u64>,
    /// The last write to each hot object, by rank.
    last_writes: [Option<Writer>; HOT],
}

impl Commits {
    fn none() -> Self {
        Self { requests: Vec::new(), last_writes: [None; HOT] }
    }
}

/// A worker's counts of its commits.
#[derive(Debug)]
pub struct Ledger {
    pub(super) writes: [u64; PARTS],
    /// The commits by client; `None` for clients of other workers. Empty unless writes are blind.
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
    /// Counts a commit with read-modify-writes.
    pub(super) fn count(&mut self, input: &Input) {
        for object in input.written() {
            self.writes[object.part(PARTS)] += 1;
        }
    }

    /// Records a commit with blind writes, which must be identified, because each version names its writer. A client
    /// costs one bit for each request. The list grows so rarely that the cost does not show.
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

    /// Returns `true` if a request has committed.
    pub(super) fn has(&self, (client, sequence): (ClientId, u64)) -> bool {
        let word = self.of(client).and_then(|commits| commits.requests.get((sequence / 64) as usize));
        word.is_some_and(|word| word >> (sequence % 64) & 1 == 1)
    }

    /// Returns a client's last write to a hot object.
    pub(super) fn last_write(&self, client: ClientId, rank: usize) -> Option<Writer> {
        self.of(client)?.last_writes[rank]
    }

    /// Returns `true` if any client wrote to a hot object.
    pub(super) fn is_written(&self, rank: usize) -> bool {
        self.clients.iter().flatten().any(|commits| commits.last_writes[rank].is_some())
    }
}
