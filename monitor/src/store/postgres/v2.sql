-- Version 2: silences that were asked for by a command.

CREATE TABLE sonde.silences (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- no number is given twice
    until  bigint NOT NULL,                                 -- when it ends, or was ended
    told   text NOT NULL                                    -- JSON, as it was asked for
);
