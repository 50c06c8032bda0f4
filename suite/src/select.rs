//! What runs: pure selection over collected files, and its expansion into units.
//!
//! Filters apply in this order: positionals, `only`, tags, excluded tags, grep, inverted grep.

mod positional;

use std::collections::{BTreeMap, BTreeSet};

use muster_proto::code::ErrorCode;
use muster_proto::id::TestId;
use muster_proto::outcome::{Place, Problem};
use muster_proto::v1::Unit;
use regex::Regex;

use crate::collect::{CollectedFile, CollectedTest};
use crate::config::{Config, DEFAULT_AGENT};
use crate::{id, text};

pub use self::positional::Positional;

/// Which tests to run; the default selects all of them.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Files, directories, names or globs; none = every file.
    pub positionals: Vec<Positional>,
    /// Keeps tests with at least one of these; none = all.
    pub tags: Vec<String>,
    /// Drops tests with one of these.
    pub exclude_tags: Vec<String>,
    /// Keeps tests whose titles, joined by spaces, match.
    pub grep: Option<Regex>,
    /// Drops tests whose titles match.
    pub grep_invert: Option<Regex>,
    /// On a build machine, where a focused test is an error.
    pub ci: bool,
}

/// How the selected tests become units.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// Targets, agents, retries and times come from here.
    pub config: &'a Config,
    /// Names of targets; none = all configured ones.
    pub targets: &'a [String],
    /// Agents for tests that name none, and a narrowing of those that name several; none = `default`.
    pub agents: &'a [String],
    /// How often each test runs, at least once.
    pub repeat: u32,
    /// Retries where the test says nothing; none = configured, else 1 with `ci`, else 0.
    pub retries: Option<u32>,
    /// On a build machine.
    pub ci: bool,
    /// What a node must offer to every unit, e.g. `browser:chromium`.
    pub requires: &'a [String],
}

/// A regular expression of `flag`.
///
/// # Errors
/// `INVALID_CONFIG` that names the flag and what is wrong with it.
pub fn pattern(flag: &str, pattern: &str) -> Result<Regex, Problem> {
    Regex::new(pattern).map_err(|error| {
        // The last line says what; those before draw the pattern.
        let detail = error.to_string();
        let detail = detail
            .lines()
            .last()
            .unwrap_or_default()
            .trim_start_matches("error: ");
        Problem::new(
            ErrorCode::InvalidConfig,
            format!("{flag} `{pattern}` is not a regular expression: {detail}"),
        )
    })
}

/// The tests that `selection` selects, with their files, in collection order.
///
/// # Errors
/// Every COLLECTION_ERROR of a file that is asked for; ONLY_IN_CI; NO_TESTS that names the filter
/// that left nothing.
pub fn select<'a>(
    files: &'a [CollectedFile],
    selection: &Selection,
) -> Result<Vec<(&'a CollectedFile, &'a CollectedTest)>, Vec<Problem>> {
    let asked = |file: &CollectedFile| {
        selection.positionals.is_empty()
            || selection
                .positionals
                .iter()
                .any(|positional| positional.covers(&file.file))
    };
    let broken: Vec<Problem> = files
        .iter()
        .filter(|file| asked(file))
        .filter_map(|file| file.problem.clone())
        .collect();
    if !broken.is_empty() {
        return Err(broken);
    }
    for positional in &selection.positionals {
        if !files
            .iter()
            .any(|file| file.tests.iter().any(|test| positional.selects(file, test)))
        {
            return Err(vec![nothing(format!(
                "no test file or line matches `{positional}`"
            ))]);
        }
    }
    let mut tests: Vec<(&CollectedFile, &CollectedTest)> = files
        .iter()
        .flat_map(|file| file.tests.iter().map(move |test| (file, test)))
        .filter(|(file, test)| {
            selection.positionals.is_empty()
                || selection
                    .positionals
                    .iter()
                    .any(|positional| positional.selects(file, test))
        })
        .collect();
    if tests.is_empty() {
        return Err(vec![nothing("the test files declare no test".to_owned())]);
    }
    let focused: Vec<_> = tests
        .iter()
        .copied()
        .filter(|(_, test)| test.only)
        .collect();
    if !focused.is_empty() {
        if selection.ci {
            return Err(focused
                .iter()
                .map(|(file, test)| only_in_ci(file, test))
                .collect());
        }
        tests = focused;
    }
    let has =
        |test: &CollectedTest, tags: &[String]| test.tags.iter().any(|tag| tags.contains(tag));
    if !selection.tags.is_empty() {
        keep(
            &mut tests,
            |test| has(test, &selection.tags),
            || format!("no selected test has {}", tag_words(&selection.tags)),
        )?;
    }
    if !selection.exclude_tags.is_empty() {
        keep(
            &mut tests,
            |test| !has(test, &selection.exclude_tags),
            || {
                format!(
                    "every selected test has {}, which is excluded",
                    tag_words(&selection.exclude_tags)
                )
            },
        )?;
    }
    if let Some(grep) = &selection.grep {
        keep(
            &mut tests,
            |test| grep.is_match(&test.title_path.join(" ")),
            || format!("no selected title matches /{grep}/"),
        )?;
    }
    if let Some(grep) = &selection.grep_invert {
        keep(
            &mut tests,
            |test| !grep.is_match(&test.title_path.join(" ")),
            || format!("every selected title matches /{grep}/, which is excluded"),
        )?;
    }
    Ok(tests)
}

