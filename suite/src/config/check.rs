//! What the types of [`Config`] don't say: ranges, names, addresses, exclusions.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use muster_proto::code::ErrorCode;
use url::{Host, Url};

use super::node::NodeFile;
use super::parse::{ConfigError, Source};
use super::{Agent, App, AppCommand, Browser, Config, Egress, ExecutorKind, Model, SecretSource};
use crate::glob::Globs;

/// Most retries of a failed test.
pub const MAX_RETRIES: u32 = 10;
/// Longest agent context, bytes.
pub const MAX_CONTEXT: usize = 16_384;

const BUDGET: RangeInclusive<u32> = 1..=100;
const IDLE_LOOKS: RangeInclusive<u32> = 2..=20;
const MAX_TIMEOUT_MS: u64 = 24 * 60 * 60 * 1000;

type Checked = Result<(), ConfigError>;

pub(super) fn check(config: &Config, source: &Source<'_>) -> Checked {
    project(config, source)?;
    globs(config, source)?;
    if config.targets.is_empty() {
        return Err(source.error(
            &["targets"],
            "no target is configured; add one: [targets.web.app] with url = \"http://127.0.0.1:3000\"",
        ));
    }
    for (target, settings) in &config.targets {
        name(source, &["targets", target], "target", target)?;
        app(source, target, &settings.app)?;
        egress(source, target, &settings.egress)?;
    }
    for (agent_name, settings) in &config.agents {
        name(source, &["agents", agent_name], "agent", agent_name)?;
        agent(source, agent_name, settings)?;
    }
    if let Some(retries) = config.retries.filter(|retries| *retries > MAX_RETRIES) {
        return Err(source.error(
            &["retries"],
            format!("retries is {retries}; the most is {MAX_RETRIES}"),
        ));
    }
    timeouts(config, source)?;
    budgets(config, source)?;
    secrets(&config.secrets, source)?;
    inside_project(source, &["cache", "dir"], &config.cache.dir)?;
    browser(source, &config.browser)
}

/// What a machine lends.
pub(super) fn node(file: &NodeFile, source: &Source<'_>) -> Checked {
    secrets(&file.secrets, source)?;
    for (at, pin) in file.models.iter().enumerate() {
        let wrong = |why: &str| source.error(&["models"], format!("[[models]] {}: {why}", at + 1));
        web_address(&pin.base_url).map_err(|why| wrong(&why))?;
        if let Some(key) = &pin.key_env {
            env_name(source, &["models"], key).map_err(|error| wrong(&error.message))?;
        }
    }
    for (at, pin) in file.executors.iter().enumerate() {
        let wrong =
            |why: &str| source.error(&["executors"], format!("[[executors]] {}: {why}", at + 1));
        pin.check().map_err(|why| wrong(&why))?;
        if let Some(key) = &pin.key_env {
            env_name(source, &["executors"], key).map_err(|error| wrong(&error.message))?;
        }
    }
    Ok(())
}

/// Sources of secrets, of a project or of a node.
fn secrets(secrets: &BTreeMap<String, SecretSource>, source: &Source<'_>) -> Checked {
    for (secret, from) in secrets {
        name(source, &["secrets", secret], "secret", secret)?;
        self::secret(source, secret, from)?;
    }
    Ok(())
}

fn project(config: &Config, source: &Source<'_>) -> Checked {
    let length = config.project.id.chars().count();
    if !(1..=256).contains(&length) || config.project.id.chars().any(char::is_control) {
        let message = format!(
            "project id has {length} characters; it takes 1 to 256, none of them a control character"
        );
        return Err(source.error(&["project", "id"], message));
    }
    Ok(())
}

fn globs(config: &Config, source: &Source<'_>) -> Checked {
    let lists = [
        ("tests", &config.tests.include),
        ("bundle", &config.bundle.include),
    ];
    for (table, patterns) in lists {
        Globs::new(patterns).map_err(|message| source.error(&[table, "include"], message))?;
    }
    if config
        .tests
        .include
        .iter()
        .all(|pattern| pattern.starts_with('!'))
    {
        return Err(source.error(
            &["tests", "include"],
            "tests.include includes nothing; name at least one glob",
        ));
    }
    Ok(())
}

