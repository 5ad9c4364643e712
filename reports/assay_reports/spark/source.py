"""What a Pulsar topic holds, as a Spark table: a Python data source that reads partitions, and parts of them, at once.

    spark.dataSource.register(PulsarTopic)
    spark.read.format("pulsar-topic").options(service_url="pulsar://host:6650", topic="persistent://t/n/topic").load()

It needs the Pulsar client (the extra `pulsar`) wherever tasks run, and nothing of a cluster's administration: readers
find the last message, and what lies between by publish time. What is read is bounded by message ids that are taken
once, when the query is planned: a topic that goes on growing is read as it was then. Readers leave no subscription.

| option | what it says |
|---|---|
| `service_url`, `topic` | where; the topic with or without partitions |
| `token` | who we are there |
| `tls_trust_certs` | file of the authorities, for `pulsar+ssl` |
| `splits` | in how many parts each partition is read, at most; 1 unless given |
| `chunk_entries` | entries after its end in which a part looks for ends of chunked messages that begin in it; 1000  |
| `columns` | `all`, or `stored`: the columns of a ledger's table `stored`, for payloads of the suite's generator |
| `timeout_ms` | how long one message may be waited for; 30000 unless given |

The client joins chunked messages and splits batches itself: a row is a message as an application gets it. One in chunks
is read with the part in which its first chunk lies, whose task reads on for it. `stream` and
`seq` are handle and number of a generated payload's identity, null where a payload is too small to hold one.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from assay_conformance.model.errors import UnavailableError, UsageError
from assay_conformance.model.event import Identity
from assay_conformance.model.extras import install
from assay_conformance.model.payload import digest, identify
from assay_conformance.wire.pulsar_pb2 import MessageIdData

if TYPE_CHECKING:
    import pulsar
    import pyarrow

FORMAT: Final = "pulsar-topic"
_COLUMNS: Final[Mapping[str, Sequence[str]]] = {
    "all": (
        *("topic", "ledger", "entry", "batch", "producer", "key", "publish_time_ms", "event_time_ms", "properties"),
        *("payload", "size", "crc", "stream", "seq"),
    ),
    "stored": ("stream", "seq", "ledger", "entry", "batch", "chunk", "chunks", "crc"),
}
_DEFAULTS: Final = {"splits": "1", "chunk_entries": "1000", "columns": "all", "timeout_ms": "30000"}
_NEEDED: Final = ("service_url", "topic")
_BATCH_ROWS: Final = 4_096
_QUEUE: Final = 5_000
_TAIL_MS: Final = 2_000
"""How long the last message may take; what takes longer is looked for otherwise."""
_BACK_MS: Final = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)


class Position(NamedTuple):
    """An entry of a partition, comparable in the order of the log."""

    ledger: int
    entry: int


class Part(InputPartition):  # type: ignore[misc]  # pyspark is not there where types are checked
    """What begins from `first` (None: from the beginning) to `last`, both of them read, and ends by `end`, where the
    partition did when this was planned."""

    def __init__(self, topic: str, first: Position | None, last: Position, end: Position) -> None:
        super().__init__(topic)
        self.topic = topic
        self.first = first
        self.last = last
        self.end = end


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options, checked."""

    service_url: str
    topic: str
    token: str
    tls_trust_certs: str
    splits: int
    chunk_entries: int
    columns: str
    timeout_ms: int


def options_of(options: Mapping[str, str]) -> SourceOptions:
    """Return the typed options. Raises UsageError, which names the option and what was expected."""
    given = {**_DEFAULTS, **{key.lower(): value for key, value in options.items()}}
    for key in _NEEDED:
        if not given.get(key):
            raise UsageError(f"{FORMAT}: option {key!r} is missing")
    if given["columns"] not in _COLUMNS:
        raise UsageError(f"{FORMAT}: columns {given['columns']!r}; expected one of {', '.join(_COLUMNS)}")
    numbers = {key: _number(key, given[key], least) for key, least in _LEAST.items()}
    return SourceOptions(
        service_url=given["service_url"],
        topic=given["topic"],
        token=given.get("token", ""),
        tls_trust_certs=given.get("tls_trust_certs", ""),
        columns=given["columns"],
        **numbers,
    )


_LEAST: Final = {"splits": 1, "chunk_entries": 0, "timeout_ms": 1}


def _number(key: str, text: str, least: int) -> int:
    if not text.isdecimal() or int(text) < least:
        raise UsageError(f"{FORMAT}: {key} {text!r}; expected a number from {least}")
    return int(text)


