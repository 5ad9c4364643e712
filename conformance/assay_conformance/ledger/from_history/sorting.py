"""The events of an attempt by what they are about, and what in them is forged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay_conformance.history.occupancy import Occupancy
from assay_conformance.ledger.from_history.forgeries import ASKING, Forgeries
from assay_conformance.model.direction import Direction
from assay_conformance.model.event import (
    AgentEnded,
    Began,
    Closed,
    Completion,
    Cursor,
    Ended,
    Event,
    Fate,
    Fired,
    Frame,
    Healed,
    Identity,
    Invoke,
    Opened,
    Outcome,
    Position,
    ReadBack,
    Received,
    Stepped,
    Stored,
)
from assay_conformance.model.topic_names import renamed

_PAYLOADS = ("SEND", "MESSAGE")
_PASSED, _TO_CLIENT = Fate.PASSED, Direction.TO_CLIENT
_KNOWN = (Outcome.OK, Outcome.FAIL, Outcome.UNKNOWN)


@dataclass(slots=True)
class Sorted:
    """One attempt. Topics are local names, `-partition-N` kept."""

    began: Began | None = None
    ended_ns: int = 0
    local: dict[str, str] = field(default_factory=dict)
    invokes: list[Invoke] = field(default_factory=list)
    ends: dict[int, Completion] = field(default_factory=dict)
    completions: list[Completion] = field(default_factory=list)
    received: list[Received] = field(default_factory=list)
    stored: list[Stored] = field(default_factory=list)
    read_back: set[str] = field(default_factory=set)
    parted: dict[int, Invoke | AgentEnded] = field(default_factory=dict)
    """Producer handle -> what ends it: its close is asked for, or its client's, or its process dies."""
    cursors: dict[tuple[str, str], Cursor] = field(default_factory=dict)
    troubles: list[Event] = field(default_factory=list)
    """Faults, steps of the broker, ends of connections and agents; what the broker closed."""
    opened: list[Opened] = field(default_factory=list)
    subscribes: list[Frame] = field(default_factory=list)
    chunks_sent: list[Frame] = field(default_factory=list)
    """To consumers."""
    names: set[str] = field(default_factory=set)
    """Producer names that clients were given or asked for."""
    forgeries: Forgeries = field(default_factory=Forgeries)
    """Answers of the broker, and SENDs, that were made up, or changed on their way."""
    torn: bool = False
    """A payload frame was lost, repeated, held back or changed while its connection went on."""
    torn_sends: bool = False
    """One of them was a SEND: no client can avoid a loss by deduplication then."""
    torn_chunks: set[Identity] = field(default_factory=set)
    """Messages in chunks of which a SEND was torn, or a receipt repeated. All their chunks have one sequence id, so the
    receipt of one passes for that of another: a client may take a message for stored that lacks a chunk."""
    torn_uuids: set[str] = field(default_factory=set)
    """Likewise, of those that no witness has seen whole."""
    touched: set[Identity] = field(default_factory=set)
    """Messages in frames that were made up, or changed beyond recognition."""
    touched_positions: set[Position] = field(default_factory=set)
    damaged_positions: set[Position] = field(default_factory=set)
    """Of entries whose frame was lost or damaged on its way to a consumer, which may settle them for that; and of those
    held back on it, where a cumulative acknowledgment settled all up to a message."""
    sends: dict[Identity, int] = field(default_factory=dict)
    """How often a message was written."""

    def topic(self, full: str) -> str:
        return renamed(full, self.local)


@dataclass(slots=True)
class _Chunks:
    """Messages in chunks, as their SENDs are written: who sends one, which were torn, and whose payloads they are."""

    sent: dict[tuple[int, int | None, int | None], str] = field(default_factory=dict)
    """(connection, producer id, sequence id) -> uuid."""
    torn: set[str] = field(default_factory=set)
    messages: dict[Identity, str] = field(default_factory=dict)
    held: dict[tuple[int, int | None, int | None], set[int]] = field(default_factory=dict)
    """Frames that wait for their release."""

    def sending(self, event: Frame, uuid: str) -> None:
        """A SEND of one of them. One that is held tears its message if a later one arrives before it: what waits, and
        never arrives since its connection ends, was lost with the connection, as any other."""
        where = _where(event)
        self.sent[where] = uuid
        self.messages.update((one.identity, uuid) for one in event.members if one.identity is not None)
        waiting = self.held.setdefault(where, set())
        if event.fate is Fate.HELD:
            waiting.add(event.frame)
            return
        waiting.discard(event.frame)
        if (waiting and event.fate is Fate.PASSED) or event.fate not in _TEARS_NOTHING:
            self.torn.add(uuid)

    def answered(self, event: Frame) -> None:
        """An answer to a client that did not just pass."""
        if event.command == "SEND_RECEIPT" and event.fate is Fate.DUPLICATED and _where(event) in self.sent:
            self.torn.add(self.sent[_where(event)])


def sort(events: Iterable[Event]) -> Sorted:
    sorting = _Sorting()
    found = sorting.found
    for event in events:
        handler = _HANDLERS.get(type(event))
        if handler is not None:
            handler(sorting, event)
    if any(invoke.args.get("cumulative") for invoke in found.invokes):
        held = (frame for frame in sorting.payloads if frame.command == "MESSAGE" and frame.fate is Fate.HELD)
        found.damaged_positions.update(id.position for frame in held for id in frame.ids)
    if sorting.changed:
        _touch(found, sorting.payloads, sorting.changed)
    chunks = sorting.chunks
    found.torn_chunks = {identity for identity, uuid in chunks.messages.items() if uuid in chunks.torn}
    found.torn_uuids = set(chunks.torn)
    return found


