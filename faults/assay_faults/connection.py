"""One connection of the link, and how what passed the faults leaves it: in order, in pieces, or not at all."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from assay_conformance.history.recorder import Recorder
from assay_conformance.model.event import Closed, ClosedBy, Fate, Sides
from assay_conformance.model.event import Frame as FrameEvent
from assay_conformance.model.fault import Cut, CutHow, Direction, Scope
from assay_conformance.wire import CommandType, Frame
from assay_faults.channel import Channel, Entry, Severance, Wait
from assay_faults.frame_owners import FrameOwners
from assay_faults.outbox import LinkSink, Outbox
from assay_faults.triggers import names_party

DIRECTIONS: Final = (Direction.TO_BROKER, Direction.TO_CLIENT)


class Deadlines:
    """The moments something is due, each once."""

    __slots__ = ("_heap", "_known")

    def __init__(self) -> None:
        self._heap: list[int] = []
        self._known: set[int] = set()

    def add(self, at_ns: int) -> None:
        if at_ns not in self._known:
            self._known.add(at_ns)
            heapq.heappush(self._heap, at_ns)

    def next_ns(self) -> int | None:
        return self._heap[0] if self._heap else None

    def passed(self, now_ns: int) -> bool:
        """Forget the moments up to `now_ns`, and return whether there were any."""
        found = False
        while self._heap and self._heap[0] <= now_ns:
            self._known.discard(heapq.heappop(self._heap))
            found = True
        return found


class Ways:
    """What all connections of a link share."""

    __slots__ = ("deadlines", "delivers_late", "gone", "outbox", "recorder", "sink")

    def __init__(
        self, sink: LinkSink, recorder: Recorder, gone: Callable[[int], object], *, delivers_late: bool
    ) -> None:
        self.sink = sink
        self.recorder = recorder
        self.gone = gone
        self.delivers_late = delivers_late
        self.outbox = Outbox()
        self.deadlines = Deadlines()

    def deliver(self, conn: int, direction: Direction, frame: Frame) -> None:
        if direction is Direction.TO_CLIENT:
            self.sink.deliver(conn, direction, frame)
        else:
            self.outbox.call(self.sink.deliver, conn, direction, frame)

    def deliver_bytes(self, conn: int, direction: Direction, data: bytes) -> None:
        if direction is Direction.TO_CLIENT:
            self.sink.deliver_bytes(conn, direction, data)
        else:
            self.outbox.call(self.sink.deliver_bytes, conn, direction, data)

    def add_frame(
        self, conn: int, direction: Direction, number: int, sides: Sides, fate: Fate, event: dict[str, Any]
    ) -> None:
        """Record one side of a frame."""
        self.recorder.add(FrameEvent, conn=conn, dir=direction, frame=number, sides=sides, fate=fate, **event)


class Connection:
    """Two channels that end together. `half_ended`: one side ended it, and a black hole keeps that from the other.
    `listener`: to which of its broker's listeners the client connected."""

    __slots__ = (
        "_holes",
        "_topics",
        "_ways",
        "broker",
        "dead",
        "half_ended",
        "listener",
        "number",
        "parties",
        "to_broker",
        "to_client",
    )

    def __init__(self, number: int, broker: int, parties: FrameOwners, ways: Ways, listener: str = "") -> None:
        self.number = number
        self.broker = broker
        self.listener = listener
        self.parties = parties
        self.to_broker = Channel(Direction.TO_BROKER)
        self.to_client = Channel(Direction.TO_CLIENT)
        self.dead = False
        self.half_ended = False
        self._ways = ways
        self._holes: list[Wait] = []
        self._topics: dict[int, str] = {}

    def channel(self, direction: Direction) -> Channel:
        return self.to_broker if direction is Direction.TO_BROKER else self.to_client

    def stream(self, frame: Frame) -> Hashable:
        """Return the stream to which a chunk belongs: the topic of a SEND, or connection and consumer of a MESSAGE.

        Chunks sent to a topic belong together across all connections. Every frame has to be given to this method, since
        PRODUCER names the topic of later SENDs.
        """
        kind = frame.type
        if kind == CommandType.SEND:
            return self._topics.get(frame.body.producer_id)
        if kind == CommandType.MESSAGE:
            return (self.number, frame.body.consumer_id)
        if kind == CommandType.PRODUCER:
            self._topics[frame.body.producer_id] = frame.body.topic
        return None

    def within(self, scope: Scope, listener: str | None = None) -> bool:
        return (
            listener in (None, self.listener)
            and scope.connection in (None, self.number)
            and scope.broker in (None, self.broker)
            and (not names_party(scope) or self.parties.any_within(scope))
        )

    # --- what leaves ---

    def enqueue(self, direction: Direction, entries: Sequence[Entry], now_ns: int) -> None:
        """Queue these entries in this direction, and let leave what may."""
        channel = self.channel(direction)
        if self.dead or channel.swallowed:
            return
        channel.put(*entries)
        for wait in (wait for entry in entries for wait in entry.waits):
            if wait.due_ns is not None:
                self._ways.deadlines.add(wait.due_ns)
        self.drain(channel, now_ns)

    def drain_all(self, now_ns: int) -> None:
        """Let leave what may, and reset the connection when a black hole it was in has been healed."""
        self.drain(self.to_broker, now_ns)
        self.drain(self.to_client, now_ns)
        if not self.dead and any(hole.done for hole in self._holes):
            # Bytes are missing from its streams: nothing else can become of it.
            self._end(CutHow.RST, abrupt=True)

    def drain(self, channel: Channel, now_ns: int) -> None:
        if channel.segmenter is not None and channel.segmenter.until.done:
            self.flush(channel, now_ns)
        while (entry := channel.take(now_ns)) is not None:
            if channel.segmenter is None:
                self._leave(channel, entry)
            else:
                channel.segmenter.push(entry)
        while channel.segmenter is not None and (piece := channel.segmenter.pop(now_ns)) is not None:
            self._leave_piece(channel, *piece)
        if channel.segmenter is not None and channel.segmenter.pending_bytes:
            self._ways.deadlines.add(channel.segmenter.next_ns)

    def flush(self, channel: Channel, now_ns: int) -> None:
        """Stop cutting the stream into pieces: the rest of the bytes leaves at once."""
        segmenter, channel.segmenter = channel.segmenter, None
        if segmenter is None:
            return
        segmenter.until.done = True
        if (piece := segmenter.pop(now_ns, whole=True)) is not None:
            self._leave_piece(channel, *piece)

    def _leave(self, channel: Channel, entry: Entry) -> None:
        self._show(channel, entry)
        if entry.frame is not None:
            self._ways.deliver(self.number, channel.direction, entry.frame)
        elif entry.data:
            self._ways.deliver_bytes(self.number, channel.direction, entry.data)
        if entry.severance is not None:
            self.sever(entry.severance)

    def _leave_piece(self, channel: Channel, data: bytes, ended: Sequence[Entry]) -> None:
        """Deliver bytes of a stream cut into pieces, and complete the entries whose last byte is among them."""
        for entry in ended:
            self._show(channel, entry)
        if data:
            self._ways.deliver_bytes(self.number, channel.direction, data)
        for entry in ended:
            if entry.severance is not None:
                self.sever(entry.severance)

    def _show(self, channel: Channel, entry: Entry) -> None:
        if entry.event is not None:
            self._ways.add_frame(self.number, channel.direction, entry.number, Sides.RECEIVER, entry.fate, entry.event)

    # --- how it ends ---

    def sever_behind(self, direction: Direction | None, severance: Severance, now_ns: int) -> None:
        """Cut after the frames on their way, unless these wait for an unknown time."""
        if direction is None or severance.cut.abrupt or self.channel(direction).stuck(now_ns):
            self.sever(severance)
        else:
            self.enqueue(direction, [Entry(severance=severance)], now_ns)

    def sever(self, severance: Severance) -> None:
        """Cut now."""
        cut = severance.cut
        if cut.how is not CutHow.BLACKHOLE:
            self._end(cut.how, cut.abrupt)
            return
        self._holes.append(severance.healed)
        for direction in DIRECTIONS if cut.direction is None else (cut.direction,):
            self._swallow(self.channel(direction))

    def ended(self, by: ClosedBy, reset: bool) -> bool:
        """End the connection on behalf of one side; return False when the other side cannot know yet."""
        outgoing, incoming = self.to_broker, self.to_client
        if by is ClosedBy.BROKER:
            outgoing, incoming = incoming, outgoing
        waiting = self._ways.delivers_late and by is ClosedBy.CLIENT and bool(outgoing.queue)
        if not outgoing.swallowed and not waiting:
            self.die(by, reset)
            return True
        if waiting and not self.half_ended:
            outgoing.put(Entry(severance=Severance(Cut(how=CutHow.FIN), Wait(done=True))))
        if not self.half_ended:
            self._ways.recorder.add(Closed, conn=self.number, by=by, reset=reset)
            self.half_ended = True
            self._swallow(incoming)
        return False

    def die(self, by: ClosedBy, reset: bool) -> None:
        """Discard what waits to leave, and end the black holes and pieces of this connection."""
        self.dead = True
        self._ways.gone(self.number)
        self.to_broker.abandon()
        self.to_client.abandon()
        for hole in self._holes:
            hole.done = True
        if not self.half_ended:
            self._ways.recorder.add(Closed, conn=self.number, by=by, reset=reset)

    def _end(self, how: CutHow, abrupt: bool) -> None:
        if not self.dead:
            self.die(ClosedBy.FAULT, how is CutHow.RST)
            self._ways.outbox.call(self._ways.sink.close_link, self.number, how, abrupt)

    def _swallow(self, channel: Channel) -> None:
        channel.swallowed = True
        channel.abandon()
