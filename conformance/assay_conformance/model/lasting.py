"""How long a Case may last: a guess, for the order in which Cases begin.

What takes long waits for times that the Case names itself: its pauses, how long a receive may take, how long a fault
holds something back, the client's own time-outs. A run ends sooner when the longest Cases begin first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from assay_conformance.model.case import Case, Limits
from assay_conformance.model.fault import Resegment

NEVER_WAITED_MS: Final = 10_000
"""Times from here on are bounds of what has long happened by then."""


def may_last_ms(case: Case) -> int:
    """Return how long a Case may last.

    It is all that its steps and faults name, and the longest of its client's settings; or what it says itself, where
    that is longer. A Case that bounds its operations more tightly than others does so for clients that never end one.
    """
    steps = sum(sum(_times_ms(step.args)) for step in case.steps)
    faults = sum(sum(_times_ms(msgspec.to_builtins(fault))) for fault in case.faults) + _gaps_ms(case)
    settings = max(_times_ms(msgspec.to_builtins(case.config)), default=0)
    hang = case.limits.operation_ms if case.limits.operation_ms < Limits().operation_ms else 0
    return max(case.limits.least_wall_ms, round(steps + faults + settings) + hang)


def _gaps_ms(case: Case) -> float:
    """Return the pauses between the pieces into which faults divide all that is sent."""
    sent_bytes = sum(_sent_bytes(step.args) for step in case.steps if step.verb == "send")
    dividing = (fault.action for fault in case.faults if isinstance(fault.action, Resegment))
    return sum(sent_bytes / action.piece_bytes * action.gap_ms for action in dividing if action.piece_bytes > 0)


def _sent_bytes(args: Mapping[str, Any]) -> int:
    # Whether they are numbers at all is found where the plan is checked, which may be later.
    size, count = args.get("size", 0), args.get("count", 1)
    return size * count if isinstance(size, int) and isinstance(count, int) else 0


def _times_ms(value: Any) -> Iterator[float]:
    if isinstance(value, dict):
        for name, inner in value.items():
            if not isinstance(inner, int | float):
                yield from _times_ms(inner)
            elif (name == "ms" or name.endswith("_ms")) and inner < NEVER_WAITED_MS:
                yield inner
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _times_ms(inner)
