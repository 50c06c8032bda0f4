//! Recorded once, replayed after: what replays, what is handed over, what must fail.

use serde_json::Value;

use crate::support::Project;

const RECORD: &[&str] = &["run", "--nodes", "2", "--slots", "2", "--tag", "goal"];

fn figure(report: &Value, path: &str) -> u64 {
    report
        .pointer(path)
        .and_then(Value::as_u64)
        .unwrap_or_else(|| panic!("{path} is a number of the report"))
}

/// Every goal's cache part, by test title.
fn goals(report: &Value) -> Vec<(String, Value)> {
    let units = report["units"].as_array().expect("units");
    units
        .iter()
        .flat_map(|unit| {
            let title = unit["titlePath"]
                .as_array()
                .expect("titles")
                .iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(" ");
            let steps = unit["attempts"]
                .as_array()
                .expect("attempts")
                .iter()
                .flat_map(|attempt| attempt["steps"].as_array().cloned().unwrap_or_default());
            steps
                .filter(|step| step["agent"]["call"] == "act")
                .map(move |step| (title.clone(), step["agent"]["cache"].clone()))
                .collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn what_one_run_records_the_next_replays_with_no_decision() {
    let project = Project::shop(&[]);
    project.muster(RECORD).exits(0);
    let first = project.report();
    assert!(
        figure(&first, "/totals/cache/saved") >= 12,
        "{}",
        first["totals"]
    );
    assert!(figure(&first, "/totals/ai/decisions") > 0);
    assert_eq!(figure(&first, "/totals/cache/replayed"), 0);

    // New processes, a fresh shop with other ids, and an executor that ends the run if asked.
    project
        .muster(&[RECORD, &["--agents", "none"]].concat())
        .exits(0);
    let second = project.report();
    let replayed = figure(&second, "/totals/cache/replayed");
    assert_eq!(
        replayed,
        figure(&second, "/totals/cache/goals"),
        "{:#?}",
        goals(&second)
    );
    assert_eq!(figure(&second, "/totals/ai/decisions"), 0);
    assert_eq!(figure(&second, "/totals/ai/modelCalls"), 0);
    assert!(figure(&second, "/totals/cache/replayedOnOtherNode") * 2 >= replayed);
    assert_eq!(
        figure(&second, "/totals/cache/kept"),
        replayed,
        "an unchanged flow rewrites nothing"
    );
}

#[test]
fn without_a_recording_an_aborting_executor_ends_the_run() {
    let project = Project::shop(&[]);
    project
        .muster(&["run", "cart", "--tag", "goal", "--agents", "none"])
        .exits(2)
        .says("must replay everything");
}

#[test]
fn goals_need_decisions_a_random_chooser_fails_most() {
    let project = Project::shop(&[]);
    let config = std::fs::read_to_string(project.path().join("muster.toml")).unwrap();
    project.file(
        "muster.toml",
        &format!("{config}\n[agents.default]\nexecutor = \"random\"\n"),
    );
    project
        .muster(&["run", "--slots", "2", "--tag", "goal", "--no-cache"])
        .exits(1);
    let report = project.report();
    let failed = figure(&report, "/counts/failed");
    let goals = figure(&report, "/counts/expected");
    assert!(goals >= 12, "{goals} goals");
    assert!(failed * 12 >= goals * 10, "only {failed} of {goals} failed");
}

#[test]
fn a_renamed_button_is_found_again_or_handed_over_and_recorded_anew() {
    const ONE: &[&str] = &["run", "cart", "--grep", "added from the list"];
    let project = Project::shop(&[]);
    project.muster(ONE).exits(0);
    project.replant(&["rename-add-button"]);
    project.muster(ONE).exits(0);
    let (_, cache) = goals(&project.report()).remove(0);
    let relocated = cache["relocated"]
        .as_array()
        .is_some_and(|rungs| !rungs.is_empty());
    assert!(cache["mode"] == "handed-off" || relocated, "{cache}");
    assert_eq!(cache["write"], "saved", "{cache}");

    project
        .muster(&[ONE, &["--agents", "none"]].concat())
        .exits(0);
    let (_, cache) = goals(&project.report()).remove(0);
    assert_eq!(
        cache["mode"], "replayed",
        "the new recording holds: {cache}"
    );
}

#[test]
fn a_cart_that_does_not_add_fails_the_test_and_evicts_its_recording() {
    const ONE: &[&str] = &[
        "run",
        "cart",
        "--grep",
        "added from the list",
        "--retries",
        "0",
    ];
    let project = Project::shop(&[]);
    project.muster(ONE).exits(0);
    project
        .muster(&["cache", "ls"])
        .exits(0)
        .says("1 recordings");
    project.replant(&["cart-ignores-add"]);
    project.muster(ONE).exits(1);
    let report = project.report();
    assert_eq!(figure(&report, "/counts/failed"), 1);
    let (_, cache) = goals(&report).remove(0);
    assert_eq!(cache["write"], "evicted", "{cache}");
    project
        .muster(&["cache", "ls"])
        .exits(0)
        .says("0 recordings");
}

#[test]
fn declined_goals_decide_nothing_and_do_nothing() {
    let project = Project::shop(&[]);
    project
        .muster(&["run", "--slots", "2", "--tag", "declined"])
        .exits(0);
    let report = project.report();
    assert!(figure(&report, "/counts/passed") >= 4);
    assert_eq!(figure(&report, "/totals/cache/saved"), 0);
}

#[test]
fn a_goal_that_no_check_verifies_is_told_and_not_recorded() {
    let project = Project::shop(&[]);
    project.file(
        "tests/unverified.e2e.ts",
        "import { test } from 'muster';\ntest('adds', async ({ app, agent }) => {\n  await app.open('/');\n  \
         await agent.act('Add the Wool Hiking Socks to the cart and open the cart');\n});\n",
    );
    let ran = project.muster(&["run", "unverified"]).exits(0);
    ran.says("tests/unverified.e2e.ts:4: no later check verifies the goal");
    let (_, cache) = goals(&project.report()).remove(0);
    assert_eq!(cache["write"], "unconfirmed", "{cache}");
    project
        .muster(&["cache", "ls"])
        .exits(0)
        .says("0 recordings");
}

#[test]
fn without_a_cache_nobody_is_told_that_a_verified_goal_is_not() {
    let project = Project::shop(&[]);
    let ran = project
        .muster(&["run", "search.e2e.ts", "--no-cache"])
        .exits(0);
    assert!(!goals(&project.report()).is_empty());
    assert!(!ran.out.contains("no later check verifies"), "{}", ran.out);
}