fn keep<'a>(
    tests: &mut Vec<(&'a CollectedFile, &'a CollectedTest)>,
    fits: impl Fn(&CollectedTest) -> bool,
    why_empty: impl FnOnce() -> String,
) -> Result<(), Vec<Problem>> {
    tests.retain(|(_, test)| fits(test));
    if tests.is_empty() {
        Err(vec![nothing(why_empty())])
    } else {
        Ok(())
    }
}

fn tag_words(tags: &[String]) -> String {
    format!(
        "the tag {}",
        text::alternatives(tags.iter().map(String::as_str))
    )
}

fn nothing(message: String) -> Problem {
    Problem::new(ErrorCode::NoTests, message)
}

fn only_in_ci(file: &CollectedFile, test: &CollectedTest) -> Problem {
    let message = format!(
        "test \"{}\" is marked only; remove it before it reaches a build machine",
        test.title_path.join(" > ")
    );
    Problem {
        place: place(file, test),
        ..Problem::new(ErrorCode::OnlyInCi, message)
    }
}

fn place(file: &CollectedFile, test: &CollectedTest) -> Option<Place> {
    (test.line > 0).then(|| Place {
        file: file.file.clone(),
        line: test.line,
        column: 0,
    })
}

/// Selected tests × targets × agents × repeats, in that nesting. Skipped tests are among them,
/// with their reason.
///
/// # Errors
/// UNKNOWN_TARGET, INVALID_CONFIG for an unknown agent of the plan, COLLECTION_ERROR for one of a
/// test.
pub fn expand(
    tests: &[(&CollectedFile, &CollectedTest)],
    plan: &Plan<'_>,
) -> Result<Vec<Unit>, Problem> {
    let targets = targets(plan)?;
    if let Some(unknown) = plan
        .agents
        .iter()
        .find(|agent| !plan.config.agents.contains_key(*agent))
    {
        return Err(Problem::new(
            ErrorCode::InvalidConfig,
            unknown_name("agent", unknown, &plan.config.agents),
        ));
    }
    let mut units = Vec::new();
    for (file, test) in tests {
        for target in &targets {
            for agent in agents(file, test, plan)? {
                for repeat in 0..plan.repeat.max(1) {
                    units.push(unit(file, test, target, agent, repeat, plan));
                }
            }
        }
    }
    Ok(units)
}

fn targets<'a>(plan: &Plan<'a>) -> Result<Vec<&'a str>, Problem> {
    if plan.targets.is_empty() {
        return Ok(plan.config.targets.keys().map(String::as_str).collect());
    }
    let mut seen = BTreeSet::new();
    let mut names = Vec::new();
    for name in plan.targets {
        if !plan.config.targets.contains_key(name) {
            return Err(Problem::new(
                ErrorCode::UnknownTarget,
                unknown_name("target", name, &plan.config.targets),
            ));
        }
        if seen.insert(name) {
            names.push(name.as_str());
        }
    }
    Ok(names)
}

/// A pin of the test wins; the plan narrows it where the two overlap.
fn agents<'a>(
    file: &CollectedFile,
    test: &'a CollectedTest,
    plan: &Plan<'a>,
) -> Result<Vec<&'a str>, Problem> {
    if let Some(unknown) = test
        .agents
        .iter()
        .find(|agent| !plan.config.agents.contains_key(*agent))
    {
        let message = unknown_name("agent", unknown, &plan.config.agents);
        return Err(Problem {
            place: place(file, test),
            ..Problem::new(ErrorCode::CollectionError, message)
        });
    }
    let asked = plan.agents.iter().map(String::as_str);
    if test.agents.is_empty() {
        let asked: Vec<&str> = asked.collect();
        return Ok(if asked.is_empty() {
            vec![DEFAULT_AGENT]
        } else {
            asked
        });
    }
    let pinned: Vec<&str> = test.agents.iter().map(String::as_str).collect();
    let narrowed: Vec<&str> = pinned
        .iter()
        .copied()
        .filter(|pin| asked.clone().any(|agent| agent == *pin))
        .collect();
    Ok(if narrowed.is_empty() {
        pinned
    } else {
        narrowed
    })
}

fn unknown_name<T>(what: &str, name: &str, known: &BTreeMap<String, T>) -> String {
    match text::nearest(name, known.keys().map(String::as_str)) {
        Some(meant) => format!("{what} `{name}` is not configured; did you mean `{meant}`?"),
        None => format!(
            "{what} `{name}` is not configured; there is {}",
            text::alternatives(known.keys().map(String::as_str))
        ),
    }
}

fn unit(
    file: &CollectedFile,
    test: &CollectedTest,
    target: &str,
    agent: &str,
    repeat: u32,
    plan: &Plan<'_>,
) -> Unit {
    let fallback = plan
        .retries
        .or(plan.config.retries)
        .unwrap_or(u32::from(plan.ci));
    let skip_reason = match test.skip.as_deref() {
        None => String::new(),
        Some("") => "skipped in the test file".to_owned(),
        Some(reason) => reason.to_owned(),
    };
    Unit {
        unit_id: id::unit_id(&TestId(test.id.clone()), target, agent, repeat).0,
        test_id: test.id.clone(),
        file: file.file.clone(),
        title_path: test.title_path.clone(),
        line: test.line,
        target: target.to_owned(),
        agent: agent.to_owned(),
        repeat,
        retries: test.retries.unwrap_or(fallback),
        timeout_ms: test.timeout_ms.unwrap_or(plan.config.timeouts.test_ms),
        tags: test.tags.clone(),
        requires: plan.requires.to_vec(),
        skip_reason,
        expected_ms: 0,
    }
}
