//! Databases of mcp-langbase-reasoning, created by hand: with the documented tables, and with those
//! of the released version.

use std::path::Path;

use sqlx::Connection;

use crate::sqlite::raw_connection;

/// The documented columns (seeds/000).
pub(crate) const DOCUMENTED: &[&str] = &[
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, mode TEXT NOT NULL, created_at TEXT NOT NULL, \
     updated_at TEXT NOT NULL, metadata TEXT, active_branch_id TEXT)",
    "CREATE TABLE thoughts (id TEXT PRIMARY KEY, \
     session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE, content TEXT NOT NULL, \
     confidence REAL, mode TEXT NOT NULL, \
     parent_id TEXT REFERENCES thoughts (id) ON DELETE SET NULL, branch_id TEXT, \
     created_at TEXT NOT NULL, metadata TEXT)",
    "CREATE TABLE branches (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, name TEXT, \
     parent_id TEXT, state TEXT, confidence REAL, priority INTEGER, created_at TEXT NOT NULL, \
     updated_at TEXT NOT NULL, metadata TEXT)",
    "CREATE TABLE cross_refs (id TEXT PRIMARY KEY, from_branch TEXT NOT NULL, \
     to_branch TEXT NOT NULL, ref_type TEXT NOT NULL, reason TEXT, strength REAL, \
     created_at TEXT NOT NULL)",
    "CREATE TABLE checkpoints (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, branch_id TEXT, \
     name TEXT NOT NULL, description TEXT, snapshot TEXT NOT NULL, created_at TEXT NOT NULL)",
    "CREATE TABLE state_snapshots (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, parent_id TEXT, \
     snapshot_type TEXT NOT NULL, description TEXT, data TEXT NOT NULL, created_at TEXT NOT NULL)",
    "CREATE TABLE graph_nodes (id TEXT PRIMARY KEY, graph_id TEXT, session_id TEXT NOT NULL, \
     content TEXT NOT NULL, node_type TEXT, score REAL, depth INTEGER, is_active INTEGER, \
     is_terminal INTEGER, created_at TEXT NOT NULL, metadata TEXT)",
    "CREATE TABLE graph_edges (id TEXT PRIMARY KEY, graph_id TEXT, from_node TEXT NOT NULL, \
     to_node TEXT NOT NULL, edge_type TEXT, weight REAL, created_at TEXT NOT NULL, metadata TEXT)",
    INVOCATIONS,
];

/// The columns of version 0.2.0: other names for links and states, no graph ids, fractional
/// priorities, and unknown tables.
pub(crate) const RELEASED: &[&str] = &[
    "CREATE TABLE sessions (id TEXT PRIMARY KEY NOT NULL, mode TEXT NOT NULL, \
     created_at TEXT NOT NULL, updated_at TEXT NOT NULL, metadata TEXT)",
    "CREATE TABLE thoughts (id TEXT PRIMARY KEY NOT NULL, session_id TEXT NOT NULL, \
     content TEXT NOT NULL, confidence REAL DEFAULT 0.8, mode TEXT NOT NULL, parent_id TEXT, \
     created_at TEXT NOT NULL, metadata TEXT)",
    "CREATE TABLE branches (id TEXT PRIMARY KEY NOT NULL, session_id TEXT NOT NULL, name TEXT, \
     parent_branch_id TEXT, priority REAL DEFAULT 1.0, confidence REAL DEFAULT 0.8, \
     state TEXT DEFAULT 'active', created_at TEXT NOT NULL, updated_at TEXT NOT NULL, \
     metadata TEXT)",
    "ALTER TABLE thoughts ADD COLUMN branch_id TEXT",
    "ALTER TABLE sessions ADD COLUMN active_branch_id TEXT",
    "CREATE TABLE cross_refs (id TEXT PRIMARY KEY NOT NULL, from_branch_id TEXT NOT NULL, \
     to_branch_id TEXT NOT NULL, ref_type TEXT NOT NULL, reason TEXT, strength REAL DEFAULT 1.0, \
     created_at TEXT NOT NULL)",
    "CREATE TABLE checkpoints (id TEXT PRIMARY KEY NOT NULL, session_id TEXT NOT NULL, \
     branch_id TEXT, name TEXT NOT NULL, description TEXT, snapshot TEXT NOT NULL, \
     created_at TEXT NOT NULL)",
    "CREATE TABLE graph_nodes (id TEXT PRIMARY KEY NOT NULL, session_id TEXT NOT NULL, \
     content TEXT NOT NULL, node_type TEXT DEFAULT 'thought', score REAL, depth INTEGER DEFAULT 0, \
     is_terminal INTEGER DEFAULT 0, is_root INTEGER DEFAULT 0, is_active INTEGER DEFAULT 1, \
     created_at TEXT NOT NULL, metadata TEXT)",
    "CREATE TABLE graph_edges (id TEXT PRIMARY KEY NOT NULL, session_id TEXT NOT NULL, \
     from_node TEXT NOT NULL, to_node TEXT NOT NULL, edge_type TEXT DEFAULT 'generates', \
     weight REAL DEFAULT 1.0, created_at TEXT NOT NULL, metadata TEXT)",
    "CREATE TABLE state_snapshots (id TEXT PRIMARY KEY NOT NULL, session_id TEXT NOT NULL, \
     snapshot_type TEXT NOT NULL, state_data TEXT NOT NULL, parent_snapshot_id TEXT, \
     created_at TEXT NOT NULL, description TEXT)",
    INVOCATIONS,
    "CREATE TABLE detections (id TEXT PRIMARY KEY, session_id TEXT, explanation TEXT)",
    "CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL, \
     installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, success BOOLEAN NOT NULL, \
     checksum BLOB NOT NULL, execution_time BIGINT NOT NULL)",
    "INSERT INTO _sqlx_migrations VALUES (20240110000001, 'time machine', '2025-12-27', 1, x'00', 1)",
];

