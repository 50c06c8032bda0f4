//! Reports of one small run with a bit of everything.

use muster_proto::code::ErrorCode;
use muster_proto::id::BlobDigest;
use muster_proto::outcome::{Problem, Status};
use muster_proto::step::{
    AgentStep, AttemptRecord, CacheMode, CacheReport, SCHEMA, StepKind, StepRecord, StepStatus,
    WriteState,
};
use muster_proto::v1;
use prost::Message;

use super::{Json, Junit, Records, Report, Reporter, wanted};
use crate::runs::fold::{RunFold, view};
use crate::verdict::verdict;

fn goal(seq: u32, mode: CacheMode, by: Option<&str>) -> StepRecord {
    let cache = CacheReport {
        key: format!("k{seq}"),
        mode,
        reason: None,
        detail: None,
        replayed_actions: 0,
        total_actions: 0,
        relocated: Vec::new(),
        recorded_by_node: by.map(str::to_owned),
        write: None,
        not_recorded: None,
    };
    StepRecord {
        seq,
        kind: StepKind::Agent,
        title: "act \"pay\"".to_owned(),
        place: None,
        status: StepStatus::Passed,
        start_ms: 0,
        duration_ms: 5,
        problem: None,
        agent: Some(AgentStep {
            call: "act".to_owned(),
            cache: Some(cache),
            ..Default::default()
        }),
    }
}

fn record() -> AttemptRecord {
    AttemptRecord {
        schema: SCHEMA,
        node: "n1-00000002".to_owned(),
        started_at: String::new(),
        duration_ms: 40,
        status: Status::Passed,
        problem: None,
        secondary: Vec::new(),
        skip_reason: None,
        steps: vec![
            goal(0, CacheMode::Replayed, Some("n2-00000001")),
            goal(1, CacheMode::Replayed, Some("n1-00000002")),
            goal(2, CacheMode::HandedOff, Some("n2-00000001")),
            goal(3, CacheMode::Missed, None),
            goal(4, CacheMode::Off, None),
        ],
        console: Vec::new(),
        screen_at_failure: None,
        events: Vec::new(),
        tainted: false,
    }
}

fn unit(id: &str, file: &str) -> v1::Unit {
    v1::Unit {
        unit_id: id.to_owned(),
        file: file.to_owned(),
        title_path: vec!["cart".to_owned(), id.to_owned()],
        target: "web".to_owned(),
        line: 12,
        ..Default::default()
    }
}

