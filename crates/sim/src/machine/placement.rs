//! Placements: the order in which the threads of a program get the hardware threads of a machine.

use super::Topology;

/// The order in which hardware threads are used. Where fewer threads run than the machine has, the order decides which
/// of them share a core, a cache and a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Socket by socket; within a socket one thread on each core first, then the second thread of each core, and so on.
    /// The evaluation of a thousand cores by Bang et al. fills its machines so.
    CoresFirst,
    /// Socket by socket and core by core, all threads of a core before the next core. OpenMP tools call it *compact*.
    ThreadsFirst,
    /// One socket after the other in turn, and within a socket one group of cores after the other. All cores of the
    /// machine get one thread before any core gets two. OpenMP tools call it *scatter*.
    Scatter,
}

impl Placement {
    /// All placements.
    pub const ALL: [Self; 3] = [Self::CoresFirst, Self::ThreadsFirst, Self::Scatter];

    /// Returns the name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CoresFirst => "cores_first",
            Self::ThreadsFirst => "threads_first",
            Self::Scatter => "scatter",
        }
    }

    /// Returns the placement of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|placement| placement.name() == name)
    }
}

/// The choice of the socket in whose memory a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryPolicy {
    /// Pages are spread over the sockets that the program uses, one on each in turn.
    Interleaved,
    /// A page is on the socket of the thread that is the first to use it. Loading uses no page.
    Local,
    /// A page is on another socket, at this distance from the thread that is the first to use it, for experiments that
    /// measure what distance costs. Each socket has a partner of its own at each distance, wherever the machine's
    /// topology has as many sockets that are at this distance.
    Distance(u16),
}

impl MemoryPolicy {
    /// Returns the name on the command line and in results.
    pub fn name(self) -> String {
        match self {
            Self::Interleaved => "interleaved".to_owned(),
            Self::Local => "local".to_owned(),
            Self::Distance(distance) => format!("distance_{distance}"),
        }
    }

    /// Returns the policy of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "interleaved" => Some(Self::Interleaved),
            "local" => Some(Self::Local),
            _ => name.strip_prefix("distance_")?.parse().ok().map(Self::Distance),
        }
    }
}

/// A hardware thread: each part counts from 0 within the part before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadPlace {
    /// The socket.
    pub socket: u32,
    /// The group of cores within the socket.
    pub group: u32,
    /// The core within the group.
    pub core: u32,
    /// The hardware thread within the core.
    pub smt: u32,
}

impl Topology {
    /// Returns the cores of the whole machine.
    pub fn cores(&self) -> u32 {
        self.sockets * self.cores_per_socket()
    }

    /// Returns the groups of cores of the whole machine.
    pub fn groups(&self) -> u32 {
        self.sockets * self.groups_per_socket
    }

    /// Returns the cores of a socket.
    pub fn cores_per_socket(&self) -> u32 {
        self.groups_per_socket * self.cores_per_group
    }

    /// Returns the hardware thread that the `thread`th thread of a program runs on.
    ///
    /// # Panics
    /// When the machine has no more than `thread` hardware threads.
    pub fn place(&self, placement: Placement, thread: u32) -> ThreadPlace {
        let threads = self.cores() * self.threads_per_core;
        assert!(thread < threads, "the machine has {threads} hardware threads, none for thread {thread}");
        let cores = self.cores_per_socket();
        // The core within the socket, groups one after the other.
        let (socket, core, smt) = match placement {
            Placement::CoresFirst => {
                let within = thread % (cores * self.threads_per_core);
                (thread / (cores * self.threads_per_core), within % cores, within / cores)
            }
            Placement::ThreadsFirst => {
                let core = thread / self.threads_per_core;
                (core / cores, core % cores, thread % self.threads_per_core)
            }
            Placement::Scatter => {
                let within = thread / self.sockets;
                let turn = within % cores;
                let group = turn % self.groups_per_socket;
                let core = group * self.cores_per_group + turn / self.groups_per_socket;
                (thread % self.sockets, core, within / cores)
            }
        };
        ThreadPlace { socket, group: core / self.cores_per_group, core: core % self.cores_per_group, smt }
    }

    /// Returns the socket at a distance from `socket` that is the partner of this socket and of no other, as far as the
    /// topology allows; `None` if no socket is at this distance. Sockets at equal distances from all others are
    /// matched in their order with those that follow them.
    pub fn partner(&self, socket: u32, distance: u16) -> Option<u32> {
        let at = |socket: u32| -> Vec<u32> {
            let row = &self.distance[socket as usize];
            (0..self.sockets).filter(|other| u16::from(row[*other as usize]) == distance).collect()
        };
        if distance == 0 {
            return Some(socket);
        }
        let partners = at(socket);
        let alike: Vec<u32> = (0..self.sockets).filter(|other| at(*other) == partners).collect();
        let rank = alike.iter().position(|other| *other == socket).expect("a socket is like itself");
        let last = *alike.last().expect("a socket is like itself");
        let start = partners.iter().position(|partner| *partner > last).unwrap_or(0);
        (!partners.is_empty()).then(|| partners[(start + rank) % partners.len()])
    }

