//! What a browser tells of itself at `/json/version`, before anybody speaks DevTools with it.

use serde::Deserialize;
use url::Url;

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
    // reqwest wants a provider even where no TLS is spoken; another room may have set it first.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let told = |error: reqwest::Error| {
        let error = error.without_url();
        if error.is_connect() {
            NoVersion::Unreachable(root_cause(&error))
        } else {
            NoVersion::NotTold(root_cause(&error))
        }
    };
    let mut url = base.clone();
    url.set_path("/json/version");
    let client = reqwest::Client::builder()
        .no_proxy()
        .build()
        .map_err(told)?;
    let answer = client.get(url).send().await.map_err(told)?;
    answer
        .error_for_status()
        .map_err(told)?
        .json()
        .await
        .map_err(told)
}

/// The innermost error: the outer ones only say that something failed.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
