//! What a command line selects, and the units that come of it.

use muster_proto::code::ErrorCode;
use muster_proto::outcome::Problem;
use muster_suite::collect::{CollectedFile, CollectedTest};
use muster_suite::config::Config;
use muster_suite::id::test_id;
use muster_suite::select::{Plan, Positional, Selection, expand, pattern, select};

const CONFIG: &str = r#"
[project]
id = "shop"
[targets.mobile.app]
url = "https://m.example.com"
[targets.web.app]
url = "https://example.com"
[agents.careful]
[agents.fast]
"#;

fn config() -> Config {
    Config::parse(CONFIG, "muster.toml").unwrap()
}

fn test(file: &str, line: u32, titles: &[&str], tags: &[&str]) -> CollectedTest {
    CollectedTest {
        id: test_id(file, titles).0,
        title_path: titles.iter().map(|title| (*title).to_owned()).collect(),
        line,
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        timeout_ms: None,
        retries: None,
        agents: Vec::new(),
        skip: None,
        only: false,
    }
}

fn shop() -> Vec<CollectedFile> {
    let file = |file: &str, tests: &[(u32, &[&str], &[&str])]| CollectedFile {
        file: file.to_owned(),
        tests: tests
            .iter()
            .map(|(line, titles, tags)| test(file, *line, titles, tags))
            .collect(),
        problem: None,
    };
    vec![
        file(
            "tests/cart.e2e.ts",
            &[
                (3, &["cart", "adds"], &["smoke"]),
                (9, &["cart", "removes"], &[]),
            ],
        ),
        file(
            "tests/admin/orders.e2e.ts",
            &[(4, &["orders", "lists"], &["slow", "smoke"])],
        ),
        file("tests/login.e2e.ts", &[(1, &["signs in"], &[])]),
    ]
}

/// Last titles of what is selected, or codes and messages.
fn selected(files: &[CollectedFile], selection: &Selection) -> Vec<String> {
    match select(files, selection) {
        Ok(tests) => tests
            .iter()
            .map(|(_, test)| test.title_path.last().unwrap().clone())
            .collect(),
        Err(problems) => problems.iter().map(Problem::to_string).collect(),
    }
}

fn by(positionals: &[&str]) -> Selection {
    let positionals = positionals
        .iter()
        .map(|text| Positional::parse(text).unwrap())
        .collect();
    Selection {
        positionals,
        ..Selection::default()
    }
}

#[test]
fn positionals_name_files_directories_endings_lines_and_globs() {
    let files = shop();
    for (positional, expected) in [
        ("tests/cart.e2e.ts", vec!["adds", "removes"]),
        ("./tests/admin/", vec!["lists"]),
        ("cart.e2e.ts", vec!["adds", "removes"]),
        ("cart", vec!["adds", "removes"]),
        ("admin/orders", vec!["lists"]),
        ("tests/*.e2e.ts", vec!["adds", "removes", "signs in"]),
        ("**/o*.ts", vec!["lists"]),
        ("cart:3", vec!["adds"]),
        ("cart:8", vec!["adds"]),
        ("cart:900", vec!["removes"]),
        (
            "cart:1",
            vec!["NO_TESTS: no test file or line matches `cart:1`"],
        ),
        (
            "art.e2e.ts",
            vec!["NO_TESTS: no test file or line matches `art.e2e.ts`"],
        ),
    ] {
        assert_eq!(
            selected(&files, &by(&[positional])),
            expected,
            "{positional}"
        );
    }
    assert_eq!(
        selected(&files, &by(&["login", "orders"])),
        ["lists", "signs in"]
    );
    assert_eq!(
        selected(&files, &by(&["login", "gone"])),
        ["NO_TESTS: no test file or line matches `gone`"]
    );
    assert!(Positional::parse("").unwrap_err().contains("names no file"));
}