    /// Returns the number of the place's group of cores, counted over the whole machine.
    pub fn group_index(&self, place: ThreadPlace) -> u32 {
        place.socket * self.groups_per_socket + place.group
    }

    /// Returns the number of the place's core, counted over the whole machine.
    pub fn core_index(&self, place: ThreadPlace) -> u32 {
        self.group_index(place) * self.cores_per_group + place.core
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;
    use std::collections::BTreeSet;

    /// Two sockets of two groups of three cores of two threads.
    fn topology() -> Topology {
        Topology {
            sockets: 2,
            groups_per_socket: 2,
            cores_per_group: 3,
            threads_per_core: 2,
            distance: vec![vec![0, 1], vec![1, 0]],
        }
    }

    fn first(placement: Placement, threads: u32) -> Vec<(u32, u32, u32, u32)> {
        let place = |thread| topology().place(placement, thread);
        (0..threads).map(place).map(|at| (at.socket, at.group, at.core, at.smt)).collect()
    }

    #[test]
    fn every_placement_uses_every_hardware_thread_once() {
        for placement in Placement::ALL {
            let places: BTreeSet<_> = first(placement, 24).into_iter().collect();
            assert_eq!(places.len(), 24, "{}", placement.name());
        }
    }

    #[test]
    fn cores_first_fills_a_socket_before_the_next_and_its_cores_before_their_second_threads() {
        let places = first(Placement::CoresFirst, 13);
        assert_eq!(places[..4], [(0, 0, 0, 0), (0, 0, 1, 0), (0, 0, 2, 0), (0, 1, 0, 0)]);
        assert_eq!(places[6], (0, 0, 0, 1));
        assert_eq!(places[12], (1, 0, 0, 0));
    }

    #[test]
    fn threads_first_fills_a_core_before_the_next() {
        assert_eq!(first(Placement::ThreadsFirst, 3), [(0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0)]);
        assert_eq!(first(Placement::ThreadsFirst, 13)[12], (1, 0, 0, 0));
    }

    #[test]
    fn scatter_alternates_between_sockets_then_groups_and_uses_second_threads_last() {
        let places = first(Placement::Scatter, 13);
        assert_eq!(places[..5], [(0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (1, 1, 0, 0), (0, 0, 1, 0)]);
        assert!(places[..12].iter().all(|place| place.3 == 0));
        assert_eq!(places[12], (0, 0, 0, 1));
    }

    #[test]
    fn places_have_numbers_over_the_whole_machine() {
        let topology = topology();
        let last = topology.place(Placement::ThreadsFirst, 23);
        assert_eq!((topology.group_index(last), topology.core_index(last)), (3, 11));
    }

    #[test]
    #[should_panic(expected = "none for thread 24")]
    fn no_place_is_made_up() {
        topology().place(Placement::Scatter, 24);
    }

    #[test]
    fn each_socket_has_a_partner_of_its_own_at_each_distance() {
        let name = "hpe-superdome-flex";
        let machine = Machine::read(Machine::of_name(name).expect("it is there"), name).expect("correct");
        let topology = &machine.topology;
        for distance in 0..=3 {
            let partners: BTreeSet<u32> = (0..topology.sockets)
                .map(|socket| {
                    let partner = topology.partner(socket, distance).expect("a chassis has each distance");
                    assert_eq!(u16::from(topology.distance[socket as usize][partner as usize]), distance);
                    partner
                })
                .collect();
            assert_eq!(partners.len(), 28, "distance {distance}");
        }
        assert_eq!(topology.partner(0, 4), None);
    }

    #[test]
    fn policies_of_memory_are_found_by_their_names() {
        for policy in [MemoryPolicy::Interleaved, MemoryPolicy::Local, MemoryPolicy::Distance(2)] {
            assert_eq!(MemoryPolicy::of_name(&policy.name()), Some(policy));
        }
        assert!(
            ["", "distance_", "distance_-1", "near"].iter().all(|name| MemoryPolicy::of_name(name).is_none())
        );
    }

    #[test]
    fn placements_are_found_by_their_names() {
        for placement in Placement::ALL {
            assert_eq!(Placement::of_name(placement.name()), Some(placement));
        }
        assert_eq!(Placement::of_name("compact"), None);
    }
}
