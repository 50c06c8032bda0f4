//! `types/muster.d.ts` and the interpreter agree on every name.

use std::collections::{BTreeMap, BTreeSet};

use muster_script::TYPES;

use crate::support::{Parent, Project};

/// Prints `subject name verdict` for each member: `there`, or what calling it says.
const DUMP: &str = r#"
import * as muster from 'muster';
const { test, describe, expect } = muster as any;

function members(object: any): string[] {
  const names = new Set<string>();
  for (let at = object; at && at !== Object.prototype && at !== Function.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) names.add(name);
  }
  return [...names].filter((name) => !['constructor', 'length', 'name', 'prototype', 'arguments', 'caller'].includes(name));
}

test('dump', async ({ app, screen, agent, browser }: any) => {
  const locator = screen.getByRole('button');
  const subjects = {
    muster, test, describe, expect, app, screen, agent, browser, locator,
    secrets: muster.secrets,
    locatorChecks: expect(locator),
    browserChecks: expect(browser),
    valueChecks: expect(1),
  } as any;
  for (const [subject, object] of Object.entries(subjects)) {
    for (const name of members(object)) {
      let verdict = 'there';
      try {
        const member = (object as any)[name];
        // Only what refuses every call is called; the rest might act.
        if (typeof member === 'function' && /notYet|refuse|throw/.test(String(member)) && member.length === 0) await member.call(object);
      } catch (error: any) {
        verdict = error.code ?? error.name;
      }
      console.log(subject, name, verdict);
    }
  }
});
"#;

/// Names of the members of `interface` in the declarations.
fn declared(interface: &str) -> BTreeSet<String> {
    let start = TYPES
        .lines()
        .position(|line| {
            let line = line.trim().trim_start_matches("export ");
            line.strip_prefix("interface ")
                .and_then(|rest| rest.strip_prefix(interface))
                .is_some_and(|rest| rest.starts_with([' ', '<']))
        })
        .unwrap_or_else(|| panic!("{interface} is not declared"));
    TYPES
        .lines()
        .skip(start + 1)
        .take_while(|line| *line != "  }")
        .filter_map(|line| line.strip_prefix("    "))
        .map(|line| line.strip_prefix("readonly ").unwrap_or(line))
        .filter(|line| line.starts_with(|first: char| first.is_ascii_alphabetic()))
        .map(|line| {
            line.chars()
                .take_while(|letter| letter.is_ascii_alphanumeric())
                .collect()
        })
        .collect()
}

fn exported() -> BTreeSet<String> {
    let values = ["const ", "function ", "class "];
    TYPES
        .lines()
        .filter_map(|line| line.trim().strip_prefix("export "))
        .filter_map(|line| values.iter().find_map(|keyword| line.strip_prefix(keyword)))
        .map(|line| {
            line.chars()
                .take_while(|letter| letter.is_ascii_alphanumeric())
                .collect()
        })
        .collect()
}

#[tokio::test]
async fn every_name_at_run_time_is_declared_and_the_other_way_round() {
    let heard = Project::of(DUMP).run("dump", Parent::default()).await;
    assert_eq!(heard.story(), ["passed"]);
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut refused: BTreeSet<String> = BTreeSet::new();
    for line in heard.console() {
        let [subject, name, verdict] = line["log: ".len()..]
            .split(' ')
            .collect::<Vec<_>>()
            .try_into()
            .unwrap();
        found
            .entry(subject.to_owned())
            .or_default()
            .insert(name.to_owned());
        if matches!(
            verdict,
            "UNSUPPORTED_CAPABILITY" | "COLLECTION_ERROR" | "INVALID_ARGUMENT"
        ) {
            refused.insert(format!("{subject}.{name}"));
        }
    }
    assert_eq!(found["muster"], exported());
    for (subject, interface) in [
        ("test", "Test"),
        ("describe", "Describe"),
        ("app", "App"),
        ("browser", "Browser"),
        ("screen", "Queries"),
        ("agent", "Agent"),
        ("locatorChecks", "LocatorChecks"),
        ("browserChecks", "BrowserChecks"),
        ("valueChecks", "ValueChecks"),
    ] {
        let there = &found[subject];
        let wanted = declared(interface);
        let missing: Vec<_> = wanted.difference(there).collect();
        assert!(
            missing.is_empty(),
            "{interface} declares what {subject} lacks: {missing:?}"
        );
        for extra in there.difference(&wanted) {
            let hidden = ["scope", "inspected", "toJSON"].contains(&extra.as_str());
            let name = format!("{subject}.{extra}");
            assert!(
                hidden || refused.contains(&name),
                "{name} is neither declared nor refused"
            );
        }
    }
    let locator: BTreeSet<String> = declared("Locator")
        .union(&declared("Queries"))
        .cloned()
        .collect();
    assert!(
        locator.is_subset(&found["locator"]),
        "{:?}",
        locator.difference(&found["locator"])
    );
}
