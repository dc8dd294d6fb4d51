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

fn empty<'a, T: Default + Send + 'a>() -> StoreFuture<'a, T> {
    Box::pin(ready(Ok(T::default())))
}

impl Documents for RecordingStore {
    fn document<'a>(&'a self, _: &'a str, _: &'a str) -> StoreFuture<'a, Option<StoredDocument>> {
        empty()
    }

    fn documents<'a>(
        &'a self,
        _: &'a DocumentFilter,
        _: Pagination,
    ) -> StoreFuture<'a, Vec<StoredDocument>> {
        empty()
    }

    fn count_documents<'a>(&'a self, _: &'a DocumentFilter) -> StoreFuture<'a, u64> {
        empty()
    }

    fn document_values<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
        _: Pagination,
    ) -> StoreFuture<'a, Vec<(String, u64)>> {
        empty()
    }

    fn document_parts<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
        _: Pagination,
    ) -> StoreFuture<'a, Vec<String>> {
        empty()
    }

    fn changed_documents<'a>(
        &'a self,
        _: &'a str,
        _: i64,
        _: u32,
    ) -> StoreFuture<'a, Vec<DocumentChange>> {
        empty()
    }
}

impl UsageReports for RecordingStore {
    fn usage<'a>(&'a self, _: &'a UsageQuery) -> StoreFuture<'a, UsageReport> {
        empty()
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

    fn session<'a>(&'a self, _: &'a SessionId) -> StoreFuture<'a, Option<Session>> {
        empty()
    }

    fn sessions(&self, _: Pagination) -> StoreFuture<'_, Vec<SessionEntry>> {
        empty()
    }

    fn short_ids<'a>(&'a self, _: &'a [String]) -> StoreFuture<'a, BTreeMap<String, String>> {
        empty()
    }

