//! Converts rows of the old database into changes.

use std::collections::{BTreeSet, HashMap, HashSet};

use deliberate_core::{
    Branch, BranchId, BranchState, Change, Checkpoint, CheckpointKind, CrossRef, CrossRefKind,
    EdgeKind, Graph, GraphEdge, GraphId, GraphNode, Invocation, Mode, ModelUsage, NodeKind, Score,
    Session, SessionId, StateSnapshot, Thought,
};
use serde_json::{Value, json};

use super::{ImportCount, ImportReport, legacy_source::LegacyRow};
use crate::{Store, StoreError};

/// Converts one row into a change.
pub(super) type RowConverter = fn(&mut Importer, &LegacyRow) -> Result<Change, SkipReason>;

/// The reason why a row is not imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SkipReason {
    /// An earlier import has it.
    AlreadyImported,
    /// The row is damaged, or the entity that it belongs to does not exist.
    Unusable,
}

/// The state of a running import.
#[derive(Default)]
pub(super) struct Importer {
    changes: Vec<Change>,
    counts: Vec<ImportCount>,
    /// The ids imported so far. A row that refers to any other id is skipped or unlinked.
    imported_ids: HashSet<String>,
    known_sessions: HashSet<String>,
    /// The active branch of each session, which is set after all branches are imported.
    active_branches: Vec<(Session, BranchId)>,
    graph_by_node: HashMap<String, GraphId>,
    graphs: HashSet<GraphId>,
    other_modes: BTreeSet<String>,
}

impl Importer {
    /// Loads the sessions that an earlier import has.
    pub(super) async fn load_known_sessions(
        &mut self,
        sessions: &[LegacyRow],
        target: &dyn Store,
    ) -> Result<(), StoreError> {
        for id in sessions.iter().filter_map(|row| row.id::<SessionId>("id")) {
            if target.session(&id).await?.is_some() {
                self.known_sessions.insert(id.to_string());
            }
        }
        Ok(())
    }

    /// Converts the rows of a table and counts them.
    pub(super) fn convert_table(
        &mut self,
        table: &'static str,
        rows: &[LegacyRow],
        convert: RowConverter,
    ) {
        let mut kind = ImportCount {
            table,
            imported: 0,
            skipped: 0,
            failed: 0,
        };
        for row in rows {
            match convert(self, row) {
                Ok(change) => {
                    kind.imported += 1;
                    self.imported_ids.extend(row.id("id"));
                    self.changes.push(change);
                }
                Err(SkipReason::AlreadyImported) => kind.skipped += 1,
                Err(SkipReason::Unusable) => kind.failed += 1,
            }
        }
        self.counts.push(kind);
    }

    /// Returns the changes to commit and the report for the user.
    pub(super) fn finish(mut self) -> (Vec<Change>, ImportReport) {
        for (session, branch) in std::mem::take(&mut self.active_branches) {
            if self.imported_ids.contains(branch.as_str()) {
                self.changes.push(Change::SetActiveBranch {
                    session_id: session.id,
                    branch_id: Some(branch),
                    at: session.updated_at,
                });
            }
        }
        let mut notes = Vec::new();
        if !self.other_modes.is_empty() {
            let modes: Vec<_> = self.other_modes.into_iter().collect();
            notes.push(format!(
                "Sessions and thoughts of unknown modes ({}) were imported as linear; \
                 their metadata holds the original mode.",
                modes.join(", ")
            ));
        }
        if self.counts.iter().any(|kind| kind.failed > 0) {
            notes.push(
                "The rows that failed belong to sessions or branches that the old database no longer has."
                    .to_owned(),
            );
        }
        let report = ImportReport {
            tables: self.counts,
            notes,
        };
        (self.changes, report)
    }

    /// Returns the session that a row belongs to, if it is imported.
    fn owner_session(&self, row: &LegacyRow) -> Result<SessionId, SkipReason> {
        match row.text("session_id") {
            Some(id) if self.imported_ids.contains(&id) => Ok(id.into()),
            Some(id) if self.known_sessions.contains(&id) => Err(SkipReason::AlreadyImported),
            _ => Err(SkipReason::Unusable),
        }
    }

    /// Returns a reference if its target is imported. Later versions renamed the column.
    fn link<T: From<String>>(&self, row: &LegacyRow, names: [&str; 2]) -> Option<T> {
        let id = names.into_iter().find_map(|name| row.text(name))?;
        self.imported_ids.contains(&id).then(|| id.into())
    }

