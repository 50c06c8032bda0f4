//! How this room speaks HTTP: past every proxy of the environment, over rustls with ring.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};
use url::Url;

/// A client to be configured further.
pub(crate) fn client() -> reqwest::ClientBuilder {
    // reqwest wants a provider even where no TLS is spoken; another room may have set it first.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    reqwest::Client::builder().no_proxy()
}

/// The innermost error: the outer ones only say that something failed.
pub(crate) fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// A server's own wait in seconds; dates are ignored.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse();
    seconds.ok().map(Duration::from_secs)
}

/// The status of a GET, redirects not followed: whether an app under test answers.
///
/// # Errors
/// What kept it from answering within `deadline`.
pub async fn status(url: &Url, deadline: Duration) -> Result<u16, String> {
    let ask = async {
        let client = client()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(deadline)
            .build()?;
        client.get(url.clone()).send().await
    };
    let answer: Result<_, reqwest::Error> = ask.await;
    answer
        .map(|answer| answer.status().as_u16())
        .map_err(|error| root_cause(&error.without_url()))
}
