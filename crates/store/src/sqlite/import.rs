//! Bringing over a database of mcp-langbase-reasoning.
//!
//! Its tables are read as they are found (later versions of it renamed some columns and added
//! many tables), turned into our changes, and committed at once: an import is whole or did not
//! happen. Whatever can't be taken is counted with its reason; the old file is only read.

use std::{collections::HashSet, path::Path};

use deliberate_core::{
    Branch, BranchState, Change, Checkpoint, CrossRef, EdgeKind, Graph, GraphEdge, GraphId,
    GraphNode, Invocation, Mode, NodeKind, RefKind, Score, Session, SessionId, Spent,
    StateSnapshot, Thought, Timestamp,
};
use serde_json::{Value, json};
use sqlx::{ConnectOptions, Connection, Row, SqliteConnection, sqlite::SqliteConnectOptions};

use super::{open::looks_original, rows::query_error};
use crate::{Store, StoreError};

/// What an import took and what it left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// For each kind of thing, in the order they were read.
    pub kinds: Vec<Imported>,
    /// Anything a person should know, in sentences.
    pub notes: Vec<String>,
}

/// How one kind of thing fared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Its table.
    pub table: &'static str,
    /// How many were taken.
    pub taken: u64,
    /// How many had been taken by an earlier import.
    pub known: u64,
    /// How many could not be taken.
    pub left: u64,
}

/// Reads the database at `path` and commits everything usable to `target`.
pub async fn import_original(path: &Path, target: &dyn Store) -> Result<ImportReport, StoreError> {
    let mut source = Source::open(path).await?;
    let mut import = Import::default();
    import
        .sessions(source.rows("sessions").await?, target)
        .await?;
    import.branches(source.rows("branches").await?);
    import.thoughts(source.rows("thoughts").await?);
    import.cross_refs(source.rows("cross_refs").await?);
    import.checkpoints(source.rows("checkpoints").await?);
    import.snapshots(source.rows("state_snapshots").await?);
    import.nodes(source.rows("graph_nodes").await?);
    import.edges(source.rows("graph_edges").await?);
    import.invocations(source.rows("invocations").await?);
    let report = import.report();
    source.close().await;
    if !import.changes.is_empty() {
        import.changes.append(&mut import.last);
        target.commit(import.changes).await?;
    }
    Ok(report)
}

/// The old file, open for reading.
struct Source(SqliteConnection);

impl Source {
    async fn open(path: &Path) -> Result<Self, StoreError> {
        let location = path.display().to_string();
        let mut connection = SqliteConnectOptions::new()
            .filename(path)
            .read_only(true)
            .disable_statement_logging()
            .connect()
            .await
            .map_err(|error| StoreError::Connection {
                location: location.clone(),
                reason: error.to_string(),
            })?;
        let tables: Result<Vec<String>, _> =
            sqlx::query_scalar("SELECT name FROM sqlite_master WHERE type = 'table'")
                .fetch_all(&mut connection)
                .await;
        let foreign = |reason: &str| StoreError::Foreign {
            location: location.clone(),
            reason: reason.to_owned(),
        };
        match tables {
            Ok(tables) if tables.iter().any(|table| table == "suspensions") => {
                Err(foreign("it is one of ours already; nothing to import"))
            }
            Ok(tables) if looks_original(&tables) => Ok(Self(connection)),
            Ok(_) => Err(foreign("it has no sessions, thoughts and invocations")),
            Err(_) => Err(foreign("the file is not an SQLite database")),
        }
    }

    /// All rows of a table, oldest first; none if there is no such table.
    async fn rows(&mut self, table: &'static str) -> Result<Vec<Old>, StoreError> {
        let there: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_master WHERE name = $1")
            .bind(table)
            .fetch_one(&mut self.0)
            .await
            .map_err(|error| query_error(&error))?;
        if there == 0 {
            return Ok(Vec::new());
        }
        let mut query = sqlx::QueryBuilder::<sqlx::Sqlite>::new("SELECT * FROM ");
        query.push(table).push(" ORDER BY rowid");
        let rows = query
            .build()
            .fetch_all(&mut self.0)
            .await
            .map_err(|error| query_error(&error))?;
        Ok(rows.into_iter().map(Old).collect())
    }

    async fn close(self) {
        drop(self.0.close().await);
    }
}

/// A row of the old server. A column that is absent or of another type reads as `None`.
struct Old(sqlx::sqlite::SqliteRow);

impl Old {
    fn text(&self, column: &str) -> Option<String> {
        self.0.try_get::<Option<String>, _>(column).ok().flatten()
    }

    fn id<T: From<String>>(&self, column: &str) -> Option<T> {
        self.text(column).filter(|id| !id.is_empty()).map(T::from)
    }

