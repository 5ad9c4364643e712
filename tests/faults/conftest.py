"""A link between two ends that write down what they get."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from assay_conformance.history.recorder import Recorder
from assay_conformance.model.event import Event
from assay_conformance.model.event import Frame as FrameEvent
from assay_conformance.model.fault import CutHow, Direction, Fault
from assay_conformance.wire import CommandType, Frame, MessageMetadata, command, decode, encode, message_id
from assay_faults.link import FrameLink

E = TypeVar("E")
MS = 1_000_000
TO_BROKER, TO_CLIENT = Direction.TO_BROKER, Direction.TO_CLIENT
FULL = "persistent://public/default/w-"


class Injectors:
    """Who carries out the faults that are not the link's: they write down what they are told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, int, tuple[int, ...], int | None]] = []

    def begin(self, fault: int, frames: tuple[int, ...], conn: int | None) -> None:
        self.told.append(("begin", fault, frames, conn))

    def end(self, fault: int) -> None:
        self.told.append(("end", fault, (), None))


class Rig:
    """One link with connection 0 to broker 0 open. Time is `now_ns` and moves by `at_ms` alone."""

    def __init__(self, *faults: Fault, writes_later: bool = False, delivers_late: bool = False) -> None:
        self.now_ns = 0
        self.events: list[Event] = []
        self.frames: dict[Direction, list[Frame]] = {TO_BROKER: [], TO_CLIENT: []}
        self.pieces: dict[Direction, list[bytes]] = {TO_BROKER: [], TO_CLIENT: []}
        self.closes: list[tuple[int, CutHow, bool]] = []
        self.broker: Callable[[Frame], None] = lambda _: None
        self.outside = Injectors()
        self.recorder = Recorder(lambda: self.now_ns, self.events.append)
        topics = {FULL + name: name for name in ("t", "u")}
        self.link = FrameLink(
            faults,
            self,
            self.recorder,
            topics=topics,
            outside=self.outside,
            writes_later=writes_later,
            delivers_late=delivers_late,
        )
        self.opened(0)

    # --- LinkSink ---

    def deliver(self, conn: int, direction: Direction, frame: Frame) -> None:  # noqa: ARG002
        self.frames[direction].append(frame)
        if direction is TO_BROKER:
            self.broker(frame)

    def deliver_bytes(self, conn: int, direction: Direction, data: bytes) -> None:  # noqa: ARG002
        self.pieces[direction].append(data)

    def close_link(self, conn: int, how: CutHow, abrupt: bool) -> None:
        self.closes.append((conn, how, abrupt))

    # --- what happens ---

    def opened(self, conn: int, broker: int = 0, listener: str = "") -> bool:
        return self.link.opened(conn, broker, self.now_ns, listener=listener)

    def put(self, frame: Frame, direction: Direction, conn: int = 0) -> None:
        self.link.frame(conn, direction, frame, self.now_ns)

    def send(self, *sequence_ids: int, conn: int = 0, producer_id: int = 0) -> None:
        for sequence_id in sequence_ids:
            self.put(send_frame(sequence_id, producer_id=producer_id), TO_BROKER, conn)

    def receipt(self, *sequence_ids: int, conn: int = 0, producer_id: int = 0) -> None:
        for sequence_id in sequence_ids:
            self.put(receipt_frame(sequence_id, producer_id=producer_id), TO_CLIENT, conn)

    def c2b(self, kind: CommandType, *, conn: int = 0, **fields: Any) -> None:
        self.put(decode(encode(command(kind, **fields))), TO_BROKER, conn)

    def b2c(self, kind: CommandType, *, conn: int = 0, **fields: Any) -> None:
        self.put(decode(encode(command(kind, **fields))), TO_CLIENT, conn)

    def at_ms(self, now_ms: int) -> None:
        self.now_ns = now_ms * MS
        self.link.advance(self.now_ns)

    def step(self, index: int) -> None:
        self.link.step_done(index, self.now_ns)

    def heal(self) -> None:
        self.link.heal_all(self.now_ns)

    # --- what came of it ---

    @property
    def at_broker(self) -> list[int]:
        """Sequence ids of the SENDs that arrived."""
        return [frame.body.sequence_id for frame in self.frames[TO_BROKER] if frame.type is CommandType.SEND]

    @property
    def at_client(self) -> list[int]:
        """Sequence ids of the receipts that arrived."""
        return [frame.body.sequence_id for frame in self.frames[TO_CLIENT] if frame.type is CommandType.SEND_RECEIPT]

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    def wire(self) -> list[tuple[int | None, str, str]]:
        """(sequence id, sides, fate) of every frame event."""
        return [(event.sequence_id, event.sides.value, event.fate.value) for event in self.of(FrameEvent)]


def send_frame(sequence_id: int, *, producer_id: int = 0, data: bytes = b"x" * 40, **metadata: Any) -> Frame:
    described = MessageMetadata(producer_name="p", sequence_id=sequence_id, publish_time=1, **metadata)
    sent = command(CommandType.SEND, producer_id=producer_id, sequence_id=sequence_id)
    return decode(encode(sent, metadata=described, data=data))


def receipt_frame(sequence_id: int, *, producer_id: int = 0) -> Frame:
    fields = {"producer_id": producer_id, "sequence_id": sequence_id, "message_id": message_id(5, sequence_id)}
    return decode(encode(command(CommandType.SEND_RECEIPT, **fields)))


@pytest.fixture(scope="session")
def rig() -> type[Rig]:
    """Makes a link with these faults."""
    return Rig
