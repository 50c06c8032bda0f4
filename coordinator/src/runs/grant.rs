//! A lease's share of what the run may spend.
//!
//! What is left is divided over the units that have none yet, rounded up, so as long as no lease
//! spends more than its share, the run doesn't either. A lease that is lost counts as if it had spent all of its share.

use muster_proto::v1::{BudgetGrant, Usage};

/// One kind of spending: its place in a grant, and in what an attempt used.
type Kind = (fn(&mut BudgetGrant) -> &mut Option<u64>, fn(&Usage) -> u64);

const KINDS: [Kind; 5] = [
    (|grant| &mut grant.model_calls, |used| used.model_calls),
    (|grant| &mut grant.decisions, |used| used.decisions),
    (|grant| &mut grant.actions, |used| used.actions),
    (
        |grant| &mut grant.tokens,
        |used| used.input_tokens.saturating_add(used.output_tokens),
    ),
    (|grant| &mut grant.microusd, |used| used.cost_microusd),
];

/// The share of the next lease when `waiting` units have none, that one included.
pub(super) fn share(limits: &BudgetGrant, taken: &BudgetGrant, waiting: usize) -> BudgetGrant {
    let (mut limits, mut taken) = (*limits, *taken);
    let mut share = BudgetGrant::default();
    for (of, _) in KINDS {
        if let Some(most) = *of(&mut limits) {
            let left = most.saturating_sub(of(&mut taken).unwrap_or(0));
            *of(&mut share) = Some(left.div_ceil(waiting.max(1) as u64));
        }
    }
    share
}

/// A lease was given: all of its share counts as taken.
pub(super) fn given(taken: &mut BudgetGrant, grant: &BudgetGrant) {
    let mut grant = *grant;
    for (of, _) in KINDS {
        let share = of(&mut grant).unwrap_or(0);
        let sum = of(taken).unwrap_or(0).saturating_add(share);
        *of(taken) = Some(sum);
    }
}

/// A lease's result is there: what it used takes the place of its share.
pub(super) fn settled(taken: &mut BudgetGrant, grant: &BudgetGrant, used: &Usage) {
    let mut grant = *grant;
    for (of, used_of) in KINDS {
        if let Some(share) = *of(&mut grant) {
            let sum = of(taken).unwrap_or(0).saturating_sub(share);
            let sum = sum.saturating_add(used_of(used));
            *of(taken) = Some(sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(model_calls: u64) -> BudgetGrant {
        BudgetGrant {
            model_calls: Some(model_calls),
            ..BudgetGrant::default()
        }
    }

    fn used(model_calls: u64) -> Usage {
        Usage {
            model_calls,
            ..Usage::default()
        }
    }

    #[test]
    fn a_run_never_spends_more_than_it_has() {
        let limits = calls(10);
        let mut taken = BudgetGrant::default();
        let first = share(&limits, &taken, 3);
        assert_eq!(first, calls(4));
        given(&mut taken, &first);
        // Lost: its four stay taken.
        let second = share(&limits, &taken, 2);
        assert_eq!(second, calls(3));
        given(&mut taken, &second);
        settled(&mut taken, &second, &used(1));
        let third = share(&limits, &taken, 1);
        assert_eq!(third, calls(5));
        given(&mut taken, &third);
        settled(&mut taken, &third, &used(5));
        assert_eq!(share(&limits, &taken, 1), calls(0));
    }

    #[test]
    fn a_little_goes_to_the_first() {
        let mut taken = BudgetGrant::default();
        let shares: Vec<_> = (1..=4)
            .rev()
            .map(|waiting| {
                let share = share(&calls(2), &taken, waiting);
                given(&mut taken, &share);
                share
            })
            .collect();
        assert_eq!(shares, [calls(1), calls(1), calls(0), calls(0)]);
    }

    #[test]
    fn what_has_no_limit_gets_none() {
        let share = share(&BudgetGrant::default(), &BudgetGrant::default(), 4);
        assert_eq!(share, BudgetGrant::default());
    }
}
