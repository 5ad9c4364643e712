"""Golden pairs of every command and payload: fields and bytes, both ways, whole, byte by byte and with more after.

The bytes in fixtures/golden/wire are not the codec's own word: `Writer` below makes them again from the field tables of
the protocol, a checksum bit by bit, and nothing of the package. So a wrong number in pulsar.proto disagrees with the
tables, and a wrong frame with the writer.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any, Final

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from assay_conformance.wire import (
    BODY_FIELDS,
    BaseCommand,
    Codec,
    CommandType,
    Frame,
    MessageMetadata,
    Splitter,
    command,
    decode,
    decode_batch,
    decompress,
    encode,
    is_batch,
)
from assay_conformance.wire import pulsar_pb2 as pb

GOLDEN: Final = Path(__file__).resolve().parents[3] / "fixtures/golden/wire"
PAIRS: Final[list[dict[str, Any]]] = [json.loads(line) for line in (GOLDEN / "commands.jsonl").read_text().splitlines()]
PAYLOADS: Final[list[dict[str, Any]]] = [
    json.loads(line) for line in (GOLDEN / "payloads.jsonl").read_text().splitlines()
]

# name=number:type, then ! required, * repeated, =x default.
COMMANDS: Final[dict[str, str]] = {
    "CONNECT": (
        "client_version=1:string! auth_method=2:AuthMethod auth_method_name=5:string auth_data=3:bytes "
        "protocol_version=4:int32=0 proxy_to_broker_url=6:string original_principal=7:string "
        "original_auth_data=8:string original_auth_method=9:string feature_flags=10:FeatureFlags "
        "proxy_version=11:string"
    ),
    "CONNECTED": (
        "server_version=1:string! protocol_version=2:int32=0 max_message_size=3:int32 feature_flags=4:FeatureFlags"
    ),
    "SUBSCRIBE": (
        "topic=1:string! subscription=2:string! subType=3:SubType! consumer_id=4:uint64! request_id=5:uint64! "
        "consumer_name=6:string priority_level=7:int32 durable=8:bool=true start_message_id=9:MessageIdData "
        "metadata=10:KeyValue* read_compacted=11:bool schema=12:Schema initialPosition=13:InitialPosition=Latest "
        "replicate_subscription_state=14:bool force_topic_creation=15:bool=true "
        "start_message_rollback_duration_sec=16:uint64=0 keySharedMeta=17:KeySharedMeta "
        "subscription_properties=18:KeyValue* consumer_epoch=19:uint64"
    ),
    "PRODUCER": (
        "topic=1:string! producer_id=2:uint64! request_id=3:uint64! producer_name=4:string encrypted=5:bool=false "
        "metadata=6:KeyValue* schema=7:Schema epoch=8:uint64=0 user_provided_producer_name=9:bool=true "
        "producer_access_mode=10:ProducerAccessMode=Shared topic_epoch=11:uint64 txn_enabled=12:bool=false "
        "initial_subscription_name=13:string"
    ),
    "SEND": (
        "producer_id=1:uint64! sequence_id=2:uint64! num_messages=3:int32=1 txnid_least_bits=4:uint64=0 "
        "txnid_most_bits=5:uint64=0 highest_sequence_id=6:uint64=0 is_chunk=7:bool=false marker=8:bool=false "
        "message_id=9:MessageIdData"
    ),
    "SEND_RECEIPT": (
        "producer_id=1:uint64! sequence_id=2:uint64! message_id=3:MessageIdData highest_sequence_id=4:uint64=0"
    ),
    "SEND_ERROR": "producer_id=1:uint64! sequence_id=2:uint64! error=3:ServerError! message=4:string!",
    "MESSAGE": (
        "consumer_id=1:uint64! message_id=2:MessageIdData! redelivery_count=3:uint32=0 ack_set=4:int64* "
        "consumer_epoch=5:uint64"
    ),
    "ACK": (
        "consumer_id=1:uint64! ack_type=2:AckType! message_id=3:MessageIdData* validation_error=4:ValidationError "
        "properties=5:KeyLongValue* txnid_least_bits=6:uint64=0 txnid_most_bits=7:uint64=0 request_id=8:uint64"
    ),
    "FLOW": "consumer_id=1:uint64! messagePermits=2:uint32!",
    "UNSUBSCRIBE": "consumer_id=1:uint64! request_id=2:uint64! force=3:bool=false",
    "SUCCESS": "request_id=1:uint64! schema=2:Schema",
    "ERROR": "request_id=1:uint64! error=2:ServerError! message=3:string!",
    "CLOSE_PRODUCER": (
        "producer_id=1:uint64! request_id=2:uint64! assignedBrokerServiceUrl=3:string "
        "assignedBrokerServiceUrlTls=4:string"
    ),
    "CLOSE_CONSUMER": (
        "consumer_id=1:uint64! request_id=2:uint64! assignedBrokerServiceUrl=3:string "
        "assignedBrokerServiceUrlTls=4:string"
    ),
    "PRODUCER_SUCCESS": (
        "request_id=1:uint64! producer_name=2:string! last_sequence_id=3:int64=-1 schema_version=4:bytes "
        "topic_epoch=5:uint64 producer_ready=6:bool=true"
    ),
    "PING": "",
    "PONG": "",
    "REDELIVER_UNACKNOWLEDGED_MESSAGES": ("consumer_id=1:uint64! message_ids=2:MessageIdData* consumer_epoch=3:uint64"),
    "PARTITIONED_METADATA": (
        "topic=1:string! request_id=2:uint64! original_principal=3:string original_auth_data=4:string "
        "original_auth_method=5:string metadata_auto_creation_enabled=6:bool=true"
    ),
    "PARTITIONED_METADATA_RESPONSE": (
        "partitions=1:uint32 request_id=2:uint64! response=3:LookupType error=4:ServerError message=5:string"
    ),
    "LOOKUP": (
        "topic=1:string! request_id=2:uint64! authoritative=3:bool=false original_principal=4:string "
        "original_auth_data=5:string original_auth_method=6:string advertised_listener_name=7:string "
        "properties=8:KeyValue*"
    ),
    "LOOKUP_RESPONSE": (
        "brokerServiceUrl=1:string brokerServiceUrlTls=2:string response=3:LookupType request_id=4:uint64! "
        "authoritative=5:bool=false error=6:ServerError message=7:string proxy_through_service_url=8:bool=false"
    ),
    "CONSUMER_STATS": "request_id=1:uint64! consumer_id=4:uint64!",
    "CONSUMER_STATS_RESPONSE": (
        "request_id=1:uint64! error_code=2:ServerError error_message=3:string msgRateOut=4:double "
        "msgThroughputOut=5:double msgRateRedeliver=6:double consumerName=7:string availablePermits=8:uint64 "
        "unackedMessages=9:uint64 blockedConsumerOnUnackedMsgs=10:bool address=11:string connectedSince=12:string "
        "type=13:string msgRateExpired=14:double msgBacklog=15:uint64 messageAckRate=16:double"
    ),
    "REACHED_END_OF_TOPIC": "consumer_id=1:uint64!",
    "SEEK": "consumer_id=1:uint64! request_id=2:uint64! message_id=3:MessageIdData message_publish_time=4:uint64",
    "GET_LAST_MESSAGE_ID": "consumer_id=1:uint64! request_id=2:uint64!",
    "GET_LAST_MESSAGE_ID_RESPONSE": (
        "last_message_id=1:MessageIdData! request_id=2:uint64! consumer_mark_delete_position=3:MessageIdData"
    ),
    "ACTIVE_CONSUMER_CHANGE": "consumer_id=1:uint64! is_active=2:bool=false",
    "GET_TOPICS_OF_NAMESPACE": (
        "request_id=1:uint64! namespace=2:string! mode=3:Mode=PERSISTENT topics_pattern=4:string "
        "topics_hash=5:string properties=6:KeyValue*"
    ),
    "GET_TOPICS_OF_NAMESPACE_RESPONSE": (
        "request_id=1:uint64! topics=2:string* filtered=3:bool=false topics_hash=4:string changed=5:bool=true"
    ),
    "GET_SCHEMA": "request_id=1:uint64! topic=2:string! schema_version=3:bytes",
    "GET_SCHEMA_RESPONSE": (
        "request_id=1:uint64! error_code=2:ServerError error_message=3:string schema=4:Schema schema_version=5:bytes"
    ),
    "AUTH_CHALLENGE": "server_version=1:string challenge=2:AuthData protocol_version=3:int32=0",
    "AUTH_RESPONSE": "client_version=1:string response=2:AuthData protocol_version=3:int32=0",
    "ACK_RESPONSE": (
        "consumer_id=1:uint64! txnid_least_bits=2:uint64=0 txnid_most_bits=3:uint64=0 error=4:ServerError "
        "message=5:string request_id=6:uint64"
    ),
    "GET_OR_CREATE_SCHEMA": "request_id=1:uint64! topic=2:string! schema=3:Schema! producerName=4:string",
    "GET_OR_CREATE_SCHEMA_RESPONSE": (
        "request_id=1:uint64! error_code=2:ServerError error_message=3:string schema_version=4:bytes"
    ),
    "WATCH_TOPIC_LIST": (
        "request_id=1:uint64! watcher_id=2:uint64! namespace=3:string! topics_pattern=4:string! topics_hash=5:string"
    ),
    "WATCH_TOPIC_LIST_SUCCESS": "request_id=1:uint64! watcher_id=2:uint64! topic=3:string* topics_hash=4:string!",
    "WATCH_TOPIC_UPDATE": ("watcher_id=1:uint64! new_topics=2:string* deleted_topics=3:string* topics_hash=4:string!"),
    "WATCH_TOPIC_LIST_CLOSE": "request_id=1:uint64! watcher_id=2:uint64!",
    "TOPIC_MIGRATED": (
        "resource_id=1:uint64! resource_type=2:ResourceType! brokerServiceUrl=3:string brokerServiceUrlTls=4:string"
    ),
}
VALUES: Final[dict[str, str]] = {
    "MessageMetadata": (
        "producer_name=1:string! sequence_id=2:uint64! publish_time=3:uint64! properties=4:KeyValue* "
        "replicated_from=5:string partition_key=6:string replicate_to=7:string* "
        "compression=8:CompressionType=NONE uncompressed_size=9:uint32=0 num_messages_in_batch=11:int32=1 "
        "event_time=12:uint64=0 encryption_keys=13:EncryptionKeys* encryption_algo=14:string "
        "encryption_param=15:bytes schema_version=16:bytes partition_key_b64_encoded=17:bool=false "
        "ordering_key=18:bytes deliver_at_time=19:int64 marker_type=20:int32 txnid_least_bits=22:uint64 "
        "txnid_most_bits=23:uint64 highest_sequence_id=24:uint64=0 null_value=25:bool=false uuid=26:string "
        "num_chunks_from_msg=27:int32 total_chunk_msg_size=28:int32 chunk_id=29:int32 "
        "null_partition_key=30:bool=false compacted_batch_indexes=31:int32* schema_id=32:bytes "
        "entry_hash_min=33:uint32 entry_hash_max=34:uint32"
    ),
    "SingleMessageMetadata": (
        "properties=1:KeyValue* partition_key=2:string payload_size=3:int32! compacted_out=4:bool=false "
        "event_time=5:uint64=0 partition_key_b64_encoded=6:bool=false ordering_key=7:bytes sequence_id=8:uint64 "
        "null_value=9:bool=false null_partition_key=10:bool=false"
    ),
    "BrokerEntryMetadata": "broker_timestamp=1:uint64 index=2:uint64",
    "MessageIdData": (
        "ledgerId=1:uint64! entryId=2:uint64! partition=3:int32=-1 batch_index=4:int32=-1 ack_set=5:int64* "
        "batch_size=6:int32 first_chunk_message_id=7:MessageIdData"
    ),
    "KeyValue": "key=1:string! value=2:string!",
    "KeyLongValue": "key=1:string! value=2:uint64!",
    "IntRange": "start=1:int32! end=2:int32!",
    "EncryptionKeys": "key=1:string! value=2:bytes! metadata=3:KeyValue*",
    "Schema": "name=1:string! schema_data=3:bytes! type=4:Type! properties=5:KeyValue*",
    "AuthData": "auth_method_name=1:string auth_data=2:bytes",
    "KeySharedMeta": "keySharedMode=1:KeySharedMode! hashRanges=3:IntRange* allowOutOfOrderDelivery=4:bool=false",
    "FeatureFlags": (
        "supports_auth_refresh=1:bool=false supports_broker_entry_metadata=2:bool=false "
        "supports_partial_producer=3:bool=false supports_topic_watchers=4:bool=false "
        "supports_get_partitioned_metadata_without_auto_creation=5:bool=false "
        "supports_repl_dedup_by_lid_and_eid=6:bool=false supports_topic_watcher_reconcile=7:bool=false "
        "supports_scalable_topics=8:bool=false supports_tc_metadata_discovery=9:bool=false"
    ),
}
TABLES: Final = COMMANDS | VALUES


class Writer:
    """The protobuf wire format, as far as the tables need it: fields in the order of their numbers."""

    @classmethod
    def message(cls, name: str, values: dict[str, Any]) -> bytes:
        parts: list[bytes] = []
        for field, number, kind, _ in sorted(fields_of(name), key=lambda row: row[1]):
            if field in values:
                value = values[field]
                for item in value if isinstance(value, list) else [value]:
                    parts.append(cls.field(number, kind, item))
        return b"".join(parts)

    @classmethod
    def field(cls, number: int, kind: str, value: Any) -> bytes:
        if kind == "double":
            return cls.varint(number << 3 | 1) + struct.pack("<d", value)
        if kind in TABLES or kind in ("string", "bytes"):
            body = {"string": str.encode, "bytes": bytes.fromhex}.get(kind, lambda item: cls.message(kind, item))(value)
            return cls.varint(number << 3 | 2) + cls.varint(len(body)) + body
        return cls.varint(number << 3) + cls.varint(value % 2**64)

    @staticmethod
    def varint(value: int) -> bytes:
        out = bytearray()
        while value > 127:
            out.append(value & 127 | 128)
            value >>= 7
        out.append(value)
        return bytes(out)

    @classmethod
    def command(cls, name: str, values: dict[str, Any]) -> bytes:
        number = CommandType[name].value
        body = cls.message(name, values)
        return cls.varint(8) + cls.varint(number) + cls.varint(number << 3 | 2) + cls.varint(len(body)) + body

    @classmethod
    def frame(cls, pair: dict[str, Any]) -> bytes:
        head = cls.command(pair["command"], pair["fields"])
        tail = cls.payload(pair) if "metadata" in pair else b""
        return struct.pack(">II", 4 + len(head) + len(tail), len(head)) + head + tail

    @classmethod
    def payload(cls, pair: dict[str, Any]) -> bytes:
        metadata = cls.message("MessageMetadata", pair["metadata"])
        out = struct.pack(">I", len(metadata)) + metadata + bytes.fromhex(pair["data"])
        if pair["checksum"]:
            out = b"\x0e\x01" + struct.pack(">I", crc32c_by_bits(out)) + out
        if "broker_entry" in pair:
            entry = cls.message("BrokerEntryMetadata", pair["broker_entry"])
            out = b"\x0e\x02" + struct.pack(">I", len(entry)) + entry + out
        return out


def fields_of(name: str) -> list[tuple[str, int, str, str]]:
    """Name, number, type and the rest (label and default) of each field of a table."""
    rows = []
    for word in TABLES[name].split():
        field, _, rest = word.partition("=")
        number, _, kind = rest.partition(":")
        bare = kind.split("=")[0].rstrip("!*")
        rows.append((field, int(number), bare, kind[len(bare) :]))
    return rows


def crc32c_by_bits(data: bytes) -> int:
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def python_values(name: str, values: dict[str, Any]) -> dict[str, Any]:
    """The values as the package takes them: bytes instead of hex."""
    kinds = {field: kind for field, _, kind, _ in fields_of(name)}

    def convert(kind: str, value: Any) -> Any:
        if isinstance(value, list):
            return [convert(kind, item) for item in value]
        if kind == "bytes":
            return bytes.fromhex(value)
        return python_values(kind, value) if kind in TABLES else value

    return {field: convert(kinds[field], value) for field, value in values.items()}


def built(pair: dict[str, Any]) -> BaseCommand:
    return command(CommandType[pair["command"]], **python_values(pair["command"], pair["fields"]))


def encoded(pair: dict[str, Any]) -> bytes:
    if "metadata" not in pair:
        return encode(built(pair))
    entry = pair.get("broker_entry")
    return encode(
        built(pair),
        metadata=MessageMetadata(**python_values("MessageMetadata", pair["metadata"])),
        data=bytes.fromhex(pair["data"]),
        checksum=pair["checksum"],
        broker_entry=None if entry is None else pb.BrokerEntryMetadata(**entry),
    )


def cut_into_bytes(raw: bytes) -> list[bytes]:
    splitter = Splitter()
    return [frame for start in range(len(raw)) for frame in splitter.feed(raw[start : start + 1])]


all_pairs = pytest.mark.parametrize("pair", PAIRS + PAYLOADS, ids=lambda pair: str(pair["name"]))
payload_pairs = pytest.mark.parametrize("pair", PAYLOADS, ids=lambda pair: str(pair["name"]))


@all_pairs
def test_golden_bytes_follow_the_tables(pair: dict[str, Any]) -> None:
    assert Writer.frame(pair).hex() == pair["hex"]


@all_pairs
def test_fields_encode_to_golden_bytes(pair: dict[str, Any]) -> None:
    assert encoded(pair).hex() == pair["hex"]


@all_pairs
def test_golden_bytes_decode_to_fields(pair: dict[str, Any]) -> None:
    frame = decode(bytes.fromhex(pair["hex"]))
    assert frame.type is CommandType[pair["command"]]
    assert frame.command == built(pair)
    assert frame.body == getattr(built(pair), BODY_FIELDS[frame.type])


@payload_pairs
def test_golden_payload_decodes_to_parts(pair: dict[str, Any]) -> None:
    payload = decode(bytes.fromhex(pair["hex"])).payload
    assert payload is not None
    assert payload.metadata == MessageMetadata(**python_values("MessageMetadata", pair["metadata"]))
    assert payload.metadata_bytes == Writer.message("MessageMetadata", pair["metadata"])
    assert payload.data.hex() == pair["data"]
    assert (payload.checksum is not None) == pair["checksum"]
    assert payload.checksum_ok()
    entry = pair.get("broker_entry")
    assert payload.broker_entry == (None if entry is None else pb.BrokerEntryMetadata(**entry))


@payload_pairs
def test_golden_payload_unpacks_to_messages(pair: dict[str, Any]) -> None:
    payload = decode(bytes.fromhex(pair["hex"])).payload
    assert payload is not None
    metadata = payload.metadata
    messages = [decompress(Codec(metadata.compression), payload.data, metadata.uncompressed_size, limit=1000)]
    if is_batch(metadata):
        messages = [member.payload for member in decode_batch(messages[0], metadata.num_messages_in_batch)]
    assert messages == [bytes.fromhex(message) for message in pair["messages"]]


@all_pairs
def test_golden_bytes_arrive_byte_by_byte(pair: dict[str, Any]) -> None:
    raw = bytes.fromhex(pair["hex"])
    assert cut_into_bytes(raw) == [raw]


@all_pairs
def test_bytes_behind_a_golden_frame_wait(pair: dict[str, Any]) -> None:
    raw = bytes.fromhex(pair["hex"])
    splitter = Splitter()
    assert splitter.feed(raw + raw[:7]) == [raw]
    assert splitter.pending_bytes == 7
    assert splitter.feed(raw[7:]) == [raw]


def test_all_golden_frames_come_out_of_one_stream() -> None:
    raws = [bytes.fromhex(pair["hex"]) for pair in PAIRS + PAYLOADS]
    assert Splitter().feed(b"".join(raws)) == raws
    assert cut_into_bytes(b"".join(raws)) == raws


@pytest.mark.parametrize("name", COMMANDS)
def test_golden_pairs_set_every_field(name: str) -> None:
    pairs = [pair for pair in PAIRS + PAYLOADS if pair["command"] == name]
    assert pairs
    assert {field for pair in pairs for field in pair["fields"]} == {field for field, *_ in fields_of(name)}


def test_golden_payloads_set_every_metadata_field() -> None:
    seen = {field for pair in PAYLOADS for field in pair["metadata"]}
    assert seen == {field for field, *_ in fields_of("MessageMetadata")}


TRANSACTION_REQUESTS = {50, 52, 54, 56, 62}
"""Of these only the request id is read: enough to refuse them."""


def test_every_command_of_the_tables_has_a_message() -> None:
    assert {CommandType[name].value for name in COMMANDS} == set(BODY_FIELDS) - TRANSACTION_REQUESTS


def test_transaction_request_shows_its_request_id() -> None:
    # The type, and field 50 with request id 7, a time to live and a coordinator.
    frame = decode(bytes.fromhex("0000000f" + "0000000b" + "0832" + "920306" + "0807" + "1064" + "1800"))
    assert (frame.type, frame.body.request_id) == (CommandType.NEW_TXN, 7)


def test_command_without_message_keeps_its_number() -> None:
    frame = decode(bytes.fromhex("000000060000000208" + "3a"))
    assert (frame.type, frame.body, frame.payload) == (CommandType.END_TXN_ON_PARTITION, None, None)


def test_unknown_command_keeps_its_number() -> None:
    frame: Frame = decode(bytes.fromhex("00000006000000020863"))
    assert (frame.type, frame.body, frame.payload) == (99, None, None)
    assert type(frame.type) is int


KINDS: Final = {
    FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_DOUBLE: "double",
    FieldDescriptor.TYPE_INT32: "int32",
    FieldDescriptor.TYPE_INT64: "int64",
    FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_UINT32: "uint32",
    FieldDescriptor.TYPE_UINT64: "uint64",
}


def kind_of(field: FieldDescriptor) -> str:
    if field.message_type is not None:
        return str(field.message_type.name)
    return str(field.enum_type.name) if field.enum_type is not None else KINDS[field.type]


def marks_of(field: FieldDescriptor) -> str:
    if field.is_repeated:
        return "*"
    if field.is_required:
        return "!"
    if not field.has_default_value:
        return ""
    value = field.default_value
    if field.enum_type is not None:
        return f"={field.enum_type.values_by_number[value].name}"
    return f"={str(value).lower() if isinstance(value, bool) else value}"


def descriptor_of(name: str) -> Descriptor:
    if name in COMMANDS:
        found = BaseCommand.DESCRIPTOR.fields_by_number[CommandType[name].value].message_type
    else:
        found = getattr(pb, name).DESCRIPTOR
    assert isinstance(found, Descriptor)
    return found


# The default of its type: protobuf means the same whether it is written or not.
ZERO_DEFAULTS: Final = {"=0": "", "=false": "", "=NONE": "", "=Latest": "", "=Shared": "", "=PERSISTENT": ""}


@pytest.mark.parametrize("name", TABLES)
def test_proto_file_follows_the_tables(name: str) -> None:
    declared = [
        (field.name, field.number, kind_of(field), ZERO_DEFAULTS.get(marks_of(field), marks_of(field)))
        for field in sorted(descriptor_of(name).fields, key=lambda field: field.number)
    ]
    listed = [
        (field, number, kind, ZERO_DEFAULTS.get(marks, marks))
        for field, number, kind, marks in sorted(fields_of(name), key=lambda row: row[1])
    ]
    assert declared == listed
