//! What happened beside the page, in words: for events, and for whoever looks next.

use muster_engine::Notice;
use muster_proto::step::EventKind;
use muster_redact::{Redactor, visible};

/// Most characters of a dialog or a name in a note.
const QUOTED: usize = 200;

/// A notice in words.
pub(super) struct Told {
    pub(super) kind: EventKind,
    /// A guard's name, or `window`, `dialog`, `download`.
    pub(super) name: &'static str,
    /// One line, redacted.
    pub(super) line: String,
}

/// Puts a notice into words.
pub(super) fn told(notice: &Notice, redactor: &Redactor) -> Told {
    // Whoever wrote it, it is one line.
    let quoted = |text: &str| {
        let text = redactor.without_pieces(&redactor.cut(&visible(text), QUOTED));
        serde_json::Value::from(text.chars().take(QUOTED).collect::<String>()).to_string()
    };
    let noticed = |name, line: String| Told {
        kind: EventKind::Noted,
        name,
        line,
    };
    match notice {
        Notice::WindowOpened => noticed(
            "window",
            "a new window opened; it is the page now".to_owned(),
        ),
        Notice::WindowClosed => noticed(
            "window",
            "the window closed; the page is the one that had opened it".to_owned(),
        ),
        Notice::Dialog { kind, message } => {
            let answer = match kind.as_str() {
                "alert" => "closed",
                _ => "dismissed",
            };
            let line = format!(
                "the page said in a dialog ({kind}): {}; it was {answer}",
                quoted(message)
            );
            noticed("dialog", line)
        }
        Notice::Download { name, bytes } => {
            let name = quoted(name);
            let line = match bytes {
                Some(bytes) => format!("a file was downloaded: {name}, {bytes} bytes"),
                None => format!("a download did not come: {name}"),
            };
            noticed("download", line)
        }
        Notice::Denied { guard, what } => Told {
            kind: EventKind::Denied,
            name: guard.as_str(),
            line: format!("stopped: {}", redactor.text(what)),
        },
    }
}

#[cfg(test)]
mod tests {
    use muster_proto::secret::Secret;

    use super::*;

    #[test]
    fn a_dialog_is_one_line_without_secrets() {
        let redactor = Redactor::new(&[("pw".to_owned(), Secret::new("hunter22"))].into());
        let say = |message: &str| told(&Notice::dialog("confirm", message), &redactor).line;
        assert_eq!(
            say("Send\n\u{200b}hunter22?"),
            "the page said in a dialog (confirm): \"Send\\n<secret:pw>?\"; it was dismissed"
        );
        assert!(say(&"x".repeat(5000)).len() < 300);
    }
}
