"""History: what four witnesses saw, one typed value an event.

`seq` is the order of arrival at the bench and no evidence of order in the world; `t_ns` is the bench's clock,
nanoseconds since the Case began. Operations are pairs: one `Invoke`, then exactly one `Completion` (ok, fail = surely
did not happen, unknown = may have happened). Agents stamp their own clock; the bench stores those stamps converted to
its own, with the error of the conversion in `ClockOffset`. Order between witnesses is asserted only by cause or beyond
the summed error.

A wire event is seen from two sides. A frame that leaves the link at once is one event with `sides = both`; one that
leaves later, changed, twice or never is a sender-side event, and a receiver-side event for each copy that left, all
with the same `frame` number. Towards the client a frame written is not yet a frame delivered: around a cut it is
unknown, and no check may assume either.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from assay_conformance.model.direction import Direction

Fact = int | float | str | bool
"""What an injector measured."""


class Witness(StrEnum):
    AGENT = "agent"
    WIRE = "wire"
    BROKER = "broker"
    BENCH = "bench"


Position = tuple[int, int]
"""Ledger and entry."""


NO_ENTRY: Final = 2**64 - 1


class MessageId(msgspec.Struct, frozen=True, array_like=True, order=True, gc=False):
    """(ledger, entry, partition, batch index, batch size); -1 where there is no partition or batch index."""

    ledger: int
    entry: int
    partition: int = -1
    batch_index: int = -1
    batch_size: int = 0

    @property
    def position(self) -> Position:
        """Ordered: what is before the first entry of a ledger travels as entry 2^64-1, and is entry -1; what is before
        all ledgers likewise."""
        return (_signed(self.ledger), _signed(self.entry))

    @property
    def name(self) -> str:
        """How sentences call its entry."""
        return "{}:{}".format(*self.position)

    @property
    def full_name(self) -> str:
        """The same, with the place of a message inside a batch."""
        return self.name + (f" (index {self.batch_index})" if self.batch_index >= 0 else "")

    @property
    def is_duplicate_marker(self) -> bool:
        """True for (-1, -1), which travels as 2^64-1: the receipt of a deduplicated SEND."""
        return _signed(self.ledger) == -1


def _signed(number: int) -> int:
    return number if number < NO_ENTRY else -1


class Identity(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The 16 bytes in front of every generated payload: which Case, producer handle and message it is."""

    case: int
    handle: int
    number: int


