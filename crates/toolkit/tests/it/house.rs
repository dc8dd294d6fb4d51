//! A registry with all it needs, on a real store in a folder of its own.

use std::{path::Path, sync::Arc};

use deliberate_core::{Invocation, SystemIds, Thought};
use deliberate_store::{
    Page, Store, Which,
    sqlite::{Durability, SqliteOptions, SqliteStore},
};
use deliberate_testkit::{CountingIds, FixedClock};
use deliberate_thinker::Thinker;
use deliberate_toolkit::{Answer, Bounds, Caller, OneMind, Parts, RESUME, Registry, ToolError};
use serde_json::{Value, json};

use crate::tools::{Debate, Echo, Faulty, Note, Ponder};

pub(crate) const ALL: Page = Page::first(Page::MOST);

pub(crate) struct House {
    pub(crate) registry: Arc<Registry>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<FixedClock>,
    folder: Arc<tempfile::TempDir>,
}

/// What is put into a registry by default: fixed time, counted ids.
pub(crate) fn parts(store: Arc<dyn Store>, mind: Option<Arc<dyn Thinker>>) -> Parts {
    Parts {
        store,
        minds: Arc::new(OneMind(mind)),
        clock: Arc::new(FixedClock::new()),
        ids: Arc::new(CountingIds::new()),
        bounds: Bounds::default(),
    }
}

fn store_in(folder: &Path) -> Arc<dyn Store> {
    Arc::new(SqliteStore::new(SqliteOptions {
        path: folder.join("store.db"),
        readers: 4,
        durability: Durability::Relaxed,
    }))
}

impl House {
    /// Nobody can be asked here; the client has to think.
    pub(crate) fn without_model() -> Self {
        Self::with(None, Bounds::default())
    }

    pub(crate) fn thinking(mind: Arc<dyn Thinker>) -> Self {
        Self::with(Some(mind), Bounds::default())
    }

    pub(crate) fn with(mind: Option<Arc<dyn Thinker>>, bounds: Bounds) -> Self {
        Self::build(Arc::new(tempfile::tempdir().unwrap()), mind, bounds)
    }

    fn build(
        folder: Arc<tempfile::TempDir>,
        mind: Option<Arc<dyn Thinker>>,
        bounds: Bounds,
    ) -> Self {
        let store = store_in(folder.path());
        let clock = Arc::new(FixedClock::new());
        let parts = Parts {
            clock: clock.clone(),
            bounds,
            ..parts(store.clone(), mind)
        };
        Self {
            registry: furnished(parts),
            store,
            clock,
            folder,
        }
    }

    /// The same data, served by another process.
    pub(crate) async fn restarted(self) -> Self {
        self.store.close().await;
        self.beside(None)
    }

    /// The same data, served by another process at the same time.
    pub(crate) fn beside(&self, mind: Option<Arc<dyn Thinker>>) -> Self {
        let store = store_in(self.folder.path());
        let parts = Parts {
            clock: self.clock.clone(),
            ids: Arc::new(SystemIds),
            ..parts(store.clone(), mind)
        };
        Self {
            registry: furnished(parts),
            store,
            clock: self.clock.clone(),
            folder: self.folder.clone(),
        }
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<Answer, ToolError> {
        self.registry.call(tool, arguments, Caller::default()).await
    }

    pub(crate) async fn resume(&self, id: &str, replies: Value) -> Result<Answer, ToolError> {
        self.call(RESUME, json!({ "id": id, "replies": replies }))
            .await
    }

    /// The records of calls, oldest first, their latency put to zero.
    pub(crate) async fn records(&self) -> Vec<Invocation> {
        self.registry.recorded().await;
        let mut records = self.store.invocations(None, ALL).await.unwrap();
        records.reverse();
        records.into_iter().map(timeless).collect()
    }

    pub(crate) async fn last_record(&self) -> Invocation {
        self.records().await.pop().expect("something was recorded")
    }

    /// Every thought there is.
    pub(crate) async fn thoughts(&self) -> Vec<Thought> {
        let mut all = Vec::new();
        for entry in self.store.sessions(ALL).await.unwrap() {
            let thoughts = self.store.thoughts(&entry.session.id, Which::Current, ALL);
            all.extend(thoughts.await.unwrap());
        }
        all
    }
}

fn furnished(parts: Parts) -> Arc<Registry> {
    let registry = Registry::new(parts)
        .with(Echo)
        .with(Note)
        .with(Ponder)
        .with(Debate)
        .with(Faulty);
    Arc::new(registry)
}

/// The record with a latency that is the same in every run.
pub(crate) fn timeless(record: Invocation) -> Invocation {
    assert!(record.latency_ms.is_some_and(|it| it >= 0), "{record:?}");
    Invocation {
        latency_ms: Some(0),
        ..record
    }
}

/// The output of a call that ended.
pub(crate) fn done(answer: Result<Answer, ToolError>) -> Value {
    match answer {
        Ok(Answer::Done(output)) => output,
        other => panic!("{other:?}"),
    }
}

/// What a call waits for.
pub(crate) fn waits_for(answer: Result<Answer, ToolError>) -> deliberate_toolkit::NeedsReply {
    match answer {
        Ok(Answer::NeedsReply(needs)) => needs,
        other => panic!("{other:?}"),
    }
}