    fn number(&self, column: &str) -> Option<f64> {
        let whole = || {
            self.0
                .try_get::<Option<i64>, _>(column)
                .ok()
                .flatten()
                .map(|number| number as f64)
        };
        self.0
            .try_get::<Option<f64>, _>(column)
            .ok()
            .flatten()
            .or_else(whole)
    }

    fn score(&self, column: &str) -> Score {
        self.number(column)
            .map_or(Score::DEFAULT_CONFIDENCE, Score::from_model)
    }

    fn flag(&self, column: &str) -> bool {
        self.number(column).is_some_and(|number| number != 0.0)
    }

    fn time(&self, column: &str) -> Timestamp {
        self.text(column)
            .as_deref()
            .and_then(Timestamp::parse)
            .unwrap_or(Timestamp::from_micros(0))
    }

    fn json(&self, column: &str) -> Option<Value> {
        let text = self.text(column)?;
        Some(serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "a depth or priority is small"
    )]
    fn integer(&self, column: &str) -> i64 {
        self.number(column).unwrap_or(0.0) as i64
    }
}

#[derive(Default)]
struct Import {
    changes: Vec<Change>,
    /// Changes that can only be made when everything else is there.
    last: Vec<Change>,
    kinds: Vec<Imported>,
    notes: Vec<String>,
    /// Ids of this import; what refers to others is left out or unlinked.
    taken: HashSet<String>,
    known_sessions: HashSet<String>,
    graphs: HashSet<String>,
    other_modes: HashSet<String>,
}

/// What became of one row.
enum Fate {
    Taken(Change),
    Known,
    Left,
}

impl Import {
    fn tally(&mut self, table: &'static str, fates: Vec<Fate>) {
        let mut kind = Imported {
            table,
            taken: 0,
            known: 0,
            left: 0,
        };
        for fate in fates {
            match fate {
                Fate::Taken(change) => {
                    kind.taken += 1;
                    self.changes.push(change);
                }
                Fate::Known => kind.known += 1,
                Fate::Left => kind.left += 1,
            }
        }
        self.kinds.push(kind);
    }

    fn report(&mut self) -> ImportReport {
        let mut modes: Vec<_> = self.other_modes.drain().collect();
        modes.sort();
        if !modes.is_empty() {
            self.notes.push(format!(
                "Sessions and thoughts of modes that do not exist here ({}) were taken as linear; \
                 their own mode is kept in their metadata.",
                modes.join(", ")
            ));
        }
        if self.kinds.iter().any(|kind| kind.left > 0) {
            self.notes.push(
                "What was left belongs to sessions or branches that the old database no longer has."
                    .to_owned(),
            );
        }
        ImportReport {
            kinds: self.kinds.clone(),
            notes: self.notes.clone(),
        }
    }

    /// The mode by its old name, and metadata that remembers a name we do not have.
    fn mode(&mut self, name: Option<String>, metadata: Option<Value>) -> (Mode, Option<Value>) {
        let name = name.unwrap_or_default();
        if let Ok(mode) = name.parse() {
            return (mode, metadata);
        }
        let kept = json!({ "original_mode": name, "original_metadata": metadata });
        self.other_modes.insert(name);
        (Mode::Linear, Some(kept))
    }

    /// Whether what belongs to `session` is taken; if not, what becomes of it.
    fn owner(&self, session: Option<&SessionId>) -> Result<SessionId, Fate> {
        match session {
            Some(id) if self.taken.contains(id.as_str()) => Ok(id.clone()),
            Some(id) if self.known_sessions.contains(id.as_str()) => Err(Fate::Known),
            _ => Err(Fate::Left),
        }
    }

    /// A reference, if what it refers to was taken.
    fn link<T: From<String>>(&self, id: Option<String>) -> Option<T> {
        id.filter(|id| self.taken.contains(id)).map(T::from)
    }

    async fn sessions(&mut self, rows: Vec<Old>, target: &dyn Store) -> Result<(), StoreError> {
        let mut fates = Vec::new();
        for row in rows {
            let Some(id) = row.id::<SessionId>("id") else {
                fates.push(Fate::Left);
                continue;
            };
            if target.session(&id).await?.is_some() {
                self.known_sessions.insert(id.as_str().to_owned());
                fates.push(Fate::Known);
                continue;
            }
            self.taken.insert(id.as_str().to_owned());
            let (mode, metadata) = self.mode(row.text("mode"), row.json("metadata"));
            if let Some(branch) = row.id("active_branch_id") {
                self.last.push(Change::FollowBranch {
                    session_id: id.clone(),
                    branch_id: Some(branch),
                    at: row.time("updated_at"),
                });
            }
            fates.push(Fate::Taken(Change::AddSession(Session {
                id,
                mode,
                title: None,
                created_at: row.time("created_at"),
                updated_at: row.time("updated_at"),
                active_branch_id: None,
                metadata,
            })));
        }
        self.tally("sessions", fates);
        Ok(())
    }

