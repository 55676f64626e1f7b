-- Version 1. Times are seconds since 1970 UTC, intervals are named by their first; a span is octets as measure::span has them; JSON is as
-- sonde-monitor's documents say. All in one schema, so that a database may have others beside.

CREATE TABLE sonde.cells (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    from_host text NOT NULL,
    to_host   text NOT NULL,
    over      text NOT NULL,          -- udp, tcp, icmp, tcp-connect
    UNIQUE (from_host, to_host, over)
);

-- A partition for each day, minutes_DAY, where DAY counts days since 1970: a day is removed as a whole.
CREATE TABLE sonde.minutes (
    at   bigint NOT NULL,
    cell bigint NOT NULL,
    span bytea NOT NULL,
    PRIMARY KEY (cell, at)
) PARTITION BY RANGE (at);
-- Rows come by time, so a few kilobytes say where a minute of all cells lies.
CREATE INDEX minutes_by_time ON sonde.minutes USING brin (at);

CREATE TABLE sonde.hours (
    at   bigint NOT NULL,
    cell bigint NOT NULL,
    span bytea NOT NULL,
    PRIMARY KEY (cell, at)
);
CREATE INDEX hours_by_time ON sonde.hours USING brin (at) WITH (pages_per_range = 16);

CREATE TABLE sonde.days (
    at   bigint NOT NULL,
    cell bigint NOT NULL,
    span bytea NOT NULL,
    PRIMARY KEY (cell, at)
);
CREATE INDEX days_by_time ON sonde.days USING brin (at) WITH (pages_per_range = 16);

CREATE TABLE sonde.unmade (
    level text NOT NULL,              -- hours, days: the table it is to be made in
    at    bigint NOT NULL,
    PRIMARY KEY (level, at)
);

CREATE TABLE sonde.edges (
    level text PRIMARY KEY,           -- minutes, hours, days
    at    bigint NOT NULL             -- the first second that is kept
);

CREATE TABLE sonde.agents (
    instance text PRIMARY KEY,        -- a start of an agent: 32 digits
    upto     bigint NOT NULL,         -- the last beat that is kept
    latest   bigint NOT NULL          -- the latest minute that it told of
);

CREATE TABLE sonde.incidents (
    id    text PRIMARY KEY,           -- 32 digits
    onset bigint NOT NULL,
    begun bigint NOT NULL,
    ended bigint,                     -- absent: it goes on
    told  text NOT NULL               -- JSON
);
CREATE INDEX incidents_by_time ON sonde.incidents (begun);
CREATE INDEX incidents_open ON sonde.incidents (begun) WHERE ended IS NULL;

CREATE TABLE sonde.marks (
    id   text PRIMARY KEY,            -- 32 digits
    at   bigint NOT NULL,
    told text NOT NULL                -- JSON
);
CREATE INDEX marks_by_time ON sonde.marks (at);

CREATE TABLE sonde.baselines (
    name text PRIMARY KEY,
    told text NOT NULL                -- JSON
);