fn name(source: &Source<'_>, keys: &[&str], what: &str, name: &str) -> Checked {
    let fits = (1..=128).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'));
    if fits {
        return Ok(());
    }
    Err(source.error(
        keys,
        format!(
            "{what} name `{name}` is not allowed; use 1 to 128 letters, digits, `_`, `.` and `-`"
        ),
    ))
}

fn env_name(source: &Source<'_>, keys: &[&str], name: &str) -> Checked {
    let fits = !name.is_empty()
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if fits {
        return Ok(());
    }
    // The text isn't repeated: whoever mistook the key may have pasted the value.
    Err(source.error(
        keys,
        "this is not the name of an environment variable; name one, never write its value here",
    ))
}

fn secret(source: &Source<'_>, name: &str, from: &SecretSource) -> Checked {
    let keys = |key| ["secrets", name, key];
    let sources = [
        from.env.is_some(),
        from.file.is_some(),
        !from.command.is_empty(),
    ];
    if sources.into_iter().filter(|named| *named).count() != 1 {
        return Err(source.error(
            &["secrets", name],
            format!("secret `{name}` needs exactly one of `env`, `file` and `command`"),
        ));
    }
    if let Some(env) = &from.env {
        env_name(source, &keys("env"), env)?;
    }
    for origin in &from.origins {
        web_address(origin).map_err(|message| source.error(&keys("origins"), message))?;
    }
    if from.totp && from.password {
        return Err(source.error(
            &keys("totp"),
            format!("secret `{name}` is either a password or a one-time code's seed, not both"),
        ));
    }
    Ok(())
}

fn app(source: &Source<'_>, target: &str, app: &App) -> Checked {
    let at = ["targets", target, "app", "url"];
    let refuse = |message: String| ConfigError {
        code: ErrorCode::InvalidAppUrl,
        ..source.error(&at, message)
    };
    let url = web_address(&app.url).map_err(refuse)?;
    if url.fragment().is_some() || url.query().is_some() {
        return Err(refuse(format!(
            "`{}` has a query or fragment; an app's address is origin and path",
            app.url
        )));
    }
    if url.port() == Some(0) && (!literal_loopback(&url) || app.command.is_none()) {
        return Err(refuse(
            "port 0 needs a literal loopback host (127.0.0.1 or [::1]) and an app command that takes {port}"
                .to_owned(),
        ));
    }
    if let Some(identity) = &app.identity
        && !(1..=1024).contains(&identity.len())
    {
        let keys = ["targets", target, "app", "identity"];
        return Err(source.error(
            &keys,
            format!(
                "app identity has {} bytes; it takes 1 to 1024",
                identity.len()
            ),
        ));
    }
    app.command
        .as_ref()
        .map_or(Ok(()), |command| app_command(source, target, command))
}

fn egress(source: &Source<'_>, target: &str, egress: &Egress) -> Checked {
    let at = ["targets", target, "egress", "allow"];
    for rule in &egress.allow {
        let host = rule.strip_prefix("*.").unwrap_or(rule);
        let address = Url::parse(&format!("http://{host}/"));
        let fits = address.is_ok_and(|url| {
            url.path() == "/" && url.query().is_none() && url.username().is_empty()
        });
        if !fits || host.contains(['/', '@', '?', '#', '*']) {
            return Err(source.error(
                &at,
                format!("`{rule}` is no host; write `api.example.com`, `api.example.com:8443` or `*.example.com`"),
            ));
        }
    }
    Ok(())
}

fn app_command(source: &Source<'_>, target: &str, command: &AppCommand) -> Checked {
    let keys = |key| ["targets", target, "app", "command", key];
    if command.program.trim().is_empty() {
        return Err(source.error(&keys("program"), "the app's program is empty"));
    }
    if let Some(cwd) = &command.cwd {
        inside_project(source, &keys("cwd"), cwd)?;
    }
    if let Some(ready) = &command.ready
        && !ready.starts_with('/')
    {
        web_address(ready).map_err(|message| {
            source.error(
                &keys("ready"),
                format!("{message}; `ready` is a path such as `/health` or an address"),
            )
        })?;
    }
    duration(
        source,
        &keys("startup-timeout-ms"),
        command.startup_timeout_ms,
    )?;
    duration(
        source,
        &keys("shutdown-timeout-ms"),
        command.shutdown_timeout_ms,
    )
}

