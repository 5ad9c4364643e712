"""The events of an attempt by what they are about, and what in them is forged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

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

_FORGED = (Fate.ALTERED, Fate.INJECTED)
_PAYLOADS = ("SEND", "MESSAGE")


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
    cursors: dict[tuple[str, str], Cursor] = field(default_factory=dict)
    troubles: list[Event] = field(default_factory=list)
    """Faults, steps of the broker, ends of connections and agents; what the broker closed."""
    opened: list[Opened] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    """Producer names that clients were given or asked for."""
    forged_answers: bool = False
    """An answer of the broker was made up, or changed on its way."""
    torn: bool = False
    """A payload frame was lost, repeated, held back or changed while its connection went on."""
    torn_sends: bool = False
    """One of them was a SEND: no client can avoid a loss by deduplication then."""
    torn_chunks: set[Identity] = field(default_factory=set)
    """Messages in chunks of which a SEND was torn, or a receipt repeated. All their chunks have one sequence id, so the
    receipt of one passes for that of another: a client may take a message for stored that lacks a chunk."""
    touched: set[Identity] = field(default_factory=set)
    """Messages in frames that were made up, or changed so that nobody can tell."""
    touched_positions: set[Position] = field(default_factory=set)
    damaged_positions: set[Position] = field(default_factory=set)
    """Of entries whose frame was lost or damaged on its way to a consumer, which may settle them for that; and of those
    held back on it, where somebody settled all up to a message."""
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

    def see(self, event: Frame) -> None:
        if event.command == "SEND" and event.meta is not None and event.meta.uuid:
            self.sent[_where(event)] = event.meta.uuid
            self.messages.update((one.identity, event.meta.uuid) for one in event.members if one.identity is not None)
            if _is_torn(event):
                self.torn.add(event.meta.uuid)
        elif event.command == "SEND_RECEIPT" and event.fate is Fate.DUPLICATED and _where(event) in self.sent:
            self.torn.add(self.sent[_where(event)])


def sort(events: Iterable[Event]) -> Sorted:
    found = Sorted()
    changed: dict[int, bool] = {}
    frames: list[Frame] = []
    chunks = _Chunks()
    for event in events:
        match event:
            case Frame():
                _frame(found, event, changed, frames)
                chunks.see(event)
            case Received():
                found.received.append(event)
            case Invoke():
                found.invokes.append(event)
                name = (event.args.get("config") or {}).get("producer_name")
                if event.verb == "open_producer" and name:
                    found.names.add(str(name))
            case Completion():
                if event.op not in found.ends:
                    found.completions.append(event)
                found.ends.setdefault(event.op, event)
                if event.producer_name:
                    found.names.add(event.producer_name)
            case Stored():
                found.stored.append(event)
            case ReadBack():
                found.read_back.add(event.topic)
            case Cursor():
                found.cursors[event.topic, event.subscription] = event
            case Fired() | Healed() | Closed() | AgentEnded() | Stepped():
                found.troubles.append(event)
            case Opened():
                found.opened.append(event)
            case Began():
                found.began = event
                found.local = event.local_names
            case Ended():
                found.ended_ns = event.t_ns
            case _:
                pass
    if any(invoke.args.get("cumulative") for invoke in found.invokes):
        held = (frame for frame in frames if frame.command == "MESSAGE" and frame.fate is Fate.HELD)
        found.damaged_positions.update(id.position for frame in held for id in frame.ids)
    _touch(found, frames, changed)
    found.torn_chunks = {identity for identity, uuid in chunks.messages.items() if uuid in chunks.torn}
    return found


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


def _is_torn(event: Frame) -> bool:
    return event.fate not in (Fate.PASSED, Fate.CUT)


def _frame(found: Sorted, event: Frame, changed: dict[int, bool], frames: list[Frame]) -> None:
    if event.command in _PAYLOADS:
        frames.append(event)
        if event.fate not in (Fate.PASSED, Fate.HELD, Fate.RELEASED, Fate.DUPLICATED, Fate.CUT):
            evident = event.fate is Fate.DROPPED or event.intact is False
            changed[event.frame] = evident and event.command == "MESSAGE" and changed.get(event.frame, True)
        torn = _is_torn(event)
        found.torn = found.torn or torn
        found.torn_sends = found.torn_sends or (torn and event.command == "SEND")
        if event.command == "SEND" and event.from_sender:
            for member in event.members:
                if member.identity is not None:
                    found.sends[member.identity] = found.sends.get(member.identity, 0) + 1
    elif event.dir is Direction.TO_CLIENT:
        found.forged_answers = found.forged_answers or event.fate in _FORGED
        if event.command in ("CLOSE_PRODUCER", "CLOSE_CONSUMER"):
            found.troubles.append(event)
        if event.command == "PRODUCER_SUCCESS" and event.fields.get("producer_name"):
            found.names.add(str(event.fields["producer_name"]))


def is_known(outcome: Outcome | None) -> bool:
    return outcome in (Outcome.OK, Outcome.FAIL, Outcome.UNKNOWN)
