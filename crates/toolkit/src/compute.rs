//! CPU-bound work whose amount foreign input decides: templates, schemas, patterns, layouts.
//!
//! It runs on a bounded number of blocking threads, never on the runtime's workers. Its caller waits
//! no longer than its deadline; after that the work is abandoned, and its thread counts as busy until
//! the work ends, so that no amount of hostile work takes more threads. One principal gets a part of
//! the threads only.

use std::{
    cell::RefCell,
    num::NonZero,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    thread::available_parallelism,
    time::Duration,
};

use deliberate_core::{ErrorCode, FairPermits, PermitHolder};
use tokio::time::{Instant, timeout_at};

use crate::{Principal, ToolContext, ToolError};

/// The longest time that one piece of work may take.
const MAX_COMPUTE_TIME: Duration = Duration::from_secs(30);

/// The fewest threads: with two, one principal could hold one and another the other.
const MIN_THREADS: usize = 4;

/// The share of the threads that one principal may use, in percent.
const PRINCIPAL_SHARE: usize = 50;

/// How far the threads stand back behind the rest of the process, as `nice` counts it.
#[cfg(target_os = "linux")]
const COMPUTE_NICENESS: i32 = 10;

/// The threads of this process.
static THREADS: LazyLock<Arc<FairPermits>> = LazyLock::new(|| {
    let cores = available_parallelism().map_or(1, NonZero::get);
    FairPermits::new(cores.max(MIN_THREADS), PRINCIPAL_SHARE)
});

thread_local! {
    /// Set when nobody waits for the work of this thread any more.
    static ABANDONED: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// The reason why a computation has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ComputeError {
    /// All threads were busy until the deadline.
    #[error("the threads for templates, schemas and patterns are all busy")]
    Busy,
    /// The work took too long and was abandoned.
    #[error("the computation took longer than {limit_ms} ms and was stopped")]
    TooLong {
        /// The time that it had.
        limit_ms: u64,
    },
    /// The work panicked.
    #[error("the computation failed because of a bug in the program")]
    Failed,
}

impl From<ComputeError> for ToolError {
    fn from(error: ComputeError) -> Self {
        let (code, hint) = match error {
            ComputeError::Busy => (ErrorCode::Overloaded, "Retry in a moment."),
            ComputeError::TooLong { .. } => (
                ErrorCode::Timeout,
                "Make the template, schema, pattern or text smaller.",
            ),
            ComputeError::Failed => return Self::Internal,
        };
        Self::Custom {
            code,
            message: error.to_string(),
            hint: Some(hint.to_owned()),
        }
    }
}

/// The limits of the call that computes.
#[derive(Clone)]
struct ComputeLimits {
    holder: PermitHolder,
    deadline: Instant,
}

tokio::task_local! {
    /// The limits of the call that this task runs.
    static CALL_LIMITS: ComputeLimits;
}

/// Runs a tool so that its computations count for its principal and end with its call.
pub(crate) async fn with_call_limits<F: Future>(call: &ToolContext, tool: F) -> F::Output {
    let limits = ComputeLimits {
        holder: call.principal().name.clone(),
        deadline: call.deadline(),
    };
    CALL_LIMITS.scope(limits, tool).await
}

/// Runs a request that is no tool call, such as the rendering of a prompt, so that its computations
/// count for its principal and end with its time.
pub async fn with_request_limits<F: Future>(
    principal: &Principal,
    time: Duration,
    request: F,
) -> F::Output {
    let limits = ComputeLimits {
        holder: principal.name.clone(),
        deadline: Instant::now() + time,
    };
    CALL_LIMITS.scope(limits, request).await
}

/// Runs CPU-bound work on its own thread. Within a call, the call's time limit and cancellation hold
/// for it: dropping the future abandons the work.
pub async fn compute<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ComputeError> {
    let limits = CALL_LIMITS.try_with(ComputeLimits::clone);
    let limits = limits.unwrap_or_else(|_| ComputeLimits {
        holder: None,
        deadline: Instant::now() + MAX_COMPUTE_TIME,
    });
    run(&limits.holder, limits.deadline, work).await
}

/// Tells whether the work that runs on this thread was abandoned. Long work asks now and then and
/// ends early.
pub fn is_abandoned() -> bool {
    ABANDONED.with_borrow(|flag| {
        let flag = flag.as_ref();
        flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
    })
}

/// Marks the work as abandoned when its caller stops waiting.
struct AbandonGuard(Arc<AtomicBool>);

impl Drop for AbandonGuard {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The flag of the work that runs on this thread, removed even if the work panics.
struct ThreadFlag;

impl ThreadFlag {
    fn set(flag: Arc<AtomicBool>) -> Self {
        ABANDONED.set(Some(flag));
        Self
    }
}

impl Drop for ThreadFlag {
    fn drop(&mut self) {
        ABANDONED.set(None);
    }
}

/// Lets the runtime's workers go before this thread, so that pings and reads are answered while all
/// cores compute. The thread keeps the priority; the blocking pool has others.
fn lower_thread_priority() {
    // On Linux this holds for the calling thread alone, elsewhere it would hold for the process.
    #[cfg(target_os = "linux")]
    {
        // A thread that stays as it is computes all the same.
        let _ = rustix::process::setpriority_process(None, COMPUTE_NICENESS);
    }
}

async fn run<T: Send + 'static>(
    holder: &PermitHolder,
    deadline: Instant,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ComputeError> {
    let threads: &Arc<FairPermits> = &THREADS;
    let wait_until = deadline.min(Instant::now() + MAX_COMPUTE_TIME);
    let permit = timeout_at(wait_until, threads.acquire(holder)).await;
    let permit = permit.map_err(|_| ComputeError::Busy)?;
    let started = Instant::now();
    let deadline = deadline.min(started + MAX_COMPUTE_TIME);
    let abandoned = Arc::new(AtomicBool::new(false));
    let _guard = AbandonGuard(abandoned.clone());
    let running = tokio::task::spawn_blocking(move || {
        // Returned when the work ends, not when its caller stops waiting.
        let _permit = permit;
        let _flag = ThreadFlag::set(abandoned);
        lower_thread_priority();
        work()
    });
    match timeout_at(deadline, running).await {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(error)) => {
            tracing::error!(%error, "a computation failed");
            Err(ComputeError::Failed)
        }
        Err(_) => {
            let limit = deadline.saturating_duration_since(started).as_millis();
            let limit_ms = u64::try_from(limit).unwrap_or(u64::MAX);
            tracing::warn!(
                principal = holder.as_deref(),
                limit_ms,
                "a computation was abandoned"
            );
            Err(ComputeError::TooLong { limit_ms })
        }
    }
}
