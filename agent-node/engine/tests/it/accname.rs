//! Names and descriptions against the Web Platform Tests' accname cases.
//!
//! The cases lie beside the repository, not in it: in the folder that `MUSTER_WPT_ACCNAME` names,
//! or in `../shared/data/wpt-accname`. Where neither is, this test says so and checks nothing.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::*;

/// Cases that must pass, of 537; the browser's own tree passes 527.
const FLOOR: usize = 500;
const CASES: usize = 537;

struct Case {
    file: String,
    dom_id: String,
    description: bool,
    expected: String,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_and_descriptions_of_the_web_platform_tests() {
    let Some(folder) = folder() else {
        println!(
            "accname: no ../shared/data/wpt-accname and no MUSTER_WPT_ACCNAME: nothing was checked"
        );
        return;
    };
    let stage = Stage::new().await;
    let mut total = 0;
    let mut failures = Vec::new();
    for file in pages(&folder) {
        let source = std::fs::read_to_string(&file).unwrap();
        let shown = file.strip_prefix(&folder).unwrap().display().to_string();
        let manual = shown.starts_with("manual");
        let body = if manual {
            source.clone()
        } else {
            source.clone() + MARK
        };
        let address = stage.site.serve(&format!("/{shown}"), Reply::html(body));
        stage.page.goto(&address, SOON).await.unwrap();
        let cases = if manual {
            manual_cases(&shown, &source)
        } else {
            marked_cases(&shown, &stage).await
        };
        let snapshot = stage.snapshot().await;
        for case in cases {
            total += 1;
            let node = snapshot
                .nodes
                .iter()
                .find(|node| node.dom_id == case.dom_id);
            // What is not on the screen has no name.
            let got = node.map_or("", |node| {
                if case.description {
                    &node.description
                } else {
                    &node.name
                }
            });
            if got != case.expected {
                let what = if case.description {
                    "description"
                } else {
                    "name"
                };
                failures.push(format!(
                    "{} #{}: {what} {got:?}, expected {:?}",
                    case.file, case.dom_id, case.expected
                ));
            }
        }
    }
    for failure in &failures {
        println!("{failure}");
    }
    let passed = total - failures.len();
    println!("accname: {passed} of {total}");
    assert_eq!(total, CASES, "every case is found");
    assert!(passed >= FLOOR, "{passed} of {total} passed, {FLOOR} must");
}

fn folder() -> Option<PathBuf> {
    let beside =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/wpt-accname/accname");
    let named =
        std::env::var_os("MUSTER_WPT_ACCNAME").map(|named| Path::new(&named).join("accname"));
    [named, Some(beside)]
        .into_iter()
        .flatten()
        .find(|folder| folder.is_dir())
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages.extend(self::pages(&path));
        } else if path.extension().is_some_and(|end| end == "html") {
            pages.push(path);
        }
    }
    pages.sort();
    pages
}

/// Gives the elements of interest ids and tells them, with what is expected, as the page's title.
const MARK: &str = "<script>
document.title = JSON.stringify([...document.querySelectorAll('[data-expectedlabel]')].map((element, at) => {
  element.id ||= 'case-' + at;
  return [element.id, element.dataset.expectedlabel];
}));
</script>";

async fn marked_cases(file: &str, stage: &Stage) -> Vec<Case> {
    let title = stage.page.location(SOON).await.unwrap().title;
    let pairs: Vec<(String, String)> = serde_json::from_str(&title).unwrap();
    let case = |(dom_id, expected): (String, String)| Case {
        file: file.into(),
        dom_id,
        description: false,
        expected: folded(&expected),
    };
    pairs.into_iter().map(case).collect()
}

/// The ATK rows `property name|description is …` of the page's steps.
fn manual_cases(file: &str, source: &str) -> Vec<Case> {
    let start = source.find("new ATTAcomm(").unwrap() + "new ATTAcomm(".len();
    let test = serde_json::Deserializer::from_str(&source[start..])
        .into_iter::<Value>()
        .next()
        .unwrap()
        .unwrap();
    let mut cases = Vec::new();
    for step in test["steps"].as_array().unwrap() {
        for row in step
            .pointer("/test/ATK")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let words: Vec<&str> = row
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_str)
                .collect();
            let [
                "property",
                property @ ("name" | "description"),
                "is",
                expected,
            ] = words[..]
            else {
                continue;
            };
            cases.push(Case {
                file: file.into(),
                dom_id: step["element"].as_str().unwrap().into(),
                description: property == "description",
                expected: folded(expected),
            });
        }
    }
    cases
}

fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
