//! The heap of a simulation, as programs that simulate have it.

use std::panic::{catch_unwind, resume_unwind};

use simulations as _;
use sync_sim::heap;

/// One test, because heaps are counted over the whole process.
#[test]
fn heaps_serve_the_same_distances_and_go_back_to_the_system() {
    pieces_of_a_heap_keep_their_distances_their_alignment_and_their_content();
    a_panic_ends_a_simulation_and_another_one_may_begin();
}

fn pieces_of_a_heap_keep_their_distances_their_alignment_and_their_content() {
    let layout = || {
        let mut pieces: Vec<Vec<u64>> = Vec::new();
        for round in 0..4_usize {
            pieces.extend((0..60).map(|size| vec![(round * 60 + size) as u64; size * size + 1]));
            pieces.extend((15..22).map(|power| vec![0; 1 << power]));
            // The next round gets some of these again, and others grow and shrink.
            let mut at = 0;
            pieces.retain(|_| {
                at += 1;
                at % 3 > 0
            });
            pieces.iter_mut().step_by(5).for_each(|piece| piece.extend_from_within(..piece.len() / 2));
            pieces.iter_mut().step_by(7).for_each(Vec::shrink_to_fit);
        }
        for piece in &pieces {
            assert!(piece.iter().all(|word| *word == piece[0]), "{} words", piece.len());
            assert!(vec![0_u64; piece.len()].iter().all(|word| *word == 0), "zero memory is zero");
        }
        let mut all: Vec<_> = pieces.iter().map(|piece| piece.as_ptr_range()).collect();
        let first = all[0].start.addr();
        let starts: Vec<_> = all.iter().map(|piece| piece.start.addr().wrapping_sub(first)).collect();
        all.sort_by_key(|piece| piece.start);
        assert!(all.windows(2).all(|two| two[0].end <= two[1].start), "pieces are disjoint");
        heap::outside(|| starts.clone())
    };
    let first = heap::within(layout);
    let mut lines = Vec::new();
    heap::within(|| {
        #[repr(align(128))]
        struct Line(u8);
        for number in 0..9 {
            heap::outside(|| lines.reserve(1));
            lines.push((Box::new(Line(number)), Box::new(number)));
        }
    });
    assert!(lines.iter().all(|(line, _)| core::ptr::from_ref(&**line).addr() % 128 == 0 && line.0 < 9));
    assert_eq!(heap::count(), 1, "somebody still has pieces");
    assert_eq!(heap::within(layout), first);
    drop(lines);
    assert_eq!(heap::count(), 0);
}

fn a_panic_ends_a_simulation_and_another_one_may_begin() {
    // A panic without a message: those that collect messages would keep pieces.
    let panic = catch_unwind(|| heap::within(|| resume_unwind(Box::new(1_u8))));
    assert!(panic.is_err() && heap::count() == 1);
    drop(panic);
    assert_eq!(heap::count(), 0);
    heap::within(|| assert_eq!(heap::count(), 1));
    assert_eq!(heap::count(), 0);
}
