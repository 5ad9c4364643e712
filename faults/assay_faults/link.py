"""The frame link: every frame of a Case's connections comes here from its sender and leaves from here, or does not.

Sans-IO: connections, whole frames, steps and time come in as calls; what leaves goes to a `LinkSink`, what happened to
the `Recorder`. The link is the wire witness, for it alone sees both sides (model/event.py, `Frame`):

* A frame that leaves at once, unchanged, is one event with both sides. Any other is a sender-side event when it comes,
  and a receiver-side event for each copy when that leaves, with the same number. A frame that the link writes itself
  has a receiver side only. What leaves but is no frame any more has no receiver side: the fault's receipt describes it.
* A frame on a connection that has ended is not on the wire and not recorded.

Faults are asked in plan order, each about the frame as the one before left it; a trigger counts frames as they were
sent, whatever became of them. No fault is asked after one that cuts the connection. Once the cut is carried out,
nothing passes: an answer that the broker writes to the very frame that was cut after does not reach the client.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, Protocol

from assay_conformance.broker.names import completed
from assay_conformance.history.recorder import Recorder
from assay_conformance.model.errors import UsageError
from assay_conformance.model.event import ClosedBy, Fact, Fate, Fired, Healed, Opened, Sides, Undecodable
from assay_conformance.model.event import Frame as FrameEvent
from assay_conformance.model.fault import Direction, Fault
from assay_conformance.model.outside import means_of
from assay_conformance.model.topic_names import renamed
from assay_conformance.wire import Frame, ProtocolError, decode
from assay_conformance.wire.describe import Describer
from assay_faults.active_fault import ActiveFault
from assay_faults.channel import Channel, Entry, Wait
from assay_faults.connection import DIRECTIONS, Connection, Ways
from assay_faults.frame_in_flight import FrameInFlight, Injected
from assay_faults.frame_owners import FrameOwners, Sessions
from assay_faults.outbox import LinkSink
from assay_faults.triggers import FrameTrigger, asks_who
from assay_faults.witness import header

__all__ = ["FrameLink", "LinkSink", "Outside"]

_QUICK_BYTES: Final = 1 << 16
"""A larger frame is written down as it comes. Kept for later, its memory goes back to the system with each one."""
NO_FACTS: Final[Mapping[str, Fact]] = {}

# What looks at each frame of a command: a trigger, the fault it belongs to, and whether it ends that fault.
Watch = tuple[FrameTrigger, ActiveFault, bool]
Acted = Sequence[tuple[ActiveFault, tuple[int, ...]]]


class Outside(Protocol):
    """Carries out the faults that are not the link's, and reports what came of them by `acted` and `healed`."""

    def begin(self, fault: int, frames: tuple[int, ...], conn: int | None) -> None:
        """Begin the fault, whose trigger has fired: by these frames of this connection, if by frames."""
        ...

    def end(self, fault: int) -> None:
        """End a fault that has begun."""
        ...


