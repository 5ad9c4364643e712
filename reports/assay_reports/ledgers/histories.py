"""The histories of a run as one ledger: the attempts one after the other, with numbers of their own."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay_conformance.ledger.from_history import Transcript
from assay_conformance.ledger.info import Acking, LedgerInfo, Order, throughout
from assay_conformance.ledger.tables import PARTS, SMALL, Table
from assay_conformance.model.errors import UsageError
from assay_reports.ledgers.layout import NULL, PartWriter, create, write_info, write_smalls
from assay_reports.ledgers.opening import row_type

APART_US = 600_000_000
"""Between the attempts: more than any rule looks back."""

_NUMBERS = ("stream", "topic", "key", "sub", "consumer", "epoch")
_TIMES = ("t", "t_done", "deliver_at", "t_from", "t_to")
_SMALL_FIELDS = {
    "stream": "streams",
    "topic": "topics",
    "key": "keys",
    "subscription": "subscriptions",
    "consumer": "consumers",
    "writer": "writers",
    "epoch": "epochs",
}


def write_histories(attempts: Iterable[Transcript], ledger: Path, info: LedgerInfo) -> dict[str, int]:
    """Write the rows of these attempts as a ledger, and return the number of rows of each table.

    Order and completeness are promised where every attempt promised them. Raises UsageError when the ledger exists
    already, or no attempt has rows; then nothing new is left behind.
    """
    create(ledger, info)
    try:
        return _write(attempts, ledger, info)
    except BaseException:
        # Half a ledger would stand in the way of the next try.
        shutil.rmtree(ledger, ignore_errors=True)
        raise


def _write(attempts: Iterable[Transcript], ledger: Path, info: LedgerInfo) -> dict[str, int]:
    parts = {table.name: PartWriter(ledger, table, 0) for table in PARTS}
    small: dict[str, list[Any]] = {table.name: [] for table in SMALL}
    firsts = dict.fromkeys(_NUMBERS, 0)
    began_us = 0
    ackings: set[Acking] = set()
    for attempt in attempts:
        if not attempt.rows:
            continue
        ended_us = _ended_us(attempt)
        for table, found in zip(PARTS, attempt.rows, strict=True):
            shifted = [_shifted(row, firsts, began_us, ended_us) for row in found]
            parts[table.name].add(_columns(table, shifted))
        for name, field in _SMALL_FIELDS.items():
            events = [
                _shifted(row, firsts, began_us, ended_us, _used(attempt, "topic"))
                for row in getattr(attempt.small, field).values()
            ]
            small[name] += events if name != "writer" else events[: not small[name]]
        info = _both(info, attempt.info)
        ackings.add(attempt.info.acking)
        firsts = {name: firsts[name] + _used(attempt, name) for name in firsts}
        began_us += ended_us + APART_US
    for one in parts.values():
        one.close()
    if not began_us:
        raise UsageError(f"{ledger}: no history of this run has anything that a ledger could hold")
    write_smalls(ledger, small)
    ended_unix_ms = info.started_unix_ms + began_us // 1000
    write_info(ledger, msgspec.structs.replace(info, ended_unix_ms=ended_unix_ms, acking=throughout(ackings)))
    return {table: one.rows for table, one in parts.items()}


def _both(one: LedgerInfo, other: LedgerInfo) -> LedgerInfo:
    return msgspec.structs.replace(
        one,
        order=one.order if one.order is other.order else Order.NONE,
        self_checking=one.self_checking and other.self_checking,
        checksums=one.checksums and other.checksums,
        grace_us=max(one.grace_us, other.grace_us),
        durable_us=max(one.durable_us, other.durable_us),
        due_early_us=max(one.due_early_us, other.due_early_us),
    )


def _ended_us(attempt: Transcript) -> int:
    return max((getattr(row, name) or 0 for table in attempt.rows for row in table for name in _times(row)), default=0)


def _times(row: Any) -> list[str]:
    return [name for name in _TIMES if name in row._fields]


def _used(attempt: Transcript, name: str) -> int:
    """How many numbers of a kind the attempt has."""
    field = {"sub": "subscriptions"}.get(name) or _SMALL_FIELDS[name]
    return max(getattr(attempt.small, field), default=-1) + 1


def _shifted(row: Any, firsts: dict[str, int], began_us: int, ended_us: int, of_topics: int = 0) -> Any:
    changed: dict[str, Any] = {
        name: value + firsts[name] for name in _NUMBERS if (value := getattr(row, name, -1)) >= 0
    }
    changed |= {name: value + began_us for name in _times(row) if (value := getattr(row, name)) is not None}
    if "action" in row._fields and row.t_to is None:
        # What never healed ended with its attempt.
        changed["t_to"] = began_us + ended_us
    if "topics" in row._fields:
        topics = map(int, row.topics.split()) if row.topics else range(of_topics)
        changed["topics"] = " ".join(str(topic + firsts["topic"]) for topic in topics)
    return row._replace(**changed)


def _columns(table: Table, found: list[Any]) -> dict[str, Any]:
    kind = row_type(table)
    columns = zip(*found, strict=True) if found else [()] * len(kind._fields)
    return {
        name: np.array([NULL if value is None else value for value in values], np.int64)
        for name, values in zip(kind._fields, columns, strict=True)
    }
