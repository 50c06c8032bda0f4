//! Pictures of the viewport, with secure fields blackened.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use muster_proto::guard::Guard;
use serde::Deserialize;
use serde_json::{Value, json};

use super::deadline::Deadline;
use super::tab::Tab;
use crate::page::EngineError;

const WHAT: &str = "taking a screenshot";

/// What the script counted.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Count {
    /// Fields that are black.
    masked: u64,
    /// Secure fields of the page.
    secure: u64,
    /// Secure fields that a snapshot tells and that are not black.
    bare: u64,
}

impl Count {
    fn whole(&self) -> bool {
        self.masked == self.secure && self.bare == 0
    }
}

/// Blackens every secure field, takes the picture, and puts the fields back. The counts before and
/// after must say the same, and that nothing was left out.
pub(super) async fn masked(tab: &Tab, deadline: Deadline) -> Result<Vec<u8>, EngineError> {
    let before: Count = tab.ask("mask", json!([]), deadline, WHAT).await?;
    let picture = smaller(tab, deadline).await;
    let after: Count = tab.ask("unmask", json!([]), deadline, WHAT).await?;
    if !before.whole() || before != after {
        return Err(EngineError::Unfit {
            what: "the screen".to_owned(),
            why: format!(
                "a picture would show a secure field: {} of {} were masked before it, {} of {} after it",
                before.masked, before.secure, after.masked, after.secure
            ),
            guard: Guard::PixelsMasked,
        });
    }
    picture
}

/// The smaller one of a PNG and a JPEG of quality 80.
pub(super) async fn smaller(tab: &Tab, deadline: Deadline) -> Result<Vec<u8>, EngineError> {
    let png = capture(tab, json!({ "format": "png" }), deadline).await?;
    let jpeg = json!({ "format": "jpeg", "quality": 80 });
    let jpeg = capture(tab, jpeg, deadline).await?;
    Ok(if jpeg.len() < png.len() { jpeg } else { png })
}

async fn capture(tab: &Tab, params: Value, deadline: Deadline) -> Result<Vec<u8>, EngineError> {
    let reply = tab
        .explained("Page.captureScreenshot", params, deadline, WHAT)
        .await?;
    let data = reply
        .get("data")
        .and_then(Value::as_str)
        .unwrap_or_default();
    STANDARD
        .decode(data)
        .map_err(|error| EngineError::Invalid(format!("{WHAT}: the browser sent none: {error}")))
}
