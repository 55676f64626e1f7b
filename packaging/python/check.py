"""Checks the installed reader: by real records (the arguments), and by what is no record, or one that claims too much.

usage: check.py RTT.json THROUGHPUT.json LINES.jsonl       records of `sonde rtt`, `sonde throughput` and `sonde rtt --json-lines`
"""

from __future__ import annotations

import base64
import copy
import json
import struct
import sys
from typing import Any, Callable

import sonde


def check_real(path: str, lines: str) -> None:
    record = sonde.read(path)
    response = record.response
    assert record.question == "rtt" and response is not None and record.counts is not None
    assert record.histogram.count == response.count and record.counts.scheduled >= response.count > 0
    assert record.rows and sum(row["answered"] or 0 for row in record.rows) == record.counts.answered
    for one in record.percentiles:
        told = record.histogram.value_ns(one.percent)
        # Three digits, and a percentile that the record has is exact up to a million values.
        assert one.value_ns is not None and told is not None
        assert one.value_ns <= told <= one.value_ns * 1.002 or not response.exact, (one, told)
        assert record.percentile(one.percent) == one
    assert record.percentile(100).beyond == 0 and record.percentile(100).standing == "too-few"
    # The largest value that a distribution has lies in its last counter.
    last = record.histogram.buckets[-1]
    assert response.max_ns is not None and last.low_ns <= response.max_ns <= last.high_ns
    assert (record.histogram + record.histogram).count == 2 * response.count
    assert sonde.read(lines).question == "rtt"


def check_stream(path: str) -> None:
    record = sonde.read(path)
    assert record.stream is not None and record.stream.received_bytes_per_s and record.response is None
    refused(sonde.NoSuchPart, lambda: record.histogram)


def head(length: int, digits: int = 3, highest: int = 3_600_000_000_000, cookie: int = 0x1C849313) -> bytes:
    return struct.pack(">IIIIQQd", cookie, length, 0, digits, 1, highest, 1.0)


def check_known() -> None:
    """Histograms that were written by hand: 1 and 2048 once, 4096 twice (three digits: 4096 and 4097 share a counter)."""
    # Counters 1 and 2048, then 3072: the first behind the 2048 of length 1 and the 1024 of length 2.
    counters = bytes([0x01, 0x02]) + skip(2046) + bytes([0x02]) + skip(1023) + bytes([0x04])
    histogram = histogram_of(head(len(counters)) + counters)
    assert [(one.low_ns, one.high_ns, one.count) for one in histogram.buckets] == [(1, 1, 1), (2048, 2049, 1), (4096, 4099, 2)]
    assert [histogram.value_ns(percent) for percent in (0, 25, 25.1, 50, 50.1, 100)] == [1, 1, 2049, 2049, 4099, 4099]
    assert histogram_of(head(0)).value_ns(50) is None


def skip(empty: int) -> bytes:
    number, octets = 2 * empty - 1, bytearray()
    while number >= 0x80:
        octets.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*octets, number])


def histogram_of(octets: bytes) -> sonde.Histogram:
    from sonde._histogram import decoded

    return decoded(base64.b64encode(octets).decode())


def check_hostile(path: str) -> None:
    for octets in (
        b"", head(0)[:39], head(5), head(0) + b"\x00", head(2) + b"\x01\x80", head(1, cookie=0x1C849314) + b"\x02", head(1, digits=9) + b"\x02",
        head(1, highest=2**63) + b"\x02", head(1, highest=1) + b"\x02", head(10) + b"\xff" * 9 + b"\x02",
        head(10) + b"\xff" * 8 + b"\x7f" + b"\x02", head(4) + skip(2**20) + b"\x02",
    ):
        refused(sonde.BrokenRecord, lambda: histogram_of(octets))
    for text in (b"", b"{", b"[]", b"nothing", b'{"a": NaN}', b"[" * 100_000, b"\xff\xfe\x00", b'{"format": "sonde-run", "version": 1}',
                 b'{"event": "start"}\n{"event": "error", "data": {}}', b"9" * 5000):
        refused(sonde.NotARecord, lambda: sonde.parse(text))
    with open(path, encoding="utf-8") as file:
        document = json.load(file)

    def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
        other = copy.deepcopy(document)
        change(other)
        return json.dumps(other).encode()

    refused(sonde.NewerRecord, lambda: sonde.parse(changed(lambda it: it.update(version=2))))
    changes: list[Callable[[dict[str, Any]], object]] = [
        lambda it: it.update(version="1"),
        lambda it: it.pop("target"),
        lambda it: it.update(outcome=None, stream=None),
        lambda it: it["outcome"].update(counts=[]),
        lambda it: it["outcome"]["counts"].update(answered=-1),
        lambda it: it["outcome"]["counts"].update(lost=10**4000),
        lambda it: it["outcome"]["counts"].update(lost=True),
        lambda it: it["outcome"]["response"].update(count=1.5),
        lambda it: it["outcome"]["response"].update(count=it["outcome"]["response"]["count"] + 1),
        lambda it: it["outcome"]["response"].update(mean_ns="x\x1b[31m"),
        lambda it: it["outcome"]["response"].update(histogram="!"),
        lambda it: it["outcome"]["response"]["quantiles"][0].update(q=7),
        lambda it: it.update(warnings=[1]),
    ]
    for change in changes:
        error = refused(sonde.BrokenRecord, lambda: sonde.parse(changed(change)))
        assert error.isprintable() and len(error) < 300, error


def check_frames(path: str) -> None:
    record = sonde.read(path)
    try:
        import pandas  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError:
        print("skipped: frames of pandas, which is not installed")
    else:
        frame = record.to_pandas()
        assert len(frame) == len(record.rows) and frame["answered"].sum() == sum(row["answered"] or 0 for row in record.rows)
        assert str(frame["min_ns"].dtype) == "UInt64" and int(record.histogram.to_pandas()["count"].sum()) == record.histogram.count
        print("pandas", pandas.__version__)
    try:
        import polars  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        print("skipped: frames of Polars, which is not installed")
    else:
        frame = record.to_polars()
        assert frame.height == len(record.rows) and frame.schema["mean_ns"] == polars.Float64
        assert record.histogram.to_polars()["count"].sum() == record.histogram.count
        print("polars", polars.__version__)


def refused(kind: type[sonde.SondeError], call: Callable[[], object]) -> str:
    try:
        got = call()
    except kind as error:
        return str(error)
    raise AssertionError(f"{kind.__name__} was expected, not {ascii(got)[:100]}")


if __name__ == "__main__":
    real, stream, by_line = sys.argv[1:]
    check_known()
    check_real(real, by_line)
    check_stream(stream)
    check_hostile(real)
    check_frames(real)
    print("reader: all held")
