//! What a run may reach and spend, through the binary.

use std::net::TcpListener;

use crate::support::Project;

#[test]
fn a_runs_budget_ends_goals_and_no_exact_step() {
    let project = Project::shop(&[]);
    let config = std::fs::read_to_string(project.path().join("muster.toml")).expect("it is there");
    project.file(
        "muster.toml",
        &format!("{config}\n[budgets.run]\ndecisions = 0\n"),
    );
    let ran = project.muster(&["run", "search.e2e.ts"]).exits(1);
    ran.says("STEP_BUDGET_EXHAUSTED")
        .says("this test's share of the run's budget is 0 decisions")
        .says("raise [budgets.run] in muster.toml");
    let report = project.report();
    assert_eq!(report["totals"]["ai"]["decisions"], 0);
    assert!(report["counts"]["passed"].as_u64() > Some(0), "exact tests");
}

#[test]
fn a_page_that_goes_where_its_policy_does_not_is_told_so_and_nobody_is_asked() {
    let app = TcpListener::bind("127.0.0.1:0").expect("a port");
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    other.set_nonblocking(true).expect("it can be looked at");
    let other_at = other.local_addr().expect("an address");
    let project = Project::new(&format!(
        "[project]\nid = \"walled\"\n[targets.web.app]\nurl = \"http://{}\"\n[targets.web.egress]\npolicy = \"list\"\n",
        app.local_addr().expect("an address")
    ));
    project.file(
        "tests/out.e2e.ts",
        &format!(
            "import {{ test }} from 'muster';\ntest('goes out', async ({{ browser }}) => {{ await browser.goto('http://{other_at}/'); }});\n"
        ),
    );
    let ran = project.muster(&["run"]).exits(2);
    ran.says("POLICY_DENIED")
        .says(&other_at.to_string())
        .says("egress.allow");
    assert!(other.accept().is_err(), "nobody came");
    let attempt = &project.report()["units"][0]["attempts"][0];
    assert_eq!(attempt["events"][0]["name"], "egress.policy");
    assert_eq!(attempt["events"][0]["kind"], "denied");
}

#[test]
fn a_nodes_file_with_a_typo_says_where() {
    let project = Project::new("[project]\nid = \"p\"\n");
    project.file("node.toml", "[secret.pw]\nenv = \"PW\"\n");
    project
        .muster(&["node", "--config", "node.toml"])
        .exits(2)
        .says("node.toml:1: unknown key `secret`")
        .says("did you mean `secrets`?");
    project
        .muster(&["node", "--config", "other.toml"])
        .exits(2)
        .says("CONFIG_NOT_FOUND")
        .says("other.toml");
}
