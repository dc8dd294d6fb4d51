-- Runs of chains. A run is its row, which says how far it has come, and its events, which never
-- change. `events` is the number of the newest: whoever adds one must know it. The plan comes last
-- because lists leave it out, and it can be long.
CREATE TABLE chain_runs (
    id         TEXT PRIMARY KEY,
    base       TEXT NOT NULL,
    number     INTEGER NOT NULL,
    command    TEXT NOT NULL,
    owner      TEXT,
    state      TEXT NOT NULL CHECK (state IN ('open', 'done', 'aborted')),
    steps      INTEGER NOT NULL,
    at_step    INTEGER NOT NULL,
    events     INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    plan       TEXT NOT NULL,
    UNIQUE (base, number)
) STRICT;
CREATE INDEX chain_runs_by_update ON chain_runs (updated_at DESC, number DESC, id DESC);

-- A run's events lie side by side, so that picking it up again reads them in one go.
CREATE TABLE chain_events (
    run_id     TEXT NOT NULL REFERENCES chain_runs (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL CHECK (seq > 0),
    kind       TEXT NOT NULL,
    step       INTEGER,
    created_at INTEGER NOT NULL,
    data       TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
) STRICT, WITHOUT ROWID;

-- What was set in the prompt engine at run time.
CREATE TABLE engine_state (
    key        TEXT PRIMARY KEY,
    value      TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Holds all that figures of use are made of, so that they read no long rows.
CREATE INDEX invocations_by_tool ON invocations (tool_name, created_at, success, latency_ms);