    /// Returns the reason to skip a row that has no session column and whose ends are not imported.
    fn missing_ends_reason(&self) -> SkipReason {
        if self.known_sessions.is_empty() {
            SkipReason::Unusable
        } else {
            SkipReason::AlreadyImported
        }
    }

    /// Parses the mode. For an unknown mode, the metadata preserves its name.
    fn mode(&mut self, row: &LegacyRow) -> (Mode, Option<Value>) {
        let name = row.text("mode").unwrap_or_default();
        let metadata = row.json("metadata");
        if let Ok(mode) = name.parse() {
            return (mode, metadata);
        }
        let kept = json!({ "original_mode": name, "original_metadata": metadata });
        self.other_modes.insert(name);
        (Mode::Linear, Some(kept))
    }

    pub(super) fn session(&mut self, row: &LegacyRow) -> Result<Change, SkipReason> {
        let id: SessionId = row.id("id").ok_or(SkipReason::Unusable)?;
        if self.known_sessions.contains(id.as_str()) {
            return Err(SkipReason::AlreadyImported);
        }
        let (mode, metadata) = self.mode(row);
        let session = Session {
            id,
            mode,
            title: None,
            created_at: row.time("created_at"),
            updated_at: row.time("updated_at"),
            active_branch_id: None,
            metadata,
        };
        if let Some(branch) = row.id("active_branch_id") {
            self.active_branches.push((session.clone(), branch));
        }
        Ok(Change::AddSession(session))
    }

    pub(super) fn branch(&mut self, row: &LegacyRow) -> Result<Change, SkipReason> {
        let state = row.text("state").unwrap_or_default();
        Ok(Change::AddBranch(Branch {
            session_id: self.owner_session(row)?,
            id: row.id("id").ok_or(SkipReason::Unusable)?,
            name: row.text("name"),
            parent_id: self.link(row, ["parent_id", "parent_branch_id"]),
            state: state.parse().unwrap_or(BranchState::Active),
            confidence: row.score("confidence"),
            priority: row.integer("priority"),
            set_aside: false,
            created_at: row.time("created_at"),
            updated_at: row.time("updated_at"),
            metadata: row.json("metadata"),
        }))
    }

    pub(super) fn thought(&mut self, row: &LegacyRow) -> Result<Change, SkipReason> {
        let session_id = self.owner_session(row)?;
        let (mode, metadata) = self.mode(row);
        Ok(Change::AddThought(Thought {
            id: row.id("id").ok_or(SkipReason::Unusable)?,
            session_id,
            input: None,
            content: row.text("content").ok_or(SkipReason::Unusable)?,
            confidence: row.score("confidence"),
            mode,
            parent_id: self.link(row, ["parent_id", "parent_thought_id"]),
            branch_id: self.link(row, ["branch_id", "branch"]),
            set_aside: false,
            created_at: row.time("created_at"),
            metadata,
        }))
    }

    pub(super) fn cross_ref(&mut self, row: &LegacyRow) -> Result<Change, SkipReason> {
        let ends = (
            self.link(row, ["from_branch", "from_branch_id"]),
            self.link(row, ["to_branch", "to_branch_id"]),
        );
        let (Some(from_branch), Some(to_branch)) = ends else {
            return Err(self.missing_ends_reason());
        };
        let kind = row.text("ref_type").unwrap_or_default();
        Ok(Change::AddCrossRef(CrossRef {
            id: row.id("id").ok_or(SkipReason::Unusable)?,
            from_branch,
            to_branch,
            ref_type: kind.parse().unwrap_or(CrossRefKind::Extends),
            reason: row.text("reason"),
            strength: row.score("strength"),
            created_at: row.time("created_at"),
        }))
    }

    pub(super) fn checkpoint(&mut self, row: &LegacyRow) -> Result<Change, SkipReason> {
        Ok(Change::AddCheckpoint(Checkpoint {
            session_id: self.owner_session(row)?,
            id: row.id("id").ok_or(SkipReason::Unusable)?,
            branch_id: self.link(row, ["branch_id", "branch"]),
            name: row.text("name").unwrap_or_default(),
            description: row.text("description"),
            snapshot: row.json("snapshot").unwrap_or(Value::Null),
            kind: CheckpointKind::Asked,
            created_at: row.time("created_at"),
        }))
    }

