"""A ledger that grows: one stream, its messages sent, stored and delivered one after the other, part by part."""

from __future__ import annotations

import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay_conformance.ledger.info import Origin
from assay_conformance.ledger.rows import Consumer, Stream, Subscription, Topic, Writer
from assay_conformance.ledger.script import some_info
from assay_conformance.ledger.tables import ATTEMPT, DELIVERY, NONE, OUTCOME, Integrity
from assay_reports.ledgers.layout import NULL, PartWriter, create, write_info, write_smalls

SMALL: dict[str, list[tuple[Any, ...]]] = {
    "stream": [Stream(0, "p", 0)],
    "topic": [Topic(0, "t")],
    "subscription": [Subscription(0, "s")],
    "consumer": [Consumer(0, 0, "c", 1)],
    "writer": [Writer(0, "sender"), Writer(1, "receiver")],
}
_ZERO = ("stream", "sub", "consumer", "attempt", "code", "redeliv", "again")
_ONE = ("ord", "kgap", "ledger")


class Growing:
    """Of a run that began at `started_unix_ms`; each part has a number of its own, and those of it that are `lost` were
    not delivered."""

    def __init__(self, where: Path, started_unix_ms: int, **info: Any) -> None:
        self.where = where
        self.info = some_info(origin=Origin.SYNTH, started_unix_ms=started_unix_ms, **info)
        self._parts = 0
        create(where, self.info)
        write_smalls(where, SMALL)

    def land(self, first: int, end: int, *, lost: Collection[int] = (), disorder: Collection[int] = ()) -> None:
        """A part of each table with these messages, of now."""
        seq = np.arange(first, end)
        now_us = time.time_ns() // 1000 - self.info.started_unix_ms * 1000
        gap: Any = np.ones(len(seq), np.int64)
        gap[np.isin(seq, list(disorder))] = 0
        known = {
            **{name: np.zeros(len(seq), np.int64) for name in _ZERO},
            **{name: np.ones(len(seq), np.int64) for name in _ONE},
            **{name: np.full(len(seq), NONE) for name in ("key", "batch")},
            **{name: np.full(len(seq), NULL) for name in ("deliver_at", "wait")},
            **dict.fromkeys(("seq", "entry", "pos"), seq),
            "t": now_us + np.arange(len(seq)),
            "gap": gap,
            "ok": np.full(len(seq), Integrity.GOOD),
            "size": np.full(len(seq), 128),
            "crc": np.full(len(seq), 7),
        }
        given = ~np.isin(seq, list(lost))
        for table, these in ((ATTEMPT, seq >= first), (OUTCOME, seq >= first), (DELIVERY, given)):
            parts = PartWriter(self.where, table, self._parts)
            parts.add({column.name: known[column.name][these] for column in table.columns if column.name in known})
            parts.close()
        self._parts += 1

    def end(self) -> None:
        """The run is over, and every part has landed."""
        self._say(time.time_ns() // 1_000_000)

    def go_on(self) -> None:
        """It is not over after all."""
        self._say(None)

    def _say(self, ended_unix_ms: int | None) -> None:
        write_info(self.where, msgspec.structs.replace(self.info, ended_unix_ms=ended_unix_ms))