@dataclass(slots=True)
class _Sorting:
    found: Sorted = field(default_factory=Sorted)
    payloads: list[Frame] = field(default_factory=list)
    changed: dict[int, bool] = field(default_factory=dict)
    """Number of a payload frame that a fault changed -> whether it is evidently damaged."""
    chunks: _Chunks = field(default_factory=_Chunks)
    occupancy: Occupancy = field(default_factory=Occupancy)

    # --- one method an event type ---

    def began(self, event: Began) -> None:
        self.found.began = event
        self.found.local = event.local_names

    def ended(self, event: Ended) -> None:
        self.found.ended_ns = event.t_ns

    def invoked(self, event: Invoke) -> None:
        self.found.invokes.append(event)
        if event.verb == "open_producer":
            name = (event.args.get("config") or {}).get("producer_name")
            if name:
                self.found.names.add(str(name))
        elif event.verb == "close":
            self._parts(event)

    def agent_ended(self, event: AgentEnded) -> None:
        self.trouble(event)
        self._parts(event)

    def _parts(self, event: Invoke | AgentEnded) -> None:
        """Producers so far that this ends."""
        for asked in self.found.invokes:
            mine = isinstance(event, AgentEnded) or event.closes(asked)
            if asked.verb == "open_producer" and asked.handle is not None and mine:
                self.found.parted.setdefault(asked.handle, event)

    def completed(self, event: Completion) -> None:
        found = self.found
        if event.op not in found.ends:
            found.completions.append(event)
            found.ends[event.op] = event
        if event.producer_name:
            found.names.add(event.producer_name)
            found.forgeries.opened(event)

    def received(self, event: Received) -> None:
        self.found.received.append(event)

    def stored(self, event: Stored) -> None:
        self.found.stored.append(event)

    def read_back(self, event: ReadBack) -> None:
        self.found.read_back.add(event.topic)

    def cursor(self, event: Cursor) -> None:
        self.found.cursors[event.topic, event.subscription] = event

    def trouble(self, event: Event) -> None:
        self.found.troubles.append(event)

    def opened(self, event: Opened) -> None:
        self.found.opened.append(event)
        self.occupancy.opened(event)

    def closed(self, event: Closed) -> None:
        if not self.occupancy.is_left_unused(event):
            self.trouble(event)

    def frame(self, event: Frame) -> None:
        found, command = self.found, event.command
        if command in _PAYLOADS:
            self.payloads.append(event)
            if event.fate is not _PASSED:
                self._harmed(event)
            if command == "SEND":
                self._sent(event)
            elif event.meta is not None and event.meta.uuid:
                found.chunks_sent.append(event)
            return
        self.occupancy.frame(event)
        if event.dir is _TO_CLIENT:
            if event.fate is not _PASSED:
                found.forgeries.answered(event)
                self.chunks.answered(event)
            if command in ("CLOSE_PRODUCER", "CLOSE_CONSUMER"):
                found.troubles.append(event)
            if command == "PRODUCER_SUCCESS" and event.fields.get("producer_name"):
                found.names.add(str(event.fields["producer_name"]))
        elif command in ASKING:
            found.forgeries.asked(event)
        elif command == "SUBSCRIBE":
            found.subscribes.append(event)

    def _harmed(self, event: Frame) -> None:
        """A payload that did not just pass."""
        found = self.found
        if event.fate not in (Fate.HELD, Fate.RELEASED, Fate.DUPLICATED, Fate.CUT):
            evident = event.fate is Fate.DROPPED or event.intact is False
            self.changed[event.frame] = evident and event.command == "MESSAGE" and self.changed.get(event.frame, True)
        torn = _is_torn(event)
        found.torn = found.torn or torn
        found.torn_sends = found.torn_sends or (torn and event.command == "SEND")

    def _sent(self, event: Frame) -> None:
        self.found.forgeries.sent(event)
        if event.from_sender:
            sends = self.found.sends
            for member in event.members:
                if member.identity is not None:
                    sends[member.identity] = sends.get(member.identity, 0) + 1
        if event.meta is not None and event.meta.uuid:
            self.chunks.sending(event, event.meta.uuid)


_HANDLERS: dict[type, Callable[[_Sorting, Any], None]] = {
    Began: _Sorting.began,
    Ended: _Sorting.ended,
    Invoke: _Sorting.invoked,
    Completion: _Sorting.completed,
    Received: _Sorting.received,
    Stored: _Sorting.stored,
    ReadBack: _Sorting.read_back,
    Cursor: _Sorting.cursor,
    Opened: _Sorting.opened,
    Frame: _Sorting.frame,
    Fired: _Sorting.trouble,
    Healed: _Sorting.trouble,
    Closed: _Sorting.closed,
    AgentEnded: _Sorting.agent_ended,
    Stepped: _Sorting.trouble,
}


def _touch(found: Sorted, frames: Iterable[Frame], changed: Mapping[int, bool]) -> None:
    """What was in frames that a fault changed; True: evidently damaged."""
    for frame in frames:
        damaged = changed.get(frame.frame)
        if damaged:
            found.damaged_positions.update(id.position for id in frame.ids)
        elif damaged is not None:
            found.touched.update(member.identity for member in frame.members if member.identity is not None)
            found.touched_positions.update(id.position for id in frame.ids)


def _where(event: Frame) -> tuple[int, int | None, int | None]:
    return (event.conn, event.producer_id, event.sequence_id)


_TEARS_NOTHING = frozenset({Fate.PASSED, Fate.CUT, Fate.RELEASED})


def _is_torn(event: Frame) -> bool:
    return event.fate not in (Fate.PASSED, Fate.CUT)


def is_known(outcome: Outcome | None) -> bool:
    return outcome in _KNOWN
