"""A ledger that grows: one stream, its messages sent, stored, delivered and acknowledged one after the other, part by
part."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from assay_conformance.ledger.info import Origin
from assay_conformance.ledger.rows import Consumer, Stream, Subscription, Topic, Writer
from assay_conformance.ledger.script import some_info
from assay_conformance.ledger.tables import ACK, ATTEMPT, DELIVERY, NONE, OUTCOME, AckKind, Integrity
from assay_reports.ledgers.layout import NULL, PartWriter, create, write_info, write_smalls

SMALL: Mapping[str, list[tuple[Any, ...]]] = {
    "stream": [Stream(0, "p", 0)],
    "topic": [Topic(0, "t")],
    "subscription": [Subscription(0, "s")],
    "consumer": [Consumer(0, 0, "c", 1)],
    "writer": [Writer(0, "sender"), Writer(1, "receiver")],
}
_ZERO = ("stream", "sub", "consumer", "key", "attempt", "code", "redeliv", "again")
_ONE = ("ord", "ledger")


class Growing:
    """Of a run that began at `started_unix_ms`; each part has a number of its own."""

    def __init__(
        self, where: Path, started_unix_ms: int, small: Mapping[str, list[tuple[Any, ...]]] = SMALL, **info: Any
    ) -> None:
        self.where = where
        self.info = some_info(origin=Origin.SYNTH, started_unix_ms=started_unix_ms, **info)
        self._parts = 0
        create(where, self.info)
        write_smalls(where, dict(small))

    def land(
        self,
        first: int,
        end: int,
        *,
        lost: Collection[int] = (),
        disorder: Collection[int] = (),
        key_disorder: Collection[int] = (),
        refused: Collection[int] = (),
        over_s: float = 0.0,
    ) -> None:
        """Write a part of each table with these messages, of now or of the last `over_s` seconds.

        Those `lost` were not delivered; those `refused` never come again.
        """
        seq = np.arange(first, end)
        now_us = time.time_ns() // 1000 - self.info.started_unix_ms * 1000
        began_us = now_us - int(over_s * 1e6)
        t: Any = began_us + np.arange(len(seq)) * max(1, int(over_s * 1e6) // len(seq))
        known = {
            **{name: np.zeros(len(seq), np.int64) for name in _ZERO},
            **{name: np.ones(len(seq), np.int64) for name in _ONE},
            "batch": np.full(len(seq), NONE),
            **{name: np.full(len(seq), NULL) for name in ("deliver_at", "wait")},
            **dict.fromkeys(("seq", "entry", "pos"), seq),
            "t": t,
            "t_done": t + 2,
            "gap": np.where(np.isin(seq, list(disorder)), 0, 1),
            "kgap": np.where(np.isin(seq, list(key_disorder)), 0, 1),
            "kind": np.where(np.isin(seq, list(refused)), AckKind.NACK, AckKind.ACK),
            "ok": np.full(len(seq), Integrity.GOOD),
            "size": np.full(len(seq), 128),
            "crc": np.full(len(seq), 7),
        }
        given = ~np.isin(seq, list(lost))
        for table, these in ((ATTEMPT, seq >= first), (OUTCOME, seq >= first), (DELIVERY, given), (ACK, given)):
            parts = PartWriter(self.where, table, self._parts)
            # What is said of a message is said after its delivery.
            of = known if table is not ACK else {**known, "t": t + 1}
            parts.add({column.name: of[column.name][these] for column in table.columns if column.name in of})
            parts.close()
        self._parts += 1

    def end(self) -> None:
        """Declare the run over, with every part written."""
        self._say(time.time_ns() // 1_000_000)

    def go_on(self) -> None:
        """Declare that the run goes on after all."""
        self._say(None)

    def _say(self, ended_unix_ms: int | None) -> None:
        write_info(self.where, msgspec.structs.replace(self.info, ended_unix_ms=ended_unix_ms))