    fn branches(&mut self, rows: Vec<Old>) {
        let mut fates = Vec::new();
        for row in rows {
            let (Some(id), owner) = (
                row.id::<String>("id"),
                self.owner(row.id("session_id").as_ref()),
            ) else {
                fates.push(Fate::Left);
                continue;
            };
            let session_id = match owner {
                Ok(session_id) => session_id,
                Err(fate) => {
                    fates.push(fate);
                    continue;
                }
            };
            self.taken.insert(id.clone());
            let state = row.text("state").unwrap_or_default();
            let parent = row
                .text("parent_id")
                .or_else(|| row.text("parent_branch_id"));
            fates.push(Fate::Taken(Change::AddBranch(Branch {
                id: id.into(),
                session_id,
                name: row.text("name"),
                parent_id: self.link(parent),
                state: state.parse().unwrap_or(BranchState::Active),
                confidence: row.score("confidence"),
                priority: row.integer("priority"),
                created_at: row.time("created_at"),
                updated_at: row.time("updated_at"),
                metadata: row.json("metadata"),
            })));
        }
        // A session may only follow a branch that came along.
        let taken = &self.taken;
        self.last.retain(|change| match change {
            Change::FollowBranch {
                branch_id: Some(branch),
                ..
            } => taken.contains(branch.as_str()),
            _ => true,
        });
        self.tally("branches", fates);
    }

    fn thoughts(&mut self, rows: Vec<Old>) {
        let mut fates = Vec::new();
        for row in rows {
            fates.push(self.thought(&row).unwrap_or_else(|fate| fate));
        }
        self.tally("thoughts", fates);
    }

    fn thought(&mut self, row: &Old) -> Result<Fate, Fate> {
        let session_id = self.owner(row.id("session_id").as_ref())?;
        let (Some(id), Some(content)) = (row.id::<String>("id"), row.text("content")) else {
            return Err(Fate::Left);
        };
        let (mode, metadata) = self.mode(row.text("mode"), row.json("metadata"));
        let thought = Thought {
            id: id.clone().into(),
            session_id,
            input: None,
            content,
            confidence: row.score("confidence"),
            mode,
            parent_id: self.link(row.text("parent_id")),
            branch_id: self.link(row.text("branch_id")),
            created_at: row.time("created_at"),
            metadata,
        };
        self.taken.insert(id);
        Ok(Fate::Taken(Change::AddThought(thought)))
    }

    fn cross_refs(&mut self, rows: Vec<Old>) {
        let fates = rows.iter().map(|row| self.cross_ref(row)).collect();
        self.tally("cross_refs", fates);
    }

    fn cross_ref(&self, row: &Old) -> Fate {
        let end = |short: &str, long: &str| self.link(row.text(short).or_else(|| row.text(long)));
        let (Some(id), Some(from_branch), Some(to_branch)) = (
            row.id("id"),
            end("from_branch", "from_branch_id"),
            end("to_branch", "to_branch_id"),
        ) else {
            return if self.known_sessions.is_empty() {
                Fate::Left
            } else {
                Fate::Known
            };
        };
        let kind = row.text("ref_type").unwrap_or_default();
        Fate::Taken(Change::AddCrossRef(CrossRef {
            id,
            from_branch,
            to_branch,
            ref_type: kind.parse().unwrap_or(RefKind::Extends),
            reason: row.text("reason"),
            strength: row.score("strength"),
            created_at: row.time("created_at"),
        }))
    }

    fn checkpoints(&mut self, rows: Vec<Old>) {
        let fates = rows
            .iter()
            .map(|row| {
                let session_id = self.owner(row.id("session_id").as_ref())?;
                Ok(Fate::Taken(Change::AddCheckpoint(Checkpoint {
                    id: row.id("id").ok_or(Fate::Left)?,
                    session_id,
                    branch_id: self.link(row.text("branch_id")),
                    name: row.text("name").unwrap_or_default(),
                    description: row.text("description"),
                    snapshot: row.json("snapshot").unwrap_or(Value::Null),
                    created_at: row.time("created_at"),
                })))
            })
            .map(|fate: Result<Fate, Fate>| fate.unwrap_or_else(|fate| fate))
            .collect();
        self.tally("checkpoints", fates);
    }

    fn snapshots(&mut self, rows: Vec<Old>) {
        let mut fates = Vec::new();
        for row in rows {
            fates.push(self.snapshot(&row).unwrap_or_else(|fate| fate));
        }
        self.tally("state_snapshots", fates);
    }

