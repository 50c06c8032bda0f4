//! Random histories: nodes come and go, lie, are late; runs are submitted and stopped; the
//! coordinator restarts. After each, honest nodes answer until every run is over.

mod world;

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;

use world::World;

const CAPABILITIES: [&str; 2] = ["browser:chromium", "browser:firefox"];
const NODES: usize = 3;
const LEASE: Duration = Duration::from_millis(100);
const INFRA_TRIES: u32 = 3;

#[derive(Clone, Debug)]
struct PlannedUnit {
    needs: u8,
    retries: u32,
    expected_ms: u64,
    timeout_ms: u64,
    skipped: bool,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Pass,
    Skip,
    Product,
    TimedOut,
    Configuration,
    Infrastructure,
    Interrupted,
    StopsRun,
}

#[derive(Clone, Debug)]
enum Op {
    Submit {
        units: Vec<PlannedUnit>,
        max_failures: u32,
    },
    /// `forgets`: it comes back without what it held.
    Attach {
        node: usize,
        offers: u8,
        slots: usize,
        forgets: bool,
    },
    Detach {
        node: usize,
    },
    Beat {
        node: usize,
    },
    Finish {
        node: usize,
        pick: usize,
        how: How,
    },
    /// A token that may be long gone, from any node.
    Stale {
        node: usize,
        pick: usize,
    },
    Unreadable {
        node: usize,
        pick: usize,
    },
    Settle {
        pick: usize,
    },
    Drain {
        node: usize,
        pick: usize,
    },
    Cancel {
        pick: usize,
        by_condition: bool,
    },
    Advance {
        ms: u64,
    },
    Restart,
}

fn op() -> impl Strategy<Value = Op> {
    let node = 0..NODES;
    let how = prop_oneof![
        4 => Just(How::Pass),
        1 => Just(How::Skip),
        3 => Just(How::Product),
        1 => Just(How::TimedOut),
        1 => Just(How::Configuration),
        2 => Just(How::Infrastructure),
        1 => Just(How::Interrupted),
        1 => Just(How::StopsRun),
    ];
    let unit = (
        0u8..4,
        0u32..3,
        0u64..4,
        prop_oneof![Just(0u64), Just(50)],
        prop::bool::weighted(0.1),
    )
        .prop_map(
            |(needs, retries, expected_ms, timeout_ms, skipped)| PlannedUnit {
                needs,
                retries,
                expected_ms,
                timeout_ms,
                skipped,
            },
        );
    prop_oneof![
        2 => (vec(unit, 1..6), 0u32..3).prop_map(|(units, max_failures)| Op::Submit { units, max_failures }),
        4 => (node.clone(), 0u8..4, 1usize..4, prop::bool::weighted(0.2))
            .prop_map(|(node, offers, slots, forgets)| Op::Attach { node, offers, slots, forgets }),
        1 => node.clone().prop_map(|node| Op::Detach { node }),
        4 => node.clone().prop_map(|node| Op::Beat { node }),
        8 => (node.clone(), 0usize..8, how).prop_map(|(node, pick, how)| Op::Finish { node, pick, how }),
        2 => (node.clone(), 0usize..64).prop_map(|(node, pick)| Op::Stale { node, pick }),
        1 => (node.clone(), 0usize..8).prop_map(|(node, pick)| Op::Unreadable { node, pick }),
        6 => (0usize..8).prop_map(|pick| Op::Settle { pick }),
        1 => (node, 0usize..8).prop_map(|(node, pick)| Op::Drain { node, pick }),
        1 => (0usize..8, any::<bool>()).prop_map(|(pick, by_condition)| Op::Cancel { pick, by_condition }),
        4 => (1u64..80).prop_map(|ms| Op::Advance { ms }),
        1 => Just(Op::Restart),
    ]
}

proptest! {
    #[test]
    fn every_history_keeps_the_promises(ops in vec(op(), 1..80)) {
        let mut world = World::new();
        for op in ops {
            world.apply(op);
        }
        world.finish();
    }

    #[test]
    fn a_run_ends_even_if_no_node_ever_comes(ops in vec(op(), 1..40)) {
        let mut world = World::new();
        for op in ops {
            world.apply(op);
        }
        for node in 0..NODES {
            world.apply(Op::Detach { node });
        }
        while !world.settling.is_empty() {
            world.settle(0);
        }
        for _ in 0..100 {
            world.advance(LEASE);
        }
        prop_assert!(world.over());
    }
}

#[test]
fn a_unit_goes_to_another_node_after_its_node_failed_it() {
    let mut world = World::new();
    world.attach(0, 3, 1, false);
    world.attach(1, 3, 1, false);
    let unit = PlannedUnit {
        needs: 0,
        retries: 0,
        expected_ms: 0,
        timeout_ms: 0,
        skipped: false,
    };
    world.submit(vec![unit], 0);
    world.apply(Op::Finish {
        node: 0,
        pick: 0,
        how: How::Infrastructure,
    });
    world.settle(0);
    assert_eq!(
        (world.nodes[0].held.len(), world.nodes[1].held.len()),
        (0, 1)
    );
}

#[test]
fn a_large_run_does_not_starve_a_small_one() {
    let mut world = World::new();
    let unit = PlannedUnit {
        needs: 0,
        retries: 0,
        expected_ms: 9,
        timeout_ms: 0,
        skipped: false,
    };
    world.submit(vec![unit.clone(); 5], 0);
    world.submit(
        vec![
            PlannedUnit {
                expected_ms: 1,
                ..unit
            };
            2
        ],
        0,
    );
    world.attach(0, 0, 4, false);
    let mut runs: Vec<_> = world.nodes[0]
        .held
        .iter()
        .map(|token| token.run.as_str())
        .collect();
    runs.sort_unstable();
    assert_eq!(runs, ["r0", "r0", "r1", "r1"]);
}
