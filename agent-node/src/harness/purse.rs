//! What may be spent by a step, a test and a run: held before, settled after. Pure.

use muster_proto::code::ErrorCode;
use muster_proto::guard::Guard;
use muster_proto::outcome::Problem;
use muster_proto::step::Usage;
use muster_proto::v1;
use muster_providers::model::{Message, ModelRequest, TokenUsage};
use muster_suite::config::{Budgets, Price, Spend};

/// Bytes of a prompt that are reckoned as one token: a little less than English takes.
const BYTES_A_TOKEN: u64 = 3;

/// Kinds of spending, in the order of [`Amounts`].
const KINDS: [&str; 5] = [
    "model calls",
    "decisions",
    "actions",
    "tokens",
    "US dollars",
];

/// Places in [`KINDS`].
const CALLS: usize = 0;
const MONEY: usize = 4;

/// How much of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Amounts([u64; 5]);

impl Amounts {
    pub(super) fn actions(count: u32) -> Self {
        Self([0, 0, count.into(), 0, 0])
    }

    pub(super) fn decision() -> Self {
        Self([0, 1, 0, 0, 0])
    }

    /// The most that a call may come to.
    pub(super) fn call(request: &ModelRequest, price: Option<&Price>) -> Self {
        let tokens = TokenUsage {
            input: size(request).div_ceil(BYTES_A_TOKEN),
            output: u64::from(request.max_output_tokens),
            ..TokenUsage::default()
        };
        let cost = price.map_or(0, |price| cost(price, tokens));
        Self([1, 0, 0, tokens.input + tokens.output, cost])
    }

    /// What was used.
    pub(super) fn used(usage: &Usage) -> Self {
        Self([
            usage.model_calls,
            usage.decisions,
            usage.actions,
            usage.input_tokens.saturating_add(usage.output_tokens),
            usage.cost_microusd,
        ])
    }

    fn plus(self, other: Self) -> Self {
        Self(std::array::from_fn(|kind| {
            self.0[kind].saturating_add(other.0[kind])
        }))
    }

    fn minus(self, other: Self) -> Self {
        Self(std::array::from_fn(|kind| {
            self.0[kind].saturating_sub(other.0[kind])
        }))
    }
}

/// A limit and who set it.
#[derive(Clone, Debug)]
struct Cap {
    kind: usize,
    most: u64,
    /// `step`, `test` or `run`: the table under `[budgets]`.
    whose: &'static str,
}

/// Limits, and what is spent and held of them.
#[derive(Clone, Debug, Default)]
pub struct Purse {
    caps: Vec<Cap>,
    spent: Amounts,
    held: Amounts,
}

impl Purse {
    /// The purse of one step.
    pub fn step(budgets: &Budgets) -> Self {
        Self {
            caps: caps("step", &budgets.step),
            ..Self::default()
        }
    }

    /// The purse of one attempt: the test's own, and its share of the run's.
    pub fn attempt(budgets: &Budgets, grant: &v1::BudgetGrant) -> Self {
        let granted = [
            grant.model_calls,
            grant.decisions,
            grant.actions,
            grant.tokens,
            grant.microusd,
        ];
        let granted = granted.into_iter().enumerate().filter_map(|(kind, most)| {
            Some(Cap {
                kind,
                most: most?,
                whose: "run",
            })
        });
        Self {
            caps: caps("test", &budgets.test)
                .into_iter()
                .chain(granted)
                .collect(),
            ..Self::default()
        }
    }

    /// Holds that much, or says whose limit does not allow it.
    pub(super) fn hold(&mut self, amounts: Amounts) -> Result<(), Problem> {
        let taken = self.spent.plus(self.held);
        let after = taken.plus(amounts);
        // A call whose price nobody knows is not made once the money is gone.
        let broke =
            |cap: &Cap| cap.kind == MONEY && amounts.0[CALLS] > 0 && taken.0[MONEY] >= cap.most;
        let beyond = |cap: &Cap| amounts.0[cap.kind] > 0 && after.0[cap.kind] > cap.most;
        let over = self
            .caps
            .iter()
            .find(|cap| (beyond(cap) || broke(cap)) && Guard::BudgetReserved.holds());
        if let Some(Cap { kind, most, whose }) = over {
            let share = match *whose {
                "run" => "this test's share of the run's budget",
                "test" => "the test's budget",
                _ => "the step's budget",
            };
            let told = |amount: u64| match *kind {
                MONEY => format!("{}.{:06}", amount / 1_000_000, amount % 1_000_000),
                _ => amount.to_string(),
            };
            return Err(Problem::new(
                ErrorCode::StepBudgetExhausted,
                format!(
                    "{share} is {} {}, {} are spent and {} more would be needed; raise [budgets.{whose}] in muster.toml",
                    told(*most),
                    KINDS[*kind],
                    told(taken.0[*kind]),
                    told(amounts.0[*kind])
                ),
            ));
        }
        self.held = self.held.plus(amounts);
        Ok(())
    }

    /// Lets go of what was held and takes in what it came to.
    pub(super) fn settle(&mut self, held: Amounts, used: Amounts) {
        self.held = self.held.minus(held);
        self.spent = self.spent.plus(used);
    }
}

