-- Version 2: silences that were asked for by a command.

CREATE TABLE silences (
    number INTEGER PRIMARY KEY AUTOINCREMENT, -- no number is given twice
    until  INTEGER NOT NULL,                  -- when it ends, or was ended
    told   TEXT NOT NULL                      -- JSON, as it was asked for
) STRICT;
