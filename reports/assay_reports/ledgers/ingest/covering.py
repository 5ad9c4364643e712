"""Cumulative acknowledgments as rows: one for each delivery of the consumer that they cover."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from assay_conformance.ledger.segments import Said
from assay_conformance.ledger.tables import AckKind
from assay_reports.ledgers.layout import NULL

Columns = dict[str, Any]

MOST_OPEN = 4_000_000
"""Deliveries that a consumer may leave open; of more than these the older half is forgotten."""
_KEPT = ("stream", "seq", "ledger", "entry", "batch", "t")


class Covering:
    """What each consumer has open: delivered, and not acknowledged since. `topics`: stream -> topic."""

    def __init__(self, topics: Callable[[int], int]) -> None:
        self._topics = topics
        self._open: dict[int, Columns] = {}

    def delivered(self, columns: Columns) -> None:
        for consumer in np.unique(columns["consumer"]).tolist():
            at = columns["consumer"] == consumer
            before = self._of(consumer)
            rows = {name: np.concatenate([before[name], columns[name][at]]) for name in _KEPT}
            if len(rows["seq"]) > MOST_OPEN:
                rows = {name: values[len(values) // 2 :] for name, values in rows.items()}
            self._open[consumer] = rows

    def expand(self, acks: Columns) -> Columns:
        """Return the acknowledgments of a batch, as rows of the table `ack`."""
        upto = acks["kind"] == Said.ACK_UPTO
        ended = (acks["kind"] == Said.ACK) & (acks["t_done"] != NULL)
        pieces = [{name: values[~upto] for name, values in acks.items()}]
        for consumer in np.unique(acks["consumer"]).tolist():
            mine = np.flatnonzero((acks["consumer"] == consumer) & (upto | ended))
            turns = [index for index, row in enumerate(mine.tolist()) if upto[row]]
            start = 0
            for turn in turns:
                self._close(consumer, _rows(acks, mine[start:turn]))
                pieces.append(self._covered(consumer, {name: values[mine[turn]] for name, values in acks.items()}))
                start = turn + 1
            self._close(consumer, _rows(acks, mine[start:]))
        return {name: np.concatenate([piece[name] for piece in pieces]) for name in acks}

    def _covered(self, consumer: int, ack: Columns) -> Columns:
        rows = self._of(consumer)
        topic = self._topics(int(ack["stream"]))
        its = np.isin(rows["stream"], [one for one in np.unique(rows["stream"]).tolist() if self._topics(one) == topic])
        its &= _not_behind(rows, ack) & (rows["t"] <= ack["t"])
        if ack["t_done"] == NULL:
            # It failed, or its outcome is unknown: what it would have covered is still open.
            its &= (rows["stream"] == ack["stream"]) & (rows["seq"] == ack["seq"])
        else:
            self._open[consumer] = _rows(rows, ~its)
        covered = {name: values[its] for name, values in rows.items() if name != "t"}
        _, once = np.unique(np.stack([covered["stream"], covered["seq"]]), axis=1, return_index=True)
        same = {name: np.full(len(once), ack[name]) for name in ("sub", "consumer", "t", "t_done")}
        return {**_rows(covered, np.sort(once)), **same, "kind": np.full(len(once), AckKind.COVERED)}

    def _close(self, consumer: int, acks: Columns) -> None:
        """Take in what was acknowledged one by one."""
        if not len(acks["seq"]):
            return
        latest = dict(zip(_messages(acks), acks["t"].tolist(), strict=True))
        rows = self._of(consumer)
        times = zip(_messages(rows), rows["t"].tolist(), strict=True)
        still: Any = np.array([t > latest.get(message, t - 1) for message, t in times], bool)
        self._open[consumer] = _rows(rows, still)

    def _of(self, consumer: int) -> Columns:
        return self._open.get(consumer) or {name: np.zeros(0, np.int64) for name in _KEPT}


def _messages(rows: Columns) -> list[tuple[int, int]]:
    return list(zip(rows["stream"].tolist(), rows["seq"].tolist(), strict=True))


def _rows(columns: Columns, which: Any) -> Columns:
    return {name: values[which] for name, values in columns.items()}


def _not_behind(rows: Columns, ack: Columns) -> Any:
    """Whether they are stored at or before the message that was acknowledged."""
    same_entry = (rows["entry"] < ack["entry"]) | ((rows["entry"] == ack["entry"]) & (rows["batch"] <= ack["batch"]))
    return (rows["ledger"] < ack["ledger"]) | ((rows["ledger"] == ack["ledger"]) & same_entry)