/// A parsed `http` or `https` address without credentials.
fn web_address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| {
        format!("`{text}` is not an address ({error}); write e.g. `http://127.0.0.1:3000`")
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!(
            "`{text}` has the scheme `{}`; use http or https",
            url.scheme()
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("an address must not hold credentials; declare a secret instead".to_owned());
    }
    Ok(url)
}

fn agent(source: &Source<'_>, name: &str, agent: &Agent) -> Checked {
    let keys = |key| ["agents", name, key];
    if agent.context.len() > MAX_CONTEXT {
        let message = format!(
            "context has {} bytes; the most is {MAX_CONTEXT}",
            agent.context.len()
        );
        return Err(source.error(&keys("context"), message));
    }
    for (key, value) in [
        ("max-steps", agent.max_steps),
        ("max-model-calls", agent.max_model_calls),
    ] {
        if !BUDGET.contains(&value) {
            let message = format!(
                "{key} is {value}; it takes {} to {}",
                BUDGET.start(),
                BUDGET.end()
            );
            return Err(source.error(&keys(key), message));
        }
    }
    if !IDLE_LOOKS.contains(&agent.idle_looks) {
        let message = format!(
            "idle-looks is {}; it takes {} to {}",
            agent.idle_looks,
            IDLE_LOOKS.start(),
            IDLE_LOOKS.end()
        );
        return Err(source.error(&keys("idle-looks"), message));
    }
    for (key, settings) in [
        ("model", &agent.model),
        ("judge", &agent.judge),
        ("text", &agent.text),
    ] {
        if let Some(settings) = settings {
            model(source, &keys(key), settings)?;
        }
    }
    decision(source, &keys("decision"), agent)?;
    remote(source, &keys("remote"), agent)
}

fn decision(source: &Source<'_>, keys: &[&str], agent: &Agent) -> Checked {
    let others = agent.executor != ExecutorKind::Decision;
    if others && (agent.decision.is_some() || agent.text.is_some()) {
        let message = format!(
            "`decision` and `text` are for agents with executor = \"decision\"; this one's is \"{}\"",
            agent.executor.as_str()
        );
        return Err(source.error(&keys[..keys.len() - 1], message));
    }
    if agent.text.is_some() && agent.decision.is_none() && agent.model.is_none() {
        return Err(source.error(
            &keys[..keys.len() - 1],
            "`text` writes for a service or a model that chooses; add decision = { url = \"…\" } or model",
        ));
    }
    let Some(settings) = &agent.decision else {
        return Ok(());
    };
    let at = |key| [keys, &[key]].concat();
    web_address(&settings.url).map_err(|message| source.error(&at("url"), message))?;
    for (key, value) in [
        ("min-probability", settings.min_probability),
        ("min-confidence", settings.min_confidence),
    ] {
        if !(0.0..=1.0).contains(&value) {
            return Err(source.error(&at(key), format!("{key} is {value}; it takes 0 to 1")));
        }
    }
    let key = settings.key_env.as_ref();
    key.map_or(Ok(()), |key| env_name(source, &at("key-env"), key))
}

fn remote(source: &Source<'_>, keys: &[&str], agent: &Agent) -> Checked {
    let kind = agent.executor;
    let settings = match (&agent.remote, kind == ExecutorKind::Remote) {
        (None, false) => return Ok(()),
        (None, true) => {
            return Err(source.error(
                keys,
                "the executor is `remote`; say where it listens: remote = { url = \"http://127.0.0.1:7070\" }",
            ));
        }
        (Some(_), false) => {
            let message = format!(
                "`remote` is for agents with executor = \"remote\"; this one's is \"{}\"",
                kind.as_str()
            );
            return Err(source.error(keys, message));
        }
        (Some(settings), true) => settings,
    };
    let at = |key| [keys, &[key]].concat();
    settings
        .check()
        .map_err(|message| source.error(&at("url"), message))?;
    let key = settings.key_env.as_ref();
    key.map_or(Ok(()), |key| env_name(source, &at("key-env"), key))
}

