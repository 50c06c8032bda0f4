//! What a browser tells of itself at `/json/version`, before anybody speaks DevTools with it.

use serde::Deserialize;
use url::Url;

use crate::http;

/// The answer; fields that we don't use are skipped.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Version {
    /// E.g. `HeadlessChrome/156.0.8078.114`.
    #[serde(rename = "Browser")]
    pub(super) product: String,
    /// WebSocket address as the browser sees itself; its host is the one that it was asked by.
    #[serde(rename = "webSocketDebuggerUrl")]
    pub(super) ws_url: String,
}

/// Why there is no answer, as text for people.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoVersion {
    /// Nobody is there.
    #[error("{0}")]
    Unreachable(String),
    /// Somebody is there who has no such page.
    #[error("it does not answer /json/version as a browser does ({0})")]
    NotTold(String),
}

/// Asks `base` (`http` or `https`), past any proxy of the environment. The caller sets the deadline.
pub(super) async fn version(base: &Url) -> Result<Version, NoVersion> {
    let told = |error: reqwest::Error| {
        let error = error.without_url();
        if error.is_connect() {
            NoVersion::Unreachable(http::root_cause(&error))
        } else {
            NoVersion::NotTold(http::root_cause(&error))
        }
    };
    let mut url = base.clone();
    url.set_path("/json/version");
    let client = http::client().build().map_err(told)?;
    let answer = client.get(url).send().await.map_err(told)?;
    answer
        .error_for_status()
        .map_err(told)?
        .json()
        .await
        .map_err(told)
}
