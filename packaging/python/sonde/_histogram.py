"""A histogram of times in HdrHistogram's V2 encoding: 40 octets of head, then counters as LEB128 with the zigzag of signed numbers,
in which a negative one stands for that many empty counters."""

from __future__ import annotations

import base64
import binascii
import struct
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Optional, Union

from ._errors import BrokenRecord
from ._fields import LARGEST

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped, import-not-found, unused-ignore]
    import polars  # type: ignore[import-not-found, unused-ignore]

_HEAD = struct.Struct(">IIIIQQd")
# The fifth to eighth bit tell a word's length, which the V2 encoding does not use.
_COOKIE = 0x1C849303
_WORD = 0xF0
# What a counter takes at most, in octets.
_WIDEST = 9


@dataclass(frozen=True)
class Bucket:
    """A counter: the values from `low_ns` to `high_ns`, both included."""

    low_ns: int
    high_ns: int
    count: int


@dataclass(frozen=True)
class Histogram:
    """The counters that are not 0, in ascending order of their values. Histograms of one precision may be added up."""

    digits: int
    buckets: tuple[Bucket, ...]

    @property
    def count(self) -> int:
        """Number of values."""
        return sum(bucket.count for bucket in self.buckets)

    def value_ns(self, percent: Union[int, float]) -> Optional[int]:
        """A percentile by nearest rank, to the histogram's precision: the upper end of its counter. `None` where it is empty."""
        wanted = rank(percent, self.count)
        seen = 0
        for bucket in self.buckets:
            seen += bucket.count
            if seen >= wanted:
                return bucket.high_ns
        return None

    def __add__(self, other: Histogram) -> Histogram:
        if self.digits != other.digits:
            raise ValueError(f"histograms of {self.digits} and of {other.digits} digits cannot be added up")
        both: dict[tuple[int, int], int] = {}
        for bucket in self.buckets + other.buckets:
            place = (bucket.low_ns, bucket.high_ns)
            both[place] = both.get(place, 0) + bucket.count
        return Histogram(self.digits, tuple(Bucket(low, high, both[low, high]) for low, high in sorted(both)))

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each counter: `low_ns`, `high_ns`, `count`. Takes pandas."""
        import pandas

        return pandas.DataFrame(self._columns(), dtype="uint64")

    def to_polars(self) -> polars.DataFrame:
        """A row for each counter: `low_ns`, `high_ns`, `count`. Takes Polars."""
        import polars

        return polars.DataFrame(self._columns(), schema=dict.fromkeys(self._columns(), polars.UInt64))

    def _columns(self) -> dict[str, list[int]]:
        return {
            "low_ns": [bucket.low_ns for bucket in self.buckets],
            "high_ns": [bucket.high_ns for bucket in self.buckets],
            "count": [bucket.count for bucket in self.buckets],
        }


def rank(percent: Union[int, float], count: int) -> int:
    """The nearest rank of a percentile among so many values, from 1. The decimal number is meant that was written."""
    share = Fraction(str(percent)) / 100
    if not 0 <= share <= 1:
        raise ValueError(f"a percentile is from 0 to 100, not {percent}")
    return max(1, -(-share.numerator * count // share.denominator))


def decoded(text: str) -> Histogram:
    """Takes a histogram out of its base64. What its head claims is checked before anything is made of it."""
    try:
        octets = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BrokenRecord(f"a histogram that is no base64: {error}") from None
    if len(octets) < _HEAD.size:
        raise BrokenRecord(f"a histogram of {len(octets)} octets, fewer than its head has")
    cookie, length, offset, digits, lowest, highest, ratio = _HEAD.unpack_from(octets)
    if cookie & ~_WORD != _COOKIE:
        raise BrokenRecord(f"a histogram of another encoding than V2 ({cookie:#010x})")
    if length != len(octets) - _HEAD.size:
        raise BrokenRecord(f"a histogram that claims {length} octets of counters and has {len(octets) - _HEAD.size}")
    if offset != 0 or ratio != 1.0 or digits > 5 or lowest < 1 or not 2 * lowest <= highest < 2**63:
        raise BrokenRecord("a histogram of a range or precision that no record has")
    return Histogram(digits, tuple(_buckets(octets, digits, lowest, highest)))


def _buckets(octets: bytes, digits: int, lowest: int, highest: int) -> list[Bucket]:
    unit = lowest.bit_length() - 1
    half = max((2 * 10**digits - 1).bit_length() - 1, 0)
    buckets = []
    index, place = 0, _HEAD.size
    while place < len(octets):
        number, place = _number(octets, place)
        if number < 0:
            index -= number
            continue
        # Counters of one length up to 2 * 2^half, then 2^half of them for each doubling.
        shift = max((index >> half) - 1, 0)
        low = (index - (shift << half)) << (shift + unit) if shift < 64 else LARGEST
        if low > highest:
            raise BrokenRecord(f"a histogram with a counter beyond its own range, of {highest} ns")
        if number > 0:
            buckets.append(Bucket(low, low + (1 << (shift + unit)) - 1, number))
        index += 1
    return buckets


def _number(octets: bytes, place: int) -> tuple[int, int]:
    """A signed number, and the place behind it. The ninth octet has eight bits of it."""
    value = 0
    for count in range(_WIDEST):
        if place + count >= len(octets):
            raise BrokenRecord("a histogram that ends within a counter")
        octet = octets[place + count]
        if count == _WIDEST - 1:
            value |= octet << 56
        else:
            value |= (octet & 0x7F) << (7 * count)
        if octet < 0x80 or count == _WIDEST - 1:
            return (value >> 1) ^ -(value & 1), place + count + 1
    raise AssertionError
