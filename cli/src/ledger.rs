//! What models cost, as text: a line a model in the summary, a line a step under `--debug`.

use std::fmt::Write as _;

use console::style;
use muster_coordinator::report::Report;
use muster_proto::step::{LedgerRow, Usage};

/// One line for each model and what it was asked for.
pub(crate) fn models(rows: &[LedgerRow]) -> String {
    let mut text = String::new();
    for row in rows {
        let _ = writeln!(
            text,
            "        {:6} {}: {} calls, {}, {:.1} s",
            row.tier.as_str(),
            row.model,
            row.usage.model_calls,
            tokens(&row.usage),
            seconds(row.latency_ms)
        );
    }
    text
}

/// Tokens and what they cost.
pub(crate) fn tokens(usage: &Usage) -> String {
    let cost = match usage.cost_microusd {
        0 => String::new(),
        cost => format!(", {}", dollars(cost)),
    };
    let reckoned = match usage.estimated {
        true => " (estimated)",
        false => "",
    };
    format!(
        "{} tokens in ({} % cached), {} out{cost}{reckoned}",
        usage.input_tokens,
        cached(usage),
        usage.output_tokens
    )
}

/// The steps that asked a model, as a table.
pub(crate) fn steps(report: &Report) -> String {
    let mut lines = Vec::new();
    for unit in &report.units {
        for attempt in &unit.attempts {
            for step in &attempt.steps {
                let Some(agent) = step
                    .agent
                    .as_ref()
                    .filter(|agent| agent.usage.model_calls > 0)
                else {
                    continue;
                };
                let model_ms: u64 = agent.ledger.iter().map(|row| row.latency_ms).sum();
                let title: String = step.title.chars().take(48).collect();
                lines.push(format!(
                    "{title:48} {:>7.1} {:>7.1} {:>5} {:>7} {:>8} {:>6} {:>7} {:>9}",
                    seconds(step.duration_ms),
                    seconds(model_ms),
                    agent.usage.model_calls,
                    agent.usage.actions,
                    agent.usage.input_tokens,
                    cached(&agent.usage),
                    agent.usage.output_tokens,
                    dollars(agent.usage.cost_microusd)
                ));
            }
        }
    }
    if lines.is_empty() {
        return "no step asked a model\n".to_owned();
    }
    let head = format!(
        "{:48} {:>7} {:>7} {:>5} {:>7} {:>8} {:>6} {:>7} {:>9}",
        "step", "total s", "model s", "calls", "actions", "in", "cached", "out", "cost"
    );
    format!("{}\n{}\n", style(head).bold(), lines.join("\n"))
}

/// Share of the input that came from a vendor's cache, percent.
fn cached(usage: &Usage) -> u64 {
    (usage.cached_tokens * 100)
        .checked_div(usage.input_tokens)
        .unwrap_or(0)
}

fn dollars(microusd: u64) -> String {
    // To a hundredth of a cent, rounded up: a bill is never larger than what was said.
    let hundredths = microusd.div_ceil(100);
    format!("${}.{:04}", hundredths / 10_000, hundredths % 10_000)
}

#[allow(
    clippy::cast_precision_loss,
    reason = "no step takes 2^52 milliseconds"
)]
fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use muster_proto::step::Tier;

    use super::*;

    #[test]
    fn a_models_line_says_what_it_cost_and_whether_that_is_reckoned() {
        let row = LedgerRow {
            tier: Tier::Act,
            model: "small".to_owned(),
            usage: Usage {
                model_calls: 3,
                input_tokens: 1000,
                cached_tokens: 805,
                output_tokens: 50,
                cost_microusd: 12_345,
                estimated: true,
                ..Usage::default()
            },
            latency_ms: 2_340,
        };
        assert_eq!(
            models(&[row]),
            "        act    small: 3 calls, 1000 tokens in (80 % cached), 50 out, $0.0124 (estimated), 2.3 s\n"
        );
    }

    #[test]
    fn nothing_used_divides_by_nothing() {
        assert_eq!(tokens(&Usage::default()), "0 tokens in (0 % cached), 0 out");
    }
}