    pub(super) fn snapshot(&mut self, row: &LegacyRow) -> Result<Change, SkipReason> {
        let data = row.json("data").or_else(|| row.json("state_data"));
        Ok(Change::AddSnapshot(StateSnapshot {
            session_id: self.owner_session(row)?,
            id: row.id("id").ok_or(SkipReason::Unusable)?,
            parent_id: self.link(row, ["parent_id", "parent_snapshot_id"]),
            snapshot_type: row.text("snapshot_type").unwrap_or_default(),
            description: row.text("description"),
            data: data.unwrap_or(Value::Null),
            created_at: row.time("created_at"),
        }))
    }

    pub(super) fn node(&mut self, row: &LegacyRow) -> Result<Change, SkipReason> {
        let session_id = self.owner_session(row)?;
        let id: String = row.id("id").ok_or(SkipReason::Unusable)?;
        let content = row.text("content").ok_or(SkipReason::Unusable)?;
        let graph_id = self.graph(row, &session_id);
        self.graph_by_node.insert(id.clone(), graph_id.clone());
        let kind = row.text("node_type").unwrap_or_default();
        Ok(Change::AddNode(GraphNode {
            id: id.into(),
            graph_id,
            session_id,
            content,
            node_type: kind.parse().unwrap_or(NodeKind::Thought),
            score: row.number("score").map(Score::from_model),
            depth: row.integer("depth"),
            is_active: row.flag("is_active"),
            is_terminal: row.flag("is_terminal"),
            pruned: false,
            set_aside: false,
            created_at: row.time("created_at"),
            metadata: row.json("metadata"),
        }))
    }

    /// Returns the node's graph and adds it at the first node. Released versions of the old server
    /// stored no graph ids, so the nodes of a session become one graph.
    fn graph(&mut self, row: &LegacyRow, session_id: &SessionId) -> GraphId {
        let id = row
            .id("graph_id")
            .unwrap_or_else(|| GraphId::from(format!("graph-of-{session_id}")));
        if self.graphs.insert(id.clone()) {
            self.changes.push(Change::AddGraph(Graph {
                id: id.clone(),
                session_id: session_id.clone(),
                problem: None,
                config: json!({}),
                set_aside: false,
                created_at: row.time("created_at"),
                updated_at: row.time("created_at"),
            }));
        }
        id
    }

    pub(super) fn edge(&mut self, row: &LegacyRow) -> Result<Change, SkipReason> {
        let from: Option<String> = self.link(row, ["from_node", "from_node_id"]);
        let to: Option<String> = self.link(row, ["to_node", "to_node_id"]);
        let graph = from.as_ref().and_then(|from| self.graph_by_node.get(from));
        let (Some(from), Some(to), Some(graph)) = (from.clone(), to, graph) else {
            return Err(self.missing_ends_reason());
        };
        let kind = row.text("edge_type").unwrap_or_default();
        Ok(Change::AddEdge(GraphEdge {
            id: row.id("id").ok_or(SkipReason::Unusable)?,
            graph_id: graph.clone(),
            from_node: from.into(),
            to_node: to.into(),
            edge_type: kind.parse().unwrap_or(EdgeKind::Generates),
            weight: row.number("weight").map_or(Score::ONE, Score::from_model),
            created_at: row.time("created_at"),
            metadata: row.json("metadata"),
        }))
    }

    pub(super) fn invocation(&mut self, row: &LegacyRow) -> Result<Change, SkipReason> {
        let session: Option<SessionId> = row.id("session_id");
        let known = match &session {
            Some(id) => self.known_sessions.contains(id.as_str()),
            // The first import already took the calls without a session.
            None => !self.known_sessions.is_empty(),
        };
        if known {
            return Err(SkipReason::AlreadyImported);
        }
        Ok(Change::AddInvocation(Invocation {
            id: row.id("id").ok_or(SkipReason::Unusable)?,
            session_id: session,
            tool_name: row.text("tool_name").unwrap_or_default(),
            principal: None,
            input: row.json("input").unwrap_or(Value::Null),
            output: row.json("output"),
            pipe_name: row.text("pipe_name"),
            latency_ms: row.number("latency_ms").map(|_| row.integer("latency_ms")),
            success: row.flag("success"),
            error: row.text("error"),
            error_code: None,
            spent: ModelUsage::default(),
            created_at: row.time("created_at"),
        }))
    }
}
