"""A record as objects with types."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, Optional, Union

from ._errors import BrokenRecord, NewerRecord, NoSuchPart, NotARecord
from ._fields import Fields
from ._histogram import Histogram, decoded, rank

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped, import-not-found, unused-ignore]
    import polars  # type: ignore[import-not-found, unused-ignore]

FORMAT = "sonde-record"
VERSION = 1
# As the program itself: no record is larger.
LARGEST_FILE = 64 * 1024 * 1024

# Columns of rows that are no whole numbers.
FRACTIONS = frozenset({"mean_ns"})

Row = dict[str, Union[int, float, None]]


@dataclass(frozen=True)
class Target:
    """Whom the measurement was asked of. `own_reflector`: over loopback, so that no network was measured."""

    host: Optional[str]
    address: str
    port: Optional[int]
    own_reflector: bool


@dataclass(frozen=True)
class Ended:
    """How it ended: `complete`, `interrupted` (with a signal) or `peer-lost` (with a reason)."""

    how: str
    signal: Optional[str]
    reason: Optional[str]


@dataclass(frozen=True)
class Warned:
    """A warning by its kind; docs/warnings.md explains each. Its numbers are in the document."""

    kind: str


@dataclass(frozen=True)
class Counts:
    """Requests by what became of them; the six after `scheduled` add up to it."""

    scheduled: int
    answered: int
    late: int
    lost: int
    refused: int
    corrupt: int
    send_failed: int
    duplicated: int
    reordered: int


@dataclass(frozen=True)
class Percentile:
    """A percentile by nearest rank, its 95 % interval, and the printing rule: `firm`, `rough`, or `too-few` values beyond it to print it."""

    percent: float
    value_ns: Optional[int]
    low_ns: Optional[int]
    high_ns: Optional[int]
    beyond: int
    standing: str


@dataclass(frozen=True)
class Times:
    """A distribution of times. `exact` says whether its percentiles are; the histogram has three digits."""

    count: int
    min_ns: Optional[int]
    max_ns: Optional[int]
    mean_ns: Optional[float]
    mean_ci_ns: Optional[float]
    stddev_ns: Optional[float]
    effective_sample_size: Optional[float]
    exact: bool
    percentiles: tuple[Percentile, ...]
    histogram: Histogram

    def percentile(self, percent: Union[int, float]) -> Percentile:
        """A percentile: as the record has it, or from the histogram, without an interval then."""
        for one in self.percentiles:
            if one.percent == float(percent):
                return one
        # A share below one value is that value: nothing lies before it.
        beyond = max(0, self.count - rank(percent, self.count))
        standing = "firm" if beyond >= 100 else "rough" if beyond >= 10 else "too-few"
        return Percentile(float(percent), self.histogram.value_ns(percent), None, None, beyond, standing)


@dataclass(frozen=True)
class Stream:
    """A throughput run: payload octets a second of the sending and of the receiving end, over the time of the end that measured."""

    direction: str
    elapsed_ns: int
    sent_bytes_per_s: Optional[float]
    received_bytes_per_s: Optional[float]


@dataclass(frozen=True)
class Record:
    """One measurement. `document` is all of it, as JSON has it."""

    id: str
    started: str
    question: str
    target: Target
    ended: Ended
    warnings: tuple[Warned, ...]
    counts: Optional[Counts]
    response: Optional[Times]
    service: Optional[Times]
    stream: Optional[Stream]
    rows: tuple[Row, ...]
    document: dict[str, Any]

    @property
    def histogram(self) -> Histogram:
        """The histogram of the response times."""
        return self._times().histogram

    @property
    def percentiles(self) -> tuple[Percentile, ...]:
        """The percentiles of the response times that the record has, p50 to p99.999."""
        return self._times().percentiles

    def percentile(self, percent: Union[int, float]) -> Percentile:
        """A percentile of the response times."""
        return self._times().percentile(percent)

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each second (or interval). Absent values are `pandas.NA`. Takes pandas."""
        import pandas

        kinds = {True: "Float64", False: "UInt64"}
        columns = self._columns()
        return pandas.DataFrame({name: pandas.array(of, dtype=kinds[name in FRACTIONS]) for name, of in columns.items()})

    def to_polars(self) -> polars.DataFrame:
        """A row for each second (or interval). Absent values are null. Takes Polars."""
        import polars

        columns = self._columns()
        kinds = {name: polars.Float64 if name in FRACTIONS else polars.UInt64 for name in columns}
        return polars.DataFrame(columns, schema=kinds)

    def _columns(self) -> dict[str, list[Union[int, float, None]]]:
        names = self.rows[0] if self.rows else ()
        return {name: [row[name] for row in self.rows] for name in names}

    def _times(self) -> Times:
        if self.response is None:
            raise NoSuchPart(f"this record is of `sonde {self.question}`, which has no response times: see `stream`")
        return self.response


def read(path: Union[str, os.PathLike[str]]) -> Record:
    """Reads a record from a file: what `-o FILE.json` and `--json` write, or the lines of `--json-lines`."""
    name = ascii(os.fspath(path))
    with open(path, "rb") as file:
        octets = file.read(LARGEST_FILE + 1)
    if len(octets) > LARGEST_FILE:
        raise NotARecord(f"{name}: more than 64 MiB, which no record has")
    try:
        return parse(octets)
    except (NotARecord, NewerRecord, BrokenRecord) as error:
        raise type(error)(f"{name}: {error}") from None


