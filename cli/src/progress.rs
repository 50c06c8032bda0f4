//! What a person sees while a run goes on: a live view in a terminal, plain lines elsewhere.
//!
//! A fold over run events. It never decides anything and never waits.

use std::collections::BTreeMap;
use std::time::Duration;

use console::{Term, style};
use indicatif::{ProgressBar, ProgressStyle};
use muster_proto::v1;
use muster_proto::v1::run_event::Event;
use prost::Message as _;
use tokio::time::Instant;

/// The view of one run.
pub(crate) struct Progress {
    titles: BTreeMap<String, String>,
    running: BTreeMap<String, Running>,
    bar: Option<ProgressBar>,
    total: usize,
    done: usize,
}

struct Running {
    node: String,
    since: Instant,
    step: String,
}

/// Most tests shown as running in a terminal.
const SHOWN: usize = 6;

impl Progress {
    /// `live`: redraw in place; else one line per finished test.
    pub(crate) fn new(live: bool) -> Self {
        let bar = live.then(|| {
            let bar = ProgressBar::no_length();
            bar.set_style(
                ProgressStyle::with_template("{msg}")
                    .unwrap_or_else(|_| ProgressStyle::default_spinner()),
            );
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Self {
            titles: BTreeMap::new(),
            running: BTreeMap::new(),
            bar,
            total: 0,
            done: 0,
        }
    }

    /// Whether standard error is a terminal that can redraw.
    pub(crate) fn wanted(ci: bool) -> bool {
        !ci && Term::stderr().features().is_attended()
    }

    /// Takes one event in.
    pub(crate) fn on_event(&mut self, event: &v1::RunEvent) {
        match &event.event {
            Some(Event::Planned(planned)) => {
                let units = planned.manifest.iter().flat_map(|manifest| &manifest.units);
                for unit in units {
                    self.titles.insert(unit.unit_id.clone(), title(unit));
                    if unit.skip_reason.is_empty() {
                        self.total += 1;
                    }
                }
            }
            Some(Event::Leased(leased)) => {
                self.running.insert(
                    leased.unit_id.clone(),
                    Running {
                        node: leased.node_id.clone(),
                        since: Instant::now(),
                        step: String::new(),
                    },
                );
            }
            Some(Event::Progress(progress)) => match &progress.what {
                Some(v1::progress::What::Step(step)) => {
                    if let Some(running) = self.running.get_mut(&progress.unit_id) {
                        running.step.clone_from(step);
                    }
                }
                Some(v1::progress::What::Console(line)) => {
                    let title = self.title(&progress.unit_id).to_owned();
                    self.print(&format!("  {} {}", style(format!("{title} │")).dim(), line));
                }
                None => {}
            },
            Some(Event::Committed(committed)) => self.committed(committed),
            Some(Event::Expired(expired)) => {
                self.running.remove(&expired.unit_id);
                let title = self.title(&expired.unit_id);
                let next = if expired.given_up {
                    "given up"
                } else {
                    "waits for another node"
                };
                self.print(&format!(
                    "  {} {title}: {} ({}); {next}",
                    style("lost").yellow(),
                    expired.reason,
                    expired.node_id
                ));
                self.done += usize::from(expired.given_up);
            }
            Some(Event::Cancelled(cancelled)) => {
                self.print(&format!(
                    "  {} {}",
                    style("stopped").yellow(),
                    cancelled.reason
                ));
            }
            Some(Event::Reset(_)) => {
                self.running.clear();
                self.total = 0;
                self.done = 0;
            }
            Some(Event::Fenced(_) | Event::Final(_)) | None => {}
        }
        self.redraw();
    }

    /// Clears the live view.
    pub(crate) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }

    /// A line above the live view.
    pub(crate) fn print(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{line}")),
            None => eprintln!("{line}"),
        }
    }

    fn committed(&mut self, committed: &v1::Committed) {
        let running = self.running.remove(&committed.unit_id);
        let Ok(result) = v1::AttemptResult::decode(committed.result.as_slice()) else {
            return;
        };
        let (word, note) = match result.status() {
            v1::Status::Passed if committed.r#try > 0 => (style("flaky ").yellow(), String::new()),
            v1::Status::Passed => (style("passed").green(), String::new()),
            v1::Status::Skipped => (style("skip  ").dim(), result.skip_reason.clone()),
            v1::Status::Interrupted => (style("stop  ").yellow(), String::new()),
            v1::Status::TimedOut => (style("time  ").red(), String::new()),
            v1::Status::Failed | v1::Status::Unspecified => (style("failed").red(), String::new()),
        };
        let retry = if committed.last { "" } else { ", tried again" };
        self.done += usize::from(committed.last);
        let title = self.title(&committed.unit_id);
        let node = running.map_or_else(|| result.node_id.clone(), |running| running.node);
        let took = crate::summary::duration(result.duration_ms);
        self.print(&format!(
            "  {word} {title} {}{retry} {note}",
            style(format!("{took} on {node}")).dim()
        ));
    }

    fn redraw(&self) {
        let Some(bar) = &self.bar else { return };
        let mut lines = vec![format!("{} of {} tests", self.done, self.total)];
        for (unit, running) in self.running.iter().take(SHOWN) {
            let age = running.since.elapsed().as_secs();
            lines.push(format!(
                "  {age:>3}s {} {} {}",
                running.node,
                self.title(unit),
                style(&running.step).dim()
            ));
        }
        if self.running.len() > SHOWN {
            lines.push(format!("  and {} more", self.running.len() - SHOWN));
        }
        let width = usize::from(Term::stderr().size().1).max(20);
        let lines: Vec<String> = lines
            .iter()
            .map(|line| console::truncate_str(line, width - 1, "…").into_owned())
            .collect();
        bar.set_message(lines.join("\n"));
    }

    fn title<'a>(&'a self, unit: &'a str) -> &'a str {
        self.titles.get(unit).map_or(unit, String::as_str)
    }
}

/// `tests/cart.e2e.ts › cart › adds a product [web]`
pub(crate) fn title(unit: &v1::Unit) -> String {
    let mut text = format!("{} › {}", unit.file, unit.title_path.join(" › "));
    if unit.agent != "default" {
        text.push_str(&format!(" ({})", unit.agent));
    }
    if unit.repeat > 0 {
        text.push_str(&format!(" #{}", unit.repeat + 1));
    }
    text
}
