"""What occurs in a history at all: a check that waits for what never comes is shown none of it.

Most histories have nothing of most chapters in them: no chunk, no seek, no retry letter. A check names what it cannot
do without (`Check.needs`); the history is searched once, before it is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from enum import StrEnum
from itertools import chain
from typing import Any, Final, NamedTuple

from assay_conformance.checks.loading import BrokerEnds
from assay_conformance.model.case import Case
from assay_conformance.model.event import (
    Closed,
    ClosedBy,
    Completion,
    ErrorClass,
    Event,
    Fate,
    Fired,
    Frame,
    Invoke,
    Meta,
    Stored,
)
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.fault import Direction


class Trait(StrEnum):
    """What a frame or a stored entry is, or holds; what a producer or consumer was opened as, asked for, or
    received."""

    CHUNK = "a part of a message"
    COMPRESSED = "a compressed body"
    DELAYED = "a time before which it is not delivered"
    UNREADABLE = "metadata or a batch that cannot be parsed, under a checksum that fits"
    HARMED = "a frame that a fault touched, or whose checksum does not fit"
    IN_PIECES = "a connection whose bytes come in odd pieces"
    NO_QUEUE = "a consumer without a receiver queue"
    PATTERN = "a consumer of a pattern"
    SEVERAL_TOPICS = "subscriptions to several topics or partitions, or a consumer of such"
    NO_INTERVAL = "a consumer whose acknowledgments wait for no interval"
    READER = "a subscription that is not durable"
    FOR_LATER = "a send that asks to be delivered at a time or after a delay"
    OVERSIZE = "a message or frame larger than some broker takes, or refused as that"
    LET_GO = "a broker that ended, closed a producer, consumer or connection"


class Setting(NamedTuple):
    """A configuration value that is in force for a producer or consumer, and neither off nor zero."""

    part: str
    key: str


class Subscribed(NamedTuple):
    """A SUBSCRIBE of this type of subscription."""

    kind: str


Occasion = type | tuple[type, str] | Trait | Setting | Subscribed
"""An event of a type; a Frame of a command, an Invoke or Completion of a verb; or one of the others."""

Need = Occasion | frozenset[Occasion]
"""An occasion, or any of several."""

DEFAULT_KIND: Final = "Exclusive"
"""The type of a subscription whose SUBSCRIBE names none."""

_PARTS: Final = {"open_client": "client", "open_producer": "producer", "open_consumer": "consumer"}
_LATER: Final = frozenset({"deliver_at_ms", "deliver_after_ms"})
_ERRORS: Final = {ErrorClass.TOO_LARGE: Trait.OVERSIZE}
_NONE_OF: Final = {"receiver_queue_size": Trait.NO_QUEUE, "ack_group_ms": Trait.NO_INTERVAL}
_IN_PIECES: Final = ("slicer", "resegment")
_PASSED: Final = Fate.PASSED


def met_by(needs: Iterable[Need], met: Set[Occasion]) -> bool:
    """Whether all that is needed occurs."""
    return all(not need.isdisjoint(met) if isinstance(need, frozenset) else need in met for need in needs)


def occasions(events: Sequence[Event], case: Case, facts: ClientFacts) -> frozenset[Occasion]:
    """All that occur in these events."""
    return _Search(case, facts).through(events)


class _Search:
    def __init__(self, case: Case, facts: ClientFacts) -> None:
        self._case = case
        self._facts = facts
        self._met: set[Occasion] = {Trait.LET_GO} if BrokerEnds(case).possible else set()
        self._commands: set[str] = set()
        self._verbs: set[tuple[type, str]] = set()
        self._topics: set[object] = set()
        """Topics with a subscription."""
        self._largest_bytes = 0
        self._least_limit_bytes = case.topology.max_message_bytes

    def through(self, events: Sequence[Event]) -> frozenset[Occasion]:
        by_type: dict[type, list[Event]] = {}
        for event in events:
            by_type.setdefault(type(event), []).append(event)
        for kind, handler in _HANDLERS.items():
            if kind in by_type:
                handler(self, by_type[kind])
        if self._largest_bytes > self._least_limit_bytes:
            self._met.add(Trait.OVERSIZE)
        if len(self._topics) > 1:
            self._met.add(Trait.SEVERAL_TOPICS)
        frames = ((Frame, command) for command in self._commands)
        return frozenset[Occasion]().union(self._met, by_type, self._verbs, frames)

    # --- one method an event type: all of them ---

    def _frames(self, events: Sequence[Frame]) -> None:
        by_command: dict[str, list[Frame]] = {}
        for event in events:
            by_command.setdefault(event.command, []).append(event)
        self._commands = set(by_command)
        self._metas([event.meta for event in events if event.meta is not None])
        fates = {event.fate for event in events}
        intact = [event for event in events if event.intact]
        if fates - {_PASSED} or any(event.intact is False for event in events):
            self._met.add(Trait.HARMED)
        if any(event.meta is None or (event.meta.batch is not None and not event.members) for event in intact):
            self._met.add(Trait.UNREADABLE)
        for command, handler in _FRAMES.items():
            if command in by_command:
                handler(self, by_command[command])

    def _metas(self, metas: Sequence[Meta]) -> None:
        for meta in metas:
            if meta.chunk_id is not None or meta.deliver_at_ms is not None:
                self._about(meta)
        if any(compression != "NONE" for compression in {meta.compression for meta in metas}):
            self._met.add(Trait.COMPRESSED)

    def _about(self, meta: Meta) -> None:
        if meta.chunk_id is not None:
            self._met.add(Trait.CHUNK)
        if meta.deliver_at_ms is not None:
            self._met.add(Trait.DELAYED)

    def _stored(self, events: Sequence[Stored]) -> None:
        self._metas([event.described for event in events if event.described is not None])
        if any(event.described is None for event in events):
            self._met.add(Trait.UNREADABLE)

    def _invokes(self, events: Sequence[Invoke]) -> None:
        self._verbs.update((Invoke, verb) for verb in {event.verb for event in events})
        sends = [event for event in events if event.verb == "send"]
        self._largest_bytes = max([self._largest_bytes, *(event.size or 0 for event in sends)])
        if not _LATER.isdisjoint(chain.from_iterable(event.args for event in sends if event.args)):
            self._met.add(Trait.FOR_LATER)
        for event in events:
            if event.verb in _PARTS:
                self._opening(event)

    def _opening(self, event: Invoke) -> None:
        part, facts = _PARTS[event.verb], self._facts
        for key in facts.settable | facts.fixed.keys() | facts.defaults.keys():
            value = facts.in_force(self._case.config, part, key, event.args.get("config"))
            if value:
                self._met.add(Setting(part, key))
            elif part == "consumer" and key in _NONE_OF:
                self._met.add(_NONE_OF[key])
        if event.args.get("pattern"):
            self._met |= {Trait.PATTERN, Trait.SEVERAL_TOPICS}
        if len(event.args.get("topics") or ()) > 1:
            self._met.add(Trait.SEVERAL_TOPICS)

    def _completions(self, events: Sequence[Completion]) -> None:
        self._verbs.update((Completion, verb) for verb in {event.verb for event in events})
        errors = {event.error for event in events}
        self._met.update(trait for error, trait in _ERRORS.items() if error in errors)

    def _closed(self, events: Sequence[Closed]) -> None:
        if any(event.by is ClosedBy.BROKER for event in events):
            self._met.add(Trait.LET_GO)

    def _fired(self, events: Sequence[Fired]) -> None:
        if any(event.action in _IN_PIECES for event in events):
            self._met.add(Trait.IN_PIECES)

    # --- one method a command: all of them ---

    def _sends(self, events: Sequence[Frame]) -> None:
        sizes = (max(event.size, event.members[0].size if event.members else 0) for event in events)
        self._largest_bytes = max(self._largest_bytes, *sizes)
        if any(event.fields and event.fields.get("is_chunk") for event in events):
            self._met.add(Trait.CHUNK)

    def _connected(self, events: Sequence[Frame]) -> None:
        limits = [int(event.fields.get("max_message_size") or self._least_limit_bytes) for event in events]
        self._least_limit_bytes = min(self._least_limit_bytes, *limits)

    def _subscribed(self, events: Sequence[Frame]) -> None:
        self._topics = {event.fields.get("topic") for event in events}
        self._met.update(Subscribed(str(event.fields.get("subType", DEFAULT_KIND))) for event in events)
        if any(event.fields.get("durable", True) is False for event in events):
            self._met.add(Trait.READER)

    def _sent_away(self, events: Sequence[Frame]) -> None:
        if any(event.dir is Direction.TO_CLIENT for event in events):
            self._met.add(Trait.LET_GO)


_HANDLERS: Final[dict[type, Callable[[_Search, Any], None]]] = {
    Frame: _Search._frames,
    Stored: _Search._stored,
    Invoke: _Search._invokes,
    Completion: _Search._completions,
    Closed: _Search._closed,
    Fired: _Search._fired,
}

_FRAMES: Final[dict[str, Callable[[_Search, Sequence[Frame]], None]]] = {
    "SEND": _Search._sends,
    "CONNECTED": _Search._connected,
    "SUBSCRIBE": _Search._subscribed,
    "CLOSE_PRODUCER": _Search._sent_away,
    "CLOSE_CONSUMER": _Search._sent_away,
}
