//! Loading addresses and moving in history.

use serde_json::{Value, json};

use super::deadline::Deadline;
use super::tab::Tab;
use super::watch::Progress;
use super::wire::CallError;
use crate::page::{EngineError, Travel};

impl Tab {
    /// Loads an address and waits for its load event; an address in the same document, for the
    /// move.
    pub(super) async fn goto(&self, url: &str, deadline: Deadline) -> Result<(), EngineError> {
        let shown = without_credentials(url);
        let what = format!("loading {shown}");
        let failed = |reason: &str| EngineError::Navigation {
            url: shown.clone(),
            reason: reason.into(),
        };
        let reply = match self
            .call("Page.navigate", json!({ "url": url }), deadline)
            .await
        {
            Ok(reply) => reply,
            Err(CallError::Refused(why)) => {
                return Err(match self.stuck_by() {
                    Some(why) => EngineError::Stuck(why),
                    None => failed(&why),
                });
            }
            Err(error) => return Err(deadline.explain(error, &what)),
        };
        match reply
            .get("errorText")
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
        {
            // Neither a download nor an empty answer (HTTP 204, 205) makes a document.
            Some("net::ERR_ABORTED") => {
                return Err(failed(
                    "net::ERR_ABORTED: no document came, but a download or an empty answer",
                ));
            }
            Some(reason) => {
                return Err(EngineError::Navigation {
                    url: self.unreached(deadline).await.unwrap_or(shown),
                    reason: reason.into(),
                });
            }
            None => {}
        }
        if reply.get("isDownload").and_then(Value::as_bool) == Some(true) {
            return Err(failed("it is a download"));
        }
        let Some(loader) = reply.get("loaderId").and_then(Value::as_str) else {
            return Ok(());
        };
        // Its own document must have come; the page may have gone on to another since.
        let arrived = |now: &Progress| now.loaded && now.loaders.iter().any(|seen| seen == loader);
        self.arrive(deadline, &what, arrived).await
    }

    /// Moves in history and waits likewise.
    pub(super) async fn travel(
        &self,
        travel: Travel,
        deadline: Deadline,
    ) -> Result<(), EngineError> {
        let (commits, moves) = {
            let progress = self.progress();
            let before = progress.borrow();
            (before.commits, before.moves)
        };
        let (step, what) = match travel {
            Travel::Reload => {
                self.explained("Page.reload", json!({}), deadline, "reloading")
                    .await?;
                return self
                    .arrive(deadline, "reloading", move |now| {
                        now.commits > commits && now.loaded
                    })
                    .await;
            }
            Travel::Back => (-1, "going back"),
            Travel::Forward => (1, "going forward"),
        };
        let history = self
            .explained("Page.getNavigationHistory", json!({}), deadline, what)
            .await?;
        let current = history
            .get("currentIndex")
            .and_then(Value::as_i64)
            .unwrap_or_default();
        let entry = |index: i64| history.get("entries")?.get(usize::try_from(index).ok()?);
        let Some(id) = entry(current + step).and_then(|entry| entry.get("id")) else {
            let here = entry(current)
                .and_then(|entry| entry.get("url"))
                .and_then(Value::as_str)
                .unwrap_or_default();
            let reason = format!("{what}: the history has no such page");
            return Err(EngineError::Navigation {
                url: without_credentials(here),
                reason,
            });
        };
        self.explained(
            "Page.navigateToHistoryEntry",
            json!({ "entryId": id }),
            deadline,
            what,
        )
        .await?;
        self.arrive(deadline, what, move |now| {
            now.moves > moves || (now.commits > commits && now.loaded)
        })
        .await
    }

    /// The address that the browser's error page stands for: that of the last redirection.
    async fn unreached(&self, deadline: Deadline) -> Option<String> {
        let what = "reading an address";
        let tree = self.explained("Page.getFrameTree", json!({}), deadline, what);
        let tree = tree.await.ok()?;
        let url = tree.pointer("/frameTree/frame/unreachableUrl");
        url.and_then(Value::as_str).map(without_credentials)
    }

    /// Waits until a fresh window shows its blank document: one that is still to come would put off
    /// what is loaded in the meantime.
    pub(super) async fn blank(&self, deadline: Deadline, what: &str) -> Result<(), EngineError> {
        let tree = self
            .explained("Page.getFrameTree", json!({}), deadline, what)
            .await?;
        let url = tree.pointer("/frameTree/frame/url").and_then(Value::as_str);
        match url {
            // The address of no document at all.
            Some(":") => {
                self.arrive(deadline, what, |now| now.commits > 0 && now.loaded)
                    .await
            }
            _ => Ok(()),
        }
    }

    async fn arrive(
        &self,
        deadline: Deadline,
        what: &str,
        arrived: impl Fn(&Progress) -> bool,
    ) -> Result<(), EngineError> {
        let mut progress = self.progress();
        tokio::select! {
            biased;
            reason = self.gone() => Err(EngineError::Dead(reason)),
            why = self.stuck() => Err(EngineError::Stuck(why)),
            reason = self.browser_dead() => Err(EngineError::Dead(reason)),
            waited = tokio::time::timeout_at(deadline.until, progress.wait_for(arrived)) => match waited {
                Ok(_) => Ok(()),
                Err(_) => Err(deadline.timeout(what)),
            },
        }
    }
}

/// The address without user name and password.
fn without_credentials(address: &str) -> String {
    let Ok(mut url) = url::Url::parse(address) else {
        return address.into();
    };
    if url.username().is_empty() && url.password().is_none() {
        return address.into();
    }
    // Fails only for addresses that can't have any.
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    url.into()
}

#[cfg(test)]
mod tests {
    use super::without_credentials;

    #[test]
    fn errors_hold_no_credentials() {
        assert_eq!(
            without_credentials("https://ada:pw@shop.test/a?b"),
            "https://shop.test/a?b"
        );
        assert_eq!(
            without_credentials("https://shop.test"),
            "https://shop.test"
        );
        assert_eq!(without_credentials("not an address"), "not an address");
    }
}
