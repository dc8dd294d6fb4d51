//! Plans of runs that were read before, so that going on with a run does not read its plan again.
//!
//! A plan never changes once its run has begun. A number is free again when its run is deleted, so
//! a plan belongs to a run and to the moment that it began. Holds so much and no more; what was not
//! asked for longest goes first.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use deliberate_core::{RunId, Timestamp};
use serde_json::Value;

use crate::chain::Plan;

/// Plans that are kept.
const KEPT: usize = 64;

/// What they may take together, in bytes.
const KEPT_BYTES: usize = 4 << 20;

/// What any part of a plan takes beside its text, about.
const PART_BYTES: usize = 16;

/// The plans that are kept, the last used first.
#[derive(Default)]
pub(crate) struct Plans(Mutex<VecDeque<Kept>>);

struct Kept {
    run: RunId,
    begun: Timestamp,
    plan: Arc<Plan>,
    bytes: usize,
}

impl Plans {
    /// The plan that was kept of a run of that id, and when that run began.
    pub(crate) fn find(&self, run: &RunId) -> Option<(Timestamp, Arc<Plan>)> {
        let mut kept = self.lock();
        let at = kept.iter().position(|it| it.run == *run)?;
        let found = kept.remove(at)?;
        let answer = (found.begun, Arc::clone(&found.plan));
        kept.push_front(found);
        Some(answer)
    }

    /// Keeps a plan, if there is room for one so large.
    pub(crate) fn keep(&self, run: &RunId, begun: Timestamp, plan: &Arc<Plan>, bytes: usize) {
        let mut kept = self.lock();
        kept.retain(|it| it.run != *run);
        if bytes > KEPT_BYTES {
            return;
        }
        kept.push_front(Kept {
            run: run.clone(),
            begun,
            plan: Arc::clone(plan),
            bytes,
        });
        let mut all: usize = kept.iter().map(|it| it.bytes).sum();
        while kept.len() > KEPT || all > KEPT_BYTES {
            let Some(oldest) = kept.pop_back() else {
                return;
            };
            all = all.saturating_sub(oldest.bytes);
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// About what a plan takes, as it was kept.
pub(crate) fn size(plan: &Value) -> usize {
    PART_BYTES
        + match plan {
            Value::String(text) => text.len(),
            Value::Array(parts) => parts.iter().map(size).sum(),
            Value::Object(fields) => {
                let fields = fields.iter();
                fields.map(|(name, part)| name.len() + size(part)).sum()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    #[test]
    fn a_plan_belongs_to_a_run_and_to_when_it_began() {
        let (plans, run) = (Plans::default(), RunId::from("chain-a#1".to_owned()));
        let plan = Arc::new(Plan::default());
        plans.keep(&run, at(1), &plan, 10);
        plans.keep(&run, at(2), &plan, 10);
        assert_eq!(plans.find(&run).map(|it| it.0), Some(at(2)));
        assert_eq!(plans.lock().len(), 1);
        // One that has no room is not kept, and neither is the one that it replaces.
        plans.keep(&run, at(3), &plan, KEPT_BYTES + 1);
        assert!(plans.find(&run).is_none());
    }

    #[test]
    fn what_was_not_asked_for_longest_goes_first() {
        let plans = Plans::default();
        let plan = Arc::new(Plan::default());
        let run = |number: usize| RunId::from(format!("chain-a#{number}"));
        let keep = |number: usize| plans.keep(&run(number), at(1), &plan, KEPT_BYTES / 4);
        for number in 0..4 {
            keep(number);
        }
        assert!(plans.find(&run(0)).is_some());
        keep(4);
        assert!(plans.find(&run(0)).is_some());
        assert!(plans.find(&run(1)).is_none());
        for number in 0..2 * KEPT {
            plans.keep(&run(number), at(1), &plan, 1);
        }
        assert_eq!(plans.lock().len(), KEPT);
    }

    #[test]
    fn every_part_counts() {
        let long = json!({ "a": [{ "b": "x".repeat(1_000) }, 1, null] });
        assert!((1_000..2_000).contains(&size(&long)));
        assert!(size(&json!(vec![0; 1_000])) > 1_000);
    }
}
