"""ledger.json: what run a ledger is of, and what was promised to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated

import msgspec

from assay_conformance.model.run import BrokerInfo
from assay_conformance.model.schema import FileKind, Header, read_document


class Order(StrEnum):
    """Within what the order of deliveries was promised."""

    PARTITION = "partition"
    KEY = "key"
    NONE = "none"


class Origin(StrEnum):
    """Who wrote the rows: histories of Cases, agents at their own pace, the generator, or a user's logs."""

    HISTORY = "history"
    SEGMENTS = "segments"
    SYNTH = "synth"
    MAPPED = "mapped"


class Acks(StrEnum):
    """What an application's acknowledgments are of: each its message, each everything up to its message, some of either
    kind, or there are none."""

    INDIVIDUAL = "individual"
    CUMULATIVE = "cumulative"
    BOTH = "both"
    NONE = "none"
    UNKNOWN = "unknown"


class Acking(msgspec.Struct, frozen=True):
    """How applications acknowledged. `batch_index`: messages of a batch one by one, else whole entries; `receipts`: a
    call ended when the broker had confirmed it, else when the client had taken note. null: not known, or not the same
    throughout."""

    mode: Acks = Acks.UNKNOWN
    batch_index: bool | None = None
    receipts: bool | None = None


class Standing(StrEnum):
    """What became of a gate."""

    HELD = "held"
    BROKEN = "broken"
    NOT_JUDGED = "not judged"
    INVALID = "invalid"
    """The run was not what it was meant to be: nothing is said of the client."""


class Part(StrEnum):
    """What has a part in a run besides suite, client and broker, as `LedgerInfo.versions` names it. A map of
    a user's logs has names of its own."""

    AGENT = "agent"
    ASKED = "client asked for"
    BUILD = "client build"
    RECORDER = "suite of the run"
    CATALOGUE = "catalogue"
    HYPOTHESIS = "Hypothesis"
    PYTHON = "Python"
    PLATFORM = "platform"
    NUMPY = "NumPy"
    ARROW = "Arrow"


class Gate(msgspec.Struct, frozen=True):
    """What a run was held to besides its rows, such as a client's memory."""

    name: str
    standing: Standing
    text: str


_NotNegative = Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
_Told = Annotated[str, msgspec.Meta(min_length=1)]
_Moment = Annotated[int, msgspec.Meta(gt=-(1 << 50), lt=1 << 50)]


class LedgerInfo(Header, frozen=True, kw_only=True):
    """What the rules go by.

    `order` holds for every subscription whose type can keep it. `acking` is how applications acknowledged: its `mode`
    is `individual`, `cumulative`, `both`, `none` or `unknown`; `batch_index`, whether messages of a batch were
    acknowledged one by one; `receipts`, whether a call ended when the broker had confirmed it; null if unknown
    or it was not the same throughout. `self_checking`: payloads say what they should be, so `delivery.ok` is never 2.
    `checksums`: `crc` stands in every row of `attempt` and `delivery`; without it payloads that do not say what they
    should be are not compared. Times of the tables are µs since `started_unix_ms`. `grace_us` after the last send a
    message that was not delivered is late no more, but missing; `settle_us` after a fault, and after a consumer came or
    went, what they brought about may still show; `stall_us` without a message is a stall. `durable_us`: an ack binds
    across a kill when it is older than this. `due_early_us`: how much before its time a delayed message may come (a
    tick of the broker where it is not strict). `versions` is what else had a part in the run, by its name, as far as
    its writer knows; `suite` is that of the writer. `gates` is what the run was held to besides its rows; one that was
    not judged has not held. A ledger without `ended_unix_ms` is of a run that goes on, or was killed.
    """

    run: str
    suite: str
    origin: Origin
    client: str
    client_version: str
    broker: BrokerInfo
    seed: int
    started_unix_ms: _Moment
    ended_unix_ms: _Moment | None = None
    order: Order = Order.PARTITION
    acking: Acking = Acking()
    self_checking: bool = True
    checksums: bool = True
    grace_us: _NotNegative = 10_000_000
    settle_us: _NotNegative = 10_000_000
    stall_us: _NotNegative = 10_000_000
    durable_us: _NotNegative = 2_000_000
    due_early_us: _NotNegative = 1_000_000
    versions: dict[_Told, _Told] = msgspec.field(default_factory=dict)
    gates: tuple[Gate, ...] = ()

    @property
    def each_ack_recorded(self) -> bool:
        """Whether every message that was acknowledged has a row that says so. In a user's logs a cumulative
        acknowledgment stands at its own message only; of our own runs there is a row for each that it covers."""
        return self.origin is not Origin.MAPPED or self.acking.mode not in (Acks.CUMULATIVE, Acks.BOTH)


def versions(reported: Mapping[Part, str]) -> dict[str, str]:
    """Return the versions for `LedgerInfo.versions`, without unknown ones."""
    return {part.value: version for part, version in reported.items() if version}


def acks(*, individual: bool, cumulative: bool) -> Acks:
    """Return the mode for the kinds of acknowledgment that occur."""
    if individual and cumulative:
        return Acks.BOTH
    return Acks.INDIVIDUAL if individual else Acks.CUMULATIVE if cumulative else Acks.NONE


def throughout(ackings: Iterable[Acking]) -> Acking:
    """Return how several runs acknowledged together; of runs without acknowledgments only that they had none."""
    found = {one for one in ackings if one.mode is not Acks.NONE}
    if not found:
        return Acking(Acks.NONE)
    modes = {one.mode for one in found}
    return Acking(
        modes.pop() if len(modes) == 1 else Acks.BOTH,
        _agreed({one.batch_index for one in found}),
        _agreed({one.receipts for one in found}),
    )


def _agreed(values: set[bool | None]) -> bool | None:
    return values.pop() if len(values) == 1 else None


def read_info(data: bytes, where: str) -> LedgerInfo:
    """Return the content of a ledger.json.

    Raises UsageError, which names `where`, when it is none, or of another major version.
    """
    return read_document(data, FileKind.LEDGER, LedgerInfo, where)
