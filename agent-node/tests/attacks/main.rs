//! The attack corpus: what a page, a model or a browser may try, each told as a case.
//!
//! A case names the attack (`A19`), and the guard that stops it. It runs twice: with every guard in
//! force, where the attack must be held, and with its own guard lifted, where it must fall. A case
//! that holds without its guard shows nothing and is an error, too.
//!
//! To add a case, write `async fn(&World) -> Outcome` in the file of its area and name it in that
//! file's `CASES`; a new area is one `mod` and one line in [`AREAS`]. [`world`] has the browser, a
//! hostile site of the case's own, and doors made as production makes them; [`model`] has a model
//! that says what the attacker wants. Build what the guard looks at inside of the case, since some
//! guards are asked when a thing is made. Where a case goes beyond what the product has, it stands in
//! [`pending`] with what it waits for.
//!
//! `cargo test --features switches --test attacks -- A19` runs the cases whose ids are named.

#![allow(
    clippy::unwrap_used,
    reason = "a case that can't be set up is broken, and is told so"
)]
#![allow(
    clippy::expect_used,
    reason = "a case that can't be set up is broken, and is told so"
)]

mod act;
mod brain;
mod case;
mod egress;
mod fill;
mod model;
mod peer;
mod pending;
mod redact;
mod remote;
mod screen;
mod secret;
mod step;
mod world;

use std::process::ExitCode;

use case::{Case, Seen, run};
use world::World;

/// The areas, each with its cases.
const AREAS: &[&[Case]] = &[
    screen::CASES,
    act::CASES,
    step::CASES,
    secret::CASES,
    redact::CASES,
    fill::CASES,
    egress::CASES,
    brain::CASES,
    remote::CASES,
    peer::CASES,
];

#[tokio::main]
async fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word.starts_with('A'))
        .collect();
    let mut cases: Vec<&Case> = AREAS.iter().copied().flatten().collect();
    cases.retain(|case| wanted.is_empty() || wanted.iter().any(|id| id == case.id));
    cases.sort_by_key(|case| (case.id, case.guard));
    // A panic is a broken case, told in its line.
    std::panic::set_hook(Box::new(|_| {}));

    let world = World::new();
    let (mut held, mut broken) = (0, 0);
    println!(
        "{:4} {:18} {:6} {:6} what",
        "case", "guard", "held", "falls"
    );
    for case in cases {
        let (guarded, lifted) = run(case, &world).await;
        let (holds, falls) = (guarded == Seen::Held, matches!(lifted, Seen::Fell(_)));
        let word = |so: bool| if so { "yes" } else { "NO" };
        println!(
            "{:4} {:18} {:6} {:6} {}",
            case.id,
            case.guard.as_str(),
            word(holds),
            word(falls),
            case.what
        );
        if holds && falls {
            held += 1;
            continue;
        }
        broken += 1;
        println!("     with its guard: {guarded}\n     without it: {lifted}");
    }
    world.end().await;
    let pending = pending::PENDING;
    if wanted.is_empty() {
        for (id, what, waits) in pending {
            println!("{id:4} pending: {what}; waits for {waits}");
        }
    }
    println!("{held} held, {broken} broken, {} pending", pending.len());
    match broken {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