def parse(octets: Union[bytes, str]) -> Record:
    """Reads a record from its JSON."""
    document = _document(octets)
    version = document.get("version")
    if document.get("format") != FORMAT:
        said = ascii(document.get("format"))[:60]
        raise NotARecord(f"a document of the form {said}, not of one measurement: see `sonde show`, `sonde export`")
    if isinstance(version, int) and version > VERSION:
        raise NewerRecord(f"version {version if version < 2**32 else 'beyond 32 bits'}; this reader knows up to {VERSION}")
    fields = Fields(document)
    if fields.whole("version") != VERSION:
        raise fields.refuse("version", f"this reader knows {VERSION}")
    return _record(fields, document)


def _record(fields: Fields, document: dict[str, Any]) -> Record:
    target, ended = fields.within("target"), fields.within("ended")
    outcome = fields.within("outcome") if fields.has("outcome") else None
    stream = fields.within("stream") if fields.has("stream") else None
    if outcome is None and stream is None:
        raise fields.refuse("outcome", "absent, and so is `stream`")
    return Record(
        id=fields.text("id"),
        started=fields.text("started"),
        question=fields.text("question"),
        target=Target(
            target.text_if_any("host"), target.text("address"), target.whole_if_any("port"), target.truth("own_reflector")
        ),
        ended=Ended(ended.text("how"), ended.text_if_any("signal"), ended.text_if_any("reason")),
        warnings=tuple(Warned(one.text("kind")) for one in fields.each("warnings")),
        counts=_counts(outcome.within("counts")) if outcome else None,
        response=_times(outcome.within("response")) if outcome else None,
        service=_times(outcome.within("service")) if outcome and outcome.has("service") else None,
        stream=_stream(stream) if stream else None,
        rows=tuple(_seconds(outcome) if outcome else _intervals(stream) if stream else ()),
        document=document,
    )


def _counts(fields: Fields) -> Counts:
    names = Counts.__dataclass_fields__
    counts = Counts(**{name: fields.whole(name) for name in names})
    fates = counts.answered + counts.late + counts.lost + counts.refused + counts.corrupt + counts.send_failed
    if fates != counts.scheduled:
        raise fields.refuse("scheduled", f"{counts.scheduled}, and its parts add up to {fates}")
    return counts


def _times(fields: Fields) -> Times:
    try:
        histogram = decoded(fields.text("histogram"))
    except BrokenRecord as error:
        raise fields.refuse("histogram", str(error)) from None
    count = fields.whole("count")
    if histogram.count != count:
        raise fields.refuse("histogram", f"holds {histogram.count} values, not the {count} that `count` says")
    return Times(
        count=count,
        min_ns=fields.whole_if_any("min_ns"),
        max_ns=fields.whole_if_any("max_ns"),
        mean_ns=fields.number_if_any("mean_ns"),
        mean_ci_ns=fields.number_if_any("mean_ci_ns"),
        stddev_ns=fields.number_if_any("stddev_ns"),
        effective_sample_size=fields.number_if_any("effective_sample_size"),
        exact=fields.truth("exact"),
        percentiles=tuple(_percentile(one) for one in fields.each("quantiles")),
        histogram=histogram,
    )


def _percentile(fields: Fields) -> Percentile:
    share = fields.number("q")
    if not 0 <= share <= 1:
        raise fields.refuse("q", "a share from 0 to 1 was expected")
    return Percentile(
        # 0.999 times 100 is 99.9 and not its neighbour.
        percent=round(share * 100, 9),
        value_ns=fields.whole_if_any("value_ns"),
        low_ns=fields.whole_if_any("low_ns"),
        high_ns=fields.whole_if_any("high_ns"),
        beyond=fields.whole("beyond"),
        standing=fields.text("standing"),
    )


def _stream(fields: Fields) -> Stream:
    return Stream(
        direction=fields.text("direction"),
        elapsed_ns=fields.whole("elapsed_ns"),
        sent_bytes_per_s=fields.number_if_any("sent_bytes_per_s"),
        received_bytes_per_s=fields.number_if_any("received_bytes_per_s"),
    )


def _seconds(outcome: Fields) -> list[Row]:
    rows = []
    for second in outcome.each("seconds"):
        row: Row = {"at_ns": second.whole("at_ns"), "length_ns": second.whole("length_ns")}
        row.update(vars(_counts(second.within("counts"))))
        row.update(
            min_ns=second.whole_if_any("min_ns"),
            mean_ns=second.number_if_any("mean_ns"),
            max_ns=second.whole_if_any("max_ns"),
        )
        rows.append(row)
    return rows


def _intervals(stream: Fields) -> list[Row]:
    names = ("at_ns", "length_ns", "bytes", "calls", "failed_calls")
    return [{name: one.whole(name) for name in names} for one in stream.each("intervals")]


def _document(octets: Union[bytes, str]) -> dict[str, Any]:
    try:
        return _object(octets)
    except NotARecord:
        text = octets.decode("utf-8", "replace") if isinstance(octets, bytes) else octets
        last = text.strip().rpartition("\n")[2]
        if last == text.strip():
            raise
    line = _object(last)
    if line.get("event") != "end" or not isinstance(line.get("data"), dict):
        raise NotARecord("no JSON document, nor lines of which the last is the record (event `end`)")
    data: dict[str, Any] = line["data"]
    return data


def _object(octets: Union[bytes, str]) -> dict[str, Any]:
    try:
        value = json.loads(octets, parse_constant=_no_number)
    except RecursionError:
        raise NotARecord("JSON that is nested too deep") from None
    except ValueError as error:
        raise NotARecord(f"no JSON: {ascii(str(error))[1:-1][:120]}") from None
    if not isinstance(value, dict):
        raise NotARecord("JSON, but no object")
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
