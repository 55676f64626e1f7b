"""Reads the records that the program sonde writes (`sonde rtt db1 -o run.json`), with types and without other packages.

Times are whole nanoseconds. What was not measured is `None`, never 0. The form of a record is described by
docs/record.md and schema/record.v1.json of the project; this reader passes over fields that it does not know.
"""

from ._errors import BrokenRecord, NewerRecord, NoSuchPart, NotARecord, SondeError
from ._histogram import Bucket, Histogram
from ._record import Counts, Ended, Percentile, Record, Stream, Target, Times, Warned, parse, read

__all__ = [
    "BrokenRecord",
    "Bucket",
    "Counts",
    "Ended",
    "Histogram",
    "NewerRecord",
    "NoSuchPart",
    "NotARecord",
    "Percentile",
    "Record",
    "SondeError",
    "Stream",
    "Target",
    "Times",
    "Warned",
    "parse",
    "read",
]