#[test]
fn filters_narrow_and_an_empty_selection_says_which_one_did_it() {
    let files = shop();
    let grep = |text| Some(pattern("--grep", text).unwrap());
    let smoke = vec!["smoke".to_owned()];
    let cases = [
        (
            Selection {
                grep: grep("^cart adds$"),
                ..Selection::default()
            },
            vec!["adds"],
        ),
        (
            Selection {
                grep_invert: grep("cart|orders"),
                ..Selection::default()
            },
            vec!["signs in"],
        ),
        (
            Selection {
                tags: smoke.clone(),
                ..Selection::default()
            },
            vec!["adds", "lists"],
        ),
        (
            Selection {
                tags: smoke.clone(),
                exclude_tags: vec!["slow".to_owned()],
                ..Selection::default()
            },
            vec!["adds"],
        ),
        (
            Selection {
                tags: vec!["nope".to_owned()],
                ..Selection::default()
            },
            vec!["NO_TESTS: no selected test has the tag `nope`"],
        ),
        (
            Selection {
                grep: grep("zzz"),
                ..Selection::default()
            },
            vec!["NO_TESTS: no selected title matches /zzz/"],
        ),
    ];
    for (selection, expected) in cases {
        assert_eq!(selected(&files, &selection), expected);
    }
    let problem = pattern("--grep", "(").unwrap_err();
    assert_eq!(problem.code, ErrorCode::InvalidConfig);
    assert!(problem.message.contains("--grep `(`"), "{problem}");
    assert_eq!(
        selected(&[], &Selection::default()),
        ["NO_TESTS: the test files declare no test"]
    );
}

#[test]
fn only_focuses_here_and_is_refused_on_a_build_machine() {
    let mut files = shop();
    files[1].tests[0].only = true;
    assert_eq!(selected(&files, &Selection::default()), ["lists"]);
    let problems = select(
        &files,
        &Selection {
            ci: true,
            ..Selection::default()
        },
    )
    .unwrap_err();
    assert_eq!(problems[0].code, ErrorCode::OnlyInCi);
    assert_eq!(
        problems[0].place.as_ref().unwrap().to_string(),
        "tests/admin/orders.e2e.ts:4"
    );
    // A focused test elsewhere doesn't bother a selection that leaves it out.
    assert_eq!(selected(&files, &by(&["login"])), ["signs in"]);
}

#[test]
fn a_broken_file_stops_a_run_that_asks_for_it() {
    let mut files = shop();
    files[0].tests.clear();
    files[0].problem = Some(Problem::new(ErrorCode::CollectionError, "unexpected token"));
    assert_eq!(
        selected(&files, &Selection::default()),
        ["COLLECTION_ERROR: unexpected token"]
    );
    assert_eq!(selected(&files, &by(&["login"])), ["signs in"]);
}

fn plan<'a>(config: &'a Config, targets: &'a [String], agents: &'a [String]) -> Plan<'a> {
    Plan {
        config,
        targets,
        agents,
        repeat: 1,
        retries: None,
        ci: false,
        requires: &[],
    }
}

/// `target/agent/repeat` of each unit of the first test.
fn coordinates(test: &CollectedTest, plan: &Plan<'_>) -> Result<Vec<String>, Problem> {
    let file = CollectedFile {
        file: "tests/cart.e2e.ts".to_owned(),
        tests: Vec::new(),
        problem: None,
    };
    let units = expand(&[(&file, test)], plan)?;
    Ok(units
        .iter()
        .map(|unit| format!("{}/{}/{}", unit.target, unit.agent, unit.repeat))
        .collect())
}

#[test]
fn a_test_becomes_a_unit_per_target_agent_and_repeat() {
    let config = config();
    let none: [String; 0] = [];
    let test = test("tests/cart.e2e.ts", 3, &["adds"], &[]);
    assert_eq!(
        coordinates(&test, &plan(&config, &none, &none)).unwrap(),
        ["mobile/default/0", "web/default/0"]
    );
    let web = ["web".to_owned(), "web".to_owned()];
    let both = ["fast".to_owned(), "careful".to_owned()];
    let repeated = Plan {
        repeat: 2,
        ..plan(&config, &web, &both)
    };
    assert_eq!(
        coordinates(&test, &repeated).unwrap(),
        ["web/fast/0", "web/fast/1", "web/careful/0", "web/careful/1"]
    );
}

