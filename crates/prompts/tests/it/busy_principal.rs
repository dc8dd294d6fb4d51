//! A principal whose share of the threads for computations is taken by work that does not end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use deliberate_toolkit::{CallerContext, Principal, compute, with_request_limits};
use tokio::sync::Notify;

/// More computations than there are threads: those that wait are served before a later one.
const COMPUTATIONS: usize = 64;

/// The time for which the computations may wait; far more than a test takes.
const COMPUTE_TIME: Duration = Duration::from_mins(1);

/// Whatever this principal computes waits until it is dropped.
pub(crate) struct BusyPrincipal {
    pub(crate) principal: Principal,
    released: Arc<AtomicBool>,
}

/// Returns a principal of this name.
pub(crate) fn principal(name: &str) -> Principal {
    Principal {
        name: Some(Arc::from(name)),
        ..Principal::default()
    }
}

/// Returns a caller of this name.
pub(crate) fn caller(name: &str) -> CallerContext {
    CallerContext {
        principal: principal(name),
        ..CallerContext::default()
    }
}

impl BusyPrincipal {
    pub(crate) async fn new(name: &str) -> Self {
        let principal = principal(name);
        let (released, started) = (Arc::<AtomicBool>::default(), Arc::<Notify>::default());
        for _ in 0..COMPUTATIONS {
            let (principal, released, started) =
                (principal.clone(), released.clone(), started.clone());
            tokio::spawn(async move {
                let endless = compute(move || {
                    started.notify_one();
                    while !released.load(Ordering::SeqCst) {
                        std::thread::park_timeout(Duration::from_millis(1));
                    }
                });
                with_request_limits(&principal, COMPUTE_TIME, endless).await
            });
        }
        started.notified().await;
        Self {
            principal,
            released,
        }
    }
}

impl Drop for BusyPrincipal {
    fn drop(&mut self) {
        self.released.store(true, Ordering::SeqCst);
    }
}
