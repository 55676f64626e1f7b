-- Version 1. Times are seconds since 1970 UTC, intervals are named by their first; a span is octets as measure::span has them; JSON is as
-- sonde-monitor's documents say.

CREATE TABLE cells (
    id        INTEGER PRIMARY KEY,
    from_host TEXT NOT NULL,
    to_host   TEXT NOT NULL,
    over      TEXT NOT NULL,          -- udp, tcp, icmp, tcp-connect
    UNIQUE (from_host, to_host, over)
) STRICT;

-- By time first: what a minute brings lies together, and so does what is removed.
CREATE TABLE minutes (
    at   INTEGER NOT NULL,
    cell INTEGER NOT NULL REFERENCES cells (id),
    span BLOB NOT NULL,
    PRIMARY KEY (at, cell)
) STRICT, WITHOUT ROWID;

-- By cell first: they are read by cell, over a long time.
CREATE TABLE hours (
    cell INTEGER NOT NULL REFERENCES cells (id),
    at   INTEGER NOT NULL,
    span BLOB NOT NULL,
    PRIMARY KEY (cell, at)
) STRICT, WITHOUT ROWID;

CREATE TABLE days (
    cell INTEGER NOT NULL REFERENCES cells (id),
    at   INTEGER NOT NULL,
    span BLOB NOT NULL,
    PRIMARY KEY (cell, at)
) STRICT, WITHOUT ROWID;

CREATE TABLE unmade (
    level TEXT NOT NULL,              -- hours, days: the table it is to be made in
    at    INTEGER NOT NULL,
    PRIMARY KEY (level, at)
) STRICT, WITHOUT ROWID;

CREATE TABLE edges (
    level TEXT PRIMARY KEY,           -- minutes, hours, days
    at    INTEGER NOT NULL            -- the first second that is kept
) STRICT, WITHOUT ROWID;

CREATE TABLE agents (
    instance TEXT PRIMARY KEY,        -- a start of an agent: 32 digits
    upto     INTEGER NOT NULL,        -- the last beat that is kept
    latest   INTEGER NOT NULL         -- the latest minute that it told of
) STRICT, WITHOUT ROWID;

CREATE TABLE incidents (
    id    TEXT PRIMARY KEY,           -- 32 digits
    onset INTEGER NOT NULL,
    begun INTEGER NOT NULL,
    ended INTEGER,                    -- absent: it goes on
    told  TEXT NOT NULL               -- JSON
) STRICT;
CREATE INDEX incidents_by_time ON incidents (begun);
CREATE INDEX incidents_open ON incidents (begun) WHERE ended IS NULL;

CREATE TABLE marks (
    id   TEXT PRIMARY KEY,            -- 32 digits
    at   INTEGER NOT NULL,
    told TEXT NOT NULL                -- JSON
) STRICT;
CREATE INDEX marks_by_time ON marks (at);

CREATE TABLE baselines (
    name TEXT PRIMARY KEY,
    told TEXT NOT NULL                -- JSON
) STRICT;
