"""What the link writes down: both sides of every frame, connections, receipts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from assay_conformance.model.event import Closed, ClosedBy, Event, Fired, Healed, MessageId, Meta, Opened, Undecodable
from assay_conformance.model.event import Frame as FrameEvent
from assay_conformance.model.fault import (
    Action,
    AfterStep,
    AnswerError,
    Corrupt,
    Cut,
    CutHow,
    Delay,
    Direction,
    Drop,
    Duplicate,
    Fault,
    Hold,
    Inject,
    OnFrame,
    Part,
    Refuse,
    Reorder,
    Resegment,
    Rewrite,
    Truncate,
    Until,
)
from assay_conformance.wire import (
    CommandType,
    Frame,
    MessageIdData,
    MessageMetadata,
    command,
    decode,
    encode,
    message_id,
)
from assay_conformance.wire.describe import Describer
from assay_faults.witness import header

if TYPE_CHECKING:
    from tests.faults.conftest import Rig

TO_BROKER, TO_CLIENT = Direction.TO_BROKER, Direction.TO_CLIENT


def first_send(action: Action, until: Until | None = None) -> Fault:
    trigger = OnFrame(command="SEND", direction=TO_BROKER)
    return Fault(trigger=trigger, action=action, until=until or Until())


# What is recorded of SENDs 0 and 1 when the action strikes SEND 0; then all is healed.
FATES: list[tuple[Action, list[tuple[int | None, str, str]]]] = [
    (Drop(), [(0, "sender", "dropped"), (1, "both", "passed")]),
    (
        Hold(),
        [(0, "sender", "held"), (1, "sender", "held"), (0, "receiver", "released"), (1, "receiver", "released")],
    ),
    (Hold(overtake=True), [(0, "sender", "held"), (1, "both", "passed"), (0, "receiver", "released")]),
    (
        Delay(3),
        [(0, "sender", "held"), (1, "sender", "held"), (0, "receiver", "released"), (1, "receiver", "released")],
    ),
    (
        Duplicate(),
        [(0, "sender", "duplicated"), (0, "receiver", "passed"), (0, "receiver", "duplicated"), (1, "both", "passed")],
    ),
    (Reorder(), [(0, "sender", "held"), (1, "both", "passed"), (0, "receiver", "released")]),
    (
        Rewrite({"sequence_id": 8}),
        [(0, "sender", "altered"), (8, "receiver", "altered"), (1, "both", "passed")],
    ),
    (Corrupt(), [(0, "sender", "altered"), (0, "receiver", "altered"), (1, "both", "passed")]),
    (Corrupt(part=Part.LENGTH), [(0, "sender", "altered")]),
    (Truncate(9), [(0, "sender", "cut")]),
    (Resegment(8), [(0, "both", "passed"), (1, "both", "passed")]),
    (
        Resegment(8, gap_ms=1),
        [(0, "sender", "held"), (1, "sender", "held"), (0, "receiver", "released"), (1, "receiver", "released")],
    ),
    (Inject(command="PING"), [(0, "both", "passed"), (None, "receiver", "injected"), (1, "both", "passed")]),
    (Cut(), [(0, "both", "passed")]),
    (Cut(before=True), [(0, "sender", "cut")]),
    (Cut(how=CutHow.BLACKHOLE), [(0, "both", "passed"), (1, "sender", "cut")]),
    (Refuse(), [(0, "both", "passed"), (1, "both", "passed")]),
    (
        AnswerError("UnknownError"),
        [(0, "sender", "dropped"), (0, "receiver", "injected"), (1, "both", "passed")],
    ),
]


@pytest.mark.parametrize(("action", "events"), FATES, ids=[str(action) for action, _ in FATES])
def test_both_sides_of_a_frame_are_recorded(
    rig: type[Rig], action: Action, events: list[tuple[int | None, str, str]]
) -> None:
    bench = rig(first_send(action))
    bench.send(0, 1)
    bench.heal()
    assert bench.wire() == events


def test_sides_of_one_frame_share_its_number(rig: type[Rig]) -> None:
    bench = rig(first_send(Duplicate(copies=2)))
    bench.send(0, 1)
    assert [event.frame for event in bench.of(FrameEvent)] == [0, 0, 0, 0, 1]


def test_altered_frame_shows_what_each_side_carried(rig: type[Rig]) -> None:
    bench = rig(first_send(Rewrite({"metadata.producer_name": "other"})))
    bench.send(0)
    names = [event.meta.producer_name for event in bench.of(FrameEvent) if event.meta]
    assert names == ["p", "other"]


def test_damaged_payload_is_intact_at_its_sender_only(rig: type[Rig]) -> None:
    bench = rig(first_send(Corrupt()))
    bench.send(0)
    assert [event.intact for event in bench.of(FrameEvent)] == [True, False]


def test_damaged_chunk_does_not_change_what_was_sent(rig: type[Rig]) -> None:
    bench = rig(first_send(Corrupt(fix_checksum=True)))
    plain = rig()
    for bed in (bench, plain):
        for chunk_id in (0, 1):
            bed.put(chunk(chunk_id), TO_BROKER)
    last, undamaged = bench.of(FrameEvent)[-1], plain.of(FrameEvent)[-1]
    assert len(last.members) == 1
    assert last.members == undamaged.members


def chunk(chunk_id: int) -> Frame:
    chunked: dict[str, Any] = {"uuid": "p-7", "num_chunks_from_msg": 2, "total_chunk_msg_size": 6, "chunk_id": chunk_id}
    metadata = MessageMetadata(producer_name="p", sequence_id=7, publish_time=1, **chunked)
    sent = command(CommandType.SEND, producer_id=0, sequence_id=7)
    return decode(encode(sent, metadata=metadata, data=(b"abc", b"def")[chunk_id]))


def test_frame_is_recorded_before_its_answer(rig: type[Rig]) -> None:
    bench = rig()
    bench.broker = lambda frame: bench.receipt(frame.body.sequence_id)
    bench.send(4)
    assert [event.command for event in bench.of(FrameEvent)] == ["SEND", "SEND_RECEIPT"]


def test_frame_that_passes_is_on_its_way_before_it_is_written_down(rig: type[Rig]) -> None:
    bench = rig(writes_later=True)
    bench.send(4)
    assert (bench.at_broker, bench.wire()) == ([4], [])
    bench.recorder.settle()
    assert bench.wire() == [(4, "both", "passed")]


def test_large_frame_that_passes_is_written_down_at_once(rig: type[Rig]) -> None:
    bench = rig(writes_later=True)
    metadata = MessageMetadata(producer_name="p", sequence_id=4, publish_time=1)
    sent = command(CommandType.SEND, producer_id=0, sequence_id=4)
    bench.put(decode(encode(sent, metadata=metadata, data=bytes(1 << 17))), TO_BROKER)
    assert bench.wire() == [(4, "both", "passed")]


def test_frame_that_passed_is_written_down_before_what_a_fault_does_next(rig: type[Rig]) -> None:
    bench = rig(Fault(trigger=OnFrame(command="SEND", direction=TO_BROKER, k=2), action=Drop()), writes_later=True)
    bench.send(0, 1)
    assert bench.wire() == [(0, "both", "passed"), (1, "sender", "dropped")]


def test_chunks_are_joined_whichever_of_them_a_fault_acts_on(rig: type[Rig]) -> None:
    held = Fault(trigger=OnFrame(command="SEND", direction=TO_BROKER, k=2), action=Duplicate())
    bench = rig(held, writes_later=True)
    for chunk_id in (0, 1):
        bench.put(chunk(chunk_id), TO_BROKER)
    assert len(bench.of(FrameEvent)[-1].members) == 1


def test_frame_of_an_ended_connection_is_not_on_the_wire(rig: type[Rig]) -> None:
    bench = rig()
    bench.link.ended(0, ClosedBy.CLIENT, True, 0)
    bench.receipt(0)
    assert (bench.wire(), bench.at_client) == ([], [])


def test_frame_behind_an_overdue_one_is_recorded_behind_it(rig: type[Rig]) -> None:
    bench = rig(first_send(Delay(5)))
    bench.send(0)
    bench.now_ns = 6_000_000
    bench.send(1)
    received = [event.sequence_id for event in bench.of(FrameEvent) if event.to_receiver]
    assert received == bench.at_broker == [0, 1]


def test_frame_towards_a_client_that_left_unnoticed_is_lost(rig: type[Rig]) -> None:
    bench = rig(first_send(Cut(how=CutHow.BLACKHOLE, direction=TO_BROKER)))
    bench.send(0)
    bench.link.ended(0, ClosedBy.CLIENT, False, 0)
    bench.receipt(0)
    assert bench.wire()[-1] == (0, "sender", "cut")
    assert bench.at_client == []


def test_connections_and_their_ends_are_recorded(rig: type[Rig]) -> None:
    bench = rig()
    bench.opened(1, broker=2)
    bench.link.ended(1, ClosedBy.BROKER, True, 0)
    bench.link.ended(1, ClosedBy.CLIENT, False, 0)
    assert [(event.conn, event.broker) for event in bench.of(Opened)] == [(0, 0), (1, 2)]
    assert [(event.conn, event.by, event.reset) for event in bench.of(Closed)] == [(1, ClosedBy.BROKER, True)]


def test_refused_connection_is_recorded_as_the_fault_alone(rig: type[Rig]) -> None:
    bench = rig(Fault(trigger=AfterStep(0), action=Refuse()))
    bench.step(0)
    bench.opened(1)
    assert len(bench.of(Opened)) == 1
    assert [(event.fault, event.action) for event in bench.of(Fired)] == [(0, "refuse")]


def test_bytes_that_are_no_frame_are_recorded(rig: type[Rig]) -> None:
    bench = rig()
    bench.link.undecodable(0, TO_CLIENT, b"zz", "no frame", 0)
    assert [(event.dir, event.reason) for event in bench.of(Undecodable)] == [(TO_CLIENT, "no frame")]


def story(bench: Rig) -> list[str]:
    """Receipts of faults in the order they were written."""
    return [type(event).__name__.lower() for event in bench.events if isinstance(event, Fired | Healed)]


# Action, and the receipts after SENDs 0 and 1, then after the healing of everything.
RECEIPTS: list[tuple[Action, list[str], list[str]]] = [
    (Drop(), ["fired", "healed"], []),
    (Cut(), ["fired", "healed"], []),
    (Reorder(), ["fired", "healed"], []),
    (Reorder(by=2), ["fired"], ["healed"]),
    (Hold(), ["fired"], ["healed"]),
    (Delay(9), ["fired"], ["healed"]),
    (Resegment(1), ["fired"], ["healed"]),
    (Cut(how=CutHow.BLACKHOLE), ["fired"], ["healed"]),
]


@pytest.mark.parametrize(("action", "running", "healing"), RECEIPTS, ids=[str(row[0]) for row in RECEIPTS])
def test_fault_is_healed_once_nothing_of_it_goes_on(
    rig: type[Rig], action: Action, running: list[str], healing: list[str]
) -> None:
    bench = rig(first_send(action))
    bench.send(0, 1)
    assert story(bench) == running
    bench.heal()
    assert story(bench) == running + healing


def test_delay_is_healed_when_its_frame_has_left(rig: type[Rig]) -> None:
    bench = rig(first_send(Delay(2)))
    bench.send(0)
    bench.at_ms(2)
    assert story(bench) == ["fired", "healed"]


LASTING: list[Action] = [Hold(), Resegment(5), Cut(how=CutHow.BLACKHOLE, direction=TO_CLIENT)]


@pytest.mark.parametrize("action", LASTING, ids=str)
def test_fault_is_healed_when_its_connection_ends(rig: type[Rig], action: Action) -> None:
    bench = rig(first_send(action))
    bench.send(0)
    bench.link.ended(0, ClosedBy.CLIENT, False, 0)
    assert story(bench) == ["fired", "healed"]


def test_fault_is_healed_once(rig: type[Rig]) -> None:
    bench = rig(first_send(Hold(), Until(step=1)))
    bench.send(0)
    for step in (1, 2):
        bench.step(step)
    bench.heal()
    assert story(bench) == ["fired", "healed"]


def test_pieces_are_over_when_others_take_their_place(rig: type[Rig]) -> None:
    second = OnFrame(command="SEND", direction=TO_BROKER, k=2)
    bench = rig(first_send(Resegment(5)), Fault(trigger=second, action=Resegment(6)))
    bench.send(0, 1)
    assert [event.fault for event in bench.of(Healed)] == [0]


def test_fault_that_never_acted_is_not_healed(rig: type[Rig]) -> None:
    bench = rig(Fault(trigger=OnFrame(command="SEEK", direction=TO_BROKER), action=Drop()))
    bench.heal()
    assert story(bench) == []


def test_each_firing_has_a_receipt_with_its_frame(rig: type[Rig]) -> None:
    trigger = OnFrame(command="SEND", direction=TO_BROKER, times=0)
    bench = rig(Fault(trigger=trigger, action=Drop()))
    bench.send(0, 1)
    assert [(event.frames, event.conn) for event in bench.of(Fired)] == [((0,), 0), ((1,), 0)]


def test_receipt_of_an_injection_names_the_injected_frame(rig: type[Rig]) -> None:
    bench = rig(first_send(Inject(command="PING")))
    bench.send(0)
    (fired,) = bench.of(Fired)
    injected = next(event for event in bench.of(FrameEvent) if event.command == "PING")
    assert fired.frames == (0, injected.frame)


# --- a frame's fields ---


def described(kind: CommandType, **fields: Any) -> dict[str, Any]:
    return header(decode(encode(command(kind, **fields))), Describer())


def id_of(entry: int, **rest: Any) -> MessageIdData:
    return MessageIdData(ledgerId=3, entryId=entry, **rest)


HEADERS: list[tuple[CommandType, dict[str, Any], dict[str, Any]]] = [
    (CommandType.PING, {}, {}),
    (
        CommandType.SEND_RECEIPT,
        {"producer_id": 1, "sequence_id": 2, "message_id": message_id(3, 4)},
        {"producer_id": 1, "sequence_id": 2, "ids": (MessageId(3, 4),), "highest_sequence_id": 0},
    ),
    (CommandType.FLOW, {"consumer_id": 1, "messagePermits": 9}, {"consumer_id": 1, "permits": 9}),
    (
        CommandType.ACK,
        {"consumer_id": 1, "ack_type": 1, "message_id": [id_of(4, ack_set=[5]), id_of(5)], "validation_error": 2},
        {
            "consumer_id": 1,
            "ack_type": "Cumulative",
            "ids": (MessageId(3, 4), MessageId(3, 5)),
            "ack_sets": ((5,), ()),
            "fields": {"validation_error": "ChecksumMismatch"},
        },
    ),
    (
        CommandType.ACK,
        {"consumer_id": 1, "ack_type": 0, "message_id": [id_of(6, first_chunk_message_id=id_of(4)), id_of(7)]},
        {
            "consumer_id": 1,
            "ack_type": "Individual",
            "ids": (MessageId(3, 6), MessageId(3, 7)),
            "fields": {"first_chunk_message_id": [[3, 4], None]},
        },
    ),
    (
        CommandType.REDELIVER_UNACKNOWLEDGED_MESSAGES,
        {"consumer_id": 1, "message_ids": [id_of(4, partition=2, batch_index=1, batch_size=6)], "consumer_epoch": 8},
        {"consumer_id": 1, "ids": (MessageId(3, 4, 2, 1, 6),), "fields": {"consumer_epoch": 8}},
    ),
    (
        CommandType.PRODUCER,
        {"topic": "t", "producer_id": 1, "request_id": 2, "metadata": [{"key": "k", "value": "v"}]},
        {"producer_id": 1, "request_id": 2, "fields": {"topic": "t", "metadata": [{"key": "k", "value": "v"}]}},
    ),
    (
        CommandType.PRODUCER_SUCCESS,
        {"request_id": 2, "producer_name": "p", "last_sequence_id": -1, "schema_version": b"\x01\xff"},
        {"request_id": 2, "fields": {"producer_name": "p", "last_sequence_id": -1, "schema_version": "01ff"}},
    ),
    (
        CommandType.ERROR,
        {"request_id": 2, "error": 6, "message": "m"},
        {"request_id": 2, "fields": {"error": "ServiceNotReady", "message": "m"}},
    ),
    (
        CommandType.CONNECT,
        {"client_version": "c", "feature_flags": {"supports_auth_refresh": True}},
        {"fields": {"client_version": "c", "feature_flags": {"supports_auth_refresh": True}}},
    ),
]


@pytest.mark.parametrize(("kind", "fields", "expected"), HEADERS, ids=[row[0].name for row in HEADERS])
def test_event_has_the_fields_of_its_command(
    kind: CommandType, fields: dict[str, Any], expected: dict[str, Any]
) -> None:
    event = described(kind, **fields)
    assert event.pop("size") == len(encode(command(kind, **fields)))
    assert event == {"command": kind.name, **expected}


@pytest.mark.parametrize(("kind", "fields"), [row[:2] for row in HEADERS], ids=[row[0].name for row in HEADERS])
def test_event_survives_the_history_file(kind: CommandType, fields: dict[str, Any]) -> None:
    event = FrameEvent(seq=0, t_ns=0, conn=0, dir=TO_BROKER, frame=0, **described(kind, **fields))
    assert msgspec.json.decode(msgspec.json.encode(event), type=Event) == event


def test_send_event_describes_its_payload(rig: type[Rig]) -> None:
    bench = rig()
    bench.send(6)
    (event,) = bench.of(FrameEvent)
    assert (event.producer_id, event.sequence_id, event.num_messages, event.intact) == (0, 6, 1, True)
    assert event.meta == Meta(producer_name="p", sequence_id=6, publish_time_ms=1)
    assert [member.size for member in event.members] == [40]


def test_unknown_command_is_recorded_by_its_number(rig: type[Rig]) -> None:
    bench = rig()
    bench.put(decode(bytes.fromhex("00000007 00000003 08e707")), TO_BROKER)
    (event,) = bench.of(FrameEvent)
    assert (event.command, event.size) == ("999", 11)


def test_a_client_that_a_fault_kills_has_closed_nothing(rig: type[Rig]) -> None:
    bench = rig()
    bench.link.client_dies(True)
    bench.opened(1)
    bench.link.client_dies(False)
    bench.opened(2)
    for conn in range(3):
        bench.link.ended(conn, ClosedBy.CLIENT, True, 0)
    assert [event.by for event in bench.of(Closed)] == [ClosedBy.FAULT, ClosedBy.FAULT, ClosedBy.CLIENT]


def test_that_a_client_was_killed_no_broker_learns_in_a_black_hole(rig: type[Rig]) -> None:
    bench = rig(first_send(Cut(how=CutHow.BLACKHOLE)))
    bench.send(0)
    bench.link.client_dies(True)
    bench.link.ended(0, ClosedBy.CLIENT, True, 0)
    assert [event.by for event in bench.of(Closed)] == [ClosedBy.CLIENT]