fn committed(
    unit: &str,
    r#try: u32,
    last: bool,
    result: v1::AttemptResult,
    settled: Vec<v1::Settled>,
) -> v1::run_event::Event {
    let result = result.encode_to_vec();
    let epoch = u64::from(r#try) + 1;
    v1::run_event::Event::Committed(v1::Committed {
        unit_id: unit.to_owned(),
        r#try,
        epoch,
        result,
        settled,
        last,
    })
}

fn result(status: v1::Status, code: &str) -> v1::AttemptResult {
    let problem = v1::Problem {
        code: code.to_owned(),
        message: "expected 2 < 3".to_owned(),
        ..Default::default()
    };
    let mut result = v1::AttemptResult {
        problem: (!code.is_empty()).then_some(problem),
        duration_ms: 40,
        usage: Some(v1::Usage {
            model_calls: 2,
            decisions: 3,
            input_tokens: 50,
            ..Default::default()
        }),
        node_id: "n1".to_owned(),
        ..Default::default()
    };
    result.set_status(status);
    result
}

/// A flaky unit whose last attempt has a record, one failed unit, a configuration error, and one
/// skipped by name.
fn run() -> (v1::Run, Records) {
    let record = record();
    let digest = BlobDigest::of(b"record");
    let settled = |step: u32, state: &str| v1::Settled {
        step,
        replay_key: format!("k{step}"),
        state: state.to_owned(),
        detail: "because".to_owned(),
    };
    let mut facts = vec![v1::run_event::Event::Planned(v1::Planned {
        manifest: Some(v1::Manifest {
            project_id: "shop".to_owned(),
            units: vec![
                v1::Unit {
                    retries: 1,
                    ..unit("flaky", "tests/a.e2e.ts")
                },
                unit("fails", "tests/b.e2e.ts"),
                unit("denied", "tests/a.e2e.ts"),
                v1::Unit {
                    skip_reason: "not today".to_owned(),
                    ..unit("skipped", "tests/b.e2e.ts")
                },
            ],
            ..Default::default()
        }),
    })];
    let passed = v1::AttemptResult {
        record_digest: digest.0.clone(),
        ..result(v1::Status::Passed, "")
    };
    facts.extend([
        committed(
            "flaky",
            0,
            false,
            result(v1::Status::Failed, "ASSERTION_FAILED"),
            Vec::new(),
        ),
        committed(
            "flaky",
            1,
            true,
            passed,
            vec![
                settled(0, "kept"),
                settled(2, "saved"),
                settled(3, "unconfirmed"),
            ],
        ),
        committed(
            "fails",
            0,
            true,
            result(v1::Status::TimedOut, "TEST_TIMEOUT"),
            Vec::new(),
        ),
        committed(
            "denied",
            0,
            true,
            result(v1::Status::Failed, "POLICY_DENIED"),
            Vec::new(),
        ),
    ]);
    let fold = RunFold::of(&facts).unwrap();
    facts.push(v1::run_event::Event::Final(verdict(&fold)));
    let at = |seconds: usize| {
        Some(prost_types::Timestamp {
            seconds: 1_800_000_000 + seconds as i64,
            nanos: 0,
        })
    };
    let events: Vec<_> = facts
        .into_iter()
        .enumerate()
        .map(|(n, event)| v1::RunEvent {
            cursor: None,
            at: at(n),
            event: Some(event),
        })
        .collect();
    (
        view("r1", &events).unwrap(),
        Records::from([(digest, record)]),
    )
}

#[test]
fn the_fold_counts_attempts_goals_and_settlements() {
    let (run, records) = run();
    assert_eq!(wanted(&run), records.keys().cloned().collect::<Vec<_>>());
    let report = Report::fold(&run, &records);
    assert_eq!((report.exit_code, report.verdict.as_str()), (2, "blocked"));
    assert_eq!(
        (report.started_at.as_str(), report.ended_at.as_str()),
        ("2027-01-15T08:00:00.000Z", "2027-01-15T08:00:05.000Z")
    );
    let counts = report.counts;
    assert_eq!(
        (counts.expected, counts.flaky, counts.failed, counts.skipped),
        (4, 1, 2, 1)
    );
    assert_eq!(
        (report.totals.ai.model_calls, report.totals.ai.decisions),
        (8, 12)
    );
    let row = report.totals.cache;
    assert_eq!(
        (row.goals, row.replayed, row.handed_off, row.missed),
        (4, 2, 1, 1)
    );
    assert_eq!(
        (
            row.kept,
            row.saved,
            row.unconfirmed,
            row.replayed_on_other_node
        ),
        (1, 1, 1, 1)
    );

    let flaky = &report.units[0];
    assert_eq!((flaky.status, &flaky.problem), (Status::Flaky, &None));
    assert_eq!(
        flaky.attempts[0].problem.as_ref().unwrap().code,
        ErrorCode::AssertionFailed
    );
    assert!(!flaky.attempts[0].recorded && flaky.attempts[1].recorded);
    let write = |step: usize| {
        flaky.attempts[1].steps[step]
            .agent
            .as_ref()
            .unwrap()
            .cache
            .as_ref()
            .unwrap()
            .write
    };
    assert_eq!(
        [write(0), write(1), write(2)],
        [Some(WriteState::Kept), None, Some(WriteState::Saved)]
    );
    assert_eq!(report.units[1].status, Status::TimedOut);
    assert_eq!(report.units[3].skip_reason.as_deref(), Some("not today"));
}

#[test]
fn json_reads_back() {
    let (run, records) = run();
    let report = Report::fold(&run, &records);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out/report.json");
    assert_eq!(
        Box::new(Json::new(&path)).finish(&report).unwrap(),
        std::slice::from_ref(&path)
    );
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        text.contains("\"replayedOnOtherNode\": 1") && text.contains("\"modelCalls\": 8"),
        "{text}"
    );
    assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
}

#[test]
fn junit_tells_failures_from_errors() {
    let (mut run, records) = run();
    run.cancelled = Some(v1::Cancelled {
        reason: "gone".to_owned(),
        problem: Some(v1::Problem {
            code: "APP_UNREACHABLE".to_owned(),
            message: "gone".to_owned(),
            ..Default::default()
        }),
    });
    let report = Report::fold(&run, &records);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("junit.xml");
    Box::new(Junit::new(&path)).finish(&report).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    for part in [
        "<testsuite name=\"tests/a.e2e.ts\" tests=\"2\" disabled=\"0\" errors=\"1\" failures=\"0\">",
        "<testsuite name=\"tests/b.e2e.ts\" tests=\"2\" disabled=\"1\" errors=\"0\" failures=\"1\">",
        "<testsuite name=\"run\" tests=\"1\" disabled=\"0\" errors=\"1\" failures=\"0\">",
        "<testcase name=\"cart &gt; flaky [web]\" classname=\"tests/a.e2e.ts\" time=\"0.040\">",
        "<flakyFailure",
        "<failure message=\"expected 2 &lt; 3\" type=\"TEST_TIMEOUT\">",
        "<error message=\"expected 2 &lt; 3\" type=\"POLICY_DENIED\">",
        "<skipped message=\"not today\"/>",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn a_report_that_can_not_be_written_says_where() {
    let (run, records) = run();
    let report = Report::fold(&run, &records);
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), b"").unwrap();
    let path = dir.path().join("file/report.json");
    let problem: Problem = Box::new(Json::new(&path)).finish(&report).unwrap_err();
    assert_eq!(problem.code, ErrorCode::ReportWriteFailed);
    assert!(problem.message.contains("file/report.json"), "{problem}");
}
