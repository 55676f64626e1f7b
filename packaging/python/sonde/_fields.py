"""Fields of a JSON object, each checked for its type and range as it is taken."""

from __future__ import annotations

import math
from typing import Any, Iterator, Optional

from ._errors import BrokenRecord

LARGEST = 2**64 - 1


class Fields:
    """An object of a record and its place in it, which errors name."""

    def __init__(self, value: Any, place: str = "") -> None:
        if not isinstance(value, dict):
            raise BrokenRecord(f"{place or 'the document'}: an object was expected, not {_kind(value)}")
        self._of = value
        self._place = place

    def has(self, name: str) -> bool:
        """Tells a field that is there and not null."""
        return self._of.get(name) is not None

    def within(self, name: str) -> Fields:
        """The object in this field."""
        return Fields(self._there(name), self._at(name))

    def each(self, name: str) -> Iterator[Fields]:
        """The objects in this array."""
        value = self._there(name)
        if not isinstance(value, list):
            raise self._wrong(name, "an array", value)
        return (Fields(one, f"{self._at(name)}[{index}]") for index, one in enumerate(value))

    def text(self, name: str) -> str:
        value = self._there(name)
        if not isinstance(value, str):
            raise self._wrong(name, "text", value)
        return value

    def truth(self, name: str) -> bool:
        value = self._there(name)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false", value)
        return value

    def whole(self, name: str) -> int:
        """A whole number of 64 bits, never negative."""
        value = self._there(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST:
            raise self._wrong(name, "a whole number from 0 to 2^64-1", value)
        return value

    def number(self, name: str) -> float:
        value = self._there(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise self._wrong(name, "a finite number", value)
        return float(value)

    def text_if_any(self, name: str) -> Optional[str]:
        return self.text(name) if self.has(name) else None

    def whole_if_any(self, name: str) -> Optional[int]:
        return self.whole(name) if self.has(name) else None

    def number_if_any(self, name: str) -> Optional[float]:
        return self.number(name) if self.has(name) else None

    def refuse(self, name: str, why: str) -> BrokenRecord:
        """The error of a field whose content does not hold."""
        return BrokenRecord(f"{self._at(name)}: {why}")

    def _there(self, name: str) -> Any:
        if not self.has(name):
            raise BrokenRecord(f"{self._at(name)}: absent")
        return self._of[name]

    def _at(self, name: str) -> str:
        return f"{self._place}.{name}" if self._place else name

    def _wrong(self, name: str, expected: str, value: Any) -> BrokenRecord:
        return BrokenRecord(f"{self._at(name)}: {expected} was expected, not {_kind(value)}")


def _kind(value: Any) -> str:
    """A value as an error names it, in few words whatever it holds."""
    if isinstance(value, (dict, list)):
        return "an array" if isinstance(value, list) else "an object"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > LARGEST:
        return "a number beyond 64 bits"
    return ascii(value)[:60]
