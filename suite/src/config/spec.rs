//! The part of the configuration that nodes get.

use std::collections::BTreeMap;

use url::{Host, Url};

use super::{App, Config, RunSpec, SPEC_SCHEMA, TargetSpec};

/// CSS px.
const VIEWPORT: (u32, u32) = (1280, 720);

impl Config {
    /// What nodes need. `app_urls` holds the resolved address of each target whose address was
    /// chosen at start (port 0); others keep the configured one.
    pub fn spec(&self, app_urls: &BTreeMap<String, String>) -> RunSpec {
        let target = |(name, target): (&String, &super::Target)| {
            let app_url = app_urls.get(name).unwrap_or(&target.app.url).clone();
            (
                name.clone(),
                TargetSpec {
                    app_url,
                    app_identity: identity(&target.app),
                    egress: target.egress.clone(),
                },
            )
        };
        RunSpec {
            schema: SPEC_SCHEMA,
            project: self.project.id.clone(),
            targets: self.targets.iter().map(target).collect(),
            agents: self.agents.clone(),
            timeouts: self.timeouts.clone(),
            secrets: self.secrets.clone(),
            viewport: self.browser.viewport.unwrap_or(VIEWPORT),
            budgets: self.budgets,
        }
    }
}

/// See [`App::identity`]: the same app on another port of this machine is the same app.
pub fn identity(app: &App) -> String {
    if let Some(identity) = &app.identity {
        return identity.clone();
    }
    let Ok(mut url) = Url::parse(&app.url) else {
        return app.url.clone();
    };
    let loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    // Fails only for addresses that can't have a port, which `check` has refused.
    if loopback && url.set_port(None).is_err() {
        return app.url.clone();
    }
    url.as_str().trim_end_matches('/').to_owned()
}