#[test]
fn a_pinned_agent_wins_and_is_only_narrowed() {
    let config = config();
    let web = ["web".to_owned()];
    let pinned = CollectedTest {
        agents: vec!["fast".to_owned(), "careful".to_owned()],
        ..test("tests/cart.e2e.ts", 3, &["adds"], &[])
    };
    for (asked, expected) in [
        (vec![], vec!["web/fast/0", "web/careful/0"]),
        (vec!["careful"], vec!["web/careful/0"]),
        (vec!["default"], vec!["web/fast/0", "web/careful/0"]),
    ] {
        let asked: Vec<String> = asked.into_iter().map(str::to_owned).collect();
        assert_eq!(
            coordinates(&pinned, &plan(&config, &web, &asked)).unwrap(),
            expected
        );
    }
    let unknown = CollectedTest {
        agents: vec!["fsat".to_owned()],
        ..pinned
    };
    let problem = coordinates(&unknown, &plan(&config, &web, &[])).unwrap_err();
    assert_eq!(problem.code, ErrorCode::CollectionError);
    assert_eq!(
        problem.message,
        "agent `fsat` is not configured; did you mean `fast`?"
    );
    assert_eq!(problem.place.unwrap().to_string(), "tests/cart.e2e.ts:3");
}

#[test]
fn unknown_names_of_the_command_line_are_refused() {
    let config = config();
    let test = test("tests/cart.e2e.ts", 3, &["adds"], &[]);
    let problem = coordinates(&test, &plan(&config, &["wbe".to_owned()], &[])).unwrap_err();
    assert_eq!(
        (problem.code, problem.message.as_str()),
        (
            ErrorCode::UnknownTarget,
            "target `wbe` is not configured; did you mean `web`?"
        )
    );
    let problem = coordinates(&test, &plan(&config, &[], &["zzz".to_owned()])).unwrap_err();
    assert_eq!(problem.code, ErrorCode::InvalidConfig);
    assert!(
        problem
            .message
            .ends_with("there is `careful`, `default` or `fast`"),
        "{problem}"
    );
}

#[test]
fn the_nearest_word_on_retries_and_times_wins() {
    let config = config();
    let web = ["web".to_owned()];
    let file = CollectedFile {
        file: "f".to_owned(),
        tests: Vec::new(),
        problem: None,
    };
    let plain = test("f", 1, &["t"], &[]);
    let own = CollectedTest {
        retries: Some(3),
        timeout_ms: Some(7),
        skip: Some(String::new()),
        ..test("f", 2, &["u"], &[])
    };
    let tests = [(&file, &plain), (&file, &own)];
    let retries = |plan: &Plan<'_>| {
        expand(&tests, plan)
            .unwrap()
            .iter()
            .map(|unit| unit.retries)
            .collect::<Vec<_>>()
    };
    assert_eq!(retries(&plan(&config, &web, &[])), [0, 3]);
    assert_eq!(
        retries(&Plan {
            ci: true,
            ..plan(&config, &web, &[])
        }),
        [1, 3]
    );
    assert_eq!(
        retries(&Plan {
            ci: true,
            retries: Some(0),
            ..plan(&config, &web, &[])
        }),
        [0, 3]
    );
    let units = expand(&tests, &plan(&config, &web, &[])).unwrap();
    assert_eq!((units[0].timeout_ms, units[1].timeout_ms), (120_000, 7));
    assert_eq!(
        (units[0].skip_reason.as_str(), units[1].skip_reason.as_str()),
        ("", "skipped in the test file")
    );
}
