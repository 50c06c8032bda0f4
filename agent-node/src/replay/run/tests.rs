use muster_proto::code::ErrorCode;
use muster_proto::id::ReplayKey;
use muster_proto::recording::Provenance;
use serde_json::{Value, json};

use super::super::fixture::{Reply, Script, id, screen};
use super::super::{RecordInput, open, record, seal};
use super::*;
use muster_proto::action::Typed;

/// The shop of these tests: search, product, cart.
struct Shop {
    user: &'static str,
    order: &'static str,
    in_cart: u32,
}

const FIRST: Shop = Shop {
    user: "Alpha 81f3c2d9",
    order: "ORD-4F7K2",
    in_cart: 0,
};
const SECOND: Shop = Shop {
    user: "Alpha 2b9e77aa",
    order: "ORD-9QX31",
    in_cart: 0,
};

impl Shop {
    fn product(&self, added: bool) -> Observation {
        let count = self.in_cart + u32::from(added);
        let status = if added {
            "status ~Blue mug is in your cart"
        } else {
            ""
        };
        screen(
            "/p/blue-mug",
            &format!(
                "
                heading Blue mug
                link Cart ({count})
                textbox Engraving
                button Add to cart
                {status}
                "
            ),
        )
    }

    fn checkout(&self, name: &str) -> Observation {
        screen(
            "/checkout",
            &format!(
                "
                heading Checkout
                textbox Name ={name}
                button Place order
                "
            ),
        )
    }

    fn order(&self) -> Observation {
        screen(
            &format!("/orders/{}", self.order),
            &format!(
                "
                heading Thank you, {}
                . ~Order {} of May 1, 2024
                link Orders
                ",
                self.user.split(' ').next().unwrap(),
                self.order
            ),
        )
    }

    fn params(&self) -> Value {
        json!({ "name": self.user })
    }
}

const UNIQUE: &str = "/name";

/// Does the actions as an executor would, each on the label it names.
async fn live(
    script: &Script,
    steps: &[(&str, Action<&str>)],
) -> (Arc<Observation>, Vec<Performed>) {
    let start = script.observe().await.unwrap();
    let mut trace = Vec::new();
    for (_, action) in steps {
        let now = script.observe().await.unwrap();
        trace.push(
            script
                .perform(action.clone().map(|label| id(&now, label)))
                .await
                .unwrap(),
        );
    }
    (start, trace)
}

fn tap(label: &str) -> (&str, Action<&str>) {
    (label, Action::Tap { target: label })
}

fn type_in<'a>(label: &'a str, text: &str) -> (&'a str, Action<&'a str>) {
    (
        label,
        Action::Type {
            target: label,
            value: Typed::Literal {
                text: text.to_owned(),
            },
            replace: true,
        },
    )
}

fn recorded(shop: &Shop, start: &Observation, trace: &[Performed]) -> Recording {
    record(&RecordInput {
        trace,
        start,
        end: &trace.last().unwrap().after,
        instruction: "Do it",
        params: &shop.params(),
        unique: &[UNIQUE.to_owned()],
        executor_name: "scripted",
        executor_version: "1",
        summary: "Done.",
        end_wait: Duration::ZERO,
    })
    .unwrap()
}

/// Through envelope and bytes, as the next run gets it.
fn carried(recording: &Recording, shop: &Shop) -> Recording {
    let key = ReplayKey::from("k");
    let provenance = Provenance {
        project: "shop".to_owned(),
        run: "r".to_owned(),
        unit: "u".to_owned(),
        test: "t".to_owned(),
        target: "web".to_owned(),
        instruction_digest: "0".to_owned(),
        step: 0,
        verified_by: Some(1),
        node: "n".to_owned(),
        engine: "fake".to_owned(),
        policy_digest: "p".to_owned(),
        recorded_at: "2024-05-01T00:00:00.000Z".to_owned(),
    };
    let bytes = serde_json::to_vec(&seal(recording, &key, "local", provenance)).unwrap();
    open(&bytes, &key, &shop.params(), &[UNIQUE.to_owned()])
        .unwrap()
        .recording
}

