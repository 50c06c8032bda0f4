//! What an action changed on the screen, as lines.

use std::collections::BTreeMap;

/// More lines than this, or more than half of the new screen: the whole screen says it better.
const MAX_LINES: usize = 60;

/// What differs between two rendered screens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing that can be seen.
    None,
    /// These lines: `added …`, `changed … (was …)`, `removed …`.
    Lines(String),
    /// Too much: show the screen.
    Whole,
}

/// Compares by element id; indentation and the focus don't count.
pub(super) fn change(before: &str, after: &str) -> Change {
    let cut = |text: &str| text.lines().any(|line| line.starts_with('…'));
    let (old, new) = (by_id(before), by_id(after));
    if before.lines().next() != after.lines().next() {
        return Change::Whole;
    }
    // What happened beside the page is told once, whatever else is to tell.
    let notes = after.lines().filter(|line| line.starts_with("note: "));
    let mut lines: Vec<String> = notes.map(str::to_owned).collect();
    for line in after.lines() {
        let Some(id) = id(line) else { continue };
        let now = plain(line);
        match old.get(id) {
            None => lines.push(format!("added {now}")),
            Some(was) if *was != now => lines.push(format!(
                "changed {now} (was {})",
                &was[id.len()..].trim_start()
            )),
            Some(_) => {}
        }
    }
    // What a cut screen doesn't show may still be there.
    if !cut(before) && !cut(after) {
        lines.extend(
            old.iter()
                .filter(|(id, _)| !new.contains_key(*id))
                .map(|(_, was)| format!("removed {was}")),
        );
    }
    if lines.is_empty() {
        return if cut(after) {
            Change::Whole
        } else {
            Change::None
        };
    }
    if lines.len() >= MAX_LINES || lines.len() * 2 > new.len() {
        return Change::Whole;
    }
    Change::Lines(lines.join("\n"))
}

fn by_id(text: &str) -> BTreeMap<&str, String> {
    text.lines()
        .filter_map(|line| Some((id(line)?, plain(line))))
        .collect()
}

/// `#n4` of `  #n4 button "Pay"`.
fn id(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.starts_with('#')
        .then(|| line.split(' ').next())
        .flatten()
}

/// A line without indentation and focus.
fn plain(line: &str) -> String {
    let line = line.trim();
    ["[focused]", ", focused", "focused, ", "focused "]
        .iter()
        .fold(line.to_owned(), |line, focus| line.replace(focus, ""))
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "/cart\n#n1 main\n #n2 button \"Pay\"\n #n3 button \"Back\"\n #n4 textbox \"Code\"\n #n5 link \"Help\"\n #n6 link \"Home\"";

    #[test]
    fn lines_say_what_came_went_and_changed() {
        let after = BEFORE
            .replace("#n2 button \"Pay\"", "#n2 button \"Pay\" [disabled]")
            .replace("\n #n3 button \"Back\"", "")
            + "\n#n9 status \"Wait\"";
        let expected = "changed #n2 button \"Pay\" [disabled] (was button \"Pay\")\nadded #n9 status \"Wait\"\nremoved #n3 button \"Back\"";
        assert_eq!(change(BEFORE, &after), Change::Lines(expected.to_owned()));
    }

    #[test]
    fn a_note_is_told_though_nothing_changed() {
        let note = "note: a new window opened";
        let noted = BEFORE.replacen('\n', &format!("\n{note}\n"), 1);
        assert_eq!(change(BEFORE, &noted), Change::Lines(note.to_owned()));
        assert_eq!(change(&noted, BEFORE), Change::None);
    }

    #[test]
    fn focus_and_indentation_are_no_change_and_another_page_is_a_whole() {
        assert_eq!(
            change(
                BEFORE,
                &BEFORE
                    .replace("\"Code\"", "\"Code\" [focused]")
                    .replace("  #", "#")
            ),
            Change::None
        );
        assert_eq!(
            change(BEFORE, &BEFORE.replace("/cart", "/pay")),
            Change::Whole
        );
        assert_eq!(change(BEFORE, "/cart\n#n11 main"), Change::Whole);
    }
}
