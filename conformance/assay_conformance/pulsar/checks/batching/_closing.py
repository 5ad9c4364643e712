"""Why a batch left: what it was waiting for came, or nothing did that it should have waited for."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from assay_conformance.checks.tracker import Operation

CLOSING_VERBS = ("flush", "close")


def called_ns(send: Operation | None) -> int | None:
    """When the application's call was made, by its agent's own stamp."""
    return None if send is None or send.completion is None else send.completion.called_ns


@dataclass(frozen=True, slots=True)
class Asked:
    """When somebody asked for the open batch to leave, and how long that may have waited for its turn."""

    began_ns: list[int]
    latest_end_ns: list[float]

    @classmethod
    def of(cls, operations: Iterable[Operation]) -> Asked:
        began, ends = [], []
        for operation in operations:
            end = operation.completion
            began.append(operation.invoke.t_ns)
            ends.append(math.inf if end is None else end.done_ns or end.t_ns)
        return cls(began, list(accumulate(ends, max)))

    def between(self, since_ns: int, by_ns: int) -> bool:
        place = bisect_right(self.began_ns, by_ns)
        return place > 0 and self.latest_end_ns[place - 1] >= since_ns


def is_alone(send: Operation) -> bool:
    """It leaves by itself, and makes the open batch leave in front of it."""
    args = send.invoke.args
    return any(args.get(key) is not None for key in ("deliver_after_ms", "deliver_at_ms", "sequence_id"))
