"""Cumulative acknowledgments as rows: one for each delivery of the consumer that they cover."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from assay_conformance.ledger.segments import Said
from assay_conformance.ledger.tables import Word
from assay_reports.ledgers.layout import NULL

Columns = dict[str, Any]
Acked = Callable[[tuple[int, ...], Any], Any]
"""(consumer, stream), seqs -> which of them this consumer has acknowledged."""

MOST_OPEN = 4_000_000
"""Deliveries that a consumer may leave open; of more than these the older half is forgotten."""
_KEPT = ("stream", "seq", "ledger", "entry", "batch", "t")


class Covering:
    """What each consumer has open. `topics`: stream -> topic."""

    def __init__(self, topics: Callable[[int], int], acked: Acked) -> None:
        self._topics = topics
        self._acked = acked
        self._open: dict[int, list[Columns]] = {}

    def delivered(self, columns: Columns) -> None:
        for consumer in np.unique(columns["consumer"]).tolist():
            at = columns["consumer"] == consumer
            self._open.setdefault(consumer, []).append({name: columns[name][at] for name in _KEPT})
            if sum(len(piece["seq"]) for piece in self._open[consumer]) > MOST_OPEN:
                still = self._still_open(consumer, self._joined(consumer))
                if len(still["seq"]) > MOST_OPEN // 2:
                    still = {name: values[len(values) // 2 :] for name, values in still.items()}
                self._open[consumer] = [still]

    def expand(self, acks: Columns) -> Columns:
        """The acknowledgments of a batch, as rows of the table `ack`."""
        upto = acks["kind"] == Said.ACK_UPTO
        if not upto.any():
            return acks
        pieces = [{name: values[~upto] for name, values in acks.items()}]
        for row in np.flatnonzero(upto).tolist():
            pieces.append(self._covered({name: values[row] for name, values in acks.items()}))
        return {name: np.concatenate([piece[name] for piece in pieces]) for name in acks}

    def _covered(self, ack: Columns) -> Columns:
        consumer = int(ack["consumer"])
        rows = self._still_open(consumer, self._joined(consumer))
        topic = self._topics(int(ack["stream"]))
        its = np.isin(rows["stream"], [one for one in np.unique(rows["stream"]).tolist() if self._topics(one) == topic])
        its &= _not_behind(rows, ack) & (rows["t"] <= ack["t"])
        if ack["t_done"] == NULL:
            # It failed, or nobody knows: what it would have covered is still open.
            its &= (rows["stream"] == ack["stream"]) & (rows["seq"] == ack["seq"])
        else:
            self._open[consumer] = [{name: values[~its] for name, values in rows.items()}]
        covered = {name: values[its] for name, values in rows.items() if name != "t"}
        count = len(covered["seq"])
        same = {name: np.full(count, ack[name]) for name in ("sub", "consumer", "t", "t_done")}
        return {**covered, **same, "kind": np.full(count, Word.COVERED)}

    def _joined(self, consumer: int) -> Columns:
        pieces = self._open.get(consumer) or [{name: np.zeros(0, np.int64) for name in _KEPT}]
        if len(pieces) > 1:
            pieces = [{name: np.concatenate([piece[name] for piece in pieces]) for name in _KEPT}]
            self._open[consumer] = pieces
        return pieces[0]

    def _still_open(self, consumer: int, rows: Columns) -> Columns:
        done: Any = np.zeros(len(rows["seq"]), bool)
        for stream in np.unique(rows["stream"]).tolist():
            at = rows["stream"] == stream
            done[at] = self._acked((consumer, stream), rows["seq"][at])
        return {name: values[~done] for name, values in rows.items()} if done.any() else rows


def _not_behind(rows: Columns, ack: Columns) -> Any:
    """Whether they are stored at or before the message that was acknowledged."""
    same_entry = (rows["entry"] < ack["entry"]) | ((rows["entry"] == ack["entry"]) & (rows["batch"] <= ack["batch"]))
    return (rows["ledger"] < ack["ledger"]) | ((rows["ledger"] == ack["ledger"]) & same_entry)
