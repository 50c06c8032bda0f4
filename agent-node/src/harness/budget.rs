//! What a step may spend: reserved before, counted after.

use std::collections::BTreeMap;
use std::time::Duration;

use muster_proto::code::ErrorCode;
use muster_proto::guard::Guard;
use muster_proto::outcome::Problem;
use muster_proto::step::{LedgerRow, Tier, Usage};
use muster_providers::model::{ModelReply, TokenUsage};
use muster_suite::config::Price;

use super::ToldCall;
use super::purse::cost;

/// Limits of one step, 0 = none at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Actions.
    pub actions: u32,
    /// Model calls, or decisions.
    pub model_calls: u32,
}

impl Limits {
    /// The limits of a call: it may lower the configured ones, never raise them.
    pub fn lowered(self, actions: Option<u32>, model_calls: Option<u32>) -> Self {
        Self {
            actions: self.actions.min(actions.unwrap_or(u32::MAX)),
            model_calls: self.model_calls.min(model_calls.unwrap_or(u32::MAX)),
        }
    }
}

/// Counts one step.
#[derive(Debug)]
pub(super) struct Meter {
    limits: Limits,
    left: Limits,
    usage: Usage,
    rows: BTreeMap<(Tier, String), LedgerRow>,
}

impl Meter {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            left: limits,
            usage: Usage::default(),
            rows: BTreeMap::new(),
        }
    }

    pub(super) fn left(&self) -> Limits {
        self.left
    }

    pub(super) fn usage(&self) -> Usage {
        self.usage
    }

    /// Takes actions off the budget; they are [`Meter::acted`] or [`Meter::released`] later.
    pub(super) fn reserve_actions(&mut self, count: u32) -> Result<(), Problem> {
        spend(&mut self.left.actions, count, || {
            format!(
                "{} actions are spent; raise max-steps of the agent",
                self.limits.actions
            )
        })
    }

    /// Reserved actions were committed, or may have been.
    pub(super) fn acted(&mut self, count: u32) {
        self.usage.actions += u64::from(count);
    }

    /// Reserved actions were refused before anything was done.
    pub(super) fn released(&mut self, count: u32) {
        self.left.actions += count;
    }

    /// Takes one model call off the budget, before it is made; a failed call stays spent.
    pub(super) fn reserve_model_call(&mut self) -> Result<(), Problem> {
        self.reserve_thought("model calls")?;
        self.usage.model_calls += 1;
        Ok(())
    }

    /// Takes one decision off the same budget.
    pub(super) fn reserve_decision(&mut self) -> Result<(), Problem> {
        self.reserve_thought("decisions")?;
        self.usage.decisions += 1;
        Ok(())
    }

    /// Takes in what a call used.
    pub(super) fn told(
        &mut self,
        tier: Tier,
        model: &str,
        price: Option<&Price>,
        reply: &ModelReply,
        took: Duration,
    ) -> Usage {
        let told = reply.usage.unwrap_or_default();
        let reckoned = price.map(|price| cost(price, told));
        let used = Usage {
            cost_microusd: reply.cost_microusd.or(reckoned).unwrap_or(0),
            // The vendor's own figure is the bill; a price table is a guess at it.
            estimated: reply.usage.is_none() || (reply.cost_microusd.is_none() && price.is_some()),
            ..tokens(told)
        };
        self.count(tier, model, used, took)
    }

    /// Takes in a call that an executor made by itself. Its word is no bill.
    pub(super) fn told_by_executor(&mut self, tier: Tier, call: &ToldCall) -> Usage {
        let used = Usage {
            cost_microusd: call.cost_microusd,
            estimated: true,
            ..tokens(call.tokens)
        };
        self.usage.model_calls += 1;
        self.count(tier, &call.model, used, Duration::ZERO)
    }

    fn count(&mut self, tier: Tier, model: &str, used: Usage, took: Duration) -> Usage {
        self.usage += used;
        let row = self
            .rows
            .entry((tier, model.to_owned()))
            .or_insert_with(|| LedgerRow {
                tier,
                model: model.to_owned(),
                usage: Usage::default(),
                latency_ms: 0,
            });
        let one = Usage {
            model_calls: 1,
            ..used
        };
        row.usage += one;
        row.latency_ms += u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        one
    }

    pub(super) fn ledger(&self) -> Vec<LedgerRow> {
        self.rows.values().cloned().collect()
    }

    /// Takes one of them off the budget.
    pub(super) fn reserve_thought(&mut self, what: &str) -> Result<(), Problem> {
        spend(&mut self.left.model_calls, 1, || {
            format!(
                "{} {what} are spent; raise max-model-calls of the agent",
                self.limits.model_calls
            )
        })
    }
}

fn tokens(told: TokenUsage) -> Usage {
    Usage {
        input_tokens: told.input,
        cached_tokens: told.cached,
        cache_write_tokens: told.cache_write,
        output_tokens: told.output,
        reasoning_tokens: told.reasoning,
        ..Usage::default()
    }
}

fn spend(left: &mut u32, count: u32, message: impl FnOnce() -> String) -> Result<(), Problem> {
    if Guard::BudgetReserved.holds() && *left < count {
        return Err(Problem::new(
            ErrorCode::StepBudgetExhausted,
            format!("the step's {} or split the goal", message()),
        ));
    }
    *left = left.saturating_sub(count);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spent_is_spent() {
        let mut meter = Meter::new(Limits {
            actions: 1,
            model_calls: 2,
        });
        meter.reserve_actions(1).unwrap();
        meter.released(1);
        meter.reserve_actions(1).unwrap();
        meter.acted(1);
        let problem = meter.reserve_actions(1).unwrap_err();
        assert_eq!(problem.code, ErrorCode::StepBudgetExhausted);
        assert_eq!(
            problem.message,
            "the step's 1 actions are spent; raise max-steps of the agent or split the goal"
        );
        meter.reserve_model_call().unwrap();
        meter.reserve_decision().unwrap();
        assert_eq!(
            meter.reserve_decision().unwrap_err().code,
            ErrorCode::StepBudgetExhausted
        );
        assert_eq!(
            meter.reserve_model_call().unwrap_err().code,
            ErrorCode::StepBudgetExhausted
        );
        let usage = meter.usage();
        assert_eq!(
            (usage.actions, usage.model_calls, usage.decisions),
            (1, 1, 1)
        );
    }

    #[test]
    fn a_call_only_lowers() {
        let limits = Limits {
            actions: 25,
            model_calls: 10,
        };
        assert_eq!(
            limits.lowered(Some(5), Some(50)),
            Limits {
                actions: 5,
                model_calls: 10
            }
        );
        assert_eq!(limits.lowered(None, None), limits);
    }
}
