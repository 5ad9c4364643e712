"""Property: decode(encode(x)) == x, for every command, metadata and payload the protocol can say."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given
from hypothesis import strategies as st

from assay_conformance.wire import (
    BODY_FIELDS,
    PAYLOAD_TYPES,
    BaseCommand,
    BrokerEntryMetadata,
    CommandType,
    Member,
    MessageMetadata,
    SingleMessageMetadata,
    Splitter,
    decode,
    decode_batch,
    encode,
    encode_batch,
)

INTEGERS = {
    FieldDescriptor.TYPE_INT32: st.integers(-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_UINT32: st.integers(0, 2**32 - 1),
    FieldDescriptor.TYPE_UINT64: st.integers(0, 2**64 - 1),
}
SCALARS: dict[int, st.SearchStrategy[Any]] = INTEGERS | {
    FieldDescriptor.TYPE_BOOL: st.booleans(),
    FieldDescriptor.TYPE_BYTES: st.binary(max_size=20),
    FieldDescriptor.TYPE_DOUBLE: st.floats(allow_nan=False),
    FieldDescriptor.TYPE_STRING: st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
}


@st.composite
def messages(draw: st.DrawFn, kind: type[Message], depth: int = 0) -> Any:
    """A message of this kind: its required fields, and any of the others. Messages inside go two deep."""
    built: Any = kind()
    for field in kind.DESCRIPTOR.fields:
        if field.is_required or (depth < 2 and draw(st.booleans())):
            for _ in range(draw(st.integers(0, 2)) if field.is_repeated else 1):
                put(built, field, draw(value_of(field, depth)))
    return built


def value_of(field: Any, depth: int) -> st.SearchStrategy[Any]:
    if field.message_type is not None:
        return messages(GetMessageClass(field.message_type), depth + 1)
    if field.enum_type is not None:
        return st.sampled_from(sorted(field.enum_type.values_by_number))
    return SCALARS[field.type]


def put(built: Any, field: Any, value: Any) -> None:
    if field.is_repeated:
        getattr(built, field.name).append(value)
    elif field.message_type is not None:
        getattr(built, field.name).CopyFrom(value)
    else:
        setattr(built, field.name, value)


@st.composite
def commands(draw: st.DrawFn, numbers: st.SearchStrategy[int]) -> BaseCommand:
    number = draw(numbers)
    built = BaseCommand(type=number)
    body = getattr(built, BODY_FIELDS[number])
    body.CopyFrom(draw(messages(type(body))))
    return built


plain = st.sampled_from(sorted(set(BODY_FIELDS) - PAYLOAD_TYPES))
carrying = st.sampled_from(sorted(PAYLOAD_TYPES))


@given(commands(plain))
def test_command_comes_back(command: BaseCommand) -> None:
    frame = decode(encode(command))
    assert frame.command == command
    assert encode(frame.command) == frame.raw


@given(
    commands(carrying),
    messages(MessageMetadata),
    st.binary(max_size=200),
    st.booleans(),
    st.none() | messages(BrokerEntryMetadata),
)
def test_payload_comes_back(
    command: BaseCommand,
    metadata: MessageMetadata,
    data: bytes,
    checksum: bool,
    broker_entry: BrokerEntryMetadata | None,
) -> None:
    entry = broker_entry if command.type == CommandType.MESSAGE else None
    frame = decode(encode(command, metadata=metadata, data=data, checksum=checksum, broker_entry=entry))
    assert frame.payload is not None
    assert frame.command == command
    assert frame.payload.metadata == metadata
    assert bytes(frame.payload.data) == data
    assert frame.payload.broker_entry == entry
    assert (frame.payload.checksum is not None) == checksum
    assert frame.payload.checksum_ok()


@given(st.lists(st.builds(Member, messages(SingleMessageMetadata), st.binary(max_size=50)), min_size=1, max_size=5))
def test_batch_comes_back(members: list[Member]) -> None:
    back = decode_batch(encode_batch(members), len(members))
    for member in members:
        member.metadata.payload_size = len(member.payload)
    assert back == members


@given(st.lists(commands(plain), max_size=4), st.integers(1, 40))
def test_stream_comes_back(sent: list[BaseCommand], step: int) -> None:
    stream = b"".join(encode(command) for command in sent)
    splitter = Splitter()
    pieces = [stream[start : start + step] for start in range(0, len(stream), step)]
    assert [decode(raw).command for piece in pieces for raw in splitter.feed(piece)] == sent
