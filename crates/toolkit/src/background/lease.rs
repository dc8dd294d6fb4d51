//! The lease of a background call: renewed by the worker that owns the call, and taken over by
//! another worker when it has expired.

use std::time::Duration;

use deliberate_core::{Change, SuspendedCall, SuspensionId, Timestamp};
use deliberate_store::StoreError;

use super::{CallHandle, CallStage, StoredCall};
use crate::{Registry, ToolError};

/// How long a lease is valid.
const LEASE: Duration = Duration::from_secs(20);

/// How often a lease is renewed.
const LEASE_RENEWAL: Duration = Duration::from_secs(5);

impl Registry {
    /// Renews the lease of a background call periodically. Returns when another worker has ended
    /// the call or taken it over.
    pub(crate) async fn renew_lease(&self, hold: &CallHandle) -> SuspensionId {
        loop {
            tokio::time::sleep(LEASE_RENEWAL).await;
            let mut stage = hold.stage.lock().await;
            let CallStage::Background {
                stored: kept,
                lease_expiry: until,
                ..
            } = &mut *stage
            else {
                continue;
            };
            let next = lease_expiry(self.deps.clock.now());
            let change = Change::RenewLease {
                id: kept.id.clone(),
                seen: Some(*until),
                until: next,
            };
            match self.deps.store.commit(vec![change]).await {
                Ok(()) => *until = next,
                Err(StoreError::AlreadyEnded) => return kept.id.clone(),
                Err(error) => {
                    tracing::warn!(%error, "the lease of a background call can't be renewed");
                }
            }
        }
    }

    /// Takes the lease of an abandoned call; returns false if another worker was first.
    pub(crate) async fn take_over(
        &self,
        abandoned: &SuspendedCall,
        hold: &CallHandle,
    ) -> Result<bool, ToolError> {
        let until = lease_expiry(self.deps.clock.now());
        let change = Change::RenewLease {
            id: abandoned.id.clone(),
            seen: abandoned.running_until,
            until,
        };
        match self.deps.store.commit(vec![change]).await {
            Ok(()) => {
                let owner = abandoned.owner.clone();
                *hold.stage.lock().await = CallStage::Background {
                    stored: StoredCall::from_suspended(abandoned),
                    lease_expiry: until,
                    guard: self.register_running(&abandoned.id, owner, hold),
                };
                Ok(true)
            }
            Err(StoreError::AlreadyEnded) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// The expiry of a lease that is taken or renewed now.
pub(crate) fn lease_expiry(now: Timestamp) -> Timestamp {
    now.plus_micros(i64::try_from(LEASE.as_micros()).unwrap_or(i64::MAX))
}
