"""The tables of a ledger: every column's type, layout and meaning, stated once.

Files, SQL, readers and the documentation are made from this table. Columns are narrow integers; text stands only in the
small tables (`stream`, `key`, `topic`, `subscription`, `consumer`, `writer`, `epoch`). Times are microseconds of the
run's clock, 0 at the run's beginning; they are integers, so that no reader applies a time zone to them.

A *stream* is one producer on one partition of a topic; `seq` counts its messages from 0 without gaps as the application
sent them (whatever sequence ids the client gives out), so that 64 neighbours share one bit word. A row of `attempt`,
`outcome` or `delivery` is an *event* of the ledger. The version of all this is that of `ledger.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum, StrEnum

NONE = -1
"""In a column that names something: there is none (no key, no batch index, no store position)."""


ANY_HELD = 1 << 62
"""As `writer.held`: a block inside of its file was broken, and rows of any time were in it."""


class Kind(StrEnum):
    """Type of a column."""

    I8 = "int8"
    I16 = "int16"
    I32 = "int32"
    I64 = "int64"
    TEXT = "text"


class Layout(Enum):
    """How Parquet holds a column: growing integers as differences, noise as it is, the rest by dictionary."""

    DELTA = "delta"
    PLAIN = "plain"
    DICTIONARY = "dictionary"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: Kind
    meaning: str
    layout: Layout = Layout.DICTIONARY
    nullable: bool = False
    ours: bool = False
    """A certificate: computed by the ingest from the rows of one writer in their order, never taken from a client."""
    below: int | None = None
    """Values lie from 0 to below this: the three that place a row in a bucket fit into one number."""


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    meaning: str
    columns: tuple[Column, ...]
    small: bool = False
    """One file, which all readers read whole; the others come in parts."""

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)


class Result(IntEnum):
    """Of a send: `outcome.code`."""

    OK = 0
    FAIL = 1
    UNKNOWN = 2


class AckKind(IntEnum):
    """What a consumer said of a delivery: `ack.kind`. COVERED: below a cumulative acknowledgment of the consumer."""

    ACK = 0
    NACK = 1
    COVERED = 2


class Again(IntEnum):
    """Whether a consumer had a message before: `delivery.again`. ACKED: and its acknowledgment had ended well."""

    FIRST = 0
    GOT = 1
    ACKED = 2


class Integrity(IntEnum):
    """Of a delivered payload: `delivery.ok`. UNKNOWN: it does not say itself what it should be."""

    BAD = 0
    GOOD = 1
    UNKNOWN = 2


class Plain(IntEnum):
    """Whether a delivery is an ordinary one: `delivery.plain`. Then only its place and time are left to be read."""

    NO = 0
    UNKEYED = 1
    KEYED = 2


_STREAM = Column("stream", Kind.I32, "which producer on which partition: row of `stream`; below 2^18", below=1 << 18)
_SEQ = Column(
    "seq",
    Kind.I64,
    "number of the message in its stream, from 0 without gaps; below 2^40",
    Layout.DELTA,
    below=1 << 40,
)
_KEY = Column("key", Kind.I32, "row of `key`; -1: no key")
_T = Column("t", Kind.I64, "when, in µs of the run's clock", Layout.DELTA)
_CRC = Column("crc", Kind.I32, "CRC-32 (zlib) of the uncompressed payload, as a signed number", Layout.PLAIN)
_SUB = Column("sub", Kind.I16, "row of `subscription`; below 2047", below=2047)
_CONSUMER = Column("consumer", Kind.I32, "row of `consumer`")
_PLACE = (
    Column("ledger", Kind.I64, "ledger of the message id; -1: none was reported", Layout.DELTA),
    Column("entry", Kind.I64, "entry of the message id", Layout.DELTA),
    Column("batch", Kind.I32, "index inside its batch; -1: alone in its entry"),
)

ATTEMPT = Table(
    "attempt",
    "the application asked for a message to be sent",
    (
        _STREAM,
        _SEQ,
        _KEY,
        _T,
        Column("size", Kind.I32, "bytes of the payload"),
        _CRC,
        Column(
            "attempt", Kind.I16, "0: first call for this message; then 1, 2, ... when the application sent it again"
        ),
        Column(
            "deliver_at", Kind.I64, "not to be delivered before, in µs of the run's clock; null: at once", nullable=True
        ),
    ),
)

OUTCOME = Table(
    "outcome",
    "what the application heard of a send",
    (
        _STREAM,
        _SEQ,
        *_PLACE,
        _T,
        Column("code", Kind.I8, "0 ok, 1 surely not stored, 2 unknown: may be stored"),
        Column("attempt", Kind.I16, "which attempt this ends"),
        Column(
            "ord",
            Kind.I8,
            "among first attempts that got an id: 1: seq and id lie after those heard before in the stream; -1: "
            "seq does, id does not; 0: seq does not; of all other outcomes 1",
            ours=True,
        ),
    ),
)

DELIVERY = Table(
    "delivery",
    "a consumer's application got a message",
    (
        _SUB,
        _CONSUMER,
        Column("pos", Kind.I64, "counts the deliveries of this consumer, from 0", Layout.DELTA),
        _STREAM,
        _SEQ,
        _KEY,
        *_PLACE,
        Column("redeliv", Kind.I16, "redelivery count, as the broker tells it"),
        _T,
        _CRC,
        Column(
            "gap",
            Kind.I32,
            "seq minus the greatest seq this consumer had got of this stream before (-1 before the first), first "
            "deliveries only, cut to 32 bits: below 1 is out of order; of other deliveries 1",
            ours=True,
        ),
        Column("kgap", Kind.I32, "as `gap`, among messages of the same stream and key; without a key 1", ours=True),
        Column(
            "again",
            Kind.I8,
            "0: this consumer got the message for the first time; 1: it had got it before; 2: it had also acknowledged "
            "it, and that call had ended well",
            ours=True,
        ),
        Column(
            "wait",
            Kind.I64,
            "µs since this consumer refused the message and did not get it since, or else since the time it was to be "
            "delivered at; negative: too early; null: neither",
            nullable=True,
            ours=True,
        ),
        Column("ok", Kind.I8, "the payload is what its identity says: 0 no, 1 yes, 2 it does not say", ours=True),
        Column(
            "plain",
            Kind.I8,
            "nothing in this row calls for a look: redeliv and again are 0, gap and kgap at least 1, wait is null and "
            "ok not 0: 1 without a key, 2 with one; 0: something does",
            ours=True,
        ),
    ),
)

ACK = Table(
    "ack",
    "what a consumer's application said of a delivery",
    (
        _SUB,
        _CONSUMER,
        _STREAM,
        _SEQ,
        *_PLACE,
        Column("kind", Kind.I8, "0 ack, 1 nack, 2 covered by a cumulative ack: one row for each message it covers"),
        _T,
        Column("t_done", Kind.I64, "when the call ended well, in µs; null: it did not", Layout.DELTA, nullable=True),
    ),
)

STORED = Table(
    "stored",
    "what the broker holds, read back after the run: one row a message, or one a chunk",
    (
        _STREAM,
        _SEQ,
        *_PLACE,
        Column("chunk", Kind.I16, "number of the chunk; 0 where the message is in one piece"),
        Column("chunks", Kind.I16, "chunks of the message; 1: in one piece"),
        _CRC,
    ),
)

PARTS: tuple[Table, ...] = (ATTEMPT, OUTCOME, DELIVERY, ACK, STORED)
EVENTS: tuple[Table, ...] = (ATTEMPT, OUTCOME, DELIVERY)

STREAM = Table(
    "stream",
    "one producer on one partition",
    (
        _STREAM,
        Column("producer", Kind.TEXT, "producer name"),
        Column("topic", Kind.I32, "row of `topic`"),
        Column("writer", Kind.I32, "row of `writer`: who wrote its attempts and outcomes"),
    ),
    small=True,
)
TOPIC = Table(
    "topic",
    "one partition, or a topic without partitions",
    (
        Column("topic", Kind.I32, "number"),
        Column("name", Kind.TEXT, "full name, with -partition-N where partitioned"),
        Column("dedup", Kind.I8, "1: the broker deduplicates here"),
        Column("publish_rate", Kind.I32, "messages a second that the broker lets in; -1: no limit"),
        Column("read_back", Kind.I8, "1: `stored` holds everything this topic held at the end"),
    ),
    small=True,
)
KEY = Table("key", "keys of messages", (Column("key", Kind.I32, "number"), Column("text", Kind.TEXT, "the key")), True)
SUBSCRIPTION = Table(
    "subscription",
    "one subscription, over all of its topics",
    (
        Column("sub", Kind.I16, "number"),
        Column("name", Kind.TEXT, "subscription name"),
        Column(
            "type",
            Kind.TEXT,
            "Exclusive, Failover, Shared or Key_Shared; Reader: one that seeks, or reads what is compacted, so that "
            "only the content of what it gets is judged",
        ),
        Column("topics", Kind.TEXT, "rows of `topic` it is of, with spaces between; empty: all"),
        Column("whole", Kind.I8, "1: from before the first message to after the last, so that nothing may be missing"),
        Column("nack_delay", Kind.I64, "µs between a nack and its redelivery at least; -1: not bounded"),
        Column("dispatch_rate", Kind.I32, "messages a second that the broker gives it; -1: no limit"),
        Column("max_redeliv", Kind.I32, "redeliveries beyond which a message is a finding; -1: not bounded"),
        Column("ack_timeout", Kind.I64, "µs after which a consumer asks for what it has not acknowledged; -1: never"),
    ),
    small=True,
)
CONSUMER = Table(
    "consumer",
    "one consumer's life",
    (
        Column("consumer", Kind.I32, "number"),
        Column("sub", Kind.I16, "row of `subscription`"),
        Column("name", Kind.TEXT, "consumer name"),
        Column("writer", Kind.I32, "row of `writer`: who wrote its deliveries and acks"),
        Column("t_from", Kind.I64, "when it came"),
        Column("t_to", Kind.I64, "when it left; null: not known", nullable=True),
    ),
    small=True,
)
WRITER = Table(
    "writer",
    "one process that wrote rows: its clock, and how its file ends",
    (
        Column("writer", Kind.I32, "number; -1: unknown; rows of any stream may be missing"),
        Column("name", Kind.TEXT, "what it is called in file names"),
        Column("clock_offset", Kind.I64, "µs that were taken from its clock to get the run's"),
        Column("clock_error", Kind.I64, "µs that this may be wrong by; -1: unknown"),
        Column(
            "dropped",
            Kind.I64,
            "bytes of a torn last segment that were not read; of mapped logs the rows of no use",
        ),
        Column("closed", Kind.I8, "1: it ended its file itself; 0: it was killed, and its last rows may be missing"),
        Column(
            "held",
            Kind.I64,
            "µs for which rows may have waited to be written: what a kill can have lost; 2^62: any may be lost",
        ),
    ),
    small=True,
)
EPOCH = Table(
    "epoch",
    "a time in which something was done to the run",
    (
        Column("epoch", Kind.I32, "number"),
        Column("action", Kind.TEXT, "the fault's action (`kill`, `latency`, ...)"),
        Column("target", Kind.TEXT, "to what: `broker 0`, `client`, ..."),
        Column("t_from", Kind.I64, "when it began"),
        Column("t_to", Kind.I64, "when it was healed; null: never", nullable=True),
        Column("restart", Kind.I8, "0: no process ended; 1: a broker or store was killed; 2: stopped gracefully"),
        Column("sub", Kind.I16, "the subscription concerned, -1: all"),
        Column("in_flight", Kind.I32, "sends in flight when it began; -1: not counted"),
    ),
    small=True,
)

SMALL: tuple[Table, ...] = (STREAM, TOPIC, KEY, SUBSCRIPTION, CONSUMER, WRITER, EPOCH)
TABLES: Mapping[str, Table] = {table.name: table for table in (*PARTS, *SMALL)}
