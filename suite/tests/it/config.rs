//! Each `data/config/*.toml` beside what reading it says; `UPDATE=1` rewrites the latter.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use muster_suite::config::node::NodeFile;
use muster_suite::config::{Config, ConfigError, identity};

#[test]
fn every_file_says_what_is_wrong_and_where() {
    check("config", 20, |text| {
        let config = Config::parse(text, "muster.toml")?;
        Ok(serde_json::to_string_pretty(&config.spec(&BTreeMap::new())).unwrap())
    });
}

#[test]
fn every_file_of_a_node_likewise() {
    check("node", 5, |text| {
        let file = NodeFile::parse(text, "node.toml")?;
        Ok(serde_json::to_string_pretty(&file).unwrap())
    });
}

/// Compares what is said of each file of a folder, of which there are at least so many.
fn check(folder: &str, least: usize, read: impl Fn(&str) -> Result<String, ConfigError>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(folder);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .collect();
    files.sort();
    assert!(files.len() >= least, "the data folder is gone");
    let mut differences = String::new();
    for file in files {
        let said = match read(&fs::read_to_string(&file).unwrap()) {
            Ok(told) => format!("{told}\n"),
            Err(error) => format!("{} {error}\n", error.code),
        };
        let expected = file.with_extension("txt");
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&expected, &said).unwrap();
        } else if fs::read_to_string(&expected).unwrap_or_default() != said {
            write!(differences, "{}:\n{said}\n", file.display()).unwrap();
        }
    }
    assert!(
        differences.is_empty(),
        "run with UPDATE=1 if this is right:\n{differences}"
    );
}

fn parsed(url: &str) -> Config {
    let text = format!(
        "[project]\nid = \"p\"\n[targets.web.app]\nurl = \"{url}\"\ncommand = {{ program = \"x\" }}\n"
    );
    Config::parse(&text, "muster.toml").unwrap()
}

#[test]
fn an_app_on_another_local_port_is_the_same_app() {
    for (url, expected) in [
        ("http://127.0.0.1:0", "http://127.0.0.1"),
        ("http://127.0.0.1:8080/shop/", "http://127.0.0.1/shop"),
        ("http://[::1]:3000", "http://[::1]"),
        ("http://localhost:3000", "http://localhost"),
        ("https://example.com:8443/", "https://example.com:8443"),
    ] {
        assert_eq!(identity(&parsed(url).targets["web"].app), expected);
    }
}

#[test]
fn a_chosen_port_reaches_the_spec_but_not_the_identity() {
    let chosen = BTreeMap::from([("web".to_owned(), "http://127.0.0.1:40123".to_owned())]);
    let target = &parsed("http://127.0.0.1:0").spec(&chosen).targets["web"];
    assert_eq!(target.app_url, "http://127.0.0.1:40123");
    assert_eq!(target.app_identity, "http://127.0.0.1");
}

#[test]
fn the_default_agent_always_exists() {
    let config = parsed("http://127.0.0.1:1");
    assert_eq!(config.agents.keys().collect::<Vec<_>>(), ["default"]);
}
