//! The house rules: who may depend on whom, which rooms are pure, every error code has its page,
//! files stay readable.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Every arrow there is; a crate also sees what stands in its own folder.
const ARROWS: &[(&str, &[&str])] = &[
    ("proto", &[]),
    ("suite", &["muster-proto"]),
    ("suite/script", &["muster-proto", "muster-suite"]),
    ("cache-store", &["muster-proto"]),
    ("providers", &["muster-proto"]),
    ("agent-node/redact", &["muster-proto"]),
    (
        "agent-node/engine",
        &["muster-proto", "muster-suite", "muster-providers"],
    ),
    (
        "agent-node",
        &[
            "muster-proto",
            "muster-suite",
            "muster-providers",
            "muster-cache-store",
            "muster-engine",
            "muster-redact",
        ],
    ),
    ("coordinator", &["muster-proto", "muster-cache-store"]),
    ("examples/shop/app", &[]),
];

/// Heavy crates and the one crate that may link each.
const ONLY_IN: &[(&str, &str)] = &[
    ("chromiumoxide", "agent-node/engine"),
    ("rquickjs", "suite/script"),
    ("oxc", "suite/script"),
    ("redb", "coordinator"),
    ("reqwest", "providers"),
];

/// Pure files and folders: no clock, no I/O, no async.
const PURE: &[&str] = &[
    "proto/src",
    "coordinator/src/runs/fold.rs",
    "coordinator/src/runs/grant.rs",
    "coordinator/src/schedule",
    "coordinator/src/verdict.rs",
    "agent-node/src/harness/authorize.rs",
    "agent-node/redact/src",
    "agent-node/src/harness/screen.rs",
    "agent-node/src/harness/verdict.rs",
    "agent-node/src/expect/check.rs",
    "agent-node/src/replay/key.rs",
    "agent-node/src/replay/matching.rs",
    "agent-node/src/replay/end.rs",
    "agent-node/src/replay/record.rs",
    "agent-node/src/replay/describe.rs",
];

/// What a pure file never says.
const IMPURE: &[&str] = &[
    "async fn",
    ".await",
    "tokio::",
    "std::fs",
    "std::net",
    "Instant::now",
    "Timestamp::now",
];

/// Longest source file, lines, tests included.
const LONGEST: usize = 1000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("cli stands in the workspace")
        .to_path_buf()
}

fn manifest(folder: &str) -> toml::Table {
    let path = root().join(folder).join("Cargo.toml");
    std::fs::read_to_string(&path)
        .expect("a manifest")
        .parse()
        .expect("valid TOML")
}

fn dependencies(folder: &str) -> BTreeSet<String> {
    let manifest = manifest(folder);
    manifest["dependencies"]
        .as_table()
        .expect("a table")
        .keys()
        .cloned()
        .collect()
}

fn members() -> Vec<String> {
    manifest("")["workspace"]["members"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|member| member.as_str().expect("a path").to_owned())
        .collect()
}

fn sources(under: &Path) -> Vec<PathBuf> {
    walkdir::WalkDir::new(under)
        .into_iter()
        .filter_entry(|entry| {
            !matches!(
                entry.file_name().to_str(),
                Some("target" | "node_modules" | ".git" | ".muster")
            )
        })
        .filter_map(Result::ok)
        .map(walkdir::DirEntry::into_path)
        .filter(|path| {
            path.extension()
                .is_some_and(|end| matches!(end.to_str(), Some("rs" | "js" | "ts")))
        })
        .collect()
}

#[test]
fn rooms_depend_only_along_the_arrows() {
    for (folder, allowed) in ARROWS {
        let rooms: BTreeSet<String> = dependencies(folder)
            .into_iter()
            .filter(|name| name.starts_with("muster"))
            .collect();
        let allowed: BTreeSet<String> = allowed.iter().map(|&name| name.to_owned()).collect();
        let extra: Vec<_> = rooms.difference(&allowed).collect();
        assert!(extra.is_empty(), "{folder} may not depend on {extra:?}");
    }
    let listed: BTreeSet<String> = ARROWS
        .iter()
        .map(|(folder, _)| (*folder).to_owned())
        .chain(["cli".to_owned()])
        .collect();
    assert_eq!(
        listed,
        members().into_iter().collect(),
        "every member has its arrows"
    );
}

#[test]
fn heavy_crates_have_one_home() {
    for member in members() {
        for (heavy, home) in ONLY_IN {
            assert!(
                member == *home || !dependencies(&member).contains(*heavy),
                "{member} links {heavy}; only {home} may"
            );
        }
    }
}

#[test]
fn pure_rooms_have_no_clock_no_io_and_no_async() {
    for pure in PURE {
        let path = root().join(pure);
        assert!(path.exists(), "{pure} is listed as pure but isn't there");
        for file in sources(&path) {
            let text = std::fs::read_to_string(&file).expect("readable");
            let product = text.split("#[cfg(test)]").next().unwrap_or_default();
            for word in IMPURE {
                assert!(!product.contains(word), "{} says {word:?}", file.display());
            }
        }
    }
}

#[test]
fn every_error_code_has_its_page_and_every_page_its_code() {
    let pages: BTreeSet<String> = std::fs::read_dir(root().join("docs/errors"))
        .expect("docs/errors")
        .filter_map(|entry| entry.ok()?.path().file_stem()?.to_str().map(str::to_owned))
        .filter(|name| name != "README")
        .collect();
    let codes: BTreeSet<String> = muster_proto::code::ErrorCode::ALL
        .iter()
        .map(|code| code.as_str().to_owned())
        .collect();
    assert_eq!(pages, codes);
}

#[test]
fn files_stay_readable() {
    for file in sources(&root()) {
        let lines = std::fs::read_to_string(&file)
            .expect("readable")
            .lines()
            .count();
        assert!(
            lines <= LONGEST,
            "{} has {lines} lines; look for its second idea",
            file.display()
        );
    }
}
