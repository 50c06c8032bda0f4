//! Keys on whatever has the focus.

use serde_json::{Value, json};

use super::deadline::Deadline;
use super::keys::{Chord, Key};
use super::tab::Tab;
use super::touch::unsure;
use super::wire::CallError;
use crate::page::EngineError;

/// Presses a chord on whatever has the focus.
pub(super) async fn press(
    tab: &Tab,
    written: &str,
    deadline: Deadline,
    on: &str,
) -> Result<(), EngineError> {
    let chord = Chord::parse(written)?;
    let what = format!("press {written} on {on}");
    let mut held = 0;
    let mut sent = false;
    let mut strokes = Vec::new();
    for modifier in &chord.modifiers {
        held |= modifier.bit();
        strokes.push(("rawKeyDown", modifier.key(), held));
    }
    let down = if chord.key.text.is_some() {
        "keyDown"
    } else {
        "rawKeyDown"
    };
    strokes.push((down, chord.key.clone(), held));
    strokes.push(("keyUp", chord.key.clone(), held));
    for modifier in chord.modifiers.iter().rev() {
        held &= !modifier.bit();
        strokes.push(("keyUp", modifier.key(), held));
    }
    for (kind, key, modifiers) in strokes {
        match tab
            .call(
                "Input.dispatchKeyEvent",
                stroke(kind, &key, modifiers),
                deadline,
            )
            .await
        {
            Ok(_) => sent = true,
            Err(error) if sent || error == CallError::Timeout => return Err(unsure(&what, error)),
            Err(error) => return Err(deadline.explain(error, &what)),
        }
    }
    Ok(())
}

fn stroke(kind: &str, key: &Key, modifiers: u32) -> Value {
    let mut params = json!({
        "type": kind,
        "modifiers": modifiers,
        "key": key.key,
        "code": key.code,
        "windowsVirtualKeyCode": key.virtual_code,
    });
    if let (Some(text), "keyDown") = (&key.text, kind) {
        params["text"] = json!(text);
    }
    params
}

/// Types a text, a key a character. What no key makes is put in as it stands.
pub(super) async fn type_text(
    tab: &Tab,
    text: &str,
    deadline: Deadline,
) -> Result<(), EngineError> {
    let what = "typing on the page";
    for (index, character) in text.replace("\r\n", "\n").chars().enumerate() {
        let written = match character {
            '\n' => "Enter".to_owned(),
            '\t' => "Tab".to_owned(),
            other => other.to_string(),
        };
        let typed = match Chord::parse(&written) {
            Ok(chord) if !chord.key.code.is_empty() => {
                press(tab, &written, deadline, "the page").await
            }
            _ => {
                let params = json!({ "text": written });
                let put = tab.call("Input.insertText", params, deadline).await;
                put.map(drop).map_err(|error| unsure(what, error))
            }
        };
        match typed {
            Err(EngineError::Dead(why)) => return Err(EngineError::Dead(why)),
            Err(error) if index > 0 => {
                return Err(EngineError::MayHaveCommitted {
                    what: what.into(),
                    why: error.to_string(),
                });
            }
            result => result?,
        }
    }
    Ok(())
}