    fn snapshot(&mut self, row: &Old) -> Result<Fate, Fate> {
        let session_id = self.owner(row.id("session_id").as_ref())?;
        let id: String = row.id("id").ok_or(Fate::Left)?;
        let parent = row
            .text("parent_id")
            .or_else(|| row.text("parent_snapshot_id"));
        let data = row.json("data").or_else(|| row.json("state_data"));
        let snapshot = StateSnapshot {
            id: id.clone().into(),
            session_id,
            parent_id: self.link(parent),
            snapshot_type: row.text("snapshot_type").unwrap_or_default(),
            description: row.text("description"),
            data: data.unwrap_or(Value::Null),
            created_at: row.time("created_at"),
        };
        self.taken.insert(id);
        Ok(Fate::Taken(Change::AddSnapshot(snapshot)))
    }

    fn nodes(&mut self, rows: Vec<Old>) {
        let mut fates = Vec::new();
        for row in rows {
            fates.push(self.node(&row).unwrap_or_else(|fate| fate));
        }
        self.tally("graph_nodes", fates);
    }

    fn node(&mut self, row: &Old) -> Result<Fate, Fate> {
        let session_id = self.owner(row.id("session_id").as_ref())?;
        let (Some(id), Some(content)) = (row.id::<String>("id"), row.text("content")) else {
            return Err(Fate::Left);
        };
        let graph_id = self.graph(row, &session_id);
        let kind = row.text("node_type").unwrap_or_default();
        let node = GraphNode {
            id: id.clone().into(),
            graph_id,
            session_id,
            content,
            node_type: kind.parse().unwrap_or(NodeKind::Thought),
            score: row.number("score").map(Score::from_model),
            depth: row.integer("depth"),
            is_active: row.flag("is_active"),
            is_terminal: row.flag("is_terminal"),
            created_at: row.time("created_at"),
            metadata: row.json("metadata"),
        };
        self.taken.insert(id);
        Ok(Fate::Taken(Change::AddNode(node)))
    }

    /// The node's graph. Released versions of the old server kept no graph ids, so the nodes of
    /// a session become one graph.
    fn graph(&mut self, row: &Old, session_id: &SessionId) -> GraphId {
        let id = row
            .id("graph_id")
            .unwrap_or_else(|| GraphId::from(format!("graph-of-{session_id}")));
        if self.graphs.insert(id.as_str().to_owned()) {
            self.changes.push(Change::AddGraph(Graph {
                id: id.clone(),
                session_id: session_id.clone(),
                problem: None,
                config: json!({}),
                created_at: row.time("created_at"),
                updated_at: row.time("created_at"),
            }));
        }
        id
    }

    fn edges(&mut self, rows: Vec<Old>) {
        let graphs: std::collections::HashMap<String, GraphId> = self
            .changes
            .iter()
            .filter_map(|change| match change {
                Change::AddNode(node) => Some((node.id.as_str().to_owned(), node.graph_id.clone())),
                _ => None,
            })
            .collect();
        let fates = rows
            .iter()
            .map(|row| {
                let end = |column: &str| row.text(column).filter(|id| graphs.contains_key(id));
                let (Some(from), Some(to), Some(id)) =
                    (end("from_node"), end("to_node"), row.id("id"))
                else {
                    return if self.known_sessions.is_empty() {
                        Fate::Left
                    } else {
                        Fate::Known
                    };
                };
                let Some(graph_id) = graphs.get(&from).cloned() else {
                    return Fate::Left;
                };
                let kind = row.text("edge_type").unwrap_or_default();
                Fate::Taken(Change::AddEdge(GraphEdge {
                    id,
                    graph_id,
                    from_node: from.into(),
                    to_node: to.into(),
                    edge_type: kind.parse().unwrap_or(EdgeKind::Generates),
                    weight: row.number("weight").map_or(Score::ONE, Score::from_model),
                    created_at: row.time("created_at"),
                    metadata: row.json("metadata"),
                }))
            })
            .collect();
        self.tally("graph_edges", fates);
    }

    fn invocations(&mut self, rows: Vec<Old>) {
        let fates = rows
            .iter()
            .map(|row| {
                let session: Option<SessionId> = row.id("session_id");
                if session
                    .as_ref()
                    .is_some_and(|id| self.known_sessions.contains(id.as_str()))
                {
                    return Fate::Known;
                }
                let Some(id) = row.id("id") else {
                    return Fate::Left;
                };
                Fate::Taken(Change::AddInvocation(Invocation {
                    id,
                    session_id: session,
                    tool_name: row.text("tool_name").unwrap_or_default(),
                    input: row.json("input").unwrap_or(Value::Null),
                    output: row.json("output"),
                    pipe_name: row.text("pipe_name"),
                    latency_ms: row.number("latency_ms").map(|_| row.integer("latency_ms")),
                    success: row.flag("success"),
                    error: row.text("error"),
                    error_code: None,
                    spent: Spent::default(),
                    created_at: row.time("created_at"),
                }))
            })
            .collect();
        self.tally("invocations", fates);
    }
}
