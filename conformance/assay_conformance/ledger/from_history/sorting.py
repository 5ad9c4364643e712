"""The events of an attempt by what they are about, and what in them is forged."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Final

from assay_conformance.history.events import Events, grouped
from assay_conformance.history.occupancy import left_unused
from assay_conformance.history.openings import Openings
from assay_conformance.ledger.from_history.forgeries import Forgeries
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
    Position,
    ReadBack,
    Received,
    Stepped,
    Stored,
)
from assay_conformance.model.topic_names import base_topic, renamed

_WHOLE: Final = frozenset({Fate.PASSED, Fate.CUT})
"""What a payload frame is that arrived, or was lost with its connection."""

_UNCHANGED: Final = frozenset({*_WHOLE, Fate.HELD, Fate.RELEASED, Fate.DUPLICATED})


class Sorted:
    """One attempt. Topics are local names, `-partition-N` kept.

    `first_stored`: topic -> partition -> number of its first entry. `ends`: operation -> how it ended. `read_back`:
    names of topics. `parted`: producer handle -> what ends it: its close or its client's is asked for, or its process
    dies. `names`: what producers were named, or asked to be. `sends`: how often a message was written. `troubles`:
    faults, steps of the broker, ends of connections and agents, what the broker closed, and calls for redelivery of
    everything. `chunks_sent`: to consumers.
    """

    def __init__(self, history: Iterable[Event]) -> None:
        history = list(history)
        self.events = events = Events(history)
        of = events.of
        self.began = next(reversed(of(Began)), None)
        self.local = {} if self.began is None else self.began.local_names
        self.ended_ns = next((end.t_ns for end in reversed(of(Ended))), 0)
        self.invokes, self.received = of(Invoke), of(Received)
        self.stored, self.opened = of(Stored), of(Opened)
        self.ends: dict[int, Completion] = {}
        for end in of(Completion):
            self.ends.setdefault(end.op, end)
        self.completions = [*self.ends.values()]
        self.read_back = {event.topic for event in of(ReadBack)}
        self.cursors = {(event.topic, event.subscription): event for event in of(Cursor)}
        self.cursors_by_topic = grouped(
            ((event.topic, event) for event in self.cursors.values()), lambda one: base_topic(one[0])
        )
        self.first_stored: dict[str, dict[str, int]] = {}
        for entry in self.stored:
            first = self.first_stored.setdefault(base_topic(entry.topic), {})
            first[entry.topic] = min(entry.seq, first.get(entry.topic, entry.seq))
        self.parted = _parted(events)
        self.names = _names(events)
        self.troubles = _troubles(events, history)
        self.chunks_sent = [one for one in events.frames("MESSAGE") if one.meta is not None and one.meta.uuid]
        self.forgeries = Forgeries(events)
        members = (one.members for one in events.frames("SEND") if one.from_sender)
        self.sends = Counter(one.identity for one in chain.from_iterable(members) if one.identity is not None)
        self._find_torn(events)
        self._find_changed(events)

    def _find_torn(self, events: Events) -> None:
        """Find payload frames that were lost, repeated, held back or changed while their connection went on: `torn`.

        With a SEND among them (`torn_sends`) no client can avoid a loss by deduplication. `torn_chunks`: messages in
        chunks of which a SEND was torn, or a receipt repeated. All their chunks have one sequence id, so the receipt of
        one passes for that of another: a client may take a message for stored that lacks a chunk. `torn_uuids`:
        likewise, with those that no witness has seen whole.
        """
        self.torn_sends = any(frame.fate not in _WHOLE for frame in events.frames("SEND"))
        self.torn = self.torn_sends or any(frame.fate not in _WHOLE for frame in events.frames("MESSAGE"))
        uuids, self.torn_uuids = _chunked(events)
        self.torn_chunks = {identity for identity, uuid in uuids.items() if uuid in self.torn_uuids}

    def _find_changed(self, events: Events) -> None:
        """Find the messages and entries that faults changed or made up.

        `touched`, `touched_positions`: messages in frames that were made up, or changed beyond recognition.
        `damaged_positions`: entries whose frame was lost or damaged on its way to a consumer, which may settle them for
        that; and those held back on it, where a cumulative acknowledgment settled all up to a message.
        """
        self.touched, self.touched_positions, self.damaged_positions = set[Identity](), set[Position](), set[Position]()
        if any(invoke.args.get("cumulative") for invoke in events.invokes("ack")):
            held = (frame for frame in events.frames("MESSAGE") if frame.fate is Fate.HELD)
            self.damaged_positions.update(id.position for frame in held for id in frame.ids)
        changed: dict[int, bool] = {}
        for frame in (*events.frames("SEND"), *events.frames("MESSAGE")):
            if frame.fate not in _UNCHANGED:
                evident = frame.command == "MESSAGE" and (frame.fate is Fate.DROPPED or frame.intact is False)
                changed[frame.frame] = evident and changed.get(frame.frame, True)
        for frame in events.frames("SEND", "MESSAGE") if changed else ():
            damaged = changed.get(frame.frame)
            if damaged:
                self.damaged_positions.update(id.position for id in frame.ids)
            elif damaged is not None:
                self.touched.update(member.identity for member in frame.members if member.identity is not None)
                self.touched_positions.update(id.position for id in frame.ids)

    def calls(self, verb: str) -> Sequence[Invoke]:
        """Return all calls of a verb."""
        return self.events.invokes(verb)

    def topic(self, full: str) -> str:
        """Return a topic by its name in the Case."""
        return renamed(full, self.local)


def _parted(events: Events) -> dict[int, Invoke | AgentEnded]:
    found: dict[int, Invoke | AgentEnded] = {}
    there = Openings()
    steps: list[Invoke | AgentEnded] = [*events.invokes("open_producer"), *events.invokes("close")]
    for step in sorted((*steps, *events.of(AgentEnded)), key=lambda one: one.seq):
        if isinstance(step, Invoke) and step.verb == "open_producer":
            there.add(step)
        else:
            found |= {handle: step for handle in there.ended_by(step) if handle not in found}
    return found


def _names(events: Events) -> set[str]:
    wanted = ((call.args.get("config") or {}).get("producer_name") for call in events.invokes("open_producer"))
    named = (end.producer_name for end in events.of(Completion))
    given = (frame.fields.get("producer_name") for frame in events.frames("PRODUCER_SUCCESS"))
    return {str(name) for name in chain(wanted, named, given) if name}


def _troubles(events: Events, history: list[Event]) -> list[Event]:
    unused = {closed.seq for closed in left_unused(history)}
    closes = events.frames("CLOSE_PRODUCER", "CLOSE_CONSUMER")
    found: list[Event] = [one for kind in (Fired, Healed, AgentEnded, Stepped) for one in events.of(kind)]
    found += (closed for closed in events.of(Closed) if closed.seq not in unused)
    found += (close for close in closes if close.dir is Direction.TO_CLIENT)
    found += events.invokes("redeliver_all")
    return sorted(found, key=lambda one: one.seq)


def _chunked(events: Events) -> tuple[dict[Identity, str], set[str]]:
    """Return the messages in chunks, with their uuids, and the uuids that were torn.

    A SEND that is held tears its message if a later one arrives before it, which may have been held too: what waits,
    and never arrives since its connection ends, was lost with the connection, as any other.
    """
    uuids, torn = dict[Identity, str](), set[str]()
    sent: dict[tuple[int, int | None, int | None], str] = {}
    held: dict[tuple[int, int | None, int | None], set[int]] = defaultdict(set)
    chunks = [frame for frame in events.frames("SEND") if frame.meta is not None and frame.meta.uuid]
    receipts = [one for one in events.frames("SEND_RECEIPT") if chunks and one.fate is Fate.DUPLICATED]
    for frame in sorted([*chunks, *receipts], key=lambda one: one.seq):
        where, uuid = (frame.conn, frame.producer_id, frame.sequence_id), _uuid(frame)
        if uuid is None:
            torn.update([sent[where]] if where in sent else [])
            continue
        sent[where] = uuid
        uuids.update((one.identity, uuid) for one in frame.members if one.identity is not None)
        if frame.fate is Fate.HELD:
            held[where].add(frame.frame)
            continue
        held[where].discard(frame.frame)
        overtakes = frame.fate is not Fate.CUT and any(waiting < frame.frame for waiting in held[where])
        if overtakes or frame.fate not in {*_WHOLE, Fate.RELEASED}:
            torn.add(uuid)
    return uuids, torn


def _uuid(frame: Frame) -> str | None:
    return None if frame.meta is None else frame.meta.uuid