const INVOCATIONS: &str = "CREATE TABLE invocations (id TEXT PRIMARY KEY, session_id TEXT, tool_name TEXT NOT NULL, \
     input TEXT NOT NULL, output TEXT, pipe_name TEXT, latency_ms INTEGER, \
     success INTEGER NOT NULL DEFAULT 1, error TEXT, created_at TEXT NOT NULL)";

/// Creates the file, if necessary, with these tables and rows.
pub(crate) async fn create_legacy_database(
    path: &Path,
    tables: &[&'static str],
    rows: &[&'static str],
) {
    let mut connection = raw_connection(path).await;
    for sql in ["PRAGMA foreign_keys = OFF"]
        .iter()
        .chain(tables)
        .chain(rows)
    {
        sqlx::query(*sql).execute(&mut connection).await.unwrap();
    }
    connection.close().await.unwrap();
}

/// One row of each kind, in the documented tables.
pub(crate) const DOCUMENTED_ROWS: &[&str] = &[
    "INSERT INTO sessions VALUES \
     ('lin', 'linear', '2025-12-16T10:00:00Z', '2025-12-16T10:05:00.250Z', '{\"user\": \"ann\"}', NULL), \
     ('tree', 'tree', '2025-12-16T11:00:00Z', '2025-12-16T11:05:00Z', NULL, 'b2'), \
     ('got', 'got', '2025-12-16T12:00:00Z', '2025-12-16T12:05:00Z', NULL, NULL)",
    "INSERT INTO branches VALUES \
     ('b1', 'tree', 'root', NULL, 'completed', 0.75, 3, '2025-12-16T11:00:01Z', '2025-12-16T11:00:02Z', '{\"rationale\": \"ok\"}'), \
     ('b2', 'tree', NULL, 'b1', 'active', 0.5, -1, '2025-12-16T11:00:03Z', '2025-12-16T11:00:03Z', NULL)",
    "INSERT INTO thoughts VALUES \
     ('t1', 'lin', 'первая мысль 思考', 0.9, 'linear', NULL, NULL, '2025-12-16T10:00:01Z', NULL), \
     ('t2', 'lin', 'second', 0.25, 'linear', 't1', NULL, '2025-12-16T10:00:02Z', '{\"k\": [1]}'), \
     ('t3', 'tree', 'on a branch', 0.5, 'tree', NULL, 'b2', '2025-12-16T11:00:04Z', NULL)",
    "INSERT INTO cross_refs VALUES ('r1', 'b1', 'b2', 'contradicts', 'why not', 0.5, '2025-12-16T11:00:05Z')",
    "INSERT INTO checkpoints VALUES ('c1', 'tree', 'b1', 'here', 'a place', '{\"thoughts\": []}', '2025-12-16T11:00:06Z')",
    "INSERT INTO state_snapshots VALUES \
     ('p1', 'tree', NULL, 'full', NULL, '{\"a\": 1}', '2025-12-16T11:00:07Z'), \
     ('p2', 'tree', 'p1', 'branch', 'the next', '[]', '2025-12-16T11:00:08Z')",
    "INSERT INTO graph_nodes VALUES \
     ('n1', 'g1', 'got', 'root node', 'root', NULL, 0, 1, 0, '2025-12-16T12:00:01Z', NULL), \
     ('n2', 'g1', 'got', 'refined', 'refinement', 0.7, 1, 0, 1, '2025-12-16T12:00:02Z', '{\"m\": 1}'), \
     ('n3', 'g2', 'got', 'elsewhere', 'hypothesis', 0.1, 0, 1, 0, '2025-12-16T12:00:03Z', NULL)",
    "INSERT INTO graph_edges VALUES ('e1', 'g1', 'n1', 'n2', 'refines', 0.5, '2025-12-16T12:00:04Z', '{\"w\": 2}')",
    "INSERT INTO invocations VALUES \
     ('i1', 'lin', 'reasoning_linear', '{\"content\": \"x\"}', '{\"thought\": \"y\"}', 'linear-reasoning-v1', 120, 1, NULL, '2025-12-16T10:00:01Z'), \
     ('i2', 'tree', 'reasoning_tree', '{\"content\": \"x\"}', NULL, NULL, NULL, 0, 'Langbase unavailable', '2025-12-16T11:00:00Z')",
];
