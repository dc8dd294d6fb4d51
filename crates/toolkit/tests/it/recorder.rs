//! A store that only keeps what is committed. It uses no time of its own, so the clock of the
//! runtime can stand still.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use deliberate_core::{
    Branch, BranchId, Change, Checkpoint, CheckpointId, CrossRef, Graph, GraphEdge, GraphId,
    GraphNode, Invocation, Item, NodeId, Run, RunEvent, RunId, Session, SessionId, StateSnapshot,
    Suspension, SuspensionId, Thought, ThoughtId, Timestamp,
};
use deliberate_store::{
    BranchEntry, Found, ItemChange, ItemFilter, Items, Page, RunFilter, Search, SessionEntry,
    State, Store, StoreError, StoreFuture, Usage, WayBack, Which,
};
use futures::future::{BoxFuture, ready};
use serde_json::Value;

#[derive(Default)]
pub(crate) struct Recorder {
    commits: Mutex<Vec<Vec<Change>>>,
    /// What every commit fails with, if it is to fail.
    failure: Option<StoreError>,
}

impl Recorder {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn failing(failure: StoreError) -> Arc<Self> {
        Arc::new(Self {
            failure: Some(failure),
            ..Self::default()
        })
    }

    /// What was committed, in order.
    pub(crate) fn commits(&self) -> Vec<Vec<Change>> {
        self.commits.lock().unwrap().clone()
    }

    /// The records of calls that were committed, in order.
    pub(crate) fn records(&self) -> Vec<Invocation> {
        let all = self.commits().into_iter().flatten();
        all.filter_map(|change| match change {
            Change::AddInvocation(record) => Some(record),
            _ => None,
        })
        .collect()
    }
}

fn nothing<'a, T: Default + Send + 'a>() -> StoreFuture<'a, T> {
    Box::pin(ready(Ok(T::default())))
}

impl Items for Recorder {
    fn item<'a>(&'a self, _: &'a str, _: &'a str) -> StoreFuture<'a, Option<Item>> {
        nothing()
    }

    fn items<'a>(&'a self, _: &'a ItemFilter, _: Page) -> StoreFuture<'a, Vec<Item>> {
        nothing()
    }

    fn count_items<'a>(&'a self, _: &'a ItemFilter) -> StoreFuture<'a, u64> {
        nothing()
    }

    fn item_values<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
        _: Page,
    ) -> StoreFuture<'a, Vec<(String, u64)>> {
        nothing()
    }

    fn item_parts<'a>(&'a self, _: &'a str, _: &'a str, _: Page) -> StoreFuture<'a, Vec<String>> {
        nothing()
    }

    fn count_item_parts<'a>(&'a self, _: &'a str, _: &'a str) -> StoreFuture<'a, u64> {
        nothing()
    }

    fn changed_items<'a>(&'a self, _: &'a str, _: i64, _: u32) -> StoreFuture<'a, Vec<ItemChange>> {
        nothing()
    }
}

