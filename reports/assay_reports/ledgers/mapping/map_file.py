"""The map: which column of whose logs means what. Everything wrong with it is one sentence with file and key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec

from assay_conformance.ledger.info import Acks, Order
from assay_conformance.ledger.tables import NONE
from assay_conformance.model.doors import convert, shown
from assay_conformance.model.errors import UsageError
from assay_reports.bounds import MOST_YEARS
from assay_reports.files import read_toml, understanding


class Unit(StrEnum):
    """Of times in the logs: since 1970, or as ISO 8601 text (UTC where it says nothing)."""

    S = "s"
    MS = "ms"
    US = "us"
    NS = "ns"
    ISO = "iso"


class SubscriptionType(StrEnum):
    """As the tables name them."""

    EXCLUSIVE = "Exclusive"
    FAILOVER = "Failover"
    SHARED = "Shared"
    KEY_SHARED = "Key_Shared"
    READER = "Reader"


_Ms = msgspec.Meta(ge=0, le=MOST_YEARS * 365 * 86_400_000)
_Count = Annotated[int, msgspec.Meta(ge=NONE, lt=1 << 31)]
_Text = Annotated[str, msgspec.Meta(min_length=1)]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class Run(_Part, frozen=True):
    """`started` is the zero of the run's clock, UTC unless it says otherwise; `clock_error_ms` how much clocks of
    producers and consumers may differ, left out: unknown, and time bounds are not judged. `acks`: what an
    `acked_at` is of; where nothing says so, of its message. `versions`: what else had a part in it, by name."""

    name: str
    started: datetime
    client: str = "unknown"
    client_version: str = "unknown"
    broker: str = "unknown"
    broker_version: str = "unknown"
    versions: dict[_Text, _Text] = msgspec.field(default_factory=dict)
    order: Order = Order.PARTITION
    acks: Acks | None = None
    grace_ms: Annotated[int, _Ms] = 10_000
    clock_error_ms: Annotated[float, _Ms] | None = None


class Codes(_Part, frozen=True):
    """How outcomes read. A text that is in none of these lists is a bad row."""

    ok: tuple[str, ...]
    failed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class Sent(_Part, frozen=True):
    """Producers' logs: one row a call of send. Values are names of columns; `files` is relative to the map.

    `number` counts the messages of a producer on a partition, upwards. `told_at` is when the outcome came.
    """

    files: str
    producer: str
    topic: str
    number: str
    sent_at: str
    outcome: str
    codes: Codes
    partition: str | None = None
    key: str | None = None
    told_at: str | None = None
    message_id: str | None = None
    size: str | None = None
    crc: str | None = None
    deliver_at: str | None = None
    unit: Unit = Unit.MS


class Received(_Part, frozen=True):
    """Consumers' logs: one row a delivery, those of each consumer in the order in which it got them.

    `producer`, `topic`, `partition` and `number` name the message as the producers' logs do. `acked_at` and `nacked_at`
    are empty where the application did not say so.
    """

    files: str
    subscription: str
    consumer: str
    producer: str
    topic: str
    number: str
    received_at: str
    partition: str | None = None
    key: str | None = None
    message_id: str | None = None
    redelivery_count: str | None = None
    acked_at: str | None = None
    nacked_at: str | None = None
    crc: str | None = None
    unit: Unit = Unit.MS


class SubscriptionPromise(_Part, frozen=True):
    """What was promised to a subscription; one that is not named is Shared, and nothing may be missing from it."""

    name: str
    type: SubscriptionType = SubscriptionType.SHARED
    whole: bool = True
    nack_delay_ms: Annotated[int, _Ms] | None = None
    max_redeliveries: _Count = NONE


class TopicPromise(_Part, frozen=True):
    name: str
    dedup: bool = False
    publish_rate: _Count = NONE


class Map(_Part, frozen=True):
    run: Run
    sent: Sent
    received: Received
    subscription: tuple[SubscriptionPromise, ...] = ()
    topic: tuple[TopicPromise, ...] = ()


def read_map(path: Path) -> Map:
    """Return the map in a TOML file. UsageError names the file, the key and what was expected."""
    found = read_toml(path, "a map of logs")
    with understanding(path, "a map of logs"):
        described = convert(found, Map)
    codes = described.sent.codes
    for what, names in (
        ("subscription", [one.name for one in described.subscription]),
        ("topic", [one.name for one in described.topic]),
        ("sent.codes", [*codes.ok, *codes.failed, *codes.unknown]),
    ):
        if twice := _twice(names):
            raise UsageError(f"{path}: {what}: {shown(twice[0])} stands there twice; expected once")
    if described.run.acks is Acks.NONE and described.received.acked_at is not None:
        raise UsageError(f"{path}: run.acks is none, and received.acked_at names a column; expected one of them to go")
    started = described.run.started
    if started.tzinfo is None:
        run = msgspec.structs.replace(described.run, started=started.replace(tzinfo=UTC))
        return msgspec.structs.replace(described, run=run)
    return described


def _twice(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]
