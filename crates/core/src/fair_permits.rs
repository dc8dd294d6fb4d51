//! Permits that are shared fairly: no named principal takes more than its share of the permits that
//! the others leave free, so that one client's hanging calls never use them all.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::channel::oneshot;

/// The name of the principal that holds a permit; `None` is the operator, whose share is not limited.
pub type PermitHolder = Option<Arc<str>>;

/// A fixed number of permits.
pub struct FairPermits {
    total: usize,
    share_percent: usize,
    state: Mutex<PermitState>,
}

struct PermitState {
    free: usize,
    /// The permits of each principal that holds one.
    held: HashMap<Arc<str>, usize>,
    queue: VecDeque<PermitWaiter>,
}

struct PermitWaiter {
    holder: PermitHolder,
    grant: oneshot::Sender<FairPermit>,
}

/// A permit; dropping it returns it.
pub struct FairPermit {
    holder: PermitHolder,
    permits: Arc<FairPermits>,
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        self.permits.release(&self.holder);
    }
}

impl PermitState {
    fn held_by(&self, holder: &PermitHolder) -> usize {
        let held = holder.as_ref().and_then(|name| self.held.get(name));
        held.copied().unwrap_or(0)
    }

    /// Tells whether a holder may take another permit. The first one is never refused if one is
    /// free.
    fn may_take(&self, holder: &PermitHolder, share_percent: usize) -> bool {
        let held = self.held_by(holder);
        let left = self.free.saturating_add(held);
        let has_room = held == 0 || held.saturating_mul(100) < share_percent.saturating_mul(left);
        self.free > 0 && has_room
    }

    fn take(&mut self, holder: &PermitHolder) {
        self.free -= 1;
        if let Some(name) = holder {
            *self.held.entry(name.clone()).or_default() += 1;
        }
    }

    fn put_back(&mut self, holder: &PermitHolder) {
        self.free += 1;
        if let Some(name) = holder
            && let Some(held) = self.held.get_mut(name)
        {
            *held = held.saturating_sub(1);
            if *held == 0 {
                self.held.remove(name);
            }
        }
    }
}

impl FairPermits {
    /// Creates permits of which one principal takes at most this share of what the others leave.
    pub fn new(total: usize, share_percent: usize) -> Arc<Self> {
        Arc::new(Self {
            total,
            share_percent,
            state: Mutex::new(PermitState {
                free: total,
                held: HashMap::new(),
                queue: VecDeque::new(),
            }),
        })
    }

    /// Returns the number of permits in use.
    pub fn in_use(&self) -> usize {
        self.total.saturating_sub(self.lock().free)
    }

    /// Returns the number of permits that this holder has.
    pub fn held_by(&self, holder: &PermitHolder) -> usize {
        self.lock().held_by(holder)
    }

    /// Takes a permit if the holder may have one now. Nobody is overtaken: whoever could have it
    /// does not wait.
    pub fn try_acquire(self: &Arc<Self>, holder: &PermitHolder) -> Option<FairPermit> {
        let mut state = self.lock();
        if !state.may_take(holder, self.share_percent) {
            return None;
        }
        state.take(holder);
        Some(self.permit(holder))
    }

    /// Waits for a permit.
    pub async fn acquire(self: &Arc<Self>, holder: &PermitHolder) -> FairPermit {
        loop {
            let granted = {
                let mut state = self.lock();
                if state.may_take(holder, self.share_percent) {
                    state.take(holder);
                    return self.permit(holder);
                }
                // Waiters that have given up would stay until the next release.
                state.queue.retain(|waiter| !waiter.grant.is_canceled());
                let (grant, granted) = oneshot::channel();
                state.queue.push_back(PermitWaiter {
                    holder: holder.clone(),
                    grant,
                });
                granted
            };
            // The sender stays in the queue until it grants, so this never fails.
            if let Ok(permit) = granted.await {
                return permit;
            }
        }
    }

    fn permit(self: &Arc<Self>, holder: &PermitHolder) -> FairPermit {
        FairPermit {
            holder: holder.clone(),
            permits: self.clone(),
        }
    }

    fn release(self: &Arc<Self>, holder: &PermitHolder) {
        let next: Vec<PermitWaiter> = {
            let mut state = self.lock();
            state.put_back(holder);
            state.queue.retain(|waiter| !waiter.grant.is_canceled());
            let waiters = std::iter::from_fn(|| {
                let waiter = self.next_waiter(&mut state)?;
                state.take(&waiter.holder);
                Some(waiter)
            });
            waiters.collect()
        };
        for waiter in next {
            // The permit of a waiter that has just left is dropped, and so returned.
            drop(waiter.grant.send(self.permit(&waiter.holder)));
        }
    }

    /// Removes the waiter that comes next: of those that may take a permit, the first of the
    /// principal that holds the fewest.
    fn next_waiter(&self, state: &mut PermitState) -> Option<PermitWaiter> {
        let may_take = |waiter: &PermitWaiter| state.may_take(&waiter.holder, self.share_percent);
        let candidates = state.queue.iter().enumerate();
        let (next, _) = candidates
            .filter(|(_, waiter)| may_take(waiter))
            .min_by_key(|(_, waiter)| state.held_by(&waiter.holder))?;
        state.queue.remove(next)
    }

    fn lock(&self) -> MutexGuard<'_, PermitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "a holder may have no name")]
    fn named(name: &str) -> PermitHolder {
        Some(Arc::from(name))
    }

    #[test]
    fn each_principal_leaves_a_part_to_the_next() {
        let permits = FairPermits::new(16, 50);
        let mut held = Vec::new();
        let mut counts = Vec::new();
        for name in ["a", "b", "c", "d", "e", "f"] {
            let before = held.len();
            held.extend(std::iter::from_fn(|| permits.try_acquire(&named(name))));
            counts.push(held.len() - before);
        }
        assert_eq!(counts, [8, 4, 2, 1, 1, 0]);
        assert_eq!(permits.in_use(), 16);
        drop(held);
        assert_eq!(permits.in_use(), 0);
        let all: Vec<_> = std::iter::from_fn(|| permits.try_acquire(&None)).collect();
        assert_eq!(all.len(), 16, "the operator has no share");
    }

    #[test]
    fn a_released_permit_goes_to_the_principal_that_holds_the_fewest() {
        let permits = FairPermits::new(2, 100);
        let (first, second) = (
            permits.try_acquire(&named("a")),
            permits.try_acquire(&named("a")),
        );
        let (a, b, gone) = (named("a"), named("b"), named("gone"));
        let mut left = Box::pin(permits.acquire(&gone));
        let mut more = Box::pin(permits.acquire(&a));
        let mut other = Box::pin(permits.acquire(&b));
        assert!(left.as_mut().now_or_never().is_none());
        assert!(more.as_mut().now_or_never().is_none());
        assert!(other.as_mut().now_or_never().is_none());
        drop(left);
        drop(first);
        assert!(more.as_mut().now_or_never().is_none());
        let granted = other.as_mut().now_or_never();
        assert!(granted.is_some());
        drop(second);
        assert!(more.as_mut().now_or_never().is_some());
        assert_eq!(permits.in_use(), 1, "only b's is left");
        drop(granted);
        assert_eq!(permits.in_use(), 0);
    }
}