class Member(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """One message of an entry as the application wrote it. `digest` is CRC-32 (zlib) of the uncompressed bytes.

    `sequence_id` is None where the batch carries none per message. `property_digests` and `letter` are as in `Meta`, of
    a message in a batch: of any other they stand there.
    """

    size: int
    digest: int
    identity: Identity | None = None
    sequence_id: int | None = None
    key: str | None = None
    compacted_out: bool = False
    property_digests: tuple[int, ...] = ()
    letter: dict[str, str] = {}

    @property
    def payload(self) -> tuple[int, int]:
        """What distinguishes it from another: size and digest."""
        return (self.size, self.digest)


class Outcome(StrEnum):
    OK = "ok"
    FAIL = "fail"
    UNKNOWN = "unknown"
    UNSUPPORTED = "unsupported"


class ErrorClass(StrEnum):
    """The suite-level class of a client's error; the client's own text stays beside it."""

    TIMEOUT = "timeout"
    TOO_LARGE = "too_large"
    QUEUE_FULL = "queue_full"
    AUTH = "auth"
    NOT_LEADER = "not_leader"
    UNKNOWN_TOPIC = "unknown_topic"
    FENCED = "fenced"
    TERMINATED = "terminated"
    CORRUPT = "corrupt"
    CLOSED = "closed"
    INVALID_CONFIG = "invalid_config"
    TRANSPORT = "transport"
    SERIALIZATION = "serialization"
    FATAL = "fatal"
    OTHER = "other"


class _Event(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag_field="kind", gc=False):
    seq: int
    t_ns: int


# --- agent: the client's own word -----------------------------------------------------------------------------------


class Invoke(_Event, frozen=True, tag="invoke"):
    """A command left for the agent. `op` is unique in the Case; `handle` is the Case's number of the object addressed.

    `number` counts the sends of one producer handle from 0 and is the payload's identity number; `digest` and `size`
    are those of the payload a send was asked to carry.
    """

    op: int
    verb: str
    handle: int | None = None
    step: int | None = None
    number: int | None = None
    size: int | None = None
    digest: int | None = None
    args: dict[str, Any] = {}

    @property
    def payload(self) -> tuple[int | None, int | None]:
        """As that of the message that is to come of it."""
        return (self.size, self.digest)

    def closes(self, opening: Invoke) -> bool:
        """Return whether this asks to close what was opened there, or the client of that."""
        return self.verb == "close" and self.handle in (opening.handle, opening.args.get("client"))

    def is_beside(self, other: Invoke, ended: Mapping[int, _Event]) -> bool:
        """Return whether what each call opened was still open when the other was made.

        `ended`: by handle, what ends it.
        """
        for first, then in ((self, other), (other, self)):
            end = None if first.handle is None else ended.get(first.handle)
            if end is not None and end.seq < then.seq:
                return False
        return True


class Completion(_Event, frozen=True, tag="completion"):
    """How operation `op` ended. `called_ns` / `done_ns`: the agent's stamps of the client call and of its callback."""

    op: int
    verb: str
    outcome: Outcome
    handle: int | None = None
    error: ErrorClass | None = None
    text: str = ""
    called_ns: int | None = None
    done_ns: int | None = None
    message_id: MessageId | None = None
    sequence_id: int | None = None
    producer_name: str | None = None
    last_sequence_id: int | None = None
    count: int | None = None
    values: dict[str, Any] = {}


class Received(_Event, frozen=True, tag="received"):
    """The application got a message. `delivery` counts this consumer's deliveries from 1; acks name it by that.

    `redelivery_count` is None to checks where the client shows none. `called_ns`: when the client called a message
    handler with it; None for a message that was received.
    """

    handle: int
    delivery: int
    message_id: MessageId
    size: int
    digest: int
    done_ns: int | None = None
    identity: Identity | None = None
    key: str | None = None
    topic: str | None = None
    producer_name: str | None = None
    sequence_id: int | None = None
    redelivery_count: int | None = 0
    publish_time_ms: int | None = None
    event_time_ms: int | None = None
    properties: dict[str, str] = {}
    called_ns: int | None = None

    @property
    def payload(self) -> tuple[int, int]:
        """What distinguishes it from another: size and digest."""
        return (self.size, self.digest)


class Handled(_Event, frozen=True, tag="handled"):
    """The handler call of a delivery returned, or raised an exception of the application."""

    handle: int
    delivery: int
    raised: bool = False
    done_ns: int | None = None


class Note(_Event, frozen=True, tag="note"):
    """Something the agent said unasked: a disconnect it noticed, a call of the application's code inside the client."""

    text: str
    handle: int | None = None
    values: dict[str, Any] = {}


# --- wire: what crossed ---------------------------------------------------------------------------------------------


class Sides(StrEnum):
    """Who carried the frame: its sender only, its receiver only, or both at the same instant."""

    BOTH = "both"
    SENDER = "sender"
    RECEIVER = "receiver"


class Fate(StrEnum):
    PASSED = "passed"
    HELD = "held"
    DROPPED = "dropped"
    ALTERED = "altered"
    CUT = "cut"
    RELEASED = "released"
    INJECTED = "injected"
    DUPLICATED = "duplicated"


FORGED: Final = (Fate.ALTERED, Fate.INJECTED)
"""Its receiver got what its sender did not send."""

FORGED_OR_DOUBLED: Final = (*FORGED, Fate.DUPLICATED)


# Members by names of their own: looked up in their class they take ten times as long (Python 3.11), and every frame is
# asked for its sides by dozens of checks.
_SENDER, _RECEIVER = Sides.SENDER, Sides.RECEIVER
_TO_BROKER = Direction.TO_BROKER


class Meta(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, gc=False):
    """MessageMetadata of a payload frame or a stored entry as far as checks read it. `batch` is None when unbatched."""

    producer_name: str
    sequence_id: int
    publish_time_ms: int = 0
    highest_sequence_id: int = 0
    batch: int | None = None
    compression: str = "NONE"
    uncompressed_size: int = 0
    unpacked_bytes: int | None = None
    """What the body unpacks to where that is not `uncompressed_size`; -1 where its codec cannot unpack it at all."""
    key: str | None = None
    ordering_key: bytes | None = None
    uuid: str | None = None
    chunk_id: int | None = None
    chunks: int | None = None
    chunk_total_bytes: int | None = None
    deliver_at_ms: int | None = None
    schema_version: str | None = None
    """In hexadecimal, as the broker named it."""
    properties: int = 0
    own_properties: int = 0
    """CRC-32 of all properties of the application; only in runs that earlier versions wrote."""
    property_digests: tuple[int, ...] = ()
    """CRC-32 of each property, name and value; but of those that make a message a letter, which are in `letter`."""
    letter: dict[str, str] = {}
    """What a copy for a retry or dead letter topic names as its original (PIP-22)."""

    @property
    def messages(self) -> int:
        """How many an entry of this holds, a chunk taken for one."""
        return self.batch or 1

    @property
    def highest_id(self) -> int:
        """The highest of its sequence ids."""
        return max(self.sequence_id, self.highest_sequence_id)

    @property
    def is_early_chunk(self) -> bool:
        """Whether it is of a chunk before the last of its message."""
        return self.chunk_id is not None and self.chunks is not None and self.chunk_id != self.chunks - 1

    @property
    def is_unread(self) -> bool:
        """Whether its codec cannot unpack the body, so that nothing is known of what it holds."""
        return self.unpacked_bytes == -1


class UnreadableError(Exception):
    """Something of an event that its witness could not decode was asked for. What asks cannot be judged."""


class Opened(_Event, frozen=True, tag="opened"):
    """A client connected: `conn` counts the Case's connections from 0. `url`: to which address, as clients know it."""

    conn: int
    broker: int = 0
    url: str = ""


class ClosedBy(StrEnum):
    CLIENT = "client"
    BROKER = "broker"
    FAULT = "fault"


class Closed(_Event, frozen=True, tag="closed"):
    """A connection ended. `reset` is True for RST."""

    conn: int
    by: ClosedBy
    reset: bool = False


class Frame(_Event, frozen=True, tag="frame"):
    """A frame's decoded header. Fields that the command does not carry are None; `fields` holds the rarer ones by name.

    `unit` is the CRC-32C of metadata and payload bytes: two SENDs with the same unit are the same bytes. `intact` tells
    whether the frame's own checksum fits. `members` are the messages inside (after decompression; chunks have none
    until the last one, which carries the joined message).
    """

    conn: int
    dir: Direction
    frame: int
    command: str
    size: int
    sides: Sides = Sides.BOTH
    fate: Fate = Fate.PASSED
    producer_id: int | None = None
    consumer_id: int | None = None
    request_id: int | None = None
    sequence_id: int | None = None
    highest_sequence_id: int | None = None
    num_messages: int | None = None
    permits: int | None = None
    redelivery_count: int | None = None
    ack_type: str | None = None
    ids: tuple[MessageId, ...] = ()
    ack_sets: tuple[tuple[int, ...], ...] = ()
    unit: int | None = None
    intact: bool | None = None
    meta: Meta | None = None
    members: tuple[Member, ...] = ()
    fields: dict[str, Any] = {}

    @property
    def messages(self) -> int:
        """How many its payload holds; one where nothing says so."""
        meta = self.meta
        return 1 if meta is None else meta.batch or 1

    @property
    def is_chunk(self) -> bool:
        """It carries one chunk of a message, as its metadata says."""
        return self.meta is not None and self.meta.chunk_id is not None

    @property
    def from_sender(self) -> bool:
        return self.sides is not _RECEIVER

    @property
    def to_receiver(self) -> bool:
        return self.sides is not _SENDER

    @property
    def at_client(self) -> bool:
        """The client's side carried it: it wrote the frame, or the frame was written towards it."""
        return self.sides is not (_RECEIVER if self.dir is _TO_BROKER else _SENDER)

    @property
    def at_broker(self) -> bool:
        """The broker's side carried it."""
        return self.sides is not (_SENDER if self.dir is _TO_BROKER else _RECEIVER)


class Undecodable(_Event, frozen=True, tag="undecodable"):
    """Bytes that are no frame came over a connection; it is over for them."""

    conn: int
    dir: Direction
    reason: str


# --- broker: what is stored and dispatched --------------------------------------------------------------------------


class Stored(_Event, frozen=True, tag="stored"):
    """An entry was appended to `topic` (the local name of the topology, with `-partition-N` where partitioned).

    `late`: its append was not observed. It was delivered, or read in the end, and is there since some moment before.
    `described` is what its metadata says, None where it cannot be decoded: a broker stores such an entry all the same.
    """

    topic: str
    id: MessageId
    size: int
    unit: int
    described: Meta | None = msgspec.field(name="meta")
    members: tuple[Member, ...] = ()
    late: bool = False

    @property
    def meta(self) -> Meta:
        """Its metadata; UnreadableError where that cannot be decoded, so that checks which need it judge nothing."""
        if self.described is None:
            raise UnreadableError(self.undecoded)
        return self.described

    @property
    def undecoded(self) -> str:
        """For a sentence about one that is not described."""
        return f"entry {self.id.name} of {self.topic} has metadata that cannot be decoded"


class ReadBack(_Event, frozen=True, tag="read-back"):
    """The last word on a topic: every entry it holds, in order, as positions (their content: `Stored`)."""

    topic: str
    entries: tuple[MessageId, ...]


class Cursor(_Event, frozen=True, tag="cursor"):
    """The last word on a subscription: everything up to `mark_delete` is acked, and `acked` beyond it."""

    topic: str
    subscription: str
    mark_delete: MessageId | None
    acked: tuple[MessageId, ...] = ()
    backlog: int = 0


# --- bench: faults, steps, processes, load --------------------------------------------------------------------------


class Began(_Event, frozen=True, tag="began"):
    """First event of an attempt. `unix_ms` is the wall clock at t_ns = 0; `topics` maps local names to full ones."""

    case: str
    attempt: int
    number: int
    unix_ms: int
    topics: dict[str, str] = {}

    @property
    def local_names(self) -> dict[str, str]:
        """Of full names."""
        return {full: local for local, full in self.topics.items()}


class Stepped(_Event, frozen=True, tag="stepped"):
    """A step was issued (agent, broker, bench) or ended (wait). `skipped` says why a step did nothing."""

    step: int
    skipped: str = ""


class Waited(_Event, frozen=True, tag="waited"):
    """A wait step ended; `met` is False when its deadline came first, or nothing could meet it."""

    step: int
    met: bool


class Fired(_Event, frozen=True, tag="fired"):
    """Receipt: fault number `fault` of the Case acted, on these frames (link numbers), or on this connection.

    `facts` is what its injector saw of it, for a fault outside the frames: pid, signal, bytes, packets, ...
    """

    fault: int
    action: str
    frames: tuple[int, ...] = ()
    conn: int | None = None
    facts: dict[str, Fact] = {}


class Healed(_Event, frozen=True, tag="healed"):
    """Fault `fault` ended. `facts` as in `Fired`."""

    fault: int
    facts: dict[str, Fact] = {}


class Overdue(_Event, frozen=True, tag="overdue"):
    """Operation `op` had no completion when its deadline passed."""

    op: int
    verb: str
    handle: int | None = None
    deadline_ms: int = 0


class AgentEnded(_Event, frozen=True, tag="agent-ended"):
    """The agent process under this Case ended before the Case did.

    `killed`: by a fault of the Case. What was asked of it and had not ended is unknown, its handles are lost, and a
    fresh process may take its place. `held_up_ms`: the bench gave it up, for it did not answer and was kept from
    running for so long.
    """

    reason: str
    exit_status: int | None = None
    killed: bool = False
    held_up_ms: int = 0


class Garbled(_Event, frozen=True, tag="garbled"):
    """The agent contradicted its protocol (a second answer, an unsolicited one); what it said then was ignored."""

    reason: str


class ClockOffset(_Event, frozen=True, tag="clock-offset"):
    """The agent's clock is the bench's plus `offset_ns`, give or take `error_ns`."""

    offset_ns: int
    error_ns: int


class Load(_Event, frozen=True, tag="load"):
    """What the window ending now suffered: the bench's worst loop lag, the run-queue wait of the agent, and that of the
    broker's processes where they can be seen. `others`: how many other attempts the same broker served."""

    window_ns: int
    loop_lag_ns: int
    agent_wait_ns: int
    broker_wait_ns: int = 0
    others: int = 0


class Ending(StrEnum):
    """Why an attempt ended."""

    DONE = "done"
    DEADLINE = "deadline"
    AGENT_LOST = "agent-lost"
    UNAVAILABLE = "unavailable"
    PEER = "peer"
    """What the bench asked of a broker itself came to nothing: neither the client nor the bench is to blame."""
    HARNESS = "harness"
    INTERRUPTED = "interrupted"


class Ended(_Event, frozen=True, tag="ended"):
    """Last event of an attempt."""

    how: Ending
    text: str = ""


Event = (
    Invoke
    | Completion
    | Received
    | Handled
    | Note
    | Opened
    | Closed
    | Frame
    | Undecodable
    | Stored
    | ReadBack
    | Cursor
    | Began
    | Stepped
    | Waited
    | Fired
    | Healed
    | Overdue
    | AgentEnded
    | Garbled
    | ClockOffset
    | Load
    | Ended
)

WITNESS_OF: dict[type, Witness] = {
    **dict.fromkeys((Invoke, Completion, Received, Handled, Note), Witness.AGENT),
    **dict.fromkeys((Opened, Closed, Frame, Undecodable), Witness.WIRE),
    **dict.fromkeys((Stored, ReadBack, Cursor), Witness.BROKER),
    **dict.fromkeys(
        (Began, Stepped, Waited, Fired, Healed, Overdue, AgentEnded, Garbled, ClockOffset, Load, Ended), Witness.BENCH
    ),
}
