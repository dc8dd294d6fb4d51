//! A store that only records commits. It takes no time, so that the clock of the runtime can be
//! paused.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use deliberate_core::{
    Branch, BranchId, ChainEvent, ChainRun, Change, Checkpoint, CheckpointId, CrossRef, Graph,
    GraphEdge, GraphId, GraphNode, Invocation, NodeId, RunId, Session, SessionId, StateSnapshot,
    StoredDocument, SuspendedCall, SuspensionId, Thought, ThoughtId, Timestamp,
};
use deliberate_store::{
    BacktrackPreview, BranchEntry, ChainRunFilter, DocumentChange, DocumentFilter, Documents,
    EpochFilter, Pagination, ReferenceKind, SearchKey, SearchQuery, SearchResults, SessionEntry,
    Store, StoreError, StoreFuture, StoreInfo, UsageQuery, UsageReport, UsageReports,
};
use futures::future::{BoxFuture, ready};
use serde_json::Value;

#[derive(Default)]
pub(crate) struct RecordingStore {
    commits: Mutex<Vec<Vec<Change>>>,
    /// The error of every commit, if commits should fail.
    failure: Option<StoreError>,
}

impl RecordingStore {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn failing(failure: StoreError) -> Arc<Self> {
        Arc::new(Self {
            failure: Some(failure),
            ..Self::default()
        })
    }

    /// Returns the commits in order.
    pub(crate) fn commits(&self) -> Vec<Vec<Change>> {
        self.commits.lock().unwrap().clone()
    }

    /// Returns the committed log records in order.
    pub(crate) fn records(&self) -> Vec<Invocation> {
        let all = self.commits().into_iter().flatten();
        all.filter_map(|change| match change {
            Change::AddInvocation(record) => Some(record),
            _ => None,
        })
        .collect()
    }
}

/// Defines methods that take arguments of these types and find nothing.
macro_rules! find_nothing {
    ($($method:ident($($argument:ty),*) -> $output:ty;)*) => {
        $(
            fn $method<'a>(&'a self, $(_: $argument),*) -> StoreFuture<'a, $output> {
                Box::pin(ready(Ok(<$output>::default())))
            }
        )*
    };
}

impl Documents for RecordingStore {
    find_nothing! {
        document(&'a str, &'a str) -> Option<StoredDocument>;
        documents(&'a DocumentFilter, Pagination) -> Vec<StoredDocument>;
        count_documents(&'a DocumentFilter) -> u64;
        document_values(&'a str, &'a str, Pagination) -> Vec<(String, u64)>;
        document_parts(&'a str, &'a str, Pagination) -> Vec<String>;
        changed_documents(&'a str, i64, u32) -> Vec<DocumentChange>;
    }
}

impl UsageReports for RecordingStore {
    find_nothing! {
        usage(&'a UsageQuery) -> UsageReport;
    }
}

impl Store for RecordingStore {
    fn commit(&self, changes: Vec<Change>) -> StoreFuture<'_, ()> {
        let outcome = self.failure.clone().map_or(Ok(()), Err);
        if outcome.is_ok() {
            self.commits.lock().unwrap().push(changes);
        }
        Box::pin(ready(outcome))
    }

    fn sessions(&self, _: Pagination) -> StoreFuture<'_, Vec<SessionEntry>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    find_nothing! {
        session(&'a SessionId) -> Option<Session>;
        short_ids(&'a [String]) -> BTreeMap<String, String>;
        resolve_reference(ReferenceKind, Option<&'a SessionId>, &'a str) -> Vec<String>;
        thought(&'a ThoughtId) -> Option<Thought>;
        thoughts(&'a SessionId, EpochFilter, Pagination) -> Vec<Thought>;
        latest_thoughts(&'a SessionId, u32) -> Vec<Thought>;
        latest_branch_thoughts(&'a BranchId, u32) -> Vec<Thought>;
        branch_thoughts(&'a BranchId, EpochFilter, Pagination) -> Vec<Thought>;
        first_prompt(&'a SessionId) -> Option<Thought>;
        root_thought(&'a ThoughtId) -> Option<Thought>;
        ancestors(&'a ThoughtId, u32) -> Vec<Thought>;
        preview_backtrack(&'a CheckpointId) -> Option<BacktrackPreview>;
        graph_at_checkpoint(&'a CheckpointId) -> Option<(Graph, Vec<GraphNode>)>;
        branch(&'a BranchId) -> Option<Branch>;
        branches(&'a SessionId, EpochFilter, Pagination) -> Vec<BranchEntry>;
        cross_refs(&'a SessionId, EpochFilter, Pagination) -> Vec<CrossRef>;
        checkpoint(&'a CheckpointId) -> Option<Checkpoint>;
        checkpoint_by_name(&'a SessionId, &'a str) -> Option<CheckpointId>;
        checkpoints(&'a SessionId, Pagination) -> Vec<Checkpoint>;
        snapshots(&'a SessionId, Pagination) -> Vec<StateSnapshot>;
        graph(&'a GraphId) -> Option<Graph>;
        graphs(&'a SessionId, EpochFilter, Pagination) -> Vec<Graph>;
        node(&'a NodeId) -> Option<GraphNode>;
        nodes(&'a GraphId, EpochFilter, Pagination) -> Vec<GraphNode>;
        edges(&'a GraphId, EpochFilter, Pagination) -> Vec<GraphEdge>;
        invocations(Option<&'a SessionId>, Pagination) -> Vec<Invocation>;
        suspended_call(&'a SuspensionId) -> Option<SuspendedCall>;
        search(&'a SearchQuery) -> SearchResults;
        newest_entities(&'a SearchQuery, u32) -> Vec<SearchKey>;
        search_texts(&'a [SearchKey], u32) -> Vec<(SearchKey, String)>;
        run(&'a RunId) -> Option<ChainRun>;
        run_with_events(&'a RunId) -> Option<(ChainRun, Vec<ChainEvent>)>;
        runs(&'a ChainRunFilter, Pagination) -> Vec<ChainRun>;
        newest_run(&'a str, Option<&'a str>) -> Option<RunId>;
        last_run_number(&'a str) -> i64;
        settings(&'a [&'a str]) -> BTreeMap<String, Value>;
        tool_invocations(&'a str, Option<Timestamp>, Pagination) -> Vec<Invocation>;
    }

    fn info(&self) -> StoreFuture<'_, StoreInfo> {
        Box::pin(ready(Err(StoreError::Closed)))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }
}
