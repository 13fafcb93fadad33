//! Caches, the directory, links and memory controllers: the time that an access takes, and where it goes.

use super::arrivals::Arrivals;
use super::lines::{Copies, Homes, Line, Lines, NOBODY};
use super::tags::{LineId, Tags};
use crate::machine::Machine;

/// Where a hardware thread is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    pub(super) core: u16,
    pub(super) group: u16,
    pub(super) socket: u16,
}

/// The lines that a core has fetched last.
#[derive(Clone, Copy, Debug)]
struct Core {
    /// The line that the core fetched last for writing, and the time until which it keeps the line although others ask
    /// for it: a core finishes what it does with a line before it answers.
    kept: (LineId, u64),
    /// The line after the one that the core fetched last from memory, which its processor has asked for already, and
    /// the time at which the one before it arrives.
    ahead: (LineId, u64),
}

/// The use for which an access needs a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Read,
    /// To update it: the core needs it for itself, and waits for it.
    Update,
    /// To store: the core needs it for itself, and goes on meanwhile.
    Store,
}

impl Wish {
    /// Whether the core needs the line for itself.
    fn is_for_writing(self) -> bool {
        self != Self::Read
    }
}

/// The part of the machine for which a core waits longest when it fetches a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    L3,
    Memory,
    Coherence,
    Numa,
}

/// A line on its way to a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fetched {
    /// The time at which it arrives.
    pub(super) ready: u64,
    pub(super) part: Part,
    /// Whether another core, or the cache of another group, has it, or had to give it up.
    pub(super) is_shared: bool,
}

/// Picoseconds in which threads executed nothing: they waited for each other, or for accesses, by the part of the
/// machine that took them. An access that was over before anybody waited for it does not count: a line that was asked
/// for ahead, or a store.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// Pauses, and waits for other threads.
    pub waiting: u64,
    /// Hits in the caches of the core.
    pub private: u64,
    /// Hits in the last-level cache.
    pub l3: u64,
    /// Memory, its controllers' queues included.
    pub memory: u64,
    /// Lines that other cores had, within the socket.
    pub coherence: u64,
    /// The way between sockets.
    pub numa: u64,
    /// Waits for lines that were on their way to another core, or that another one kept.
    pub contention: u64,
}

impl Spent {
    /// The picoseconds of accesses, of all parts together.
    pub fn accesses(&self) -> u64 {
        let Self { waiting: _, private, l3, memory, coherence, numa, contention } = *self;
        private + l3 + memory + coherence + numa + contention
    }

    /// Adds the parts of an access, of whose time a thread waited for `waited` picoseconds.
    #[inline]
    fn add(&mut self, access: Self, waited: u64) {
        let takes = access.accesses();
        let share = |part: u64| {
            if waited == takes {
                part
            } else {
                (u128::from(part) * u128::from(waited) / u128::from(takes.max(1))) as u64
            }
        };
        self.private += share(access.private);
        self.l3 += share(access.l3);
        self.memory += share(access.memory);
        self.coherence += share(access.coherence);
        self.numa += share(access.numa);
        self.contention += share(access.contention);
    }
}

/// The cost of an access.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    parts: Spent,
    /// The last of its lines that other cores had.
    shared: Option<LineId>,
}

impl Cost {
    fn of(&mut self, part: Part) -> &mut u64 {
        match part {
            Part::L3 => &mut self.parts.l3,
            Part::Memory => &mut self.parts.memory,
            Part::Coherence => &mut self.parts.coherence,
            Part::Numa => &mut self.parts.numa,
        }
    }
}

/// Something that serves one request after the other, in the order in which they are made.
#[derive(Clone, Copy, Debug, Default)]
struct Server {
    busy_until: u64,
}

