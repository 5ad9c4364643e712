"""Which kills of a Case count, as its history shows: enough was under way, and it was under way to who died."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from assay_conformance.model.event import Closed, Event, Fired, Frame
from assay_conformance.pulsar.cases.ordering.durability import Kind

UNDER_WAY = 100
"""SENDs without an answer when the signal was sent."""
AT_ONCE_NS = 2_000_000_000
"""How soon the connections of a killed broker end, on a machine that does other things."""


@dataclass(frozen=True, slots=True)
class KillSeen:
    """All that died at one SEND. `why_not`: why it does not count, empty when it does."""

    in_flight: int
    why_not: str = ""


def kills_seen(events: Iterable[Event], kind: Kind) -> Iterator[KillSeen]:
    """Yield the kills in the order of their receipts."""
    carrying = -1
    closed: dict[int, int] = {}
    receipts: dict[tuple[int, ...], list[tuple[Fired, int]]] = {}
    for event in events:
        if isinstance(event, Frame) and event.command == "SEND":
            carrying = event.conn
        elif isinstance(event, Closed):
            closed[event.conn] = event.t_ns
        elif isinstance(event, Fired) and event.action == "kill":
            receipts.setdefault(event.frames, []).append((event, carrying))
    for deaths in receipts.values():
        in_flight = max(int(death.facts["in_flight"]) for death, _ in deaths)
        hit = any(conn in closed and abs(closed[conn] - death.t_ns) < AT_ONCE_NS for death, conn in deaths)
        yield KillSeen(in_flight, _why_not(in_flight, hit=hit or not kind.loads))


def _why_not(in_flight: int, *, hit: bool) -> str:
    if in_flight < UNDER_WAY:
        return f"fewer than {UNDER_WAY} SENDs were under way"
    return "" if hit else "the broker that died did not have the topic"
