"""One consumer of a subscription: its permits and what it was sent and has not acknowledged."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.broker import replies
from assay_conformance.broker.rules import CHECKSUM_VERSION
from assay_conformance.broker.session import Session
from assay_conformance.broker.store import Entry
from assay_conformance.wire.pulsar_pb2 import CommandSubscribe, Schema


@dataclass(slots=True)
class Counts:
    """What was sent, and when something was last sent, acknowledged and asked for: 0 for never."""

    messages: int = 0
    bytes: int = 0
    sent_ms: int = 0
    acked_ms: int = 0
    flow_ms: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.messages + other.messages,
            self.bytes + other.bytes,
            max(self.sent_ms, other.sent_ms),
            max(self.acked_ms, other.acked_ms),
            max(self.flow_ms, other.flow_ms),
        )


class Consumer:
    """`permits` may be negative: an entry is sent whole, and what it is beyond the permits is repaid by the next ones.

    On Shared and Key_Shared subscriptions: `pending`, the index of each entry out at this consumer -> the messages of
    it that are not acknowledged; `unacked`, their sum; `blocked` while that is too many. `epoch` is the consumer epoch
    its messages are stamped with, None as long as the client has not named one. `gone`: it was closed before it joined.
    """

    __slots__ = (
        "auto_consumes",
        "blocked",
        "consumer_id",
        "counts",
        "epoch",
        "gone",
        "key_shared",
        "metadata",
        "name",
        "partition",
        "pending",
        "permits",
        "priority",
        "reads_compacted",
        "session",
        "since_ms",
        "unacked",
    )

    def __init__(self, session: Session, request: CommandSubscribe, partition: int) -> None:
        self.session = session
        self.consumer_id = request.consumer_id
        self.name = request.consumer_name
        self.priority = request.priority_level
        self.key_shared = request.keySharedMeta
        self.metadata = {pair.key: pair.value for pair in request.metadata}
        self.reads_compacted = request.read_compacted
        self.partition = partition
        self.since_ms = session.host.unix_ms
        self.auto_consumes = request.HasField("schema") and request.schema.type == Schema.AutoConsume
        self.counts = Counts()
        self.permits = 0
        self.pending: dict[int, int] = {}
        self.unacked = 0
        self.blocked = False
        self.gone = False
        self.epoch: int | None = request.consumer_epoch if request.HasField("consumer_epoch") else None

    @property
    def left(self) -> bool:
        """Whether it left while its SUBSCRIBE waited."""
        return self.gone or self.session.ended

    @property
    def is_able(self) -> bool:
        """Whether it can be sent something."""
        return self.permits > 0 and not self.blocked and self.session.is_writable

    def deliver(self, entry: Entry, *, unacked: int | None, redeliveries: int = 0, epoch: int | None = None) -> int:
        """Send an entry; the messages it cost, members acknowledged earlier not among them."""
        charged = entry.messages if unacked is None else unacked.bit_count()
        self.permits -= charged
        frame = replies.message(
            self.consumer_id,
            entry,
            self.partition,
            redeliveries=redeliveries,
            unacked=unacked,
            epoch=epoch,
            checksum=self.session.version >= CHECKSUM_VERSION,
        )
        self.session.send(frame)
        self.counts.messages += charged
        self.counts.bytes += len(entry.payload.block)
        self.counts.sent_ms = self.session.host.unix_ms
        return charged
