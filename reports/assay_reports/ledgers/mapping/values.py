"""What stands in a row of a log, before the map says what it means."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHOWN = 60

Row = dict[str, Any]


class BadRowError(Exception):
    """One row that says nothing that can be used."""


class Moment(NamedTuple):
    """A time that a file itself holds as one, in µs since 1970, whatever unit the map names: Python's datetime has
    neither nanoseconds nor all years."""

    unix_us: int

    def __str__(self) -> str:
        try:
            return (_EPOCH + timedelta(microseconds=self.unix_us)).isoformat()
        except OverflowError:
            return f"{self.unix_us} µs since 1970"


def shown(value: Any) -> str:
    """Return a value as it stands in a sentence, cut where it is long."""
    return cut(str(value) if isinstance(value, Moment) else repr(value))


def cut(text: str) -> str:
    """Return as much of a text as a sentence has room for."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
