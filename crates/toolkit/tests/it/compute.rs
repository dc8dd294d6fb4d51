//! Tests of CPU-bound work: its deadline, its threads, and its share of them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use deliberate_testkit::wait_until;
use deliberate_toolkit::{
    CallLimits, CallerContext, Principal, Registry, RegistryDeps, Tool, ToolContext, ToolError,
    ToolHints, ToolLimits, ToolMeta, ToolOutput, compute, is_abandoned,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{recording_store::RecordingStore, registry_fixture::deps};

/// Computes until it is stopped, or does nothing.
struct SpinTool {
    /// Whether stubborn work may end.
    released: Arc<AtomicBool>,
    running: Arc<AtomicUsize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct SpinInput {
    kind: SpinKind,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SpinKind {
    /// Ends at once.
    Quick,
    /// Ends when it is abandoned.
    Endless,
    /// Ends when the test says so.
    Stubborn,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SpinOutput {
    done: bool,
}

impl Tool for SpinTool {
    type Input = SpinInput;
    type Output = SpinOutput;

    fn meta(&self) -> ToolMeta {
        ToolMeta {
            name: "spin",
            title: "Spin",
            description: "Computes.",
            hints: ToolHints::READ_ONLY,
            asks_model: false,
            limits: ToolLimits::default(),
        }
    }

    async fn run(
        &self,
        input: SpinInput,
        _call: &ToolContext,
    ) -> Result<ToolOutput<SpinOutput>, ToolError> {
        let (released, running) = (self.released.clone(), self.running.clone());
        compute(move || {
            running.fetch_add(1, Ordering::SeqCst);
            match input.kind {
                SpinKind::Quick => {}
                SpinKind::Endless => {
                    while !is_abandoned() {
                        std::thread::park_timeout(Duration::from_millis(1));
                    }
                }
                SpinKind::Stubborn => {
                    while !released.load(Ordering::SeqCst) {
                        std::thread::park_timeout(Duration::from_millis(1));
                    }
                }
            }
            running.fetch_sub(1, Ordering::SeqCst);
        })
        .await?;
        Ok(ToolOutput {
            output: SpinOutput { done: true },
            changes: Vec::new(),
            session: None,
        })
    }
}

struct Spinning {
    registry: Arc<Registry>,
    released: Arc<AtomicBool>,
    running: Arc<AtomicUsize>,
}

impl Spinning {
    fn new(call_time: Duration) -> Self {
        let (released, running) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let tool = SpinTool {
            released: released.clone(),
            running: running.clone(),
        };
        let limits = CallLimits {
            call_time,
            ..CallLimits::default()
        };
        let deps = RegistryDeps {
            limits,
            ..deps(RecordingStore::new(), None)
        };
        Self {
            registry: Arc::new(Registry::new(deps).with(tool)),
            released,
            running,
        }
    }

    async fn spin(&self, kind: &str, who: &'static str) -> Result<(), ToolError> {
        let caller = CallerContext {
            principal: Principal {
                name: Some(Arc::from(who)),
                ..Principal::default()
            },
            ..CallerContext::default()
        };
        let arguments = json!({ "kind": kind });
        self.registry
            .call("spin", arguments, caller)
            .await
            .map(drop)
    }

    async fn wait_running(&self, wanted: usize) {
        wait_until(|| self.running.load(Ordering::SeqCst) == wanted).await;
    }
}

#[tokio::test]
async fn the_time_limit_of_a_call_ends_its_computation() {
    let spinning = Spinning::new(Duration::from_millis(100));
    // The runtime has one thread: if the work ran on it, this would never return.
    let error = spinning.spin("endless", "alice").await.unwrap_err();
    assert_eq!(error.code(), "Timeout");
    spinning.wait_running(0).await;
}

#[tokio::test]
async fn computations_that_do_not_stop_leave_threads_to_others() {
    let spinning = Spinning::new(Duration::from_millis(300));
    for _ in 0..3 {
        let stubborn = (0..40).map(|_| spinning.spin("stubborn", "alice"));
        for ended in futures::future::join_all(stubborn).await {
            assert!(ended.is_err());
        }
    }
    let busy = spinning.running.load(Ordering::SeqCst);
    assert!(busy > 0, "abandoned work counts until it ends");
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    assert!(busy <= threads.max(4) / 2, "{busy} threads are taken");
    spinning.spin("quick", "bob").await.unwrap();
    spinning.released.store(true, Ordering::SeqCst);
    spinning.wait_running(0).await;
    spinning.spin("quick", "alice").await.unwrap();
}
