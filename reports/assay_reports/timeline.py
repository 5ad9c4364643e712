"""The story around a finding: the events that contradict each other, their neighbours, and the faults over them.

Pure: events in, rows and bands out. The page draws them as a sequence chart (client, wire, broker, faults), the
terminal prints them as lines. Rows are in order of time and evenly spaced, since what matters is what came before
what; the time stands beside each row, and a gap says how many events it leaves out. The points are for an axis that is
true to time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from assay_conformance.model.case import Case
from assay_conformance.model.event import (
    AgentEnded,
    ClockOffset,
    Closed,
    Ended,
    Event,
    Fate,
    Fired,
    Frame,
    Healed,
    Load,
    Opened,
    Overdue,
    Sides,
    Stepped,
    Waited,
)
from assay_conformance.model.fault import Cut, CutHow, Delay, Direction, Hold, Refuse, Resegment
from assay_reports.describe import LANE_OF, Lane, event_words, fault_words

MAX_ROWS = 40
MAX_POINTS = 300
"""Events on a time axis: enough to see a Case's rhythm around a finding, few enough for a page of many findings."""

_NOISE = (Load, ClockOffset, Stepped, Waited)
_NOISE_COMMANDS = frozenset({"PING", "PONG"})
_TURNS = (Fired, Healed, Opened, Closed, AgentEnded, Overdue, Ended)
_TURN_IS_NEARER = 6
"""A turn of the story (a fault, a connection, an agent's end) counts as that many times nearer than it is."""

MS = 1_000_000


class Turn(StrEnum):
    """Events that change the scene for those after them."""

    FAULT = "fault"
    OPENED = "opened"
    CLOSED = "closed"


_TURN_OF: dict[type, Turn] = {Fired: Turn.FAULT, Healed: Turn.FAULT, Opened: Turn.OPENED, Closed: Turn.CLOSED}


@dataclass(frozen=True, slots=True)
class Row:
    """One event. `named` marks those of the finding; `skipped` events of the history lie between it and the row above.

    `direction`, `sides` and `lost` say how a frame's arrow is drawn: lost ones never reached the other side.
    `turn` marks what changes the scene.
    """

    seq: int
    t_ns: int
    lane: Lane
    text: str
    named: bool
    skipped: int = 0
    direction: Direction | None = None
    sides: Sides = Sides.BOTH
    lost: bool = False
    turn: Turn | None = None


@dataclass(frozen=True, slots=True)
class Band:
    """A fault in force from row `first` to row `last` (inclusive), and whether it went on after the last row."""

    fault: int
    text: str
    first: int
    last: int
    start_ns: int
    end_ns: int | None


@dataclass(frozen=True, slots=True)
class Timeline:
    """`left_out` events of the history come after the last row. `points` are the rows and more of their neighbours, for
    an axis that is true to time."""

    rows: tuple[Row, ...]
    bands: tuple[Band, ...]
    left_out: int = 0
    points: tuple[Row, ...] = ()


EMPTY = Timeline((), ())


def timeline(events: Iterable[Event], named: Iterable[int], case: Case, limit: int = MAX_ROWS) -> Timeline:
    """Return the rows nearest to the events `named` (by seq), at most `limit`, and the faults that were in force over
    them."""
    wanted = frozenset(named)
    story = sorted(
        (event for event in events if event.seq in wanted or not _is_noise(event)), key=lambda e: (e.t_ns, e.seq)
    )
    kept = _nearest(story, wanted, limit)
    rows, above = [], -1
    for index in kept:
        rows.append(_row(story[index], story[index].seq in wanted, skipped=index - above - 1))
        above = index
    points = tuple(_row(story[index], story[index].seq in wanted) for index in _nearest(story, wanted, MAX_POINTS))
    return Timeline(tuple(rows), tuple(_bands(story, rows, case)), len(story) - above - 1, points)


def _is_noise(event: Event) -> bool:
    if isinstance(event, Frame):
        return event.command in _NOISE_COMMANDS
    return isinstance(event, _NOISE) and not (isinstance(event, Waited) and not event.met)


def _nearest(story: Sequence[Event], wanted: frozenset[int], limit: int) -> list[int]:
    """Indexes into `story`, ascending."""
    anchors = [index for index, event in enumerate(story) if event.seq in wanted]
    if not anchors:
        return list(range(min(limit, len(story))))
    distance = _distances(len(story), anchors)
    operations = {getattr(story[index], "op", None) for index in anchors} - {None}

    def rank(index: int) -> float:
        event = story[index]
        # An operation's beginning and end belong together, however far apart.
        if getattr(event, "op", None) in operations:
            return 0.0
        return distance[index] / (_TURN_IS_NEARER if isinstance(event, _TURNS) else 1)

    return sorted(sorted(range(len(story)), key=rank)[:limit])


def _distances(count: int, anchors: Sequence[int]) -> list[int]:
    """Distance of each index to its nearest anchor, in one sweep each way."""
    distance = [count] * count
    for anchor in anchors:
        distance[anchor] = 0
    for index in range(1, count):
        distance[index] = min(distance[index], distance[index - 1] + 1)
    for index in range(count - 2, -1, -1):
        distance[index] = min(distance[index], distance[index + 1] + 1)
    return distance


_LOST = frozenset({Fate.DROPPED, Fate.CUT})


def _row(event: Event, named: bool, skipped: int = 0) -> Row:
    row = Row(event.seq, event.t_ns, LANE_OF[type(event)], event_words(event), named, skipped)
    if isinstance(event, Frame):
        return replace(row, direction=event.dir, sides=event.sides, lost=event.fate in _LOST)
    return replace(row, turn=_TURN_OF.get(type(event)))


def _bands(story: Sequence[Event], rows: Sequence[Row], case: Case) -> Iterable[Band]:
    """Faults that last, over the rows they cover; a fault of an instant is its row alone."""
    for fault, start_ns, end_ns in _intervals(story, case):
        covered = [
            index for index, row in enumerate(rows) if row.t_ns >= start_ns and (end_ns is None or row.t_ns <= end_ns)
        ]
        if covered:
            yield Band(fault, fault_words(case.faults[fault]), covered[0], covered[-1], start_ns, end_ns)


def _intervals(story: Sequence[Event], case: Case) -> list[tuple[int, int, int | None]]:
    """(fault, start, end or None while not healed), one for each stretch."""
    found: list[tuple[int, int, int | None]] = []
    began: dict[int, int] = {}
    for event in story:
        if isinstance(event, Fired) and event.fault < len(case.faults):
            action = case.faults[event.fault].action
            if isinstance(action, Delay):
                found.append((event.fault, event.t_ns, event.t_ns + action.delay_ms * MS))
            elif _lasts(action):
                began.setdefault(event.fault, event.t_ns)
        elif isinstance(event, Healed) and event.fault in began:
            found.append((event.fault, began.pop(event.fault), event.t_ns))
    return found + [(fault, start_ns, None) for fault, start_ns in began.items()]


def _lasts(action: object) -> bool:
    return isinstance(action, (Hold, Resegment, Refuse)) or (isinstance(action, Cut) and action.how is CutHow.BLACKHOLE)
