"""A changed frame keeps its sender's hand: nothing but what was changed has other bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay_conformance.wire import (
    BaseCommand,
    CommandType,
    Frame,
    LocalProtocolError,
    MessageMetadata,
    MetadataError,
    command,
    decode,
    encode,
    reencode,
)

Change = Callable[[Any], object]

DATA = b"the data"


def sized(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def framed(head: str, tail: bytes = b"") -> Frame:
    return decode(sized(sized(bytes.fromhex(head)) + tail))


def receipt(body: str) -> Frame:
    return framed("0807" + "3a" + len(bytes.fromhex(body)).to_bytes(1, "big").hex() + body)


def changed(frame: Frame, change: Change) -> bytes:
    wanted = BaseCommand()
    wanted.CopyFrom(frame.command)
    change(wanted.send_receipt)
    return reencode(frame, wanted)


def set_to(name: str, value: int) -> Change:
    return lambda message: setattr(message, name, value)


def in_id(change: Change) -> Change:
    return lambda body: change(body.message_id)


# A SEND_RECEIPT's message before, the change, and after. 08 producer_id, 10 sequence_id, 1a message_id, 20
# highest_sequence_id; in the id 08 ledgerId, 10 entryId, 18 partition, 28 ack_set (2a packed).
CHANGES: dict[str, tuple[str, Change, str]] = {
    "value in its place": ("2009 1002 0801", set_to("sequence_id", 3), "2009 1003 0801"),
    "longer value": ("2009 1002 0801", set_to("sequence_id", 300), "2009 10ac02 0801"),
    "value inside a message": (
        "1a04 1006 0805 1002 0801",
        in_id(set_to("ledgerId", 8)),
        "1a04 1006 0808 1002 0801",
    ),
    "longer value inside a message": (
        "1a04 1006 0805 1002 0801",
        in_id(set_to("ledgerId", 300)),
        "1a05 1006 08ac02 1002 0801",
    ),
    "new field": ("1002 0801", set_to("highest_sequence_id", 4), "1002 0801 2004"),
    "new field inside a message": (
        "1a04 1006 0805 1002 0801",
        in_id(set_to("partition", 3)),
        "1a06 1006 0805 1803 1002 0801",
    ),
    "field gone": ("2009 1002 0801", lambda body: body.ClearField("highest_sequence_id"), "1002 0801"),
    "long form of another number": ("10828000 0801", set_to("producer_id", 4), "10828000 0804"),
    "unknown fields": (
        "f00105 1002 f10101020304050607 08 fb01 0801 13 14 fc01 fd0101020304 0801",
        set_to("sequence_id", 3),
        "f00105 1003 f10101020304050607 08 fb01 0801 13 14 fc01 fd0101020304 0801",
    ),
    "another field said twice": ("1001 0801 1002", set_to("producer_id", 4), "1001 0804 1002"),
    "field said twice": ("1001 0801 1002", set_to("sequence_id", 3), "1003 0801"),
    "list beside another field": (
        "1a08 2801 1006 2802 0805 1002 0801",
        in_id(set_to("entryId", 7)),
        "1a08 2801 1007 2802 0805 1002 0801",
    ),
    "longer list": (
        "1a08 2801 1006 2802 0805 1002 0801",
        in_id(lambda id: id.ack_set.append(3)),
        "1a0a 2801 1006 28022803 0805 1002 0801",
    ),
    "shorter list": (
        "1a08 2801 1006 2802 0805 1002 0801",
        in_id(lambda id: id.ack_set.pop(0)),
        "1a06 2802 1006 0805 1002 0801",
    ),
    "packed list beside another field": (
        "1a08 2a020102 1006 0805 1002 0801",
        in_id(set_to("entryId", 7)),
        "1a08 2a020102 1007 0805 1002 0801",
    ),
    "packed list": (
        "1a08 2a020102 1006 0805 1002 0801",
        in_id(lambda id: id.ack_set.append(3)),
        "1a0a 2801 2802 2803 1006 0805 1002 0801",
    ),
}


@pytest.mark.parametrize(("before", "change", "after"), CHANGES.values(), ids=list(CHANGES))
def test_change_leaves_other_bytes_alone(before: str, change: Change, after: str) -> None:
    raw = changed(receipt(before.replace(" ", "")), change)
    assert raw.hex() == receipt(after.replace(" ", "")).raw.hex()


@pytest.mark.parametrize("before", [before for before, _, _ in CHANGES.values()], ids=list(CHANGES))
def test_frame_without_change_is_the_same(before: str) -> None:
    frame = receipt(before.replace(" ", ""))
    assert reencode(frame, frame.command) == frame.raw


def test_type_behind_the_message_stays_there() -> None:
    raw = changed(framed("3a04" + "0801" + "1002" + "0807"), set_to("sequence_id", 3))
    assert raw == framed("3a04" + "0801" + "1003" + "0807").raw


# --- Metadata ---

SEND = "0806" + "3204" + "1002" + "0801"
# 60 event_time, 18 publish_time, 10 sequence_id, 0a producer_name: the highest number first.
METADATA = bytes.fromhex("6009" + "1807" + "1005" + "0a0170")
CHANGED = bytes.fromhex("6009" + "1807" + "1006" + "0a0170")


def block(metadata: bytes, checksum: int | None = None, *, checked: bool = True) -> bytes:
    """What stands behind the command; the checksum fits unless one is given."""
    covered = sized(metadata) + DATA
    if not checked:
        return covered
    value = crc32c.crc32c(covered) if checksum is None else checksum
    return b"\x0e\x01" + value.to_bytes(4, "big") + covered


def resequenced(frame: Frame) -> bytes:
    assert frame.payload is not None
    metadata = MessageMetadata()
    metadata.CopyFrom(frame.payload.metadata)
    metadata.sequence_id = 6
    return reencode(frame, frame.command, metadata)


def test_changed_metadata_keeps_its_order_and_gets_its_checksum() -> None:
    assert resequenced(framed(SEND, block(METADATA))) == framed(SEND, block(CHANGED)).raw


def test_wrong_checksum_stays_wrong() -> None:
    assert resequenced(framed(SEND, block(METADATA, 0x12345678))) == framed(SEND, block(CHANGED, 0x12345678)).raw


def test_missing_checksum_stays_missing() -> None:
    assert resequenced(framed(SEND, block(METADATA, checked=False))) == framed(SEND, block(CHANGED, checked=False)).raw


def test_broker_entry_metadata_is_not_touched() -> None:
    message = "0809" + "4a08" + "0801" + "12041006" + "0805"
    entry = b"\x0e\x02" + sized(bytes.fromhex("1003" + "0804"))
    assert resequenced(framed(message, entry + block(METADATA))) == framed(message, entry + block(CHANGED)).raw


def test_payload_of_changed_command_is_not_touched() -> None:
    tail = b"\x0e\x01no checksum and no metadata at all"
    wanted = command(CommandType.SEND, producer_id=1, sequence_id=3)
    assert reencode(framed(SEND, tail), wanted) == framed(SEND.replace("1002", "1003"), tail).raw


def test_unreadable_metadata_cannot_be_replaced() -> None:
    frame = framed(SEND, block(b"\xff\xff"))
    with pytest.raises(MetadataError):
        reencode(frame, frame.command, MessageMetadata(producer_name="p", sequence_id=1, publish_time=1))


def test_command_without_payload_has_no_metadata_to_replace() -> None:
    frame = decode(encode(command(CommandType.PING)))
    with pytest.raises(LocalProtocolError, match="PING"):
        reencode(frame, frame.command, MessageMetadata(producer_name="p", sequence_id=1, publish_time=1))


def test_lack_of_a_required_field_is_refused() -> None:
    frame = receipt("10020801")
    with pytest.raises(LocalProtocolError):
        changed(frame, lambda body: body.ClearField("producer_id"))


# --- Any of these fields, in any order, changed to any other values ---

fields = st.dictionaries(st.sampled_from([(4, "20"), (30, "f001"), (31, "f801")]), st.integers(0, 127)).map(
    lambda found: [(tag + f"{value:02x}") for (_, tag), value in found.items()]
)


@given(fields, st.permutations(["0801", "1002", "1a0410060805"]), st.integers(0, 127), st.booleans())
def test_change_arrives_whatever_the_order(rest: list[str], known: list[str], value: int, gone: bool) -> None:
    frame = receipt("".join([*rest, *known]))
    wanted = BaseCommand()
    wanted.CopyFrom(frame.command)
    wanted.send_receipt.sequence_id = value
    if gone:
        wanted.send_receipt.ClearField("message_id")
    assert decode(reencode(frame, wanted)).command == wanted
