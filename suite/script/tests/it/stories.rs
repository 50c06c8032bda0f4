//! Tests as people write them. Each file of `data/cases` is collected and every test in it runs
//! against a parent that answers by what the step is about (see [`answer`]); each file of
//! `data/refused` must not load.

use std::fs;
use std::path::PathBuf;

use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_script::pack;
use muster_suite::config::Config;
use muster_suite::frame::{CallResult, FromWorker, Limits};
use muster_suite::op::Op;
use serde_json::json;

use crate::support::{CONFIG, Parent, Project, check, collect, data, failing, limits, line, usual};

/// `missing` isn't there, `wrong` is not as wanted, `down` breaks the machine, `hang` never answers.
fn answer(op: &Op) -> Option<CallResult> {
    let text = serde_json::to_string(op).unwrap();
    let about =
        |word: &str| text.contains(&format!("\"{word}\"")) || text.contains(&format!("/{word}\""));
    if about("hang") {
        return None;
    }
    Some(match op {
        _ if about("missing") => {
            let near = vec!["test id \"found\"".to_owned()];
            let problem = Problem {
                near,
                ..Problem::new(ErrorCode::LocatorNotFound, "no element matches")
            };
            CallResult::Failed {
                problem,
                blocked: false,
            }
        }
        _ if about("wrong") => {
            let problem = Problem {
                expected: Some("Total 12".to_owned()),
                actual: Some("Total 0".to_owned()),
                ..Problem::new(ErrorCode::AssertionFailed, "the text differs")
            };
            CallResult::Failed {
                problem,
                blocked: false,
            }
        }
        _ if about("down") => failing(ErrorCode::AppUnreachable, "nothing answers"),
        _ if about("blocked") => failing(
            ErrorCode::AutomationUnsupported,
            "no clause could be followed",
        ),
        _ => usual(op),
    })
}

fn files(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(data().join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ts"))
        .collect();
    files.sort();
    files
}

#[tokio::test]
async fn every_case_ends_as_its_golden_says() {
    let files = files("cases");
    assert!(files.len() >= 10, "the data folder is gone");
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let project = Project::of(&fs::read_to_string(&file).unwrap());
        let collected = project.collect().await;
        assert_eq!(collected.problem, None, "{name}");
        let packed = project.pack().unwrap();
        let mut tests = Vec::new();
        for test in &collected.tests {
            // Three hooks wait for their whole time; the others for nothing.
            let parent = Parent {
                cleanup_timeout_ms: 300,
                ..Parent::answering(answer)
            };
            let heard = parent.hear(&packed, &test.id).await;
            let mut told = json!({ "test": test, "ends": heard.story() });
            let mut add = |key: &str, list: Vec<String>| {
                if !list.is_empty() {
                    told[key] = json!(list);
                }
            };
            add("console", heard.console());
            add("calls", heard.calls());
            tests.push(told);
        }
        check(
            &format!("cases/{name}.json"),
            &format!("{}\n", serde_json::to_string_pretty(&tests).unwrap()),
        );
    }
}

#[tokio::test]
async fn a_file_that_does_not_load_says_why_and_where() {
    let mut said = String::new();
    for file in files("refused") {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let project = Project::of(&fs::read_to_string(&file).unwrap());
        let problem = match project.pack() {
            Err(problem) => problem,
            Ok(packed) => {
                let limits = Limits {
                    slice_ms: 1_500,
                    memory_bytes: 16 * 1024 * 1024,
                    ..limits()
                };
                collect(&packed, limits)
                    .await
                    .problem
                    .unwrap_or_else(|| panic!("{name} loaded"))
            }
        };
        said.push_str(&format!("{name}\n  {}\n", line(&problem)));
    }
    check("refused.txt", &said);
}

#[tokio::test]
async fn the_same_seed_makes_the_same_data_and_another_seed_other() {
    let project = Project::of(
        "import { test, unique } from 'muster';\ntest('a', () => console.log(unique('x'), crypto.randomUUID()));\n",
    );
    let with = async |seed| {
        project
            .run(
                "a",
                Parent {
                    seed,
                    ..Parent::default()
                },
            )
            .await
            .console()
    };
    assert_eq!(with(1).await, with(1).await);
    assert_ne!(with(1).await, with(2).await);
}

#[tokio::test]
async fn a_test_that_is_gone_when_it_should_run_is_named() {
    let project = Project::of("import { test } from 'muster';\ntest('a', () => {});\n");
    let packed = project.pack().unwrap();
    let heard = Parent::default().hear(&packed, "tests/a.e2e.ts::b").await;
    let [ending] = heard.story().try_into().unwrap();
    assert!(ending.starts_with("broken COLLECTION_ERROR"), "{ending}");
    assert!(ending.contains("`tests/a.e2e.ts::b`"), "{ending}");
}