class PulsarTopic(DataSource):  # type: ignore[misc]  # pyspark is not there where types are checked
    """Register it with `spark.dataSource.register(PulsarTopic)`."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return ", ".join(f"{name} {_CELLS[name].type}" for name in _COLUMNS[options_of(self.options).columns])

    def reader(self, schema: StructType) -> DataSourceReader:
        del schema
        return TopicReader(options_of(self.options))


class TopicReader(DataSourceReader):  # type: ignore[misc]  # pyspark is not there where types are checked
    """Plans parts on the driver, and reads one in each task."""

    def __init__(self, asked: SourceOptions) -> None:
        self._asked = asked

    def partitions(self) -> Sequence[Part]:
        with _client(self._asked) as client:
            topics = client.get_topic_partitions(self._asked.topic)
            return [part for topic in topics for part in _parts(client, topic, self._asked)] or [_NOTHING]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        assert isinstance(partition, Part)
        if partition.topic:
            with _client(self._asked) as client:
                yield from _batches(_messages(client, partition, self._asked), self._asked.columns)


_NOTHING = Part("", None, Position(-1, -1), Position(-1, -1))
"""Spark wants a part even of an empty topic."""


# --- planning --------------------------------------------------------------------------------------------------------


def _parts(client: pulsar.Client, topic: str, asked: SourceOptions) -> list[Part]:
    import pulsar

    try:
        end = _first_from(client, topic, pulsar.MessageId.latest, asked, min(asked.timeout_ms, _TAIL_MS))
    except pulsar.Timeout:
        end = _end_in_chunks(client, topic, asked)
    if end is None:
        return []
    last = _position(end)
    begins = _begins(client, topic, end, asked) if asked.splits > 1 else []
    starts = sorted({begin for begin in begins if begin < last})
    ends = [*(_before(start) for start in starts), last]
    return [Part(topic, first, until, last) for first, until in zip((None, *starts), ends, strict=True)]


def _begins(client: pulsar.Client, topic: str, end: pulsar.Message, asked: SourceOptions) -> Iterator[Position]:
    """Where parts begin: entries that lie evenly in publish time. The clocks of producers need not agree: wherever a
    broker goes to for a time is an entry, and any entry will do."""
    import pulsar

    start = _first_from(client, topic, pulsar.MessageId.earliest, asked)
    if start is None:
        return
    from_ms, to_ms = start.publish_timestamp(), end.publish_timestamp()
    with contextlib.closing(_open(client, topic, pulsar.MessageId.earliest)) as reader:
        for part in range(1, asked.splits):
            reader.seek(from_ms + (to_ms - from_ms) * part // asked.splits)
            if reader.has_message_available():
                yield _position(reader.read_next(asked.timeout_ms))


def _before(position: Position) -> Position:
    """Everything in front of it; which ledger the entry before it is in does not matter for a comparison."""
    return Position(position.ledger, position.entry - 1)


def _first_from(
    client: pulsar.Client, topic: str, start: Any, asked: SourceOptions, timeout_ms: int | None = None
) -> pulsar.Message | None:
    with contextlib.closing(_open(client, topic, start)) as reader:
        return reader.read_next(timeout_ms or asked.timeout_ms) if reader.has_message_available() else None


def _end_in_chunks(client: pulsar.Client, topic: str, asked: SourceOptions) -> pulsar.Message:
    """Return the last message, where the last entry is a chunk: whoever begins to read there never gets it. So further
    and further back, until messages come; and once more, for one that began before these."""
    import pulsar

    now_ms = time.time_ns() // 1_000_000
    found: list[pulsar.Message] = []
    for back_ms in (*_BACK_MS, now_ms):
        came = False
        with contextlib.closing(_open(client, topic, pulsar.MessageId.earliest)) as reader:
            reader.seek(now_ms - back_ms)
            with contextlib.suppress(pulsar.Timeout):
                while reader.has_message_available():
                    message = reader.read_next(min(asked.timeout_ms, _TAIL_MS))
                    if message.publish_timestamp() > now_ms:
                        break
                    came = True
                    found = [max((*found, message), key=_position)]
        if came and back_ms != _BACK_MS[0]:
            break
    if not found:
        raise UnavailableError(f"{FORMAT}: {topic} ends in a chunk of a message that cannot be read whole")
    return found[0]


# --- reading ---------------------------------------------------------------------------------------------------------


def _messages(client: pulsar.Client, part: Part, asked: SourceOptions) -> Iterator[pulsar.Message]:
    import pulsar

    start: Any = pulsar.MessageId.earliest
    if part.first is not None:
        start = pulsar.MessageId(-1, *part.first, -1)
    beyond: set[Position] = set()
    with contextlib.closing(_open(client, part.topic, start)) as reader:
        while reader.has_message_available():
            message = reader.read_next(asked.timeout_ms)
            position = _position(message)
            if position > part.last:
                beyond.add(position)
            if position > part.end or len(beyond) > asked.chunk_entries:
                return
            if (part.first is None or position >= part.first) and (not beyond or _begin(message) <= part.last):
                yield message


def _open(client: pulsar.Client, topic: str, start: Any) -> pulsar.Reader:
    return client.create_reader(topic, start, receiver_queue_size=_QUEUE, start_message_id_inclusive=True)


def _position(message: pulsar.Message) -> Position:
    """Where it ends: of one in chunks, the last of them."""
    at = message.message_id()
    return Position(at.ledger_id(), at.entry_id())


def _begin(message: pulsar.Message) -> Position:
    """Where its first chunk lies, which an id tells in its serialized form only."""
    at = MessageIdData.FromString(message.message_id().serialize())
    first = at.first_chunk_message_id if at.HasField("first_chunk_message_id") else at
    return Position(first.ledgerId, first.entryId)


@contextlib.contextmanager
def _client(asked: SourceOptions) -> Iterator[pulsar.Client]:
    try:
        import pulsar
    except ImportError as error:
        raise UnavailableError(
            f"{FORMAT}: the Pulsar client is not there ({error}); expected {install('pulsar')}"
        ) from None
    options: dict[str, Any] = {}
    if asked.token:
        options["authentication"] = pulsar.AuthenticationToken(asked.token)
    if asked.tls_trust_certs:
        options["tls_trust_certs_file_path"] = asked.tls_trust_certs
    # Its own logger writes on stdout, where Spark talks to this process.
    logger = pulsar.FileLogger(pulsar.LoggerLevel.Warn, "/dev/stderr")
    client = pulsar.Client(asked.service_url, logger=logger, **options)
    try:
        yield client
    finally:
        client.close()


# --- rows ------------------------------------------------------------------------------------------------------------


class Read(NamedTuple):
    """A message, and what several columns want of it."""

    message: Any
    id: Any
    data: bytes
    identity: Identity | None


@dataclass(frozen=True, slots=True)
class _Cell:
    """`type` is Spark's word for it."""

    type: str
    of: Callable[[Read], Any]


