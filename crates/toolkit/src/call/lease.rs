//! The lease of a background call: renewed by the worker that owns the call, and taken over by
//! another worker when it has expired.
//!
//! Each take-over raises the call's fence, and every commit names the fence under which its work was
//! begun. So a worker that lost its lease without noticing can't commit.

use deliberate_core::{Change, SuspendedCall, Timestamp};
use deliberate_store::StoreError;
use tokio_util::sync::CancellationToken;

use super::{
    background::CallHandle,
    running_calls::RunningGuard,
    task::{CallState, CallTask},
};
use crate::{CallLimits, Registry, ToolError};

/// A lease is valid for this many renewals.
const RENEWALS_PER_LEASE: u32 = 4;

/// Another worker has ended the call or taken it over.
pub(super) struct LeaseLost;

impl CallTask<'_> {
    /// Looks after the call while its tool runs, until `finished` is cancelled: renews the lease of a
    /// background call, and moves the call to the background when its caller stops waiting.
    pub(super) async fn attend(&mut self, finished: &CancellationToken) -> Result<(), LeaseLost> {
        loop {
            tokio::select! {
                biased;
                () = finished.cancelled() => return Ok(()),
                () = self.handle.caller_left() => {
                    let moved = self.move_to_background().await;
                    self.handle.answer(moved);
                }
                _ = self.renewal.tick() => self.renew_lease().await?,
            }
        }
    }

    /// Renews the lease with a heartbeat, which stores the progress. The lease of a call that was
    /// cancelled, or that another worker has taken over, is lost.
    async fn renew_lease(&mut self) -> Result<(), LeaseLost> {
        let Some(row) = self.row.as_deref_mut() else {
            return Ok(());
        };
        if self.state != CallState::Background {
            return Ok(());
        }
        let deps = &self.registry.deps;
        let until = lease_expiry(deps.clock.now(), &deps.limits);
        let change = Change::RenewLease {
            id: row.id.clone(),
            fence: row.fence,
            until,
            progress: self.handle.progress.stored(),
        };
        match deps.store.commit(vec![change]).await {
            Ok(()) => row.running_until = Some(until),
            Err(StoreError::AlreadyEnded) => return Err(LeaseLost),
            Err(error) => {
                tracing::warn!(%error, "the lease of a background call can't be renewed");
            }
        }
        Ok(())
    }

    /// Notes that the call is stored and leased by this worker.
    pub(super) fn enter_background(&mut self, row: SuspendedCall) {
        if self.state != CallState::Background {
            self.registration = self.registry.register_running(&row, self.handle);
            self.state = CallState::Background;
        }
        self.row = Some(Box::new(row));
    }
}

impl Registry {
    /// Takes the lease of an abandoned call and raises its fence. Returns false if another worker was
    /// first.
    pub(super) async fn take_over(&self, abandoned: &mut SuspendedCall) -> Result<bool, ToolError> {
        let until = lease_expiry(self.deps.clock.now(), &self.deps.limits);
        let change = Change::TakeLease {
            id: abandoned.id.clone(),
            fence: abandoned.fence,
            seen: abandoned.running_until,
            until,
        };
        match self.deps.store.commit(vec![change]).await {
            Ok(()) => {
                abandoned.fence += 1;
                abandoned.running_until = Some(until);
                Ok(true)
            }
            Err(StoreError::AlreadyEnded) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Lists a call among those that this process runs.
    pub(super) fn register_running(
        &self,
        row: &SuspendedCall,
        handle: &CallHandle,
    ) -> Option<RunningGuard> {
        let (stop, progress) = (handle.stop.clone(), handle.progress.clone());
        self.background_calls
            .register(&row.id, row.owner.clone(), stop, progress)
    }

    /// Tells whether a worker has a valid lease.
    pub(super) fn is_running(&self, row: &SuspendedCall) -> bool {
        let now = self.deps.clock.now();
        row.running_until.is_some_and(|until| until > now)
    }
}

/// The expiry of a lease that is taken or renewed now.
pub(super) fn lease_expiry(now: Timestamp, limits: &CallLimits) -> Timestamp {
    let time = limits.lease_renewal.saturating_mul(RENEWALS_PER_LEASE);
    now.plus_micros(i64::try_from(time.as_micros()).unwrap_or(i64::MAX))
}