fn caps(whose: &'static str, spend: &Spend) -> Vec<Cap> {
    [
        spend.model_calls,
        spend.decisions,
        spend.actions,
        spend.tokens,
        spend.microusd(),
    ]
    .into_iter()
    .enumerate()
    .filter_map(|(kind, most)| {
        Some(Cap {
            kind,
            most: most?,
            whose,
        })
    })
    .collect()
}

/// What tokens cost, millionths of a dollar, rounded up.
pub(super) fn cost(price: &Price, tokens: TokenUsage) -> u64 {
    let plain = tokens
        .input
        .saturating_sub(tokens.cached + tokens.cache_write);
    // A dollar a million tokens is a millionth a token.
    let parts = [
        (plain, price.input),
        (tokens.cached, price.cached.unwrap_or(price.input)),
        (tokens.cache_write, price.cache_write.unwrap_or(price.input)),
        (tokens.output, price.output),
    ];
    #[allow(clippy::cast_precision_loss, reason = "no call has 2^52 tokens")]
    let sum: f64 = parts.iter().map(|(count, each)| *count as f64 * each).sum();
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "prices are checked to be at least 0"
    )]
    let cost = sum.ceil() as u64;
    cost
}

/// Bytes of what a model reads.
fn size(request: &ModelRequest) -> u64 {
    let messages = request.messages.iter().map(|message| match message {
        Message::User { text, images } => {
            text.len()
                + images
                    .iter()
                    .map(|image| image.bytes.len().min(6000))
                    .sum::<usize>()
        }
        Message::Assistant { text, calls } => {
            text.len()
                + calls
                    .iter()
                    .map(|call| call.name.len() + call.input.len())
                    .sum::<usize>()
        }
        Message::ToolResult { text, .. } => text.len(),
    });
    let tools = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.schema.to_string().len());
    (request.system.len() + messages.sum::<usize>() + tools.sum::<usize>()) as u64
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const PRICE: Price = Price {
        input: 3.0,
        cached: Some(0.3),
        cache_write: Some(3.75),
        output: 15.0,
    };

    fn request(bytes: usize) -> ModelRequest {
        ModelRequest {
            system: "x".repeat(bytes),
            messages: Vec::new(),
            tools: Vec::new(),
            force_tool: false,
            max_output_tokens: 100,
            continues: false,
            timeout: Duration::from_secs(1),
        }
    }

    fn budgets(step: Spend, test: Spend) -> Budgets {
        Budgets {
            step,
            test,
            run: Spend::default(),
        }
    }

    #[test]
    fn a_price_is_a_million_tokens() {
        let tokens = TokenUsage {
            input: 1_000_000,
            cached: 400_000,
            cache_write: 100_000,
            output: 10_000,
            reasoning: 5_000,
        };
        // 500k x 3 + 400k x 0.3 + 100k x 3.75 + 10k x 15
        assert_eq!(
            cost(&PRICE, tokens),
            1_500_000 + 120_000 + 375_000 + 150_000
        );
    }

    #[test]
    fn a_call_that_could_break_the_budget_is_not_made() {
        let mut purse = Purse::step(&budgets(
            Spend {
                tokens: Some(1_000),
                ..Spend::default()
            },
            Spend::default(),
        ));
        let call = Amounts::call(&request(2_100), None);
        assert_eq!(call, Amounts([1, 0, 0, 800, 0]));
        purse.hold(call).unwrap();
        // What is held counts, though nothing is spent yet.
        assert!(purse.hold(call).is_err());
        purse.settle(call, Amounts([1, 0, 0, 150, 0]));
        purse.hold(call).unwrap();
        purse.settle(call, Amounts([1, 0, 0, 700, 0]));
        let problem = purse.hold(call).unwrap_err();
        assert_eq!(problem.code, ErrorCode::StepBudgetExhausted);
        assert_eq!(
            problem.message,
            "the step's budget is 1000 tokens, 850 are spent and 800 more would be needed; raise [budgets.step] in muster.toml"
        );
    }

    #[test]
    fn money_that_only_the_vendor_counts_binds_once_it_is_gone() {
        let test = Spend {
            usd: Some(0.001),
            ..Spend::default()
        };
        let mut purse = Purse::attempt(
            &budgets(Spend::default(), test),
            &v1::BudgetGrant::default(),
        );
        let call = Amounts::call(&request(30), None);
        purse.hold(call).unwrap();
        purse.settle(call, Amounts([1, 0, 0, 110, 1_000]));
        assert!(purse.hold(call).is_err());
        purse.hold(Amounts::actions(1)).unwrap();
    }

    #[test]
    fn money_and_the_runs_share_bind_too() {
        let test = Spend {
            usd: Some(0.004),
            ..Spend::default()
        };
        let grant = v1::BudgetGrant {
            actions: Some(1),
            decisions: Some(0),
            ..v1::BudgetGrant::default()
        };
        let mut purse = Purse::attempt(&budgets(Spend::default(), test), &grant);
        let call = Amounts::call(&request(2_100), Some(&PRICE));
        assert_eq!(call, Amounts([1, 0, 0, 800, 3_600]));
        purse.hold(call).unwrap();
        purse.settle(call, call);
        assert!(
            purse
                .hold(call)
                .unwrap_err()
                .message
                .contains("[budgets.test]")
        );
        purse.hold(Amounts::actions(1)).unwrap();
        assert!(
            purse
                .hold(Amounts::actions(1))
                .unwrap_err()
                .message
                .contains("share of the run's")
        );
        assert!(purse.hold(Amounts::decision()).is_err());
    }
}
