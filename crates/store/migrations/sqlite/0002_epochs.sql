-- Going back. A session's history is a tree of epochs: a checkpoint ends one and begins its child;
-- a backtrack begins a child of the epoch its checkpoint ended. Every row has the epoch it was made
-- in; it is current if that epoch is the session's own or one of its ancestors, else it is set
-- aside. `set_aside` holds the outcome, so that reads need not walk the tree. Epoch 0 is the root
-- and has no row. Numbers grow along every line of descent.

CREATE TABLE epochs (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    number     INTEGER NOT NULL,
    parent     INTEGER NOT NULL,
    PRIMARY KEY (session_id, number)
) STRICT, WITHOUT ROWID;

-- What a branch or a node was in another epoch than the one its present values are from: a column
-- for each value that can change, because SQLite's JSON would round fractions. Epochs that ended do
-- not change, so neither do these rows.
CREATE TABLE branch_revisions (
    id         TEXT NOT NULL,
    epoch      INTEGER NOT NULL,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    state      TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (id, epoch)
) STRICT;
CREATE INDEX branch_revisions_by_session ON branch_revisions (session_id, epoch);

CREATE TABLE node_revisions (
    id          TEXT NOT NULL,
    epoch       INTEGER NOT NULL,
    session_id  TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    score       REAL,
    is_active   INTEGER NOT NULL,
    is_terminal INTEGER NOT NULL,
    metadata    TEXT,
    pruned      INTEGER NOT NULL,
    PRIMARY KEY (id, epoch)
) STRICT;
CREATE INDEX node_revisions_by_session ON node_revisions (session_id, epoch);

ALTER TABLE sessions ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;

ALTER TABLE thoughts ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE thoughts ADD COLUMN set_aside INTEGER NOT NULL DEFAULT 0 CHECK (set_aside IN (0, 1));
CREATE INDEX current_thoughts ON thoughts (session_id, seq) WHERE set_aside = 0;
CREATE INDEX current_on_branch ON thoughts (branch_id, seq) WHERE set_aside = 0;

-- The thought that a line of thoughts began with; of that thought, its own id.
ALTER TABLE thoughts ADD COLUMN root_id TEXT;
WITH RECURSIVE line (id, root) AS (
    SELECT id, id FROM thoughts WHERE parent_id IS NULL
    UNION ALL SELECT t.id, line.root FROM thoughts t JOIN line ON t.parent_id = line.id
)
UPDATE thoughts SET root_id = line.root FROM line WHERE line.id = thoughts.id;

-- `value_epoch`: the epoch that the present values are from.
ALTER TABLE branches ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE branches ADD COLUMN value_epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE branches ADD COLUMN set_aside INTEGER NOT NULL DEFAULT 0 CHECK (set_aside IN (0, 1));

ALTER TABLE cross_refs ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cross_refs ADD COLUMN set_aside INTEGER NOT NULL DEFAULT 0 CHECK (set_aside IN (0, 1));

ALTER TABLE graphs ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE graphs ADD COLUMN set_aside INTEGER NOT NULL DEFAULT 0 CHECK (set_aside IN (0, 1));

ALTER TABLE graph_nodes ADD COLUMN pruned INTEGER NOT NULL DEFAULT 0 CHECK (pruned IN (0, 1));
ALTER TABLE graph_nodes ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE graph_nodes ADD COLUMN value_epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE graph_nodes ADD COLUMN set_aside INTEGER NOT NULL DEFAULT 0 CHECK (set_aside IN (0, 1));

ALTER TABLE graph_edges ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE graph_edges ADD COLUMN set_aside INTEGER NOT NULL DEFAULT 0 CHECK (set_aside IN (0, 1));

-- The epoch a checkpoint ended.
ALTER TABLE checkpoints ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoints ADD COLUMN kind TEXT NOT NULL DEFAULT 'asked' CHECK (kind IN ('asked', 'undo'));

-- Checkpoints that were made before there were epochs each end one, in the order of their times, and
-- what there was belongs to the epoch of its time. Values that changed in between are not known.
UPDATE checkpoints SET epoch = (SELECT count(*) FROM checkpoints c
    WHERE c.session_id = checkpoints.session_id
    AND (c.created_at, c.seq) < (checkpoints.created_at, checkpoints.seq));
INSERT INTO epochs (session_id, number, parent) SELECT session_id, epoch + 1, epoch FROM checkpoints;
UPDATE sessions SET epoch = (SELECT count(*) FROM checkpoints c WHERE c.session_id = sessions.id)
    WHERE id IN (SELECT session_id FROM checkpoints);
UPDATE thoughts SET epoch = (SELECT count(*) FROM checkpoints c
    WHERE c.session_id = thoughts.session_id AND c.created_at < thoughts.created_at)
    WHERE session_id IN (SELECT session_id FROM checkpoints);
UPDATE branches SET epoch = (SELECT count(*) FROM checkpoints c
    WHERE c.session_id = branches.session_id AND c.created_at < branches.created_at)
    WHERE session_id IN (SELECT session_id FROM checkpoints);
UPDATE cross_refs SET epoch = (SELECT count(*) FROM checkpoints c
    JOIN branches b ON b.session_id = c.session_id
    WHERE b.id = cross_refs.from_branch AND c.created_at < cross_refs.created_at);
UPDATE graphs SET epoch = (SELECT count(*) FROM checkpoints c
    WHERE c.session_id = graphs.session_id AND c.created_at < graphs.created_at)
    WHERE session_id IN (SELECT session_id FROM checkpoints);
UPDATE graph_nodes SET epoch = (SELECT count(*) FROM checkpoints c
    WHERE c.session_id = graph_nodes.session_id AND c.created_at < graph_nodes.created_at)
    WHERE session_id IN (SELECT session_id FROM checkpoints);
UPDATE graph_edges SET epoch = (SELECT count(*) FROM checkpoints c
    JOIN graphs g ON g.session_id = c.session_id
    WHERE g.id = graph_edges.graph_id AND c.created_at < graph_edges.created_at);
UPDATE branches SET value_epoch = epoch;
UPDATE graph_nodes SET value_epoch = epoch;

CREATE VIRTUAL TABLE nodes_text USING fts5 (
    content, content = 'graph_nodes', content_rowid = 'seq',
    tokenize = 'porter unicode61 remove_diacritics 2'
);
INSERT INTO nodes_text (rowid, content) SELECT seq, content FROM graph_nodes;
CREATE TRIGGER nodes_text_added AFTER INSERT ON graph_nodes BEGIN
    INSERT INTO nodes_text (rowid, content) VALUES (new.seq, new.content);
END;
CREATE TRIGGER nodes_text_deleted AFTER DELETE ON graph_nodes BEGIN
    INSERT INTO nodes_text (nodes_text, rowid, content) VALUES ('delete', old.seq, old.content);
END;
