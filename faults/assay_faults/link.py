"""The frame link: every frame of a Case's connections comes here from its sender and leaves from here, or does not.

Sans-IO: connections, whole frames, steps and time come in as calls; what leaves goes to a `LinkSink`, what happened to
the `Recorder`. The link is the wire witness, for it alone sees both sides (model/event.py, `Frame`):

* A frame that leaves at once, unchanged, is one event with both sides. Any other is a sender-side event when it comes,
  and a receiver-side event for each copy when that leaves, with the same number. A frame that the link writes itself
  has a receiver side only. What leaves but is no frame any more has no receiver side: the fault's receipt tells.
* A frame on a connection that has ended is not on the wire and not recorded.

Faults are asked in plan order, each about the frame as the one before left it; a trigger counts frames as they were
sent, whatever became of them. One fault's cut ends the row. Once it is carried out, nothing passes: an answer that the
broker writes to the very frame that was cut behind does not reach the client.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from assay_conformance.history.recorder import Recorder
from assay_conformance.model.errors import UsageError
from assay_conformance.model.event import Closed, ClosedBy, Fate, Fired, Healed, Opened, Sides, Undecodable
from assay_conformance.model.event import Frame as FrameEvent
from assay_conformance.model.fault import Cut, CutHow, Direction, Fault, OnFrame, Scope
from assay_conformance.wire import Frame, ProtocolError, decode
from assay_conformance.wire.describe import Describer
from assay_faults.actions import NS_PER_MS
from assay_faults.channel import Channel, Entry, Segmenter
from assay_faults.live import Live
from assay_faults.outbox import LinkSink, Outbox
from assay_faults.parties import Parties
from assay_faults.passage import Injected, Passage
from assay_faults.triggers import FrameTrigger, names_party
from assay_faults.witness import header

__all__ = ["FrameLink", "LinkSink"]

_PARTITION: Final = "-partition-"
_DIRECTIONS: Final = (Direction.TO_BROKER, Direction.TO_CLIENT)

# What looks at each frame of a command: a fault, its trigger or the end of it, and whether it is the end.
Watch = tuple[FrameTrigger, Live, bool]


class Connection:
    """One connection. `holes`: the faults whose black hole it is in. `ended`: one side is gone, the other not told."""

    __slots__ = ("broker", "dead", "ended", "holes", "number", "parties", "to_broker", "to_client")

    def __init__(self, number: int, broker: int, parties: Parties) -> None:
        self.number = number
        self.broker = broker
        self.parties = parties
        self.to_broker = Channel(Direction.TO_BROKER)
        self.to_client = Channel(Direction.TO_CLIENT)
        self.holes: set[int] = set()
        self.dead = False
        self.ended = False

    def channel(self, direction: Direction) -> Channel:
        return self.to_broker if direction is Direction.TO_BROKER else self.to_client

    def within(self, scope: Scope) -> bool:
        return (
            scope.connection in (None, self.number)
            and scope.broker in (None, self.broker)
            and (not names_party(scope) or self.parties.any_within(scope))
        )


class FrameLink:
    """All connections of one Case. `topics` maps full topic names to the topology's.

    `fired` counts how often each fault acted. Raises UsageError for a fault that cannot work. Whatever calls the broker
    other than by a delivery of this link does so within `busy()`.
    """

    def __init__(
        self, faults: Sequence[Fault], sink: LinkSink, recorder: Recorder, *, topics: Mapping[str, str]
    ) -> None:
        self._sink = sink
        self._recorder = recorder
        self._topics = topics
        self._outbox = Outbox()
        self._describers = {direction: Describer() for direction in _DIRECTIONS}
        self._connections: dict[int, Connection] = {}
        self._frames = 0
        self._deadlines: list[int] = []
        self.fired = [0] * len(faults)
        self._lives = [Live(number, fault, self._next_number) for number, fault in enumerate(faults)]
        self._learning = any(names_party(fault.scope) for fault in faults)
        self._watches: dict[Direction, dict[int, tuple[Watch, ...]]] = {}
        self._watch()
        for live in self._lives:
            if live.at_ns is not None:
                self._schedule(live.at_ns)

    # --- connections ---

    def opened(self, conn: int, broker: int, now_ns: int) -> bool:
        """A client connects; False when a fault refuses it, and `conn` may be given to the next one."""
        for live in self._lives:
            if live.refusing and _refuses(live.fault, conn, broker):
                self._fire(live, (), None)
                live.refuse()
                self._progress(now_ns)
                return False
        self._connections[conn] = Connection(conn, broker, Parties(self._local))
        self._recorder.add(Opened, conn=conn, broker=broker)
        return True

    def ended(self, conn: int, by: ClosedBy, reset: bool, now_ns: int) -> bool:
        """One side ended the connection. False when a black hole keeps that from the other side, which is told by
        `close_link` at the heal."""
        connection = self._connections.get(conn)
        if connection is None or connection.ended:
            return True
        outgoing, incoming = connection.to_broker, connection.to_client
        if by is ClosedBy.BROKER:
            outgoing, incoming = incoming, outgoing
        if not outgoing.swallowed:
            self._die(connection, by, reset)
            self._progress(now_ns)
            return True
        self._recorder.add(Closed, conn=conn, by=by, reset=reset)
        connection.ended = incoming.swallowed = True
        incoming.abandon()
        return False

    def undecodable(self, conn: int, direction: Direction, raw: bytes, reason: str, now_ns: int) -> None:  # noqa: ARG002
        """Bytes that are no frame came from one side; they end here."""
        self._recorder.add(Undecodable, conn=conn, dir=direction, reason=reason)

    # --- frames ---

    def frame(self, conn: int, direction: Direction, frame: Frame, now_ns: int) -> None:
        """One whole frame from one side."""
        connection = self._connections.get(conn)
        if connection is None:
            return
        number = self._frames
        self._frames = number + 1
        channel = connection.to_broker if direction is Direction.TO_BROKER else connection.to_client
        if self._learning:
            connection.parties.learn(direction, frame)
        watches = self._watches[direction].get(frame.type)
        hits = self._hits(connection, frame, watches, now_ns) if watches else None
        if hits or not channel.clear():
            self._handle(connection, channel, frame, number, hits or (), now_ns)
            return
        self._recorder.add(
            FrameEvent, conn=conn, dir=direction, frame=number, **header(frame, self._describers[direction])
        )
        self._outbox.call(self._sink.deliver, conn, direction, frame)
        self._outbox.run()

    # --- steps and time ---

    def step_done(self, index: int, now_ns: int) -> None:
        """Step `index` has been issued, or, for a wait, has ended."""
        for live in self._lives:
            if not live.over and live.is_due_after(index):
                self._strike(live, now_ns)
            if not live.over and live.ends_after(index):
                self._end(live)
        self._progress(now_ns)

    def advance(self, now_ns: int) -> None:
        """It is this late."""
        if not self._deadlines or self._deadlines[0] > now_ns:
            return
        while self._deadlines and self._deadlines[0] <= now_ns:
            heapq.heappop(self._deadlines)
        for live in self._lives:
            if not live.over and not live.begun and live.at_ns is not None and live.at_ns <= now_ns:
                self._strike(live, now_ns)
            if not live.over and live.ends_ns is not None and live.ends_ns <= now_ns:
                self._end(live)
        self._progress(now_ns)

    def next_deadline_ns(self) -> int | None:
        """When to call `advance` next; it may turn out that nothing was left to do."""
        return self._deadlines[0] if self._deadlines else None

    def heal(self, fault: int, now_ns: int) -> None:
        """End one fault."""
        if not self._lives[fault].over:
            self._end(self._lives[fault])
        self._progress(now_ns)

    def heal_all(self, now_ns: int) -> None:
        """End every fault: what waits leaves in order, black holes reset their connections, refusals end."""
        for live in self._lives:
            if not live.over:
                self._end(live)
        self._progress(now_ns)

    @contextmanager
    def busy(self) -> Iterator[None]:
        """The broker is being called: what the link has for it, or has to close, waits until that call is done."""
        with self._outbox.paused():
            yield
        self._outbox.run()

    # --- a frame that is not simply passed on ---

    def _hits(self, connection: Connection, frame: Frame, watches: tuple[Watch, ...], now_ns: int) -> Sequence[Live]:
        """The faults that this frame triggers, in plan order, after those that it ends have ended."""
        hits: list[Live] = []
        ends: list[Live] = []
        for trigger, live, is_end in watches:
            if trigger.hits(connection, frame):
                (ends if is_end else hits).append(live)
        if not ends:
            return hits
        for live in ends:
            self._end(live)
        self._drain_all(now_ns)
        return [live for live in hits if not live.over]

    def _handle(
        self,
        connection: Connection,
        channel: Channel,
        frame: Frame,
        number: int,
        hits: Sequence[Live],
        now_ns: int,
    ) -> None:
        passage = Passage(channel.direction, number, now_ns, frame, frame.raw)
        acted: list[tuple[Live, tuple[int, ...]]] = []
        if channel.swallowed or connection.dead:
            passage.gone = Fate.CUT
            hits = ()
        for live in hits:
            if passage.cut is not None:
                break
            self._begin(live, now_ns)
            if (numbers := live.act.on(passage, live)) is not None:
                acted.append((live, numbers))
        self._carry_out(connection, passage, acted)
        self._progress(now_ns)

    def _strike(self, live: Live, now_ns: int) -> None:
        """A fault acts without a frame: on every connection of its scope."""
        self._begin(live, now_ns)
        touched = [connection for connection in self._connections.values() if connection.within(live.fault.scope)]
        if not touched:
            # A refusal needs no connection to begin.
            live.act.on(Passage(None, -1, now_ns, None), live)
        for connection in touched:
            passage = Passage(None, -1, now_ns, None)
            if (numbers := live.act.on(passage, live)) is not None:
                self._carry_out(connection, passage, [(live, numbers)])

    def _carry_out(
        self, connection: Connection, passage: Passage, acted: Sequence[tuple[Live, tuple[int, ...]]]
    ) -> None:
        now_ns = passage.now_ns
        before = [injected for injected in passage.injected if injected.before]
        behind = [injected for injected in passage.injected if not injected.before]
        owner = acted[-1][0].number if acted else -1
        if passage.resegment is not None:
            self._segment(connection, passage, owner)
        for injected in before:
            self._inject(connection, injected, now_ns)
        entries = self._witness(connection, passage)
        for live, numbers in acted:
            self._fire(live, numbers, connection.number)
        if passage.direction is not None:
            channel = connection.channel(passage.direction)
            channel.queue += entries
            self._drain(connection, channel, now_ns)
        for injected in behind:
            self._inject(connection, injected, now_ns)
        if passage.cut is not None:
            self._enqueue_cut(connection, passage, passage.cut, owner)

    def _witness(self, connection: Connection, passage: Passage) -> list[Entry]:
        """Record the frame as it came, and return what is to leave of it."""
        frame, direction = passage.sent, passage.direction
        if frame is None or direction is None:
            return []
        conn, number, waits = connection.number, passage.number, tuple(passage.waits)
        event = header(frame, self._describers[direction])
        at_once = not waits and connection.channel(direction).passes_at_once(len(passage.raw), passage.now_ns)
        if passage.gone is not None:
            self._add_frame(conn, direction, number, Sides.SENDER, passage.gone, event)
            return [Entry(data=passage.raw)] if passage.altered and passage.gone is Fate.CUT else []
        if at_once and not passage.altered and not passage.copies:
            self._add_frame(conn, direction, number, Sides.BOTH, Fate.PASSED, event)
            return [Entry(frame)]
        fate = Fate.ALTERED if passage.altered else Fate.DUPLICATED if passage.copies else Fate.HELD
        self._add_frame(conn, direction, number, Sides.SENDER, fate, event)
        leaving = passage.frame()
        if passage.altered:
            # A describer of its own: what a fault made of a chunk is no part of the message that was sent.
            shown = None if leaving is None else header(leaving, Describer())
            first = Fate.ALTERED
        else:
            shown, first = event, Fate.PASSED if at_once else Fate.RELEASED
        fates = [first] + [Fate.DUPLICATED] * passage.copies
        return [Entry(leaving, b"" if leaving else passage.raw, number, fate, shown, waits) for fate in fates]

    def _inject(self, connection: Connection, injected: Injected, now_ns: int) -> None:
        try:
            frame, data = decode(injected.raw), b""
            event = header(frame, Describer())
        except ProtocolError:
            frame, data, event = None, injected.raw, None
        channel = connection.channel(injected.direction)
        if not channel.swallowed and not connection.dead:
            channel.queue.append(Entry(frame, data, injected.number, Fate.INJECTED, event))
            self._drain(connection, channel, now_ns)

    def _segment(self, connection: Connection, passage: Passage, owner: int) -> None:
        assert passage.resegment is not None
        piece_bytes, gap_ns = passage.resegment.piece_bytes, passage.resegment.gap_ms * NS_PER_MS
        for direction in _DIRECTIONS if passage.direction is None else (passage.direction,):
            channel = connection.channel(direction)
            self._flush(connection, channel, passage.now_ns)
            channel.segmenter = Segmenter(owner, piece_bytes, gap_ns)

    # --- what leaves ---

    def _drain(self, connection: Connection, channel: Channel, now_ns: int) -> None:
        """Let everything leave that may."""
        if channel.segmenter is not None and self._lives[channel.segmenter.owner].over:
            self._flush(connection, channel, now_ns)
        while (entry := channel.take(now_ns)) is not None:
            if channel.segmenter is None:
                self._leave(connection, channel, entry)
            else:
                channel.segmenter.push(entry)
        segmenter = channel.segmenter
        while segmenter is not None and (piece := segmenter.pop(now_ns)) is not None:
            self._leave_piece(connection, channel, *piece)
        if segmenter is not None and segmenter.pending:
            self._schedule(segmenter.next_ns)
        for entry in channel.queue:
            for wait in entry.waits:
                if wait.due_ns is not None and not wait.over(now_ns):
                    self._schedule(wait.due_ns)

    def _flush(self, connection: Connection, channel: Channel, now_ns: int) -> None:
        """No pieces any more: the rest of the bytes leaves at once."""
        segmenter, channel.segmenter = channel.segmenter, None
        if segmenter is not None and (piece := segmenter.pop(now_ns, whole=True)) is not None:
            self._leave_piece(connection, channel, *piece)

    def _leave(self, connection: Connection, channel: Channel, entry: Entry) -> None:
        self._show(connection, channel, entry)
        if entry.frame is not None:
            self._outbox.call(self._sink.deliver, connection.number, channel.direction, entry.frame)
        elif entry.data:
            self._outbox.call(self._sink.deliver_bytes, connection.number, channel.direction, entry.data)
        if entry.cut is not None:
            self._cut(connection, entry.cut, entry.fault)

    def _leave_piece(self, connection: Connection, channel: Channel, data: bytes, ended: Sequence[Entry]) -> None:
        """Bytes of a stream in pieces, and the entries whose last byte is among them."""
        for entry in ended:
            self._show(connection, channel, entry)
        if data:
            self._outbox.call(self._sink.deliver_bytes, connection.number, channel.direction, data)
        for entry in ended:
            if entry.cut is not None:
                self._cut(connection, entry.cut, entry.fault)

    def _show(self, connection: Connection, channel: Channel, entry: Entry) -> None:
        if entry.event is not None:
            self._add_frame(connection.number, channel.direction, entry.number, Sides.RECEIVER, entry.fate, entry.event)

    def _add_frame(
        self, conn: int, direction: Direction, number: int, sides: Sides, fate: Fate, event: dict[str, Any]
    ) -> None:
        self._recorder.add(FrameEvent, conn=conn, dir=direction, frame=number, sides=sides, fate=fate, **event)

    # --- cuts ---

    def _enqueue_cut(self, connection: Connection, passage: Passage, cut: Cut, owner: int) -> None:
        """Cut behind what is on its way, unless that waits for nobody knows how long."""
        if passage.direction is None or cut.abrupt:
            self._cut(connection, cut, owner)
            return
        channel = connection.channel(passage.direction)
        if any(entry.stuck(passage.now_ns) for entry in channel.queue):
            self._cut(connection, cut, owner)
            return
        channel.queue.append(Entry(cut=cut, fault=owner))
        self._drain(connection, channel, passage.now_ns)

    def _cut(self, connection: Connection, cut: Cut, owner: int) -> None:
        if cut.how is CutHow.BLACKHOLE:
            connection.holes.add(owner)
            for direction in _DIRECTIONS if cut.direction is None else (cut.direction,):
                connection.channel(direction).swallowed = True
                connection.channel(direction).abandon()
        elif not connection.dead:
            self._die(connection, ClosedBy.FAULT, cut.how is CutHow.RST)
            self._outbox.call(self._sink.close_link, connection.number, cut.how, cut.abrupt)

    def _die(self, connection: Connection, by: ClosedBy, reset: bool) -> None:
        del self._connections[connection.number]
        connection.dead = True
        connection.to_broker.abandon()
        connection.to_client.abandon()
        if not connection.ended:
            self._recorder.add(Closed, conn=connection.number, by=by, reset=reset)

    # --- faults begin and end ---

    def _begin(self, live: Live, now_ns: int) -> None:
        live.begin(now_ns)
        if live.ends_ns is not None:
            self._schedule(live.ends_ns)
        self._watch()

    def _fire(self, live: Live, numbers: tuple[int, ...], conn: int | None) -> None:
        live.fired += 1
        self.fired[live.number] = live.fired
        action: str = live.fault.action.__struct_config__.tag  # type: ignore[assignment]
        self._recorder.add(Fired, fault=live.number, action=action, frames=numbers, conn=conn)

    def _end(self, live: Live) -> None:
        live.finish()
        self._watch()
        if live.fired:
            self._recorder.add(Healed, fault=live.number)

    def _progress(self, now_ns: int) -> None:
        """After anything out of the ordinary: let leave what may, end what has run its course, tell the sink."""
        self._drain_all(now_ns)
        for live in self._lives:
            if not live.over and live.spent:
                self._end(live)
        self._outbox.run()

    def _drain_all(self, now_ns: int) -> None:
        for connection in tuple(self._connections.values()):
            self._drain(connection, connection.to_broker, now_ns)
            self._drain(connection, connection.to_client, now_ns)
            if not connection.dead and any(self._lives[number].over for number in connection.holes):
                # Bytes are missing from its streams: it can only be reset.
                self._cut(connection, Cut(how=CutHow.RST, abrupt=True), -1)

    def _watch(self) -> None:
        """Index what looks at frames by direction and command; most commands of most Cases have nothing there."""
        index: dict[Direction, dict[int, tuple[Watch, ...]]] = {direction: {} for direction in _DIRECTIONS}
        for live in self._lives:
            for trigger, is_end in ((live.trigger, False), (live.end, True)):
                if trigger is not None and not live.over:
                    place = index[trigger.on.direction]
                    place[trigger.kind] = (*place.get(trigger.kind, ()), (trigger, live, is_end))
        self._watches = index

    # --- small things ---

    def _next_number(self) -> int:
        number = self._frames
        self._frames = number + 1
        return number

    def _schedule(self, at_ns: int) -> None:
        heapq.heappush(self._deadlines, at_ns)

    def _local(self, full: str) -> str | None:
        return self._topics.get(full.partition(_PARTITION)[0])


def _refuses(fault: Fault, conn: int, broker: int) -> bool:
    """A frame's trigger has used `scope.connection` for its frame; otherwise it names the connection to refuse."""
    named = None if isinstance(fault.trigger, OnFrame) else fault.scope.connection
    return named in (None, conn) and fault.scope.broker in (None, broker)
