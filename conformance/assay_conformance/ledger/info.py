"""ledger.json: what run a ledger is of, and what was promised to it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from assay_conformance.model.run import BrokerInfo
from assay_conformance.model.schema import FileKind, Header, read_document


class Order(StrEnum):
    """Within what the order of deliveries was promised."""

    PARTITION = "partition"
    KEY = "key"
    NONE = "none"


class Origin(StrEnum):
    """Who wrote the rows: histories of Cases, agents at their own pace, the generator, or somebody's logs."""

    HISTORY = "history"
    SEGMENTS = "segments"
    SYNTH = "synth"
    MAPPED = "mapped"


class Standing(StrEnum):
    """What became of a gate."""

    HELD = "held"
    BROKEN = "broken"
    NOT_JUDGED = "not judged"
    INVALID = "invalid"
    """The run was not what it was meant to be: nothing is said of the client."""


class Gate(msgspec.Struct, frozen=True):
    """What a run was held to besides its rows, such as a client's memory."""

    name: str
    standing: Standing
    text: str


class LedgerInfo(Header, frozen=True, kw_only=True):
    """What the rules go by.

    `order` holds for every subscription whose type can keep it. `self_checking`: payloads say what they should be, so
    `delivery.ok` is never 2. `checksums`: `crc` stands in every row of `attempt` and `delivery`; without it payloads
    that do not say what they should be are not compared. Times of the tables are µs since `started_unix_ms`. `grace_us`
    after the last send a message that was not delivered is late no more, but missing; `settle_us` after a fault, and
    after a consumer came or went, what they brought about may still show; `stall_us` without a message is a stall.
    `durable_us`: an ack binds across a kill when it is older than this. `due_early_us`: how much before its time a
    delayed message may come (a tick of the broker where it is not strict). `gates` is what the run was held to besides
    its rows; one that was not judged has not held. A ledger without `ended_unix_ms` is of a run that goes on, or was
    killed.
    """

    run: str
    suite: str
    origin: Origin
    client: str
    client_version: str
    broker: BrokerInfo
    seed: int
    started_unix_ms: int
    ended_unix_ms: int | None = None
    order: Order = Order.PARTITION
    self_checking: bool = True
    checksums: bool = True
    grace_us: int = 10_000_000
    settle_us: int = 10_000_000
    stall_us: int = 10_000_000
    durable_us: int = 2_000_000
    due_early_us: int = 1_000_000
    versions: dict[str, str] = msgspec.field(default_factory=dict)
    gates: tuple[Gate, ...] = ()


def read_info(data: bytes, where: str) -> LedgerInfo:
    """The content of a ledger.json; UsageError that names `where` when it is none, or of another major version."""
    return read_document(data, FileKind.LEDGER, LedgerInfo, where)
