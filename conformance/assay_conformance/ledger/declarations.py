"""What segments declare: the names after the numbers of their records, one JSON object a line.

`declares` says what. A client's process declares the segment, streams, keys and consumers; the bench, which writes a
segment of its own, declares topics, subscriptions, what was done to the run, and the clocks of the other writers. A
later declaration of the same thing replaces an earlier one. Fields that are not known are ignored.
"""

from __future__ import annotations

from typing import get_args

import msgspec

from assay_conformance.ledger.tables import NONE
from assay_conformance.model.schema import CURRENT, FileKind

BENCH = "bench"
"""The writer of the bench's own segment."""


class _Declaration(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag_field="declares"):
    pass


class SegmentOpened(_Declaration, frozen=True, tag="segment"):
    """First line of every file. `schema` is that of ledgers, `major.minor`.

    Writers that say the same `host` share one monotonic clock: on Linux, the machine's boot id.
    """

    writer: str
    schema: str = msgspec.field(default_factory=lambda: str(CURRENT[FileKind.LEDGER]))
    host: str = ""


class StreamDeclared(_Declaration, frozen=True, tag="stream"):
    """`stream` is the handle, `case` the case of its payloads' identities, `seed` that of their blocks.

    Without a seed, whether a payload is unchanged can only be judged by comparing both ends.
    """

    stream: int
    producer: str
    topic: str
    case: int = 0
    seed: int | None = None


class KeyDeclared(_Declaration, frozen=True, tag="key"):
    key: int
    text: str


class ConsumerDeclared(_Declaration, frozen=True, tag="consumer"):
    """A consumer is open since `t`."""

    consumer: int
    subscription: str
    name: str
    t: int


class ConsumerLeft(_Declaration, frozen=True, tag="left"):
    consumer: int
    t: int


class TopicDeclared(_Declaration, frozen=True, tag="topic"):
    """By the bench, for topics that differ from this. `topic` is the full name, `-partition-N` included."""

    topic: str
    dedup: bool = False
    publish_rate: int = NONE
    read_back: bool = False


class SubscriptionDeclared(_Declaration, frozen=True, tag="subscription"):
    """By the bench: what was promised to a subscription. The fields are those of the table `subscription`."""

    subscription: str
    type: str
    whole: bool = True
    nack_delay: int = NONE
    dispatch_rate: int = NONE
    max_redeliv: int = NONE


class EpochDeclared(_Declaration, frozen=True, tag="epoch"):
    """By the bench: something began, or, with `t_to`, it has ended. The fields are those of the table `epoch`."""

    epoch: int
    action: str
    target: str
    t_from: int
    t_to: int | None = None
    restart: int = 0
    subscription: str = ""
    in_flight: int = NONE


class ClockDeclared(_Declaration, frozen=True, tag="clock"):
    """By the bench: µs to take from `writer`'s clock to get the run's, and by how much that may be wrong at most."""

    writer: str
    offset_us: int
    error_us: int


class ProcessEnded(_Declaration, frozen=True, tag="ended"):
    """By the bench: the process of `writer` has ended at `t`, whatever its file says; its consumers left with it.

    `killed`: by a fault, so that its file may be empty, or end in its first block.
    """

    writer: str
    t: int
    killed: bool = False


Declaration = (
    SegmentOpened
    | StreamDeclared
    | KeyDeclared
    | ConsumerDeclared
    | ConsumerLeft
    | TopicDeclared
    | SubscriptionDeclared
    | EpochDeclared
    | ClockDeclared
    | ProcessEnded
)

KINDS: tuple[type[msgspec.Struct], ...] = get_args(Declaration)
TAGS: frozenset[object] = frozenset(kind.__struct_config__.tag for kind in KINDS)