impl Server {
    /// The time from which the server has time for a request that is made at `at` and keeps it for so long. A line that
    /// many cores want may be served much later than it was asked for: the server counts the work when it is asked for,
    /// so that requests for other lines do not wait for that time to come.
    fn has_time(&mut self, at: u64, takes: u64) -> u64 {
        let begin = at.max(self.busy_until);
        self.busy_until = begin + takes;
        begin
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Caches {
    machine: Machine,
    pub(super) lines: Lines,
    /// By core, the caches that its threads share.
    l1: Tags,
    l2: Tags,
    cores: Vec<Core>,
    /// By group of cores: its cache, and the lines that are on their way into it.
    l3: Tags,
    arrivals: Arrivals,
    groups_per_socket: u16,
    /// By socket: its memory controllers, and its links.
    controllers: Vec<Server>,
    links: Vec<Server>,
    /// Picoseconds of a line in the memory controllers, and in the links by distance.
    controller_ps: u64,
    link_ps: Vec<u64>,
    /// Picoseconds between two misses of a core that overlap as far as the core can.
    pub(super) next_miss_ps: u64,
    /// The cost of the access at hand.
    pub(super) cost: Cost,
    spent: Spent,
    /// The time of all accesses up to the end of what counts, if that has ended.
    measured: Option<Spent>,
}

impl Caches {
    /// Caches without lines.
    pub(super) fn new(machine: &Machine, homes: Homes) -> Self {
        let topology = &machine.topology;
        let groups = topology.sockets * topology.groups_per_socket;
        let cores = groups * topology.cores_per_group;
        let lines_of = |bytes: u64| bytes / machine.line_bytes;
        let tags =
            |caches: u32, cache: &crate::machine::Cache| Tags::new(caches, lines_of(cache.bytes), cache.ways);
        let line_ps = |bytes_per_ns: f64| {
            if bytes_per_ns > 0.0 { (machine.line_bytes as f64 * 1000.0 / bytes_per_ns) as u64 } else { 0 }
        };
        Self {
            lines: Lines::new(machine.line_bytes, homes),
            l1: tags(cores, &machine.l1),
            l2: tags(cores, &machine.l2),
            cores: vec![Core { kept: (LineId::MAX, 0), ahead: (LineId::MAX, 0) }; cores as usize],
            next_miss_ps: machine.memory.latency_ps / u64::from(machine.core.misses_max.max(1)),
            l3: tags(groups, &machine.l3),
            arrivals: Arrivals::new(groups, topology.cores_per_group * topology.threads_per_core),
            groups_per_socket: topology.groups_per_socket as u16,
            controllers: vec![Server::default(); topology.sockets as usize],
            links: vec![Server::default(); topology.sockets as usize],
            controller_ps: line_ps(machine.memory.bytes_per_ns),
            link_ps: machine.hops.iter().map(|hop| line_ps(hop.bytes_per_ns)).collect(),
            machine: machine.clone(),
            cost: Cost::default(),
            spent: Spent::default(),
            measured: None,
        }
    }

    /// Counts where the time goes from now on, and nothing that was before; or until now.
    pub(super) fn measure(&mut self, is_on: bool) {
        if is_on {
            (self.spent, self.measured) = (Spent::default(), None);
            self.lines.forget_waits();
        } else {
            // The end is told more than once; the first time counts.
            self.measured.get_or_insert(self.spent);
        }
    }

    /// The time of all accesses that count.
    pub(super) fn spent(&self) -> Spent {
        self.measured.unwrap_or(self.spent)
    }

    /// Counts that a thread paused, or waited for others.
    pub(super) fn has_paused(&mut self, ps: u64) {
        self.spent.waiting += ps;
    }

    /// Counts that a thread waited for an access.
    #[inline]
    pub(super) fn has_waited(&mut self, cost: Cost, waited: u64) {
        if waited == 0 {
            return;
        }
        self.spent.add(cost.parts, waited);
        if let Some(shared) = cost.shared.filter(|_| self.measured.is_none()) {
            self.lines.has_waited(shared, waited);
        }
    }

    /// Asks the host for what an access to a line needs.
    #[inline]
    pub(super) fn ask_ahead(&self, seat: Seat, id: LineId) {
        self.lines.ask_ahead(id);
        self.l1.ask_ahead(seat.core, id);
        self.arrivals.ask_ahead(seat.group, id);
    }

    /// The time at which an access that begins at `at` is complete. What it costs is added to the access at hand.
    #[inline]
    pub(super) fn access(&mut self, seat: Seat, at: u64, id: LineId, wish: Wish) -> u64 {
        let line = self.lines.get(id);
        let (version, is_owner) = (line.version, line.owner == seat.core);
        let near = if self.l1.has(seat.core, id, version) {
            // The instructions' own time has the hits in the first cache.
            Some(0)
        } else if self.l2.has(seat.core, id, version) {
            self.l1.put(seat.core, id, version);
            Some(self.machine.l2.latency_ps.saturating_sub(self.machine.l1.latency_ps))
        } else {
            None
        };
        let kept = self.cores[usize::from(seat.core)].kept;
        let is_kept = kept.0 == id && at < kept.1;
        match near.or(is_kept.then_some(0)) {
            Some(ps) if !wish.is_for_writing() || is_owner || is_kept => {
                if wish.is_for_writing() {
                    line.copies = Copies::Dirty;
                }
                self.cost.parts.private += ps;
                self.arrive(seat, at + ps, id)
            }
            _ => self.fetch(seat, at, id, wish, near.is_some()),
        }
    }

    /// The time at which a line is there that a cache of the group has from `at` on, if it has arrived by then: its
    /// tag is there as soon as the line is asked for.
    #[inline]
    fn arrive(&mut self, seat: Seat, at: u64, id: LineId) -> u64 {
        let Some(Fetched { ready, part, is_shared }) = self.arrivals.after(seat.group, at, id) else {
            return at;
        };
        *self.cost.of(part) += ready - at;
        if is_shared {
            self.cost.shared = Some(id);
        }
        ready
    }

    /// An access that the core cannot make alone. It asks for the line at `at`; it is served from `start` on, when the
    /// line is no longer on its way to another core; and it has the line when the result says.
    #[inline(never)]
    fn fetch(&mut self, seat: Seat, at: u64, id: LineId, wish: Wish, has_copy: bool) -> u64 {
        let line = *self.lines.get(id);
        let start = at.max(line.busy_until);
        self.cost.parts.contention += start - at;
        let mut fetched = if has_copy {
            Fetched { ready: self.arrive(seat, start, id), part: Part::L3, is_shared: false }
        } else {
            self.bring(seat, at, start, id)
        };
        if wish.is_for_writing() && line.owner != seat.core {
            let ready = start + self.invalidate(seat, line);
            if ready > fetched.ready {
                fetched = Fetched { ready, part: Part::Coherence, is_shared: true };
            }
        }
        if fetched.is_shared || (start > at && line.owner != seat.core) {
            self.cost.shared = Some(id);
        }
        let ready = fetched.ready;
        if wish != Wish::Store && ready > start {
            self.arrivals.put(seat.group, id, fetched);
        }
        let (own, is_in_group) = (1 << seat.socket, self.is_in_group(seat, line));
        let (coherence, now) = (&self.machine.coherence, self.lines.get(id));
        if wish.is_for_writing() {
            now.version = now.version.wrapping_add(1);
            (now.owner, now.copies, now.sockets) = (seat.core, Copies::Dirty, own);
            now.busy_until = ready + coherence.directory_ps;
        } else {
            let is_alone = line.sockets == 0 || line.owner == seat.core;
            now.owner = if is_alone { seat.core } else { NOBODY };
            now.copies = if is_in_group { Copies::CleanInGroup } else { Copies::Clean };
            now.sockets = line.sockets | own;
            now.busy_until = start + coherence.directory_ps;
        }
        now.holder = seat.group;
        let (version, hold_ps) = (now.version, coherence.hold_ps);
        if wish.is_for_writing() {
            self.cores[usize::from(seat.core)].kept = (id, ready + hold_ps);
        }
        self.l1.put(seat.core, id, version);
        self.l2.put(seat.core, id, version);
        self.l3.put(seat.group, id, version);
        ready
    }

    /// Fetches a line that is asked for at `at` and can be had from `start` on: from another core, the nearest
    /// last-level cache that is known to have it, or memory.
    fn bring(&mut self, seat: Seat, at: u64, start: u64, id: LineId) -> Fetched {
        let line = *self.lines.get(id);
        if self.is_in_a_core(seat, id, line) {
            let group = line.owner / self.machine.topology.cores_per_group as u16;
            let ps = self.beyond_l1(self.machine.coherence.transfer_ps) + self.between_groups_ps(seat, group);
            self.cost.parts.coherence += ps;
            let leaves = Fetched { ready: start + ps, part: Part::Coherence, is_shared: true };
            return self.travel(seat, at, leaves, group / self.groups_per_socket);
        }
        let l3_ps = self.beyond_l1(self.machine.l3.latency_ps);
        if self.l3.has(seat.group, id, line.version) {
            self.cost.parts.l3 += l3_ps;
            return Fetched { ready: self.arrive(seat, start + l3_ps, id), part: Part::L3, is_shared: false };
        }
        if line.holder != NOBODY && self.l3.has(line.holder, id, line.version) {
            let ps = l3_ps + self.between_groups_ps(seat, line.holder);
            self.cost.parts.l3 += ps;
            let leaves = Fetched { ready: start + ps, part: Part::L3, is_shared: true };
            return self.travel(seat, at, leaves, line.holder / self.groups_per_socket);
        }
        self.bring_from_memory(seat, at, start, (id, line.home))
    }

    /// Whether another core has written the line and still has it: it has not been written back to its home.
    fn is_in_a_core(&self, seat: Seat, id: LineId, line: Line) -> bool {
        let has = |tags: &Tags| tags.keeps(line.owner, id, line.version);
        let is_owned = line.owner != NOBODY && line.owner != seat.core;
        line.copies == Copies::Dirty && is_owned && (has(&self.l2) || has(&self.l1))
    }

    fn bring_from_memory(&mut self, seat: Seat, at: u64, start: u64, (id, home): (LineId, u16)) -> Fetched {
        let latency_ps = self.beyond_l1(self.machine.memory.latency_ps);
        let (ahead, before) = self.cores[usize::from(seat.core)].ahead;
        let begin = start.max(self.controllers[usize::from(home)].has_time(at, self.controller_ps));
        let leaves = Fetched { ready: begin + latency_ps, part: Part::Memory, is_shared: false };
        // A program that goes through memory in order waits for its share of the rates alone: that of a core's misses,
        // and that of the links.
        let gap_ps = self.next_miss_ps.min(latency_ps);
        let fetched = if ahead == id && home == seat.socket {
            let ready = begin.max(before) + gap_ps;
            self.cost.parts.memory += ready - start;
            Fetched { ready, ..leaves }
        } else if ahead == id {
            let link_ps = self.link_ps[self.distance(seat, usize::from(home))];
            let begin = begin.max(self.links[usize::from(home)].has_time(at, link_ps));
            let ready = begin.max(before) + gap_ps.max(link_ps);
            self.cost.parts.numa += ready - start;
            Fetched { ready, part: Part::Numa, ..leaves }
        } else {
            self.cost.parts.memory += leaves.ready - start;
            self.travel(seat, at, leaves, home)
        };
        self.cores[usize::from(seat.core)].ahead = (id + 1, fetched.ready);
        fetched
    }

    /// The part of a latency that comes on top of a hit in the first cache, which the instructions' own time has.
    fn beyond_l1(&self, latency_ps: u64) -> u64 {
        latency_ps.saturating_sub(self.machine.l1.latency_ps)
    }

    /// The way between two groups of cores, within a socket or at both ends of the way between sockets.
    fn between_groups_ps(&self, seat: Seat, group: u16) -> u64 {
        if group == seat.group { 0 } else { self.machine.hops[0].round_trip_ps }
    }

    /// The arrival of a line that was asked for at `at` and leaves a socket as `leaves` says.
    fn travel(&mut self, seat: Seat, at: u64, leaves: Fetched, socket: u16) -> Fetched {
        if socket == seat.socket {
            return leaves;
        }
        let from = usize::from(socket);
        let distance = self.distance(seat, from);
        let begin = leaves.ready.max(self.links[from].has_time(at, self.link_ps[distance]));
        let ready = begin + self.machine.hops[distance].round_trip_ps;
        self.cost.parts.numa += ready - leaves.ready;
        Fetched { ready, part: Part::Numa, ..leaves }
    }

    /// Whether all copies of a line, if there are any, are in the group of the seat.
    fn is_in_group(&self, seat: Seat, line: Line) -> bool {
        let group = match line.owner {
            NOBODY if line.copies == Copies::CleanInGroup => line.holder,
            NOBODY => return line.sockets == 0,
            owner => owner / self.machine.topology.cores_per_group as u16,
        };
        group == seat.group
    }

    /// The time until no other core has a copy.
    fn invalidate(&mut self, seat: Seat, line: Line) -> u64 {
        let sockets = line.sockets;
        if sockets == 0 {
            return 0;
        }
        let mut others = sockets & !(1 << seat.socket);
        let count = u64::from(others.count_ones());
        let mut farthest = 0;
        while others != 0 {
            let socket = others.trailing_zeros() as usize;
            others &= others - 1;
            farthest = farthest.max(self.machine.hops[self.distance(seat, socket)].round_trip_ps);
        }
        let is_between = self.machine.topology.groups_per_socket > 1 && !self.is_in_group(seat, line);
        let within = if sockets & (1 << seat.socket) == 0 {
            self.machine.l3.latency_ps
        } else if is_between {
            self.machine.coherence.transfer_ps + self.machine.hops[0].round_trip_ps
        } else {
            self.machine.coherence.transfer_ps
        };
        self.cost.parts.coherence += within;
        self.cost.parts.numa += farthest + count * self.machine.coherence.invalidate_ps;
        within + farthest + count * self.machine.coherence.invalidate_ps
    }

    fn distance(&self, seat: Seat, socket: usize) -> usize {
        usize::from(self.machine.topology.distance[usize::from(seat.socket)][socket])
    }
}