    fn resolve_reference<'a>(
        &'a self,
        _: ReferenceKind,
        _: Option<&'a SessionId>,
        _: &'a str,
    ) -> StoreFuture<'a, Vec<String>> {
        empty()
    }

    fn thought<'a>(&'a self, _: &'a ThoughtId) -> StoreFuture<'a, Option<Thought>> {
        empty()
    }

    fn thoughts<'a>(
        &'a self,
        _: &'a SessionId,
        _: EpochFilter,
        _: Pagination,
    ) -> StoreFuture<'a, Vec<Thought>> {
        empty()
    }

    fn latest_thoughts<'a>(&'a self, _: &'a SessionId, _: u32) -> StoreFuture<'a, Vec<Thought>> {
        empty()
    }

    fn latest_branch_thoughts<'a>(
        &'a self,
        _: &'a BranchId,
        _: u32,
    ) -> StoreFuture<'a, Vec<Thought>> {
        empty()
    }

    fn branch_thoughts<'a>(
        &'a self,
        _: &'a BranchId,
        _: EpochFilter,
        _: Pagination,
    ) -> StoreFuture<'a, Vec<Thought>> {
        empty()
    }

    fn first_prompt<'a>(&'a self, _: &'a SessionId) -> StoreFuture<'a, Option<Thought>> {
        empty()
    }

    fn root_thought<'a>(&'a self, _: &'a ThoughtId) -> StoreFuture<'a, Option<Thought>> {
        empty()
    }

    fn ancestors<'a>(&'a self, _: &'a ThoughtId, _: u32) -> StoreFuture<'a, Vec<Thought>> {
        empty()
    }

    fn preview_backtrack<'a>(
        &'a self,
        _: &'a CheckpointId,
    ) -> StoreFuture<'a, Option<BacktrackPreview>> {
        empty()
    }

    fn graph_at_checkpoint<'a>(
        &'a self,
        _: &'a CheckpointId,
    ) -> StoreFuture<'a, Option<(Graph, Vec<GraphNode>)>> {
        empty()
    }

    fn branch<'a>(&'a self, _: &'a BranchId) -> StoreFuture<'a, Option<Branch>> {
        empty()
    }

    fn branches<'a>(
        &'a self,
        _: &'a SessionId,
        _: EpochFilter,
        _: Pagination,
    ) -> StoreFuture<'a, Vec<BranchEntry>> {
        empty()
    }

    fn cross_refs<'a>(
        &'a self,
        _: &'a SessionId,
        _: EpochFilter,
        _: Pagination,
    ) -> StoreFuture<'a, Vec<CrossRef>> {
        empty()
    }

    fn checkpoint<'a>(&'a self, _: &'a CheckpointId) -> StoreFuture<'a, Option<Checkpoint>> {
        empty()
    }

    fn checkpoint_by_name<'a>(
        &'a self,
        _: &'a SessionId,
        _: &'a str,
    ) -> StoreFuture<'a, Option<CheckpointId>> {
        empty()
    }

    fn checkpoints<'a>(
        &'a self,
        _: &'a SessionId,
        _: Pagination,
    ) -> StoreFuture<'a, Vec<Checkpoint>> {
        empty()
    }

    fn snapshots<'a>(
        &'a self,
        _: &'a SessionId,
        _: Pagination,
    ) -> StoreFuture<'a, Vec<StateSnapshot>> {
        empty()
    }

    fn graph<'a>(&'a self, _: &'a GraphId) -> StoreFuture<'a, Option<Graph>> {
        empty()
    }

    fn graphs<'a>(
        &'a self,
        _: &'a SessionId,
        _: EpochFilter,
        _: Pagination,
    ) -> StoreFuture<'a, Vec<Graph>> {
        empty()
    }

    fn node<'a>(&'a self, _: &'a NodeId) -> StoreFuture<'a, Option<GraphNode>> {
        empty()
    }

    fn nodes<'a>(
        &'a self,
        _: &'a GraphId,
        _: EpochFilter,
        _: Pagination,
    ) -> StoreFuture<'a, Vec<GraphNode>> {
        empty()
    }

    fn edges<'a>(
        &'a self,
        _: &'a GraphId,
        _: EpochFilter,
        _: Pagination,
    ) -> StoreFuture<'a, Vec<GraphEdge>> {
        empty()
    }

    fn invocations<'a>(
        &'a self,
        _: Option<&'a SessionId>,
        _: Pagination,
    ) -> StoreFuture<'a, Vec<Invocation>> {
        empty()
    }

    fn suspended_call<'a>(&'a self, _: &'a SuspensionId) -> StoreFuture<'a, Option<SuspendedCall>> {
        empty()
    }

    fn search<'a>(&'a self, _: &'a SearchQuery) -> StoreFuture<'a, SearchResults> {
        empty()
    }

    fn newest_entities<'a>(
        &'a self,
        _: &'a SearchQuery,
        _: u32,
    ) -> StoreFuture<'a, Vec<SearchKey>> {
        empty()
    }

    fn search_texts<'a>(
        &'a self,
        _: &'a [SearchKey],
        _: u32,
    ) -> StoreFuture<'a, Vec<(SearchKey, String)>> {
        empty()
    }

    fn run<'a>(&'a self, _: &'a RunId) -> StoreFuture<'a, Option<ChainRun>> {
        empty()
    }

    fn run_with_events<'a>(
        &'a self,
        _: &'a RunId,
    ) -> StoreFuture<'a, Option<(ChainRun, Vec<ChainEvent>)>> {
        empty()
    }

    fn runs<'a>(&'a self, _: &'a ChainRunFilter, _: Pagination) -> StoreFuture<'a, Vec<ChainRun>> {
        empty()
    }

    fn newest_run<'a>(&'a self, _: &'a str, _: Option<&'a str>) -> StoreFuture<'a, Option<RunId>> {
        empty()
    }

    fn last_run_number<'a>(&'a self, _: &'a str) -> StoreFuture<'a, i64> {
        empty()
    }

    fn settings<'a>(&'a self, _: &'a [&'a str]) -> StoreFuture<'a, BTreeMap<String, Value>> {
        empty()
    }

    fn tool_invocations<'a>(
        &'a self,
        _: &'a str,
        _: Option<Timestamp>,
        _: Pagination,
    ) -> StoreFuture<'a, Vec<Invocation>> {
        empty()
    }

    fn info(&self) -> StoreFuture<'_, StoreInfo> {
        Box::pin(ready(Err(StoreError::Closed)))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }
}
