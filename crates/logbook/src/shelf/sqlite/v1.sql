-- Version 1. Ids are the 32 digits of a UUID without hyphens; *_ns is a wall-clock instant in nanoseconds since 1970 UTC; JSON is as
-- the schemas of sonde's documents say; `document` of runs and records is JSON compressed by zstd.

CREATE TABLE runs (
    id         TEXT PRIMARY KEY,
    started_ns INTEGER NOT NULL,
    started    TEXT NOT NULL,         -- RFC 3339, with the offset of the place
    plan       TEXT,                  -- the plan's name
    host_count INTEGER NOT NULL,      -- hosts of the plan
    planned    INTEGER,               -- places that were to be measured
    ended      TEXT,                  -- JSON; absent while it goes on, and where it was killed
    document   BLOB NOT NULL          -- the run without what stands in other tables and columns
) STRICT;
CREATE INDEX runs_by_time ON runs (started_ns);

CREATE TABLE stages (
    run   TEXT NOT NULL REFERENCES runs (id),
    place INTEGER NOT NULL,           -- from 0, in the order they were done
    stage TEXT NOT NULL,
    PRIMARY KEY (run, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE hosts (
    run   TEXT NOT NULL REFERENCES runs (id),
    place INTEGER NOT NULL,           -- from 0, in the plan's order
    host  TEXT NOT NULL,
    seen  TEXT NOT NULL,              -- JSON
    PRIMARY KEY (run, place)
) STRICT, WITHOUT ROWID;

CREATE TABLE checks (
    seq       INTEGER PRIMARY KEY,    -- in the order they were kept
    run       TEXT NOT NULL REFERENCES runs (id),
    from_host TEXT NOT NULL,
    to_host   TEXT NOT NULL,
    over      TEXT NOT NULL,          -- internal or external
    found     TEXT NOT NULL,          -- JSON
    UNIQUE (run, from_host, to_host, over, found)
) STRICT;

CREATE TABLE records (
    id         TEXT PRIMARY KEY,
    started_ns INTEGER NOT NULL,
    started    TEXT NOT NULL,
    host       TEXT,                  -- as typed
    address    TEXT NOT NULL,
    port       INTEGER,
    question   TEXT NOT NULL,         -- rtt, throughput, load
    method     TEXT NOT NULL,         -- on one line
    document   BLOB NOT NULL
) STRICT;
CREATE INDEX records_by_time ON records (started_ns);

CREATE TABLE cells (
    seq        INTEGER PRIMARY KEY,   -- in the order they were kept
    run        TEXT NOT NULL REFERENCES runs (id),
    from_host  TEXT NOT NULL,
    to_host    TEXT NOT NULL,
    over       TEXT NOT NULL,
    method     TEXT NOT NULL,         -- its name in the plan
    repeat     INTEGER NOT NULL,      -- from 0
    started_ns INTEGER NOT NULL,
    failed     INTEGER NOT NULL,      -- 1: nothing was measured, or not all
    record     TEXT REFERENCES records (id),
    cell       TEXT NOT NULL,         -- JSON
    UNIQUE (run, from_host, to_host, over, method, repeat, started_ns)
) STRICT;
CREATE INDEX cells_by_record ON cells (record);