/// Where a remote executor may listen. What goes there in the clear stays on the machine.
pub(super) fn executor_address(text: &str) -> Result<(), String> {
    if let Some(path) = text.strip_prefix("unix:") {
        return match path.starts_with('/') {
            true => Ok(()),
            false => Err(format!(
                "`{text}` names no socket; write e.g. `unix:/run/executor.sock`"
            )),
        };
    }
    let url = web_address(text)?;
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err(format!("`{text}` is more than scheme, host and port"));
    }
    if url.scheme() == "http" && !literal_loopback(&url) {
        return Err(format!(
            "`{text}` would be spoken to in the clear; use https, or http on 127.0.0.1 or [::1]"
        ));
    }
    Ok(())
}

fn literal_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(_)) | None => false,
    }
}

fn model(source: &Source<'_>, keys: &[&str], model: &Model) -> Checked {
    let at = |key| [keys, &[key]].concat();
    if model.name.trim().is_empty() {
        return Err(source.error(&at("name"), "the model's name is empty"));
    }
    web_address(&model.base_url).map_err(|message| source.error(&at("base-url"), message))?;
    if let Some(price) = &model.price {
        let parts = [
            Some(price.input),
            price.cached,
            price.cache_write,
            Some(price.output),
        ];
        if parts
            .into_iter()
            .flatten()
            .any(|part| !(0.0..=1e6).contains(&part))
        {
            return Err(source.error(
                &at("price"),
                "a price is 0 to 1000000 US dollars a million tokens",
            ));
        }
    }
    model
        .key_env
        .as_ref()
        .map_or(Ok(()), |key| env_name(source, &at("key-env"), key))
}

fn budgets(config: &Config, source: &Source<'_>) -> Checked {
    let budgets = &config.budgets;
    for (table, spend) in [
        ("step", &budgets.step),
        ("test", &budgets.test),
        ("run", &budgets.run),
    ] {
        if let Some(usd) = spend.usd
            && !(0.0..=1e6).contains(&usd)
        {
            return Err(source.error(
                &["budgets", table, "usd"],
                format!("usd is {usd}; it takes 0 to 1000000 US dollars"),
            ));
        }
    }
    Ok(())
}

fn timeouts(config: &Config, source: &Source<'_>) -> Checked {
    let times = &config.timeouts;
    for (key, value) in [
        ("test-ms", times.test_ms),
        ("action-ms", times.action_ms),
        ("assertion-ms", times.assertion_ms),
        ("navigation-ms", times.navigation_ms),
        ("cleanup-ms", times.cleanup_ms),
        ("step-ms", times.step_ms),
        ("judgment-ms", times.judgment_ms),
    ] {
        duration(source, &["timeouts", key], value)?;
    }
    Ok(())
}

fn duration(source: &Source<'_>, keys: &[&str], milliseconds: u64) -> Checked {
    if (1..=MAX_TIMEOUT_MS).contains(&milliseconds) {
        return Ok(());
    }
    let key = keys.last().copied().unwrap_or_default();
    Err(source.error(
        keys,
        format!("{key} is {milliseconds}; it takes 1 to {MAX_TIMEOUT_MS} milliseconds"),
    ))
}

fn inside_project(source: &Source<'_>, keys: &[&str], path: &str) -> Checked {
    let leaves =
        path.is_empty() || path.starts_with('/') || path.split('/').any(|segment| segment == "..");
    if leaves {
        return Err(source.error(
            keys,
            format!("`{path}` must be a path inside the project, relative to muster.toml"),
        ));
    }
    Ok(())
}

fn browser(source: &Source<'_>, browser: &Browser) -> Checked {
    if browser.path.is_some() && browser.cdp_url.is_some() {
        return Err(source.error(
            &["browser", "cdp-url"],
            "`path` and `cdp-url` exclude each other: a browser is either started or already runs",
        ));
    }
    if let Some(text) = &browser.cdp_url {
        let scheme = Url::parse(text)
            .map(|url| url.scheme().to_owned())
            .unwrap_or_default();
        if !matches!(scheme.as_str(), "http" | "https" | "ws" | "wss") {
            return Err(source.error(
                &["browser", "cdp-url"],
                format!("`{text}` is not a DevTools address; write e.g. `http://127.0.0.1:9222`"),
            ));
        }
    }
    if let Some((width, height)) = browser.viewport
        && (!(1..=16_384).contains(&width) || !(1..=16_384).contains(&height))
    {
        return Err(source.error(
            &["browser", "viewport"],
            "each side of the viewport takes 1 to 16384 CSS px",
        ));
    }
    Ok(())
}