impl Store for Recorder {
    fn commit(&self, changes: Vec<Change>) -> StoreFuture<'_, ()> {
        let outcome = self.failure.clone().map_or(Ok(()), Err);
        if outcome.is_ok() {
            self.commits.lock().unwrap().push(changes);
        }
        Box::pin(ready(outcome))
    }

    fn session<'a>(&'a self, _: &'a SessionId) -> StoreFuture<'a, Option<Session>> {
        nothing()
    }

    fn sessions(&self, _: Page) -> StoreFuture<'_, Vec<SessionEntry>> {
        nothing()
    }

    fn thought<'a>(&'a self, _: &'a ThoughtId) -> StoreFuture<'a, Option<Thought>> {
        nothing()
    }

    fn thoughts<'a>(
        &'a self,
        _: &'a SessionId,
        _: Which,
        _: Page,
    ) -> StoreFuture<'a, Vec<Thought>> {
        nothing()
    }

    fn latest_thoughts<'a>(&'a self, _: &'a SessionId, _: u32) -> StoreFuture<'a, Vec<Thought>> {
        nothing()
    }

    fn latest_on_branch<'a>(&'a self, _: &'a BranchId, _: u32) -> StoreFuture<'a, Vec<Thought>> {
        nothing()
    }

    fn on_branch<'a>(
        &'a self,
        _: &'a BranchId,
        _: Which,
        _: Page,
    ) -> StoreFuture<'a, Vec<Thought>> {
        nothing()
    }

    fn opening<'a>(&'a self, _: &'a SessionId) -> StoreFuture<'a, Option<Thought>> {
        nothing()
    }

    fn line_start<'a>(&'a self, _: &'a ThoughtId) -> StoreFuture<'a, Option<Thought>> {
        nothing()
    }

    fn line<'a>(&'a self, _: &'a ThoughtId, _: u32) -> StoreFuture<'a, Vec<Thought>> {
        nothing()
    }

    fn way_back<'a>(&'a self, _: &'a CheckpointId) -> StoreFuture<'a, Option<WayBack>> {
        nothing()
    }

    fn branch<'a>(&'a self, _: &'a BranchId) -> StoreFuture<'a, Option<Branch>> {
        nothing()
    }

    fn branches<'a>(
        &'a self,
        _: &'a SessionId,
        _: Which,
        _: Page,
    ) -> StoreFuture<'a, Vec<BranchEntry>> {
        nothing()
    }

    fn cross_refs<'a>(
        &'a self,
        _: &'a SessionId,
        _: Which,
        _: Page,
    ) -> StoreFuture<'a, Vec<CrossRef>> {
        nothing()
    }

    fn checkpoint<'a>(&'a self, _: &'a CheckpointId) -> StoreFuture<'a, Option<Checkpoint>> {
        nothing()
    }

    fn checkpoint_named<'a>(
        &'a self,
        _: &'a SessionId,
        _: &'a str,
    ) -> StoreFuture<'a, Option<CheckpointId>> {
        nothing()
    }

    fn checkpoints<'a>(&'a self, _: &'a SessionId, _: Page) -> StoreFuture<'a, Vec<Checkpoint>> {
        nothing()
    }

    fn snapshots<'a>(&'a self, _: &'a SessionId, _: Page) -> StoreFuture<'a, Vec<StateSnapshot>> {
        nothing()
    }

    fn graph<'a>(&'a self, _: &'a GraphId) -> StoreFuture<'a, Option<Graph>> {
        nothing()
    }

    fn graphs<'a>(&'a self, _: &'a SessionId, _: Which, _: Page) -> StoreFuture<'a, Vec<Graph>> {
        nothing()
    }

    fn node<'a>(&'a self, _: &'a NodeId) -> StoreFuture<'a, Option<GraphNode>> {
        nothing()
    }

    fn nodes<'a>(&'a self, _: &'a GraphId, _: Which, _: Page) -> StoreFuture<'a, Vec<GraphNode>> {
        nothing()
    }

    fn edges<'a>(&'a self, _: &'a GraphId, _: Which, _: Page) -> StoreFuture<'a, Vec<GraphEdge>> {
        nothing()
    }

    fn invocations<'a>(
        &'a self,
        _: Option<&'a SessionId>,
        _: Page,
    ) -> StoreFuture<'a, Vec<Invocation>> {
        nothing()
    }

    fn suspension<'a>(&'a self, _: &'a SuspensionId) -> StoreFuture<'a, Option<Suspension>> {
        nothing()
    }

    fn search<'a>(&'a self, _: &'a Search) -> StoreFuture<'a, Vec<Found>> {
        nothing()
    }

    fn run<'a>(&'a self, _: &'a RunId) -> StoreFuture<'a, Option<Run>> {
        nothing()
    }

    fn run_with_events<'a>(
        &'a self,
        _: &'a RunId,
    ) -> StoreFuture<'a, Option<(Run, Vec<RunEvent>)>> {
        nothing()
    }

    fn runs<'a>(&'a self, _: &'a RunFilter, _: Page) -> StoreFuture<'a, Vec<Run>> {
        nothing()
    }

    fn newest_run<'a>(&'a self, _: &'a str, _: Option<&'a str>) -> StoreFuture<'a, Option<RunId>> {
        nothing()
    }

    fn last_run_number<'a>(&'a self, _: &'a str) -> StoreFuture<'a, i64> {
        nothing()
    }

    fn engine_state<'a>(&'a self, _: &'a [&'a str]) -> StoreFuture<'a, BTreeMap<String, Value>> {
        nothing()
    }

    fn usage(&self, _: Option<Timestamp>) -> StoreFuture<'_, Vec<Usage>> {
        nothing()
    }

    fn invocations_of<'a>(
        &'a self,
        _: &'a str,
        _: Option<Timestamp>,
        _: Page,
    ) -> StoreFuture<'a, Vec<Invocation>> {
        nothing()
    }

    fn state(&self) -> StoreFuture<'_, State> {
        Box::pin(ready(Err(StoreError::Closed)))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }
}