async fn added() -> Recording {
    let script =
        Script::new(FIRST.product(false)).on("tap Add to cart", Reply::Shows(FIRST.product(true)));
    let (start, trace) = live(&script, &[tap("Add to cart")]).await;
    recorded(&FIRST, &start, &trace)
}

fn handed_off(outcome: ReplayOutcome) -> (CacheReason, String, usize) {
    match outcome {
        ReplayOutcome::HandedOff {
            reason,
            detail,
            actions,
            performed,
            ..
        } => {
            assert_eq!(actions.len(), performed.len());
            (reason, detail, actions.len())
        }
        other => panic!("{other:?}"),
    }
}

fn missed(outcome: ReplayOutcome) -> (CacheReason, String) {
    match outcome {
        ReplayOutcome::Missed { reason, detail } => (reason, detail),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_flow_replays_with_new_ids_dates_and_unique_values() {
    let script = Script::new(FIRST.checkout(""))
        .on("type Name", Reply::Shows(FIRST.checkout("Alpha")))
        .on("tap Place order", Reply::Shows(FIRST.order()));
    let (start, trace) = live(&script, &[type_in("Name", FIRST.user), tap("Place order")]).await;
    let recording = recorded(&FIRST, &start, &trace);
    let bytes = serde_json::to_string(&recording).unwrap();
    for minted in ["81f3c2d9", "4F7K2", "May 1"] {
        assert!(!bytes.contains(minted), "{minted} in {bytes}");
    }

    let began = Instant::now();
    let script = Script::new(SECOND.checkout(""))
        .on("type Name", Reply::Shows(SECOND.checkout("Alpha")))
        .on("tap Place order", Reply::Shows(SECOND.order()));
    let outcome = run(&script, &carried(&recording, &SECOND)).await;
    let ReplayOutcome::Replayed {
        actions,
        relocated,
        performed,
        first,
        last,
    } = outcome
    else {
        panic!("{outcome:?}")
    };
    assert_eq!(
        script.log(),
        ["type Name <- Alpha 2b9e77aa", "tap Place order"]
    );
    assert_eq!(
        actions,
        [
            r#"type "Alpha 2b9e77aa" into textbox "Name""#,
            r#"tap button "Place order""#
        ]
    );
    assert_eq!((performed.len(), relocated.len()), (2, 0));
    assert_eq!(
        (first.location.as_str(), last.location.as_str()),
        ("/checkout", "/orders/ORD-9QX31")
    );
    assert_eq!(began.elapsed(), Duration::ZERO, "nothing was waited for");
}

#[tokio::test(start_paused = true)]
async fn a_drag_finds_both_of_its_ends_anew() {
    let board = |prefix: &str, done: bool| {
        let (todo, status) = match done {
            true => ("", "status ~Write it is done"),
            false => ("listitem ~Write", ""),
        };
        let lines = format!("{prefix}\nlist To do\n {todo}\nlist Done\n{status}");
        screen("/board", &lines)
    };
    let drag = (
        "Write",
        Action::Drag {
            target: "Write",
            to: "Done",
        },
    );
    let script = Script::new(board("", false)).on("drag Write", Reply::Shows(board("", true)));
    let (start, trace) = live(&script, &[drag]).await;
    let recording = carried(&recorded(&FIRST, &start, &trace), &FIRST);

    // Other ids stand for both.
    let script = Script::new(board("link Help", false))
        .on("drag Write", Reply::Shows(board("link Help", true)));
    let outcome = run(&script, &recording).await;
    let ReplayOutcome::Replayed {
        performed, first, ..
    } = outcome
    else {
        panic!("{outcome:?}")
    };
    let ends = Action::Drag {
        target: id(&first, "Write"),
        to: id(&first, "Done"),
    };
    assert_eq!(performed[0].action, ends);
    assert_ne!(id(&first, "Done"), id(&start, "Done"));

    let gone = screen("/board", "list To do\n listitem ~Write");
    let (reason, detail) = missed(run(&Script::new(gone), &recording).await);
    assert_eq!(reason, CacheReason::TargetNotFound);
    assert!(detail.contains("Done"), "{detail}");
}

#[tokio::test(start_paused = true)]
async fn a_cart_that_does_not_add_is_handed_off() {
    let recording = carried(&added().await, &FIRST);
    let script = Script::new(FIRST.product(false));
    let (reason, detail, done) = handed_off(run(&script, &recording).await);
    assert_eq!((reason, done), (CacheReason::EndMismatch, 1), "{detail}");
    assert_eq!(script.log().len(), 1, "the action is not repeated");
}

#[tokio::test(start_paused = true)]
async fn a_cart_that_already_holds_the_product_is_no_pass() {
    let recording = carried(&added().await, &FIRST);
    // Already as after the recorded run: nothing is done at all.
    let script =
        Script::new(FIRST.product(true)).on("tap Add to cart", Reply::Shows(FIRST.product(true)));
    let (reason, _) = missed(run(&script, &recording).await);
    assert_eq!(reason, CacheReason::EndMismatch);
    assert!(script.log().is_empty());

    // One more than in the recorded run: the link's count is another.
    let fuller = Shop {
        in_cart: 1,
        ..FIRST
    };
    let script = Script::new(fuller.product(false))
        .on("tap Add to cart", Reply::Shows(fuller.product(true)));
    assert_eq!(
        handed_off(run(&script, &recording).await).0,
        CacheReason::EndMismatch
    );
}

#[tokio::test(start_paused = true)]
async fn an_action_without_its_effect_stops_the_replay_before_the_next() {
    // The cart page alone would look right: it holds the product from before.
    let cart = screen(
        "/cart",
        "heading Cart\nlistitem\n link Blue mug\nbutton Check out",
    );
    let script = Script::new(FIRST.product(false))
        .on("tap Add to cart", Reply::Shows(FIRST.product(true)))
        .on("tap Cart (1)", Reply::Shows(cart.clone()));
    let (start, trace) = live(&script, &[tap("Add to cart"), tap("Cart (1)")]).await;
    let recording = carried(&recorded(&FIRST, &start, &trace), &FIRST);

    let full = Shop {
        in_cart: 1,
        ..FIRST
    };
    let script = Script::new(full.product(false)).on("tap Cart (1)", Reply::Shows(cart));
    let (reason, detail, done) = handed_off(run(&script, &recording).await);
    assert_eq!((reason, done), (CacheReason::EndMismatch, 1), "{detail}");
    assert!(detail.contains("changed nothing"), "{detail}");
}

#[tokio::test(start_paused = true)]
async fn what_is_late_is_waited_for() {
    let recording = carried(&added().await, &FIRST);
    let blank = screen("/p/blue-mug", ". ~Loading");
    let script = Script::new(blank)
        .then(Duration::from_secs(4), FIRST.product(false))
        .on(
            "tap Add to cart",
            Reply::Later(Duration::from_millis(1500), FIRST.product(true)),
        );
    assert!(matches!(
        run(&script, &recording).await,
        ReplayOutcome::Replayed { .. }
    ));
}

#[tokio::test(start_paused = true)]
async fn another_start_is_a_miss() {
    let recording = carried(&added().await, &FIRST);
    let began = Instant::now();
    let script = Script::new(FIRST.checkout(""));
    let (reason, detail) = missed(run(&script, &recording).await);
    assert_eq!(reason, CacheReason::WrongContext);
    assert_eq!(
        detail,
        "the screen is /checkout; the recording starts on /p/blue-mug"
    );
    assert!(began.elapsed() <= LOOK_UP);
}

#[tokio::test(start_paused = true)]
async fn a_renamed_button_is_a_miss_and_its_test_id_finds_it_again() {
    let page = |name: &str, test_id: &str, after: &str| {
        screen(
            "/p",
            &format!("heading Mug\nbutton {name} {test_id}\n{after}"),
        )
    };
    let script = Script::new(page("Add", "@add", "")).on(
        "tap Add",
        Reply::Shows(page("Add", "@add", "status ~Added")),
    );
    let (start, trace) = live(&script, &[tap("Add")]).await;
    let recording = carried(&recorded(&FIRST, &start, &trace), &FIRST);

    let script = Script::new(page("Put in basket", "@add", "")).on(
        "tap Put in basket",
        Reply::Shows(page("Put in basket", "@add", "status ~Added")),
    );
    match run(&script, &recording).await {
        ReplayOutcome::Replayed { relocated, .. } => assert_eq!(relocated, ["test-id"]),
        other => panic!("{other:?}"),
    }

    let script = Script::new(page("Put in basket", "", ""));
    let (reason, detail) = missed(run(&script, &recording).await);
    assert_eq!(
        (reason, detail.as_str()),
        (CacheReason::TargetNotFound, r#"no element is button "Add""#)
    );
}

#[tokio::test(start_paused = true)]
async fn a_relocated_element_has_to_hold_still() {
    let page = |above: &str, name: &str| {
        screen("/p", &format!("heading Mug\n{above}\nbutton {name} @add"))
    };
    let shown = |name: &str| {
        screen(
            "/p",
            &format!("heading Mug\nbutton {name} @add\nstatus ~Added"),
        )
    };
    let script = Script::new(page("", "Add")).on("tap Add", Reply::Shows(shown("Add")));
    let (start, trace) = live(&script, &[tap("Add")]).await;
    let recording = carried(&recorded(&FIRST, &start, &trace), &FIRST);

    // Between the two looks a banner pushes it down; then it stays.
    let script = Script::new(page("", "Buy"))
        .then(Duration::from_millis(50), page(". ~Sale", "Buy"))
        .on("tap Buy", Reply::Shows(shown("Buy")));
    let began = Instant::now();
    assert!(matches!(
        run(&script, &recording).await,
        ReplayOutcome::Replayed { .. }
    ));
    assert!(
        began.elapsed() >= Duration::from_millis(200),
        "looked at more than twice"
    );
}

#[tokio::test(start_paused = true)]
async fn a_refused_action_gets_one_more_try() {
    let recording = carried(&added().await, &FIRST);
    let once = Script::new(FIRST.product(false))
        .on("tap Add to cart", Reply::Refuses(ErrorCode::ActionFailed))
        .on("tap Add to cart", Reply::Shows(FIRST.product(true)));
    assert!(matches!(
        run(&once, &recording).await,
        ReplayOutcome::Replayed { .. }
    ));

    let twice = Script::new(FIRST.product(false))
        .on("tap Add to cart", Reply::Refuses(ErrorCode::ActionFailed))
        .on("tap Add to cart", Reply::Refuses(ErrorCode::ActionFailed))
        .on("tap Add to cart", Reply::Shows(FIRST.product(true)));
    assert_eq!(
        missed(run(&twice, &recording).await).0,
        CacheReason::ActionFailed
    );

    let denied = Script::new(FIRST.product(false))
        .on("tap Add to cart", Reply::Refuses(ErrorCode::PolicyDenied))
        .on("tap Add to cart", Reply::Shows(FIRST.product(true)));
    assert_eq!(
        missed(run(&denied, &recording).await).0,
        CacheReason::ActionFailed
    );
    assert!(denied.log().is_empty(), "a rule is not asked twice");
}

#[tokio::test(start_paused = true)]
async fn an_action_that_may_have_been_done_is_never_repeated() {
    let recording = carried(&added().await, &FIRST);
    let script = Script::new(FIRST.product(false)).on("tap Add to cart", Reply::Loses);
    let (reason, detail, done) = handed_off(run(&script, &recording).await);
    assert_eq!((reason, done), (CacheReason::ActionUncertain, 0));
    assert!(detail.contains("may have been done"), "{detail}");
    assert_eq!(script.log().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_step_is_passed_on() {
    let recording = carried(&added().await, &FIRST);
    let script = Script::new(FIRST.product(false))
        .on("tap Add to cart", Reply::Ends(ErrorCode::StepTimeout));
    match run(&script, &recording).await {
        ReplayOutcome::Stopped(problem) => assert_eq!(problem.code, ErrorCode::StepTimeout),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn an_alert_that_the_recording_never_saw_stops_it() {
    let recording = carried(&added().await, &FIRST);
    let mut warned = FIRST.product(true);
    let alert = screen("/", "alert ~Only 1 left");
    warned.snapshot.nodes.extend(alert.snapshot.nodes);
    let script = Script::new(FIRST.product(false)).on("tap Add to cart", Reply::Shows(warned));
    let (reason, detail, _) = handed_off(run(&script, &recording).await);
    assert_eq!(reason, CacheReason::EndMismatch);
    assert!(detail.contains("Only 1 left"), "{detail}");
}
