//! How this room speaks HTTP: past every proxy of the environment, over rustls with ring.

use std::time::Duration;

use jiff::Timestamp;
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

/// The longest wait that a server's word is taken for: no step lasts longer, and a clock can't go as far
/// as a number can.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// A server's own wait: seconds, or a date (RFC 9110, 10.2.3); at most a day.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
            // A date that has passed asks for no wait.
            Duration::try_from(date.duration_since(Timestamp::now())).unwrap_or_default()
        }
    };
    Some(wait.min(LONGEST_WAIT))
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

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn a_wait_is_told_in_seconds_or_as_a_date() {
        let wait = |text: &str| {
            let value = HeaderValue::from_str(text).unwrap();
            retry_after(&HeaderMap::from_iter([(RETRY_AFTER, value)]))
        };
        assert_eq!(wait(" 7 "), Some(Duration::from_secs(7)));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
        for far in ["Fri, 31 Dec 2100 23:59:59 GMT", "18446744073709551615"] {
            assert_eq!(wait(far), Some(LONGEST_WAIT), "{far}");
        }
        assert_eq!(wait("soon"), None);
    }
}