#[tokio::test]
async fn abandoning_fails_what_waits_and_still_cleans_up() {
    let project = Project::of(
        "import { afterEach, test } from 'muster';
afterEach(async ({ app }) => {
  await app.open('/cleanup');
  console.log('cleaned up');
});
test('a', async ({ app, screen }) => {
  try {
    await app.open('/hang');
  } catch (error) {
    console.log(error.code);
  }
  await screen.getByText('later').tap().catch((error) => console.log('later', error.code));
});
",
    );
    let parent = Parent {
        abandon_after: Some(1),
        ..Parent::answering(answer)
    };
    let heard = project.run("a", parent).await;
    assert_eq!(
        heard.story(),
        ["TEST_TIMEOUT tests/a.e2e.ts:8: the test took longer than 100 ms"]
    );
    assert_eq!(
        heard.console(),
        [
            "log: TEST_TIMEOUT",
            "log: later TEST_TIMEOUT",
            "log: cleaned up"
        ]
    );
    assert_eq!(
        heard.calls().len(),
        2,
        "the later tap must not be sent: {:?}",
        heard.calls()
    );
}

#[tokio::test]
async fn helpers_and_packages_run_from_the_bundle() {
    let project = Project::new(&[
        (
            "tests/a.e2e.ts",
            "import { test } from 'muster';\nimport { Cart } from './pages/cart.js';\nimport prices from '../data/prices.json' with { type: 'json' };\nimport { double } from 'tiny';\ntest('a', async ({ screen }) => {\n  const { lazy } = await import('./pages/lazy');\n  console.log(double(prices.socks), lazy);\n  await new Cart(screen).pay();\n});\n",
        ),
        (
            "tests/pages/cart.ts",
            "import type { Queries } from 'muster';\nexport class Cart {\n  constructor(private screen: Queries) {}\n\n  async pay() {\n    await this.screen.getByTestId('missing').tap();\n  }\n}\n",
        ),
        (
            "tests/pages/lazy/index.ts",
            "export const lazy: string = 'loaded';\n",
        ),
        ("data/prices.json", "{\"socks\": 5, \"__proto__\": 1}"),
        (
            "node_modules/tiny/package.json",
            "{\"exports\": {\".\": {\"require\": \"./index.cjs\", \"import\": \"./esm/index.js\"}}}",
        ),
        (
            "node_modules/tiny/esm/index.js",
            "import { two } from './two';\nexport const double = (value) => value * two;\n",
        ),
        ("node_modules/tiny/esm/two.js", "export const two = 2;\n"),
    ]);
    let heard = project.run("a", Parent::answering(answer)).await;
    assert_eq!(heard.console(), ["log: 10 loaded"]);
    assert_eq!(
        heard.story(),
        ["LOCATOR_NOT_FOUND tests/pages/cart.ts:6: no element matches [near test id \"found\"]"]
    );
}

#[tokio::test]
async fn collection_runs_no_body_and_sends_no_step() {
    let project = Project::of(
        "import { test } from 'muster';\nconsole.log('loaded');\ntest('a', async ({ app }) => {\n  console.log('ran');\n  await app.open();\n});\n",
    );
    let config = Config::parse(CONFIG, "muster.toml").unwrap();
    let packed = pack(
        project.dir.path(),
        &config,
        &["tests/a.e2e.ts".to_owned()],
        &[],
    )
    .unwrap();
    let request =
        muster_script::collect_request(&packed, vec!["tests/a.e2e.ts".to_owned()], limits())
            .unwrap();
    let heard = Parent::default().talk(request).await;
    assert_eq!(heard.console(), ["log: loaded"]);
    assert!(heard.calls().is_empty());
    assert!(matches!(heard.end(), FromWorker::Collected { files } if files[0].tests.len() == 1));
}

#[tokio::test]
async fn the_parent_learns_when_the_body_is_over_and_whether_it_failed() {
    let project = Project::of(
        "import { afterEach, expect, test } from 'muster';
afterEach(async ({ app }) => {
  await app.open('/cleanup');
  if (globalThis.broken) throw new Error('a hook');
});
test('passes', async ({ app }) => { await app.open('/body'); });
test('throws', async ({ app }) => { await app.open('/body'); expect(1).toBe(2); });
test('skips', async ({ app }) => { await app.open('/body'); test.skip(true, 'not today'); });
test('is soft', async ({ app }) => {
  expect.soft(1).toBe(2);
  expect.soft(1).toBe(3);
  await app.open('/body');
});
test('forgets', async ({ app }) => { void app.open('/hang'); });
test('has a bad hook', async () => { globalThis.broken = true; });
",
    );
    let told = async |title: &str| {
        let heard = project.run(title, Parent::answering(answer)).await;
        let word = |frame: &FromWorker| match frame {
            FromWorker::Call { op, .. } => match op {
                muster_suite::op::Op::AppOpen { path } => path.clone(),
                other => panic!("{other:?}"),
            },
            FromWorker::Failed {} => "failed".to_owned(),
            FromWorker::BodyEnded { failed } => format!("body ended, failed {failed}"),
            other => format!("{other:?}").split(' ').next().unwrap().to_owned(),
        };
        heard.frames.iter().map(word).collect::<Vec<_>>()
    };
    let well = ["/body", "body ended, failed false", "/cleanup", "Done"];
    let badly = ["/body", "body ended, failed true", "/cleanup", "Done"];
    assert_eq!(told("passes").await, well);
    assert_eq!(told("throws").await, badly);
    assert_eq!(told("skips").await, well);
    assert_eq!(told("is soft").await, [&["failed"], &badly[..]].concat());
    assert_eq!(
        told("forgets").await,
        ["/hang", "body ended, failed true", "/cleanup", "Done"]
    );
    assert_eq!(
        told("has a bad hook").await,
        ["body ended, failed false", "/cleanup", "failed", "Done"]
    );
}
