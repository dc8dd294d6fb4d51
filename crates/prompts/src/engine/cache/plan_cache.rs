//! A cache of run plans, so that resuming a run does not read its plan again.
//!
//! A plan never changes once its run has begun. A run number becomes free when its run is deleted,
//! so a cached plan is identified by the run id and the time the run began. The cache is bounded
//! and evicts the least recently used plan first.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use deliberate_core::{RunId, Timestamp};
use serde_json::Value;

use crate::chain::ChainPlan;

/// The most plans in the cache.
const MAX_PLANS: usize = 64;

/// The most bytes of all cached plans.
const MAX_BYTES: usize = 4 << 20;

/// The approximate memory of a JSON value beside its text, in bytes.
const VALUE_OVERHEAD_BYTES: usize = 16;

/// The cached plans, most recently used first.
#[derive(Default)]
pub(crate) struct PlanCache(Mutex<VecDeque<CachedPlan>>);

struct CachedPlan {
    run: RunId,
    started_at: Timestamp,
    plan: Arc<ChainPlan>,
    bytes: usize,
}

impl PlanCache {
    /// Returns the cached plan of the run with that id, and the time the run began.
    pub(crate) fn find(&self, run: &RunId) -> Option<(Timestamp, Arc<ChainPlan>)> {
        let mut plans = self.lock();
        let at = plans.iter().position(|it| it.run == *run)?;
        let found = plans.remove(at)?;
        let answer = (found.started_at, Arc::clone(&found.plan));
        plans.push_front(found);
        Some(answer)
    }

    /// Caches a plan if it is not too large.
    pub(crate) fn insert(
        &self,
        run: &RunId,
        begun: Timestamp,
        plan: &Arc<ChainPlan>,
        bytes: usize,
    ) {
        let mut plans = self.lock();
        plans.retain(|it| it.run != *run);
        if bytes > MAX_BYTES {
            return;
        }
        plans.push_front(CachedPlan {
            run: run.clone(),
            started_at: begun,
            plan: Arc::clone(plan),
            bytes,
        });
        let mut all: usize = plans.iter().map(|it| it.bytes).sum();
        while plans.len() > MAX_PLANS || all > MAX_BYTES {
            let Some(oldest) = plans.pop_back() else {
                return;
            };
            all = all.saturating_sub(oldest.bytes);
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<CachedPlan>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Estimates the memory of a stored plan, in bytes.
pub(crate) fn estimate_size(plan: &Value) -> usize {
    VALUE_OVERHEAD_BYTES
        + match plan {
            Value::String(text) => text.len(),
            Value::Array(parts) => parts.iter().map(estimate_size).sum(),
            Value::Object(fields) => {
                let fields = fields.iter();
                fields
                    .map(|(name, part)| name.len() + estimate_size(part))
                    .sum()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn timestamp(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    #[test]
    fn a_plan_belongs_to_a_run_and_to_when_it_began() {
        let (plans, run) = (PlanCache::default(), RunId::from("chain-a#1".to_owned()));
        let plan = Arc::new(ChainPlan::default());
        plans.insert(&run, timestamp(1), &plan, 10);
        plans.insert(&run, timestamp(2), &plan, 10);
        assert_eq!(plans.find(&run).map(|it| it.0), Some(timestamp(2)));
        assert_eq!(plans.lock().len(), 1);
        // A plan that is too large is not cached, and the one that it replaces is removed.
        plans.insert(&run, timestamp(3), &plan, MAX_BYTES + 1);
        assert!(plans.find(&run).is_none());
    }

    #[test]
    fn what_was_not_asked_for_longest_goes_first() {
        let plans = PlanCache::default();
        let plan = Arc::new(ChainPlan::default());
        let run = |number: usize| RunId::from(format!("chain-a#{number}"));
        let keep = |number: usize| plans.insert(&run(number), timestamp(1), &plan, MAX_BYTES / 4);
        for number in 0..4 {
            keep(number);
        }
        assert!(plans.find(&run(0)).is_some());
        keep(4);
        assert!(plans.find(&run(0)).is_some());
        assert!(plans.find(&run(1)).is_none());
        for number in 0..2 * MAX_PLANS {
            plans.insert(&run(number), timestamp(1), &plan, 1);
        }
        assert_eq!(plans.lock().len(), MAX_PLANS);
    }

    #[test]
    fn every_part_counts() {
        let long = json!({ "a": [{ "b": "x".repeat(1_000) }, 1, null] });
        assert!((1_000..2_000).contains(&estimate_size(&long)));
        assert!(estimate_size(&json!(vec![0; 1_000])) > 1_000);
    }
}