class FrameLink:
    """All connections of one Case. `topics` maps full topic names to the topology's. `grows`: faults may be added.
    `outside` gets the faults that are not of frames; without it such a fault cannot work. `writes_later`: whoever runs
    the link has the recorder settle, once frames that no fault acts on are on their way. `delivers_late`: what faults
    hold when its client ends still reaches the broker, and then the end does; without it, it is lost.

    `fired` counts how often each fault acted. Raises UsageError for a fault that cannot work. Whatever calls the broker
    other than by a delivery of this link does so within `busy()`.
    """

    def __init__(
        self,
        faults: Sequence[Fault],
        sink: LinkSink,
        recorder: Recorder,
        *,
        topics: Mapping[str, str],
        grows: bool = False,
        outside: Outside | None = None,
        writes_later: bool = False,
        delivers_late: bool = False,
    ) -> None:
        self._sink = sink
        self._writes_later = writes_later
        self._outside = outside
        self._recorder = recorder
        self._topics = topics
        self._describers = {direction: Describer() for direction in DIRECTIONS}
        self._connections: dict[int, Connection] = {}
        self._dying: set[int] = set()
        self._client_dies = False
        self._ways = Ways(sink, recorder, self._connections.pop, delivers_late=delivers_late)
        self._outbox = self._ways.outbox
        self._deadlines = self._ways.deadlines
        self._frames = 0
        self._sessions = Sessions()
        self.fired: list[int] = []
        self._lives: list[ActiveFault] = []
        # Owners are read once, when the link begins: a fault that is added later needs them too.
        self._learning = grows or any(map(asks_who, faults))
        self._living: list[ActiveFault] = []
        self._gone = 0
        """How many of `_living`, and of what is in `_watches`, are over."""
        self._watches: dict[Direction, dict[int, list[Watch]]] = {direction: {} for direction in DIRECTIONS}
        for fault in faults:
            self._take(fault, None)
        self._watch()

    def add(self, fault: Fault, listener: str | None = None) -> int:
        """Add a fault after those there are, and return its number.

        The fault's scope may name topics, producers, subscriptions or sessions only if the link `grows`. With
        `listener`, connections to another listener neither meet the fault nor count for its trigger.
        """
        number = self._take(fault, listener)
        self._watch()
        return number

    def _take(self, fault: Fault, listener: str | None) -> int:
        live = ActiveFault(len(self._lives), fault, self._next_number, listener)
        if live.outside and self._outside is None:
            raise UsageError(
                f"fault {live.number}: {live.action!r} needs {means_of(fault.action)}; here are only frames"
            )
        self._lives.append(live)
        self.fired.append(0)
        if live.at_ns is not None:
            self._deadlines.add(live.at_ns)
        return live.number

    # --- connections ---

    def opened(self, conn: int, broker: int, now_ns: int, url: str = "", listener: str = "") -> bool:
        """Add the connection of a client to `url`, which belongs to `listener`.

        Return False when a fault refuses the connection; `conn` may then be given to the next one.
        """
        for live in self._lives:
            if live.refuses(conn, broker, listener):
                self._fire(live, (), None)
                self._progress(now_ns)
                return False
        owners = FrameOwners(self._local, self._sessions)
        self._connections[conn] = Connection(conn, broker, owners, self._ways, listener)
        if self._client_dies:
            self._dying.add(conn)
        self._recorder.add(Opened, conn=conn, broker=broker, url=url)
        return True

    def ended(self, conn: int, by: ClosedBy, reset: bool, now_ns: int) -> bool:
        """End a connection that one side has ended.

        Return False when a black hole hides that from the other side: `close_link` ends that side when the black hole
        is healed.
        """
        connection = self._connections.get(conn)
        killed = conn in self._dying and by is ClosedBy.CLIENT
        if killed and connection is not None and not connection.to_broker.swallowed:
            by = ClosedBy.FAULT
        reported = connection is None or connection.ended(by, reset)
        self._progress(now_ns)
        return reported

    def client_dies(self, dies: bool) -> None:
        """Note that a fault is about to end the client's process (True), or that another one is about to start (False).

        The ends of its connections are then put down to the fault, not to the client. In a black hole the broker does
        not see the end, and connections there end as any other.
        """
        self._client_dies = dies
        if dies:
            self._dying.update(self._connections)

    def undecodable(self, conn: int, direction: Direction, raw: bytes, reason: str, now_ns: int) -> None:  # noqa: ARG002
        """Record bytes from one side that are no frame. They go no further unless they are also given to `stray`."""
        self._recorder.add(Undecodable, conn=conn, dir=direction, reason=reason)

    def stray(self, conn: int, direction: Direction, data: bytes, now_ns: int) -> None:
        """Pass on bytes that are no frame, in their place, for the other side to judge."""
        connection = self._connections.get(conn)
        if connection is not None:
            connection.enqueue(direction, [Entry(data=data)], now_ns)
            self._outbox.run()

    def waiting_bytes(self, conn: int, direction: Direction) -> int:
        """Return how many bytes of this connection are kept by faults from leaving in this direction."""
        connection = self._connections.get(conn)
        return 0 if connection is None else connection.channel(direction).waiting_bytes

    # --- frames ---

    def frame(self, conn: int, direction: Direction, frame: Frame, now_ns: int) -> None:
        """Take one whole frame from one side: count it, record it, and pass it on unless a fault says otherwise."""
        connection = self._connections.get(conn)
        if connection is None:
            return
        number = self._frames
        self._frames = number + 1
        channel = connection.to_broker if direction is Direction.TO_BROKER else connection.to_client
        if self._learning:
            connection.parties.learn(frame)
        watches = self._watches[direction].get(frame.type)
        hits = self._hits(connection, frame, watches, now_ns) if watches else None
        if hits or not channel.clear():
            self._handle(connection, channel, frame, number, hits or (), now_ns)
            return
        fields = partial(self._passed, connection, direction, frame, number)
        if self._writes_later and len(frame.raw) <= _QUICK_BYTES:
            self._recorder.add_soon(FrameEvent, fields)
        else:
            self._recorder.add(FrameEvent, **fields())
        if direction is Direction.TO_CLIENT:
            self._sink.deliver(conn, direction, frame)
        else:
            self._outbox.call(self._sink.deliver, conn, direction, frame)
            self._outbox.run()

    def _passed(self, connection: Connection, direction: Direction, frame: Frame, number: int) -> dict[str, Any]:
        fields = header(frame, self._describers[direction], connection.stream(frame))
        fields.update(conn=connection.number, dir=direction, frame=number)
        return fields

    # --- faults outside the frames ---

    def acted(self, fault: int, frames: tuple[int, ...], conn: int | None, facts: Mapping[str, Fact]) -> None:
        """Record that the injector has done what the fault says."""
        self._fire(self._lives[fault], frames, conn, facts)

    def healed(self, fault: int, facts: Mapping[str, Fact]) -> None:
        """Record that the injector has undone the fault."""
        self._recorder.add(Healed, fault=fault, facts=dict(facts))

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
        """Move the link's time on to `now_ns`, and do what is due by then."""
        if not self._deadlines.passed(now_ns):
            return
        for live in self._lives:
            if not live.over and live.is_due_at(now_ns):
                self._strike(live, now_ns)
            if not live.over and live.ends_at(now_ns):
                self._end(live)
        self._progress(now_ns)

    def next_deadline_ns(self) -> int | None:
        """Return when to call `advance` next; nothing may be left to do by then."""
        return self._deadlines.next_ns()

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
        """Hold back what the link has to deliver or close while the block calls the broker."""
        with self._outbox.paused():
            yield
        self._outbox.run()

    # --- a frame that is not simply passed on ---

    def _hits(self, connection: Connection, frame: Frame, watches: list[Watch], now_ns: int) -> Sequence[ActiveFault]:
        """Return the faults that this frame triggers, in plan order, and end the faults that it ends before they
        act."""
        hits: list[ActiveFault] = []
        ends: list[ActiveFault] = []
        body = frame.body
        for trigger, live, is_end in watches:
            if not live.over and trigger.hits(connection, frame, body):
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
        hits: Sequence[ActiveFault],
        now_ns: int,
    ) -> None:
        # Describers join the chunks of a message in the order they came.
        self._recorder.settle()
        passage = FrameInFlight(channel.direction, number, now_ns, frame, frame.raw)
        acted: list[tuple[ActiveFault, tuple[int, ...]]] = []
        if channel.swallowed or connection.dead:
            passage.gone = Fate.CUT
            hits = ()
        for live in hits:
            if passage.severance is not None:
                break
            self._begin(live, now_ns)
            if (numbers := live.act.on(passage, live)) is not None:
                acted.append((live, numbers))
            elif live.outside:
                self._hand_over(live, (number,), connection.number)
        self._carry_out(connection, passage, acted)
        self._progress(now_ns)

    def _strike(self, live: ActiveFault, now_ns: int) -> None:
        """Make a fault act without a frame: on every connection of its scope, or on none at all."""
        self._begin(live, now_ns)
        if live.outside:
            live.hold(Wait())
            self._hand_over(live, (), None)
            return
        for connection in tuple(self._connections.values()):
            if connection.within(live.fault.scope, live.listener):
                passage = FrameInFlight(None, -1, now_ns, None)
                if (numbers := live.act.on(passage, live)) is not None:
                    self._carry_out(connection, passage, [(live, numbers)])

    def _carry_out(self, connection: Connection, passage: FrameInFlight, acted: Acted) -> None:
        now_ns, direction = passage.now_ns, passage.direction
        for segmented, segmenter in passage.segmenters.items():
            channel = connection.channel(segmented)
            connection.flush(channel, now_ns)
            channel.segmenter = segmenter
        for injected in passage.injected:
            if injected.before:
                self._inject(connection, injected, now_ns)
        entries = self._witness(connection, passage)
        for live, numbers in acted:
            self._fire(live, numbers, connection.number)
        if direction is not None:
            connection.enqueue(direction, entries, now_ns)
        for injected in passage.injected:
            if not injected.before:
                self._inject(connection, injected, now_ns)
        if passage.severance is not None:
            connection.sever_behind(direction, passage.severance, now_ns)

    def _witness(self, connection: Connection, passage: FrameInFlight) -> list[Entry]:
        """Record the frame as it came, and return what is to leave of it."""
        frame, direction = passage.sent, passage.direction
        if frame is None or direction is None:
            return []
        conn, number, waits = connection.number, passage.number, tuple(passage.waits)
        event = header(frame, self._describers[direction], connection.stream(frame))
        at_once = not waits and connection.channel(direction).passes_at_once(len(passage.raw), passage.now_ns)
        if passage.gone is not None:
            self._ways.add_frame(conn, direction, number, Sides.SENDER, passage.gone, event)
            return [Entry(data=passage.raw)] if passage.altered and passage.gone is Fate.CUT else []
        if at_once and not passage.altered and not passage.copies:
            self._ways.add_frame(conn, direction, number, Sides.BOTH, Fate.PASSED, event)
            return [Entry(frame)]
        fate = Fate.ALTERED if passage.altered else Fate.DUPLICATED if passage.copies else Fate.HELD
        self._ways.add_frame(conn, direction, number, Sides.SENDER, fate, event)
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
            frame = decode(injected.raw)
            entry = Entry(frame, b"", injected.number, Fate.INJECTED, header(frame, Describer()))
        except ProtocolError:
            entry = Entry(data=injected.raw)
        connection.enqueue(injected.direction, [entry], now_ns)

    # --- faults begin and end ---

    def _begin(self, live: ActiveFault, now_ns: int) -> None:
        if not live.begun:
            live.begin(now_ns)
            if live.end is not None:
                insort(self._watching(live.end), (live.end, live, True), key=_in_plan_order)
            if live.ends_ns is not None:
                self._deadlines.add(live.ends_ns)

    def _fire(
        self, live: ActiveFault, numbers: tuple[int, ...], conn: int | None, facts: Mapping[str, Fact] = NO_FACTS
    ) -> None:
        self.fired[live.number] = live.acted()
        self._recorder.add(Fired, fault=live.number, action=live.action, frames=numbers, conn=conn, facts=dict(facts))

    def _hand_over(self, live: ActiveFault, numbers: tuple[int, ...], conn: int | None) -> None:
        assert self._outside is not None, "checked when it was added"
        self._outbox.call(self._outside.begin, live.number, numbers, conn)

    def _end(self, live: ActiveFault) -> None:
        live.finish()
        self._gone += 1
        # Not each time: thousands of faults would cost their square.
        if 2 * self._gone >= len(self._living):
            self._watch()
        if live.outside:
            if live.begun:
                assert self._outside is not None, "checked when it was added"
                self._outbox.call(self._outside.end, live.number)
        elif live.fired:
            self._recorder.add(Healed, fault=live.number)

    def _progress(self, now_ns: int) -> None:
        """Catch up after anything out of the ordinary: release what may leave, end spent faults, call the sink."""
        self._drain_all(now_ns)
        for live in self._living:
            if not live.over and live.spent:
                self._end(live)
        self._outbox.run()

    def _drain_all(self, now_ns: int) -> None:
        # Only faults make anything wait; with none, a crowd of clients that leave together would cost its square.
        if not self._lives:
            return
        for connection in tuple(self._connections.values()):
            connection.drain_all(now_ns)

    def _watch(self) -> None:
        """Index the triggers that watch frames by direction and command.

        In most Cases no trigger watches most of the commands.
        """
        self._living = [live for live in self._lives if not live.over]
        self._gone = 0
        self._watches = {direction: {} for direction in DIRECTIONS}
        for live in self._living:
            for trigger, is_end in ((live.trigger, False), (live.end, True)):
                if trigger is not None:
                    self._watching(trigger).append((trigger, live, is_end))

    def _watching(self, trigger: FrameTrigger) -> list[Watch]:
        return self._watches[trigger.on.direction].setdefault(trigger.kind, [])

    # --- small things ---

    def _next_number(self) -> int:
        number = self._frames
        self._frames = number + 1
        return number

    def _local(self, name: str) -> str:
        return renamed(name if name in self._topics else completed(name), self._topics)


def _in_plan_order(watch: Watch) -> tuple[int, bool]:
    _, live, is_end = watch
    return live.number, is_end
