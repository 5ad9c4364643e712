"""Each action of the fault grammar does what its docstring says."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest

from assay_conformance.model.event import Closed, ClosedBy, Fired
from assay_conformance.model.fault import (
    Action,
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
from assay_conformance.wire import CommandType, Frame, ProtocolError, decode

if TYPE_CHECKING:
    from tests.faults.conftest import Rig

TO_BROKER, TO_CLIENT = Direction.TO_BROKER, Direction.TO_CLIENT


def unharmed(rig: type[Rig], sequence_id: int) -> Frame:
    """The SEND as it leaves where nothing goes wrong."""
    bench = rig()
    bench.send(sequence_id)
    return bench.frames[TO_BROKER][0]


def second_send(action: Action, until: Until = Until()) -> Fault:  # noqa: B008 - frozen
    return Fault(trigger=OnFrame(command="SEND", direction=TO_BROKER, k=2), action=action, until=until)


# What reaches the broker of SENDs 0, 1, 2, 3 when the action strikes SEND 1, before anything heals.
ARRIVALS: list[tuple[Action, list[int]]] = [
    (Drop(), [0, 2, 3]),
    (Hold(), [0]),
    (Hold(overtake=True), [0, 2, 3]),
    (Delay(5), [0]),
    (Delay(5, overtake=True), [0, 2, 3]),
    (Duplicate(), [0, 1, 1, 2, 3]),
    (Duplicate(copies=3), [0, 1, 1, 1, 1, 2, 3]),
    (Reorder(), [0, 2, 1, 3]),
    (Reorder(by=2), [0, 2, 3, 1]),
    (Reorder(by=3), [0, 2, 3]),
    (Rewrite({"sequence_id": 9}), [0, 9, 2, 3]),
    (Inject(command="PONG"), [0, 1, 2, 3]),
    (Cut(), [0, 1]),
    (Cut(before=True), [0]),
    (Cut(how=CutHow.BLACKHOLE), [0, 1]),
    (Cut(how=CutHow.BLACKHOLE, before=True), [0]),
    (Cut(how=CutHow.BLACKHOLE, direction=TO_CLIENT), [0, 1, 2, 3]),
    (Cut(how=CutHow.BLACKHOLE, before=True, direction=TO_CLIENT), [0, 1, 2, 3]),
    (Refuse(), [0, 1, 2, 3]),
    (AnswerError("PersistenceError"), [0, 2, 3]),
    (Truncate(10), [0]),
    (Corrupt(part=Part.LENGTH), [0]),
    (Resegment(1), [0]),
]


@pytest.mark.parametrize(("action", "arrived"), ARRIVALS, ids=[str(action) for action, _ in ARRIVALS])
def test_action_decides_what_arrives(rig: type[Rig], action: Action, arrived: list[int]) -> None:
    bench = rig(second_send(action))
    bench.send(0, 1, 2, 3)
    assert bench.at_broker == arrived


# The same after everything has been healed.
HEALED: list[tuple[Action, list[int]]] = [
    (Drop(), [0, 2, 3]),
    (Hold(), [0, 1, 2, 3]),
    (Hold(overtake=True), [0, 2, 3, 1]),
    (Delay(5), [0, 1, 2, 3]),
    (Delay(5, overtake=True), [0, 2, 3, 1]),
    (Reorder(by=3), [0, 2, 3, 1]),
]


@pytest.mark.parametrize(("action", "arrived"), HEALED, ids=[str(action) for action, _ in HEALED])
def test_heal_releases_what_waited(rig: type[Rig], action: Action, arrived: list[int]) -> None:
    bench = rig(second_send(action))
    bench.send(0, 1, 2, 3)
    bench.heal()
    assert bench.at_broker == arrived


def test_held_frame_leaves_at_its_until(rig: type[Rig]) -> None:
    bench = rig(second_send(Hold(), until=Until(after_ms=7)))
    bench.send(0, 1, 2)
    bench.at_ms(6)
    assert bench.at_broker == [0]
    bench.at_ms(7)
    assert bench.at_broker == [0, 1, 2]


def test_delayed_frame_leaves_when_due(rig: type[Rig]) -> None:
    bench = rig(second_send(Delay(5)))
    bench.at_ms(1)
    bench.send(0, 1, 2)
    assert bench.link.next_deadline_ns() == 6_000_000
    bench.at_ms(5)
    assert bench.at_broker == [0]
    bench.at_ms(6)
    assert bench.at_broker == [0, 1, 2]


def parts_of(frame: Frame) -> dict[Part, range]:
    """Where the parts of a SEND with a checksum stand in its bytes."""
    assert frame.payload is not None
    end = len(frame.raw)
    data = end - len(frame.payload.data)
    metadata = data - len(frame.payload.metadata_bytes)
    return {
        Part.PAYLOAD: range(data, end),
        Part.METADATA: range(metadata, data),
        Part.CHECKSUM: range(metadata - 8, metadata - 4),
        Part.COMMAND: range(8, metadata - 10),
        Part.LENGTH: range(4),
    }


@pytest.mark.parametrize("part", Part)
def test_corrupt_flips_one_bit_of_the_part(rig: type[Rig], part: Part) -> None:
    bench = rig(second_send(Corrupt(part=part, bit=3)))
    bench.send(0, 1)
    sent = unharmed(rig, 1)
    (altered,) = [*bench.pieces[TO_BROKER], *(frame.raw for frame in bench.frames[TO_BROKER][1:])]
    differing = [index for index, (a, b) in enumerate(zip(sent.raw, altered, strict=True)) if a != b]
    assert differing == [parts_of(sent)[part].start]
    assert sent.raw[differing[0]] ^ altered[differing[0]] == 1 << 3


def test_corrupt_bit_wraps_to_the_part(rig: type[Rig]) -> None:
    bench = rig(second_send(Corrupt(bit=40 * 8 + 1)))
    bench.send(0, 1)
    payload = bench.frames[TO_BROKER][1].payload
    assert payload is not None
    assert bytes(payload.data) == bytes([ord("x") ^ 2]) + b"x" * 39


@pytest.mark.parametrize(("fix_checksum", "fits"), [(False, False), (True, True)])
def test_corrupt_payload_breaks_the_checksum_unless_fixed(rig: type[Rig], fix_checksum: bool, fits: bool) -> None:
    bench = rig(second_send(Corrupt(fix_checksum=fix_checksum)))
    bench.send(0, 1)
    payload = bench.frames[TO_BROKER][1].payload
    assert payload is not None
    assert payload.checksum_ok() is fits


def test_corrupt_acts_on_nothing_where_the_part_is_missing(rig: type[Rig]) -> None:
    bench = rig(Fault(trigger=OnFrame(command="PING", direction=TO_BROKER), action=Corrupt(part=Part.PAYLOAD)))
    bench.c2b(CommandType.PING)
    assert len(bench.frames[TO_BROKER]) == 1
    assert bench.link.fired == [0]


def test_corrupt_length_ends_in_a_cut(rig: type[Rig]) -> None:
    bench = rig(second_send(Corrupt(part=Part.LENGTH)))
    bench.send(0, 1)
    assert bench.closes == [(0, CutHow.FIN, False)]


def test_undecodable_damage_leaves_as_bytes(rig: type[Rig]) -> None:
    bench = rig(second_send(Corrupt(part=Part.COMMAND, bit=0)))
    bench.send(0, 1)
    (altered,) = bench.pieces[TO_BROKER]
    with pytest.raises(ProtocolError):
        decode(altered)


def test_truncated_frame_leaves_in_part_and_is_cut(rig: type[Rig]) -> None:
    bench = rig(second_send(Truncate(10)))
    bench.send(0, 1)
    sent = unharmed(rig, 1)
    assert bench.pieces[TO_BROKER] == [sent.raw[:10]]
    assert bench.closes == [(0, CutHow.FIN, False)]


def test_truncate_beyond_the_end_passes_the_frame_and_cuts(rig: type[Rig]) -> None:
    bench = rig(second_send(Truncate(10_000)))
    bench.send(0, 1, 2)
    assert bench.at_broker == [0, 1]
    assert bench.closes == [(0, CutHow.FIN, False)]


def test_resegmented_bytes_leave_in_pieces_until_healed(rig: type[Rig]) -> None:
    bench = rig(second_send(Resegment(7)))
    bench.send(0, 1, 2)
    pieces = bench.pieces[TO_BROKER]
    sent = unharmed(rig, 1).raw + unharmed(rig, 2).raw
    assert b"".join(pieces) == sent
    assert {len(piece) for piece in pieces} <= {7, len(sent) // 2 % 7}
    bench.heal()
    bench.send(3)
    assert bench.at_broker == [0, 3]


def test_resegmented_pieces_keep_their_gap(rig: type[Rig]) -> None:
    bench = rig(second_send(Resegment(60, gap_ms=2)))
    bench.send(0, 1)
    sizes = [len(piece) for piece in bench.pieces[TO_BROKER]]
    bench.at_ms(1)
    assert [len(piece) for piece in bench.pieces[TO_BROKER]] == sizes == [60]
    bench.at_ms(2)
    assert len(bench.pieces[TO_BROKER]) == 2


def test_pieces_with_a_gap_gather_several_frames(rig: type[Rig]) -> None:
    bench = rig(second_send(Resegment(10_000, gap_ms=2)))
    bench.send(0, 1, 2, 3, 4)
    bench.at_ms(2)
    one = len(unharmed(rig, 1).raw)
    assert [len(piece) for piece in bench.pieces[TO_BROKER]] == [one, 3 * one]


def test_rewrite_of_the_command_leaves_the_payload_alone(rig: type[Rig]) -> None:
    bench = rig(second_send(Rewrite({"sequence_id": 9, "num_messages": 4})))
    bench.send(0, 1)
    frame = bench.frames[TO_BROKER][1]
    sent = unharmed(rig, 1)
    assert (frame.body.sequence_id, frame.body.num_messages) == (9, 4)
    assert frame.payload is not None
    assert sent.payload is not None
    assert bytes(frame.payload.block) == bytes(sent.payload.block)


def test_rewrite_of_the_metadata_keeps_the_checksum_right(rig: type[Rig]) -> None:
    bench = rig(second_send(Rewrite({"metadata.producer_name": "other", "metadata.chunk_id": 3})))
    bench.send(0, 1)
    payload = bench.frames[TO_BROKER][1].payload
    assert payload is not None
    assert (payload.metadata.producer_name, payload.metadata.chunk_id) == ("other", 3)
    assert payload.checksum_ok()


def test_rewrite_changes_no_other_byte(rig: type[Rig]) -> None:
    # SEND with its fields from the last to the first: num_messages 4, sequence_id 1, producer_id 0, then the type.
    before, after = (bytes.fromhex(f"3206 1804 10{sequence_id} 0800 0806") for sequence_id in ("01", "09"))
    tail = bytes(part.block) if (part := unharmed(rig, 1).payload) is not None else b""
    sent, wanted = (
        decode(struct.pack(">II", 4 + len(head) + len(tail), len(head)) + head + tail) for head in (before, after)
    )
    bench = rig(Fault(trigger=OnFrame(command="SEND", direction=TO_BROKER), action=Rewrite({"sequence_id": 9})))
    bench.put(sent, TO_BROKER)
    assert bench.frames[TO_BROKER] == [wanted]


def test_rewrite_of_the_metadata_does_not_mend_a_damaged_payload(rig: type[Rig]) -> None:
    bench = rig(second_send(Corrupt(part=Part.PAYLOAD)), second_send(Rewrite({"metadata.chunk_id": 3})))
    bench.send(0, 1)
    payload = bench.frames[TO_BROKER][1].payload
    assert payload is not None
    assert payload.metadata.chunk_id == 3
    assert not payload.checksum_ok()


def test_rewrite_sets_nested_enum_and_unsigned_fields(rig: type[Rig]) -> None:
    rewrite = Rewrite({"message_id.ledgerId": -1, "message_id.entryId": -1})
    bench = rig(Fault(trigger=OnFrame(command="SEND_RECEIPT", direction=TO_CLIENT), action=rewrite))
    bench.receipt(0)
    assert bench.frames[TO_CLIENT][0].body.message_id.ledgerId == 2**64 - 1


def test_inject_copies_fields_of_the_triggering_frame(rig: type[Rig]) -> None:
    fields: dict[str, int | str | bool] = {"producer_id": "$producer_id", "sequence_id": "$sequence_id"}
    fields |= {"message_id.ledgerId": 8, "message_id.entryId": "$metadata.publish_time"}
    bench = rig(second_send(Inject(command="SEND_RECEIPT", fields=fields)))
    bench.send(0, 1)
    (receipt,) = bench.frames[TO_CLIENT]
    assert (receipt.body.sequence_id, receipt.body.message_id.entryId) == (1, 1)


def test_inject_copies_whole_messages(rig: type[Rig]) -> None:
    fields: dict[str, int | str | bool] = {name: f"${name}" for name in ("producer_id", "sequence_id", "message_id")}
    inject = Inject(command="SEND_RECEIPT", fields=fields)
    bench = rig(Fault(trigger=OnFrame(command="SEND_RECEIPT", direction=TO_CLIENT), action=inject))
    bench.receipt(4)
    first, second = bench.frames[TO_CLIENT]
    assert first == second


def test_inject_fills_a_first_element_of_a_repeated_field(rig: type[Rig]) -> None:
    fields: dict[str, int | str | bool] = {"consumer_id": 1, "ack_type": "Individual"}
    fields |= {"message_id.ledgerId": 3, "message_id.entryId": "$sequence_id"}
    bench = rig(second_send(Inject(command="ACK", direction=TO_BROKER, fields=fields)))
    bench.send(0, 1)
    ack = bench.frames[TO_BROKER][-1]
    assert [(id.ledgerId, id.entryId) for id in ack.body.message_id] == [(3, 1)]


@pytest.mark.parametrize(("before", "order"), [(True, ["PING", "SEND"]), (False, ["SEND", "PING"])])
def test_injected_frame_stands_on_its_side(rig: type[Rig], before: bool, order: list[str]) -> None:
    inject = Inject(command="PING", direction=TO_BROKER, before=before)
    bench = rig(Fault(trigger=OnFrame(command="SEND", direction=TO_BROKER), action=inject))
    bench.send(0)
    assert [CommandType(frame.type).name for frame in bench.frames[TO_BROKER]] == order


def test_inject_writes_raw_bytes_that_are_no_frame(rig: type[Rig]) -> None:
    bench = rig(second_send(Inject(raw=b"\xff" * 9)))
    bench.send(0, 1)
    assert bench.pieces[TO_CLIENT] == [b"\xff" * 9]


@pytest.mark.parametrize("abrupt", [False, True])
@pytest.mark.parametrize("how", [CutHow.FIN, CutHow.RST])
def test_cut_closes_both_sides_as_asked(rig: type[Rig], how: CutHow, abrupt: bool) -> None:
    bench = rig(second_send(Cut(how=how, abrupt=abrupt)))
    bench.send(0, 1)
    assert bench.closes == [(0, how, abrupt)]
    assert [(event.by, event.reset) for event in bench.of(Closed)] == [(ClosedBy.FAULT, how is CutHow.RST)]


def test_answer_to_the_frame_that_was_cut_behind_does_not_arrive(rig: type[Rig]) -> None:
    bench = rig(second_send(Cut()))
    bench.broker = lambda frame: bench.receipt(frame.body.sequence_id)
    bench.send(0, 1)
    assert bench.at_broker == [0, 1]
    assert bench.at_client == [0]


def test_black_hole_resets_when_healed(rig: type[Rig]) -> None:
    bench = rig(second_send(Cut(how=CutHow.BLACKHOLE), until=Until(after_ms=3)))
    bench.send(0, 1, 2)
    bench.receipt(0)
    assert (bench.at_client, bench.closes) == ([], [])
    bench.at_ms(3)
    assert bench.closes == [(0, CutHow.RST, True)]
    assert bench.at_broker == [0, 1]


def test_black_hole_keeps_the_end_of_one_side_from_the_other(rig: type[Rig]) -> None:
    bench = rig(second_send(Cut(how=CutHow.BLACKHOLE, direction=TO_BROKER)))
    bench.send(0, 1)
    assert bench.link.ended(0, ClosedBy.CLIENT, False, 0) is False
    bench.heal()
    assert bench.closes == [(0, CutHow.RST, True)]
    assert [event.by for event in bench.of(Closed)] == [ClosedBy.CLIENT]


def test_end_of_a_side_that_is_heard_is_told_at_once(rig: type[Rig]) -> None:
    bench = rig(second_send(Cut(how=CutHow.BLACKHOLE, direction=TO_CLIENT)))
    bench.send(0, 1)
    assert bench.link.ended(0, ClosedBy.CLIENT, False, 0) is True
    bench.heal()
    assert bench.closes == []


def test_black_hole_swallows_injected_frames(rig: type[Rig]) -> None:
    trigger = OnFrame(command="SEND", direction=TO_BROKER, k=3)
    bench = rig(
        second_send(Cut(how=CutHow.BLACKHOLE, direction=TO_CLIENT)),
        Fault(trigger=trigger, action=Inject(command="PING")),
    )
    bench.send(0, 1, 2)
    assert (bench.at_broker, bench.frames[TO_CLIENT]) == ([0, 1, 2], [])


def test_refuse_turns_away_as_many_as_asked(rig: type[Rig]) -> None:
    bench = rig(second_send(Refuse(connections=2)))
    bench.send(0)
    assert bench.opened(1)
    bench.send(1)
    assert [bench.opened(2), bench.opened(2), bench.opened(2)] == [False, False, True]
    assert bench.link.fired == [2]


def test_refuse_without_number_lasts_until_healed(rig: type[Rig]) -> None:
    bench = rig(second_send(Refuse(), until=Until(step=4)))
    bench.send(0, 1)
    assert [bench.opened(1) for _ in range(3)] == [False] * 3
    bench.step(4)
    assert bench.opened(1)


ANSWERED = [
    (CommandType.LOOKUP, {"topic": "t", "request_id": 3}, "LOOKUP_RESPONSE", {"request_id": 3, "response": 2}),
    (
        CommandType.PARTITIONED_METADATA,
        {"topic": "t", "request_id": 3},
        "PARTITIONED_METADATA_RESPONSE",
        {"request_id": 3, "response": 1},
    ),
    (CommandType.PRODUCER, {"topic": "t", "producer_id": 1, "request_id": 3}, "ERROR", {"request_id": 3}),
    (CommandType.ACK, {"consumer_id": 2, "ack_type": 0, "request_id": 3}, "ACK_RESPONSE", {"request_id": 3}),
    (CommandType.CONNECT, {"client_version": "c"}, "ERROR", {"request_id": 2**64 - 1}),
    (CommandType.SEEK, {"consumer_id": 2, "request_id": 3}, "ERROR", {"request_id": 3}),
]


@pytest.mark.parametrize(("kind", "fields", "answer", "tie"), ANSWERED, ids=[kind.name for kind, *_ in ANSWERED])
def test_answer_error_refuses_as_a_broker_does(
    rig: type[Rig], kind: CommandType, fields: dict[str, Any], answer: str, tie: dict[str, int]
) -> None:
    trigger = OnFrame(command=kind.name, direction=TO_BROKER)
    bench = rig(Fault(trigger=trigger, action=AnswerError("ServiceNotReady", "not now")))
    bench.c2b(kind, **fields)
    assert bench.frames[TO_BROKER] == []
    (frame,) = bench.frames[TO_CLIENT]
    assert CommandType(frame.type).name == answer
    assert {name: getattr(frame.body, name) for name in tie} == tie
    assert (frame.body.error, frame.body.message) == (6, "not now")


def test_answer_error_to_an_acknowledgment_that_asks_for_no_receipt_loses_it(rig: type[Rig]) -> None:
    bench = rig(Fault(trigger=OnFrame(command="ACK", direction=TO_BROKER), action=AnswerError("MetadataError")))
    bench.c2b(CommandType.ACK, consumer_id=1, ack_type=0)
    assert (bench.frames[TO_BROKER], bench.frames[TO_CLIENT]) == ([], [])


def test_answer_error_to_send_names_the_message(rig: type[Rig]) -> None:
    bench = rig(second_send(AnswerError("ChecksumError")))
    bench.send(0, 1)
    (frame,) = bench.frames[TO_CLIENT]
    assert (frame.type, frame.body.sequence_id, frame.body.error) == (CommandType.SEND_ERROR, 1, 9)


def test_every_action_has_a_receipt(rig: type[Rig]) -> None:
    silent = [
        action
        for action, _ in ARRIVALS
        if not isinstance(action, Refuse) and not _fired_on_frame_1(rig(second_send(action)))
    ]
    assert silent == []


def _fired_on_frame_1(bench: Rig) -> bool:
    bench.send(0, 1)
    (fired,) = bench.of(Fired)
    return bench.link.fired == [1] and fired.fault == 0 and fired.frames[0] == 1 and fired.conn == 0
