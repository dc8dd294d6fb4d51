-- Things that are kept whole, by kind and id. `seq` grows with every write, whatever is written: who
-- keeps something derived from items (an index) reads on from the last one it saw. What was deleted
-- stays as a mark, so that those who read on hear of it.
CREATE TABLE items (
    kind       TEXT NOT NULL,
    id         TEXT NOT NULL,
    version    INTEGER NOT NULL,
    seq        INTEGER NOT NULL UNIQUE,
    gone       INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    body       TEXT NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT;
CREATE INDEX items_by_kind ON items (kind, seq);
CREATE INDEX items_by_creation ON items (kind, gone, created_at DESC, id DESC);

-- What items are found by. One that only one may have is unique among those of its name.
CREATE TABLE item_keys (
    kind    TEXT NOT NULL,
    name    TEXT NOT NULL,
    value   TEXT NOT NULL,
    item_id TEXT NOT NULL,
    only    INTEGER NOT NULL,
    PRIMARY KEY (kind, name, value, item_id),
    FOREIGN KEY (kind, item_id) REFERENCES items (kind, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX item_keys_only ON item_keys (kind, name, value) WHERE only = 1;
CREATE INDEX item_keys_of ON item_keys (kind, item_id, name, value);

-- Long texts of items, such as the pages of a paper: apart, because lists leave them out.
CREATE TABLE item_parts (
    kind    TEXT NOT NULL,
    item_id TEXT NOT NULL,
    part    INTEGER NOT NULL,
    text    TEXT NOT NULL,
    PRIMARY KEY (kind, item_id, part),
    FOREIGN KEY (kind, item_id) REFERENCES items (kind, id) ON DELETE CASCADE
) STRICT;
