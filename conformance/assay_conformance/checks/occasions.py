"""What occurs in a history at all: a check that waits for what never comes is shown none of it.

Most histories have nothing of most chapters in them: no chunk, no seek, no retry letter. A check names what it cannot
do without (`Check.needs`); the history is searched once, before it is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from enum import StrEnum
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
from assay_conformance.model.topic_names import is_partition


class Trait(StrEnum):
    """What a frame or a stored entry is, or holds; what somebody was opened as, asked for, or was told."""

    CHUNK = "a part of a message"
    BATCH = "several messages"
    COMPRESSED = "a compressed body"
    DELAYED = "a time before which it is not delivered"
    UNREADABLE = "metadata or a batch that nobody can take apart, under a checksum that fits"
    HARMED = "a frame that a fault touched, or whose checksum does not fit"
    ALTERED = "a frame that a fault altered"
    IN_PIECES = "a connection whose bytes come in odd pieces"
    NO_QUEUE = "a consumer without a receiver queue"
    PATTERN = "a consumer of a pattern"
    SEVERAL_TOPICS = "subscriptions to several topics or partitions, or a consumer of such"
    READER = "a subscription that is not durable"
    PARTITION = "a producer on a partition"
    ACCESS_MODE = "a producer that does not share its topic, or waits for it"
    FOR_LATER = "a send that asks to be delivered at a time or after a delay"
    QUEUE_FULL = "a send that a full queue refused"
    OVERSIZE = "a message or frame larger than some broker takes, or refused as that"
    DUPLICATE = "the receipt of what was stored before"
    LET_GO = "a broker that ended, sent somebody away or closed a connection"


class Setting(NamedTuple):
    """A configuration value that is in force for somebody, and neither off nor zero."""

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
_ERRORS: Final = {ErrorClass.QUEUE_FULL: Trait.QUEUE_FULL, ErrorClass.TOO_LARGE: Trait.OVERSIZE}
_IN_PIECES: Final = ("slicer", "resegment")
_PASSED: Final = Fate.PASSED


def met_by(needs: Iterable[Need], met: Set[Occasion]) -> bool:
    """Whether all that is needed occurs."""
    return all(not need.isdisjoint(met) if isinstance(need, frozenset) else need in met for need in needs)


def occasions(events: Iterable[Event], case: Case, facts: ClientFacts) -> frozenset[Occasion]:
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
        """That somebody subscribed to."""
        self._largest_bytes = 0
        self._least_limit_bytes = case.topology.max_message_bytes

    def through(self, events: Iterable[Event]) -> frozenset[Occasion]:
        types: set[type] = set()
        for event in events:
            kind = type(event)
            types.add(kind)
            handler = _HANDLERS.get(kind)
            if handler is not None:
                handler(self, event)
        if self._largest_bytes > self._least_limit_bytes:
            self._met.add(Trait.OVERSIZE)
        if len(self._topics) > 1:
            self._met.add(Trait.SEVERAL_TOPICS)
        frames = ((Frame, command) for command in self._commands)
        return frozenset[Occasion]().union(self._met, types, self._verbs, frames)

    # --- one method an event type ---

    def _frame(self, event: Frame) -> None:
        command, meta = event.command, event.meta
        self._commands.add(command)
        if event.fate is not _PASSED or event.intact is False:
            self._met.add(Trait.HARMED)
            if event.fate is Fate.ALTERED:
                self._met.add(Trait.ALTERED)
        if meta is not None:
            self._about(meta)
            if event.intact and meta.batch is not None and not event.members:
                self._met.add(Trait.UNREADABLE)
        elif event.intact:
            self._met.add(Trait.UNREADABLE)
        handler = _FRAMES.get(command)
        if handler is not None:
            handler(self, event)

    def _about(self, meta: Meta) -> None:
        if meta.chunk_id is not None:
            self._met.add(Trait.CHUNK)
        if meta.batch is not None:
            self._met.add(Trait.BATCH)
        if meta.compression != "NONE":
            self._met.add(Trait.COMPRESSED)
        if meta.deliver_at_ms is not None:
            self._met.add(Trait.DELAYED)

    def _stored(self, event: Stored) -> None:
        self._about(event.meta)

    def _invoke(self, event: Invoke) -> None:
        self._verbs.add((Invoke, event.verb))
        if event.verb == "send":
            self._largest_bytes = max(self._largest_bytes, event.size or 0)
            if not _LATER.isdisjoint(event.args):
                self._met.add(Trait.FOR_LATER)
        elif event.verb in _PARTS:
            self._opening(event)

    def _opening(self, event: Invoke) -> None:
        part, facts = _PARTS[event.verb], self._facts
        for key in facts.settable | facts.fixed.keys() | facts.defaults.keys():
            value = facts.in_force(self._case.config, part, key, event.args.get("config"))
            if value:
                self._met.add(Setting(part, key))
            elif part == "consumer" and key == "receiver_queue_size":
                self._met.add(Trait.NO_QUEUE)
        if event.args.get("pattern"):
            self._met |= {Trait.PATTERN, Trait.SEVERAL_TOPICS}
        if len(event.args.get("topics") or ()) > 1:
            self._met.add(Trait.SEVERAL_TOPICS)

    def _completion(self, event: Completion) -> None:
        self._verbs.add((Completion, event.verb))
        if event.error is not None and event.error in _ERRORS:
            self._met.add(_ERRORS[event.error])

    def _closed(self, event: Closed) -> None:
        if event.by is ClosedBy.BROKER:
            self._met.add(Trait.LET_GO)

    def _fired(self, event: Fired) -> None:
        if event.action in _IN_PIECES:
            self._met.add(Trait.IN_PIECES)

    # --- one method a command ---

    def _send(self, event: Frame) -> None:
        size = event.members[0].size if event.members else 0
        self._largest_bytes = max(self._largest_bytes, event.size, size)
        if event.fields and event.fields.get("is_chunk"):
            self._met.add(Trait.CHUNK)

    def _receipt(self, event: Frame) -> None:
        if event.ids and event.ids[0].is_duplicate_marker:
            self._met.add(Trait.DUPLICATE)

    def _connected(self, event: Frame) -> None:
        told = event.fields.get("max_message_size")
        self._least_limit_bytes = min(self._least_limit_bytes, int(told or self._least_limit_bytes))

    def _subscribe(self, event: Frame) -> None:
        self._topics.add(event.fields.get("topic"))
        self._met.add(Subscribed(str(event.fields.get("subType", DEFAULT_KIND))))
        if event.fields.get("durable", True) is False:
            self._met.add(Trait.READER)

    def _producer(self, event: Frame) -> None:
        if is_partition(str(event.fields.get("topic", ""))):
            self._met.add(Trait.PARTITION)
        waits = event.fields.get("producer_ready") is False
        if waits or event.fields.get("producer_access_mode", "Shared") != "Shared":
            self._met.add(Trait.ACCESS_MODE)

    def _sent_away(self, event: Frame) -> None:
        if event.dir is Direction.TO_CLIENT:
            self._met.add(Trait.LET_GO)


_HANDLERS: Final[dict[type, Callable[[_Search, Any], None]]] = {
    Frame: _Search._frame,
    Stored: _Search._stored,
    Invoke: _Search._invoke,
    Completion: _Search._completion,
    Closed: _Search._closed,
    Fired: _Search._fired,
}

_FRAMES: Final[dict[str, Callable[[_Search, Frame], None]]] = {
    "SEND": _Search._send,
    "SEND_RECEIPT": _Search._receipt,
    "CONNECTED": _Search._connected,
    "SUBSCRIBE": _Search._subscribe,
    "PRODUCER": _Search._producer,
    "PRODUCER_SUCCESS": _Search._producer,
    "CLOSE_PRODUCER": _Search._sent_away,
    "CLOSE_CONSUMER": _Search._sent_away,
}
