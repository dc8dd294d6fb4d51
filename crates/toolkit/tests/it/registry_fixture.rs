//! A registry with its dependencies, on a real store in a temporary folder.

use std::{path::Path, sync::Arc};

use deliberate_core::{Invocation, SystemIds, Thought};
use deliberate_llm::ChatModel;
use deliberate_store::{
    EpochFilter, Pagination, Store,
    sqlite::{SqliteDurability, SqliteOptions, SqliteStore},
};
use deliberate_testkit::{CountingIds, FixedClock};
use deliberate_toolkit::{
    CallLimits, CallOutcome, CallerContext, FixedModel, RESUME_TOOL, Registry, RegistryDeps,
    ToolError,
};
use serde_json::{Value, json};

use super::test_tools::{AskOnceTool, AskThriceTool, EchoTool, NoteTool, PanicTool};

pub(crate) const ALL: Pagination = Pagination::limit(Pagination::MAX);

pub(crate) struct RegistryFixture {
    pub(crate) registry: Arc<Registry>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<FixedClock>,
    folder: Arc<tempfile::TempDir>,
}

/// Returns the default dependencies of a registry: fixed time, counted ids.
pub(crate) fn deps(store: Arc<dyn Store>, mind: Option<Arc<dyn ChatModel>>) -> RegistryDeps {
    RegistryDeps {
        store,
        models: Arc::new(FixedModel(mind)),
        clock: Arc::new(FixedClock::new()),
        ids: Arc::new(CountingIds::new()),
        limits: CallLimits::default(),
    }
}

fn open_store(folder: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::new(SqliteOptions {
        path: folder.join("store.db"),
        readers: 4,
        durability: SqliteDurability::Relaxed,
    }))
}

impl RegistryFixture {
    /// Creates a registry without a model, so that the client's model has to reply.
    pub(crate) fn without_model() -> Self {
        Self::with_limits(None, CallLimits::default())
    }

    pub(crate) fn with_model(mind: Arc<dyn ChatModel>) -> Self {
        Self::with_limits(Some(mind), CallLimits::default())
    }

    pub(crate) fn with_limits(mind: Option<Arc<dyn ChatModel>>, bounds: CallLimits) -> Self {
        Self::build(Arc::new(tempfile::tempdir().unwrap()), mind, bounds)
    }

    fn build(
        folder: Arc<tempfile::TempDir>,
        model: Option<Arc<dyn ChatModel>>,
        bounds: CallLimits,
    ) -> Self {
        let store = open_store(folder.path());
        let clock = Arc::new(FixedClock::new());
        let parts = RegistryDeps {
            clock: clock.clone(),
            limits: bounds,
            ..deps(store.clone(), model)
        };
        Self {
            registry: build_registry(parts),
            store,
            clock,
            folder,
        }
    }

    /// Opens the same data as another process.
    pub(crate) async fn restart(self) -> Self {
        self.store.close().await;
        self.second_process(None)
    }

    /// Opens the same data as another process at the same time.
    pub(crate) fn second_process(&self, mind: Option<Arc<dyn ChatModel>>) -> Self {
        let store = open_store(self.folder.path());
        let parts = RegistryDeps {
            clock: self.clock.clone(),
            ids: Arc::new(SystemIds),
            ..deps(store.clone(), mind)
        };
        Self {
            registry: build_registry(parts),
            store,
            clock: self.clock.clone(),
            folder: self.folder.clone(),
        }
    }

    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Value,
    ) -> Result<CallOutcome, ToolError> {
        self.registry
            .call(tool, arguments, CallerContext::default())
            .await
    }

    pub(crate) async fn resume(&self, id: &str, replies: Value) -> Result<CallOutcome, ToolError> {
        self.call(RESUME_TOOL, json!({ "id": id, "replies": replies }))
            .await
    }

    /// Returns the log records, oldest first, with zero latency.
    pub(crate) async fn records(&self) -> Vec<Invocation> {
        self.registry.flush_log().await;
        let mut records = self.store.invocations(None, ALL).await.unwrap();
        records.reverse();
        records.into_iter().map(without_latency).collect()
    }

    pub(crate) async fn last_record(&self) -> Invocation {
        self.records().await.pop().expect("something was recorded")
    }

    /// Returns all thoughts.
    pub(crate) async fn thoughts(&self) -> Vec<Thought> {
        let mut all = Vec::new();
        for entry in self.store.sessions(ALL).await.unwrap() {
            let thoughts = self
                .store
                .thoughts(&entry.session.id, EpochFilter::Current, ALL);
            all.extend(thoughts.await.unwrap());
        }
        all
    }
}

fn build_registry(parts: RegistryDeps) -> Arc<Registry> {
    let registry = Registry::new(parts)
        .with(EchoTool)
        .with(NoteTool)
        .with(AskOnceTool)
        .with(AskThriceTool)
        .with(PanicTool);
    Arc::new(registry)
}

/// Returns the record with a latency that is the same in every run.
pub(crate) fn without_latency(record: Invocation) -> Invocation {
    assert!(record.latency_ms.is_some_and(|it| it >= 0), "{record:?}");
    Invocation {
        latency_ms: Some(0),
        ..record
    }
}

/// Returns the output of a call that ended.
pub(crate) fn expect_done(answer: Result<CallOutcome, ToolError>) -> Value {
    match answer {
        Ok(CallOutcome::Done(output)) => output,
        other => panic!("{other:?}"),
    }
}

/// Returns the prompts that a suspended call waits for.
pub(crate) fn expect_needs_reply(
    answer: Result<CallOutcome, ToolError>,
) -> deliberate_toolkit::NeedsReply {
    match answer {
        Ok(CallOutcome::NeedsReply(needs)) => needs,
        other => panic!("{other:?}"),
    }
}
