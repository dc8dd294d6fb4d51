-- Times are whole microseconds since 1970. JSON is text. Every table that lists things in
-- order has `seq`, the order of insertion.

CREATE TABLE sessions (
    id               TEXT PRIMARY KEY,
    mode             TEXT NOT NULL,
    title            TEXT,
    created_at       INTEGER NOT NULL,
    updated_at       INTEGER NOT NULL,
    active_branch_id TEXT REFERENCES branches (id) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED,
    metadata         TEXT
) STRICT;
CREATE INDEX sessions_by_update ON sessions (updated_at DESC);

CREATE TABLE branches (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    name       TEXT,
    parent_id  TEXT REFERENCES branches (id) ON DELETE SET NULL,
    state      TEXT NOT NULL CHECK (state IN ('active', 'completed', 'abandoned')),
    confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    priority   INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    metadata   TEXT
) STRICT;
CREATE INDEX branches_by_session ON branches (session_id, seq);
CREATE INDEX branches_by_parent ON branches (parent_id);

CREATE TABLE thoughts (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    input      TEXT,
    content    TEXT NOT NULL,
    confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    mode       TEXT NOT NULL,
    parent_id  TEXT REFERENCES thoughts (id) ON DELETE SET NULL,
    branch_id  TEXT REFERENCES branches (id) ON DELETE SET NULL,
    created_at INTEGER NOT NULL,
    metadata   TEXT
) STRICT;
CREATE INDEX thoughts_by_session ON thoughts (session_id, seq);
CREATE INDEX thoughts_by_parent ON thoughts (parent_id);
CREATE INDEX thoughts_by_branch ON thoughts (branch_id, seq);

CREATE VIRTUAL TABLE thoughts_text USING fts5 (
    input, content, content = 'thoughts', content_rowid = 'seq',
    tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TRIGGER thoughts_text_added AFTER INSERT ON thoughts BEGIN
    INSERT INTO thoughts_text (rowid, input, content) VALUES (new.seq, new.input, new.content);
END;
CREATE TRIGGER thoughts_text_deleted AFTER DELETE ON thoughts BEGIN
    INSERT INTO thoughts_text (thoughts_text, rowid, input, content)
    VALUES ('delete', old.seq, old.input, old.content);
END;
CREATE TRIGGER thoughts_text_changed AFTER UPDATE OF input, content ON thoughts BEGIN
    INSERT INTO thoughts_text (thoughts_text, rowid, input, content)
    VALUES ('delete', old.seq, old.input, old.content);
    INSERT INTO thoughts_text (rowid, input, content) VALUES (new.seq, new.input, new.content);
END;

CREATE TABLE cross_refs (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL UNIQUE,
    from_branch TEXT NOT NULL REFERENCES branches (id) ON DELETE CASCADE,
    to_branch   TEXT NOT NULL REFERENCES branches (id) ON DELETE CASCADE,
    ref_type    TEXT NOT NULL
        CHECK (ref_type IN ('supports', 'contradicts', 'extends', 'alternative', 'depends')),
    reason      TEXT,
    strength    REAL NOT NULL CHECK (strength BETWEEN 0 AND 1),
    created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX cross_refs_by_from ON cross_refs (from_branch);
CREATE INDEX cross_refs_by_to ON cross_refs (to_branch);

CREATE TABLE checkpoints (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL UNIQUE,
    session_id  TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    branch_id   TEXT REFERENCES branches (id) ON DELETE SET NULL,
    name        TEXT NOT NULL,
    description TEXT,
    snapshot    TEXT NOT NULL,
    created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX checkpoints_by_session ON checkpoints (session_id, seq);
CREATE INDEX checkpoints_by_branch ON checkpoints (branch_id);

CREATE TABLE state_snapshots (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    id            TEXT NOT NULL UNIQUE,
    session_id    TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    parent_id     TEXT REFERENCES state_snapshots (id) ON DELETE SET NULL,
    snapshot_type TEXT NOT NULL,
    description   TEXT,
    data          TEXT NOT NULL,
    created_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX state_snapshots_by_session ON state_snapshots (session_id, seq);
CREATE INDEX state_snapshots_by_parent ON state_snapshots (parent_id);

CREATE TABLE graphs (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    problem    TEXT,
    config     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX graphs_by_session ON graphs (session_id, seq);

CREATE TABLE graph_nodes (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL UNIQUE,
    graph_id    TEXT NOT NULL REFERENCES graphs (id) ON DELETE CASCADE,
    session_id  TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    content     TEXT NOT NULL,
    node_type   TEXT NOT NULL,
    score       REAL CHECK (score BETWEEN 0 AND 1),
    depth       INTEGER NOT NULL,
    is_active   INTEGER NOT NULL CHECK (is_active IN (0, 1)),
    is_terminal INTEGER NOT NULL CHECK (is_terminal IN (0, 1)),
    created_at  INTEGER NOT NULL,
    metadata    TEXT
) STRICT;
CREATE INDEX graph_nodes_by_graph ON graph_nodes (graph_id, seq);
CREATE INDEX graph_nodes_by_session ON graph_nodes (session_id);

CREATE TABLE graph_edges (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    graph_id   TEXT NOT NULL REFERENCES graphs (id) ON DELETE CASCADE,
    from_node  TEXT NOT NULL REFERENCES graph_nodes (id) ON DELETE CASCADE,
    to_node    TEXT NOT NULL REFERENCES graph_nodes (id) ON DELETE CASCADE,
    edge_type  TEXT NOT NULL,
    weight     REAL NOT NULL CHECK (weight BETWEEN 0 AND 1),
    created_at INTEGER NOT NULL,
    metadata   TEXT
) STRICT;
CREATE INDEX graph_edges_by_graph ON graph_edges (graph_id, seq);
CREATE INDEX graph_edges_by_from ON graph_edges (from_node);
CREATE INDEX graph_edges_by_to ON graph_edges (to_node);

CREATE TABLE invocations (
    seq               INTEGER PRIMARY KEY AUTOINCREMENT,
    id                TEXT NOT NULL UNIQUE,
    session_id        TEXT REFERENCES sessions (id) ON DELETE SET NULL,
    tool_name         TEXT NOT NULL,
    input             TEXT NOT NULL,
    output            TEXT,
    pipe_name         TEXT,
    latency_ms        INTEGER,
    success           INTEGER NOT NULL CHECK (success IN (0, 1)),
    error             TEXT,
    error_code        TEXT,
    model             TEXT,
    model_calls       INTEGER NOT NULL,
    prompt_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cost_usd          REAL,
    created_at        INTEGER NOT NULL
) STRICT;
CREATE INDEX invocations_by_session ON invocations (session_id, seq);

CREATE TABLE suspensions (
    id         TEXT PRIMARY KEY,
    tool_name  TEXT NOT NULL,
    arguments  TEXT NOT NULL,
    journal    TEXT NOT NULL,
    asks       TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    outcome    TEXT
) STRICT;
CREATE INDEX suspensions_by_expiry ON suspensions (expires_at);

-- "DELB": tells our files from other programs'.
PRAGMA application_id = 1145392194;