_CELLS: Final[Mapping[str, _Cell]] = {
    "topic": _Cell("string", lambda read: read.message.topic_name()),
    "ledger": _Cell("bigint", lambda read: read.id.ledger_id()),
    "entry": _Cell("bigint", lambda read: read.id.entry_id()),
    "batch": _Cell("int", lambda read: read.id.batch_index()),
    "producer": _Cell("string", lambda read: read.message.producer_name()),
    "key": _Cell("string", lambda read: read.message.partition_key() or None),
    "publish_time_ms": _Cell("bigint", lambda read: read.message.publish_timestamp()),
    "event_time_ms": _Cell("bigint", lambda read: read.message.event_timestamp() or None),
    "properties": _Cell("map<string,string>", lambda read: list(read.message.properties().items())),
    "payload": _Cell("binary", lambda read: read.data),
    "size": _Cell("int", lambda read: len(read.data)),
    "crc": _Cell("int", lambda read: signed(digest(read.data))),
    "stream": _Cell("int", lambda read: None if read.identity is None else read.identity.handle),
    "seq": _Cell("bigint", lambda read: None if read.identity is None else read.identity.number),
    "chunk": _Cell("smallint", lambda _: 0),
    "chunks": _Cell("smallint", lambda _: 1),
}


def signed(crc: int) -> int:
    """Return a CRC as a signed column of 32 bits holds it."""
    return crc - (1 << 32) if crc >> 31 else crc


def _batches(messages: Iterator[Any], columns: str) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow

    names = _COLUMNS[columns]
    types = [_arrow(_CELLS[name].type) for name in names]
    while rows := [_read(message) for message in islice(messages, _BATCH_ROWS)]:
        arrays = [
            pyarrow.array([of(row) for row in rows], type=type_)
            for of, type_ in zip((_CELLS[name].of for name in names), types, strict=True)
        ]
        yield pyarrow.RecordBatch.from_arrays(arrays, names=list(names))


def _read(message: Any) -> Read:
    data = message.data()
    return Read(message, message.message_id(), data, identify(data))


def _arrow(type_: str) -> pyarrow.DataType:
    import pyarrow

    return {
        "string": pyarrow.string(),
        "bigint": pyarrow.int64(),
        "int": pyarrow.int32(),
        "smallint": pyarrow.int16(),
        "binary": pyarrow.binary(),
        "map<string,string>": pyarrow.map_(pyarrow.string(), pyarrow.string()),
    }[type_]
