//! What `muster snapshot` says of names and descriptions, against the Web Platform Tests' accname
//! cases.
//!
//! The cases lie beside the repository, not in it: in the folder that `MUSTER_WPT_ACCNAME` names,
//! or in `../shared/data/wpt-accname`. Where neither is, this test says so and checks nothing.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Ran, muster};

/// Cases that must pass, of 537; the browser's own tree passes 527.
const FLOOR: usize = 500;
const CASES: usize = 537;

struct Case {
    dom_id: String,
    description: bool,
    expected: String,
}

#[test]
fn names_and_descriptions_of_the_web_platform_tests() {
    let Some(folder) = folder() else {
        println!(
            "accname: no ../shared/data/wpt-accname and no MUSTER_WPT_ACCNAME: nothing was checked"
        );
        return;
    };
    let marked = tempfile::tempdir().expect("a temporary folder");
    let pages = pages(&folder);
    let addresses: Vec<String> = pages
        .iter()
        .map(|page| copy(page, &folder, marked.path()))
        .collect();
    let args: Vec<&str> = ["snapshot", "--json"]
        .into_iter()
        .chain(addresses.iter().map(String::as_str))
        .collect();
    let ran = Ran::new(muster(&args).output().expect("muster starts")).exits(0);
    assert_eq!(ran.out.lines().count(), pages.len(), "a line a page");

    let (mut total, mut failures) = (0, Vec::new());
    for (page, line) in pages.iter().zip(ran.out.lines()) {
        let screen: Value = serde_json::from_str(line).expect("JSON");
        for case in cases(page, &screen) {
            total += 1;
            let nodes = screen["nodes"].as_array().expect("nodes");
            let node = nodes
                .iter()
                .find(|node| node["domId"] == case.dom_id.as_str());
            let property = if case.description {
                "description"
            } else {
                "name"
            };
            // What is not on the screen has no name.
            let got = node
                .and_then(|node| node[property].as_str())
                .unwrap_or_default();
            if got != case.expected {
                let file = page.file_name().expect("a file").to_string_lossy();
                failures.push(format!(
                    "{file} #{}: {property} {got:?}, expected {:?}",
                    case.dom_id, case.expected
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

fn is_manual(page: &Path) -> bool {
    page.parent()
        .is_some_and(|folder| folder.ends_with("manual"))
}

/// The page, with its cases marked where they have no ids; its address.
fn copy(page: &Path, from: &Path, to: &Path) -> String {
    let target = to.join(page.strip_prefix(from).expect("below"));
    std::fs::create_dir_all(target.parent().expect("a folder")).expect("a folder");
    let source = std::fs::read_to_string(page).expect("readable");
    let marked = if is_manual(page) {
        source
    } else {
        source + MARK
    };
    std::fs::write(&target, marked).expect("a copy");
    format!("file://{}", target.display())
}

fn cases(page: &Path, screen: &Value) -> Vec<Case> {
    if is_manual(page) {
        manual_cases(&std::fs::read_to_string(page).expect("readable"))
    } else {
        marked_cases(screen["title"].as_str().expect("a title"))
    }
}

fn folder() -> Option<PathBuf> {
    let beside =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/wpt-accname/accname");
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

fn marked_cases(title: &str) -> Vec<Case> {
    let pairs: Vec<(String, String)> = serde_json::from_str(title).expect("the mark");
    let case = |(dom_id, expected): (String, String)| Case {
        dom_id,
        description: false,
        expected: folded(&expected),
    };
    pairs.into_iter().map(case).collect()
}

/// The ATK rows `property name|description is …` of the page's steps.
fn manual_cases(source: &str) -> Vec<Case> {
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
