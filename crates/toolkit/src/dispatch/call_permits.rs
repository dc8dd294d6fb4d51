//! The permits of running calls: a lane for calls that only read, another for all others, and
//! permits for model requests. Reads never wait behind calls that ask a model, and no principal's
//! calls take all the permits.

use std::sync::Arc;

use deliberate_core::{ErrorCode, FairPermit, FairPermits};

use crate::{CallLimits, Principal, ToolError, registry::RegisteredTool};

/// The permits that all calls share.
pub(crate) struct CallPermits {
    /// For calls that only read what is here and ask no model.
    reads: Arc<FairPermits>,
    /// For all other calls.
    work: Arc<FairPermits>,
    /// For calls that wait for one of these.
    waiting: Arc<FairPermits>,
    model_requests: Arc<FairPermits>,
}

/// The permits of one running call.
pub(crate) struct CallPermit {
    _own: Option<FairPermit>,
    _lane: FairPermit,
}

impl CallPermits {
    pub(crate) fn new(limits: &CallLimits) -> Self {
        let permits = |most| FairPermits::new(most, limits.principal_share);
        Self {
            reads: permits(limits.running_calls),
            work: permits(limits.running_calls),
            waiting: permits(limits.waiting_calls),
            model_requests: permits(limits.model_requests),
        }
    }

    /// Returns the number of calls that run and the number of calls that wait.
    pub(crate) fn running_and_waiting(&self) -> (usize, usize) {
        let running = self.reads.in_use() + self.work.in_use();
        (running, self.waiting.in_use())
    }

    /// Acquires the permits of a call, or fails if too many calls wait already. A call that only
    /// reads what is here has the lane of reads.
    pub(crate) async fn acquire(
        &self,
        tool: &RegisteredTool,
        is_read: bool,
        principal: &Principal,
    ) -> Result<CallPermit, ToolError> {
        let lane = if is_read { &self.reads } else { &self.work };
        Ok(CallPermit {
            _own: match &tool.permits {
                Some(own) => Some(self.acquire_from(own, principal).await?),
                None => None,
            },
            _lane: self.acquire_from(lane, principal).await?,
        })
    }

    async fn acquire_from(
        &self,
        permits: &Arc<FairPermits>,
        principal: &Principal,
    ) -> Result<FairPermit, ToolError> {
        let holder = &principal.name;
        if let Some(permit) = permits.try_acquire(holder) {
            return Ok(permit);
        }
        let Some(_waits) = self.waiting.try_acquire(holder) else {
            return Err(self.overloaded_error(permits, principal));
        };
        Ok(permits.acquire(holder).await)
    }

    /// Waits for the permit of a model request. A call with several requests at once waits for its
    /// own share only.
    pub(crate) async fn acquire_model_request(&self, principal: &Principal) -> FairPermit {
        self.model_requests.acquire(&principal.name).await
    }

    fn overloaded_error(&self, permits: &FairPermits, principal: &Principal) -> ToolError {
        let (own, waiting) = (
            permits.held_by(&principal.name),
            self.waiting.held_by(&principal.name),
        );
        if own == 0 {
            return ToolError::Overloaded {
                running: permits.in_use(),
            };
        }
        ToolError::Custom {
            code: ErrorCode::Overloaded,
            message: format!(
                "{own} of your calls are running and {waiting} are waiting, which is the share of \
                 one client"
            ),
            hint: Some("Wait until some of them have ended.".to_owned()),
        }
    }
}
