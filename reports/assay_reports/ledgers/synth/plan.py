"""What a made-up ledger is to hold: how many messages, in which worlds, and which anomalies where.

All of it follows from the plan, so that any process can make any part, and `truth.json` can be written first.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from assay_conformance.ledger import rows
from assay_conformance.ledger.info import LedgerInfo, Origin
from assay_conformance.ledger.tables import NONE
from assay_conformance.model.errors import UsageError
from assay_conformance.model.run import BrokerInfo
from assay_conformance.model.schema import CURRENT, FileKind
from assay_reports.ledgers.synth.anomalies import DURABLE_US, GRACE_US, KINDS, MAX_REDELIV, Anomaly, places
from assay_reports.ledgers.synth.world import (
    DEDUP_TOPICS,
    DURATION_US,
    EPOCHS_US,
    FAILOVER,
    FIRST,
    KEY_SHARED,
    KEYS,
    LATER,
    NACK_US,
    SECOND,
    STREAMS,
    TOPICS,
    World,
)

PLAIN_MESSAGES = 4_000_000
MIX_MESSAGES = 1_000_000
"""Messages of a world, so that its parts have about as many rows as those of a writer that rolls."""
DEFAULT_COUNT = 5
CAME_US = -DURATION_US
"""Consumers were there long before the first message."""
STARTED_UNIX_MS = 1_750_000_000_000
NACK_DELAY_US = NACK_US - 100_000


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many anomalies of a kind: `count` of them, or `rate` times the messages, or `at` these [stream, seq]."""

    count: int | None = None
    rate: float | None = None
    at: tuple[tuple[int, int], ...] = ()


class Truth(msgspec.Struct, frozen=True):
    """One anomaly, by what has to be found. `sub` is -1 where it concerns none, or all."""

    kind: str
    requirements: tuple[str, ...]
    sub: int
    stream: int
    seq: int


class Plan(msgspec.Struct, frozen=True, dict=True):
    messages: int
    seed: int
    mix: bool
    world_messages: int
    anomalies: dict[str, Asked] = {}

    @property
    def worlds(self) -> int:
        return -(-self.messages // self.world_messages)

    def world(self, number: int) -> World:
        """Without anomalies, whose places do not depend on them."""
        size = min(self.world_messages, self.messages - number * self.world_messages)
        return World(number, size, self.seed, self.mix)

    @cached_property
    def placed(self) -> Mapping[int, list[Anomaly]]:
        """World -> its anomalies. UsageError when there is no room for them."""
        found: dict[int, list[Anomaly]] = {}
        taken: set[tuple[int, int, int]] = set()
        for kind, asked in self.anomalies.items():
            for number, s, q in self._places(kind, asked, taken):
                taken.add((number, s, q))
                found.setdefault(number, []).append(Anomaly(kind, s, q))
        return found

    def truth(self) -> tuple[Truth, ...]:
        found = [
            Truth(one.kind, KINDS[one.kind].requirements, KINDS[one.kind].sub, self.world(number).stream(one.s), one.q)
            for number, anomalies in self.placed.items()
            for one in anomalies
        ]
        return tuple(sorted(found, key=lambda one: (one.kind, one.stream, one.seq)))

    def _places(self, kind: str, asked: Asked, taken: set[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
        for stream, seq in asked.at:
            yield self._stated(kind, stream, seq)
        count = asked.count or round((asked.rate or 0) * self.messages)
        rooms = [tuple(places(self.world(number), KINDS[kind])) for number in self._some_worlds(kind, count)]
        free = [(number, room) for number, room in zip(self._some_worlds(kind, count), rooms, strict=True) if room]
        if count and not free:
            raise UsageError(
                f"{self.messages} messages have no place for anomalies of kind {kind}; ask for more messages"
            )
        for one in range(count):
            yield self._drawn(kind, one, free, taken)

    def _some_worlds(self, kind: str, count: int) -> list[int]:
        """Worlds for so many of a kind: all, or as many as there are anomalies, spread out."""
        if count >= self.worlds:
            return list(range(self.worlds))
        start = self._draw(kind, "worlds", 0) % self.worlds
        return sorted({(start + one * self.worlds // count) % self.worlds for one in range(count)})

    def _drawn(
        self,
        kind: str,
        one: int,
        free: list[tuple[int, tuple[tuple[int, int], ...]]],
        taken: set[tuple[int, int, int]],
    ) -> tuple[int, int, int]:
        for trial in range(1000):
            drawn = self._draw(kind, one, trial)
            number, room = free[drawn % len(free)]
            s, q = room[(drawn >> 20) % len(room)]
            if (number, s, q) not in taken:
                return number, s, q
        raise UsageError(
            f"{self.messages} messages have no place for so many anomalies of kind {kind}; ask for more messages, or "
            "for fewer anomalies"
        )

    def _stated(self, kind: str, stream: int, seq: int) -> tuple[int, int, int]:
        number, s = divmod(stream, STREAMS + self.mix)
        room = list(places(self.world(number), KINDS[kind])) if 0 <= number < self.worlds else []
        if (s, seq) not in room:
            nearest = min((q for its_s, q in room if its_s == s), key=lambda q: abs(q - seq), default=None)
            hint = f"; the nearest place in this stream is seq {nearest}" if nearest is not None else ""
            raise UsageError(f"stream {stream}, seq {seq} cannot hold an anomaly of kind {kind}{hint}")
        return number, s, seq

    def _draw(self, *words: object) -> int:
        text = "/".join(map(str, (self.seed, *words)))
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def default_anomalies(mix: bool) -> dict[str, Asked]:
    """A few of every kind that such a ledger can hold."""
    return {name: Asked(count=DEFAULT_COUNT) for name, kind in KINDS.items() if mix or kind.plain}


def read_anomalies(path: Path, mix: bool) -> dict[str, Asked]:
    """A TOML file with a table for each kind. UsageError names the file and the key."""
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: expected a TOML file of anomalies: {error}") from error
    return {name: _asked(path, name, value, mix) for name, value in found.items()}


def _asked(path: Path, name: str, value: Any, mix: bool) -> Asked:
    possible = [one for one, kind in KINDS.items() if mix or kind.plain]
    if name not in possible:
        known = " in a plain ledger" if name in KINDS else ""
        raise UsageError(f"{path}: no anomaly {name!r}{known}; expected one of {', '.join(possible)}")
    try:
        return msgspec.convert(value, Asked)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {name}: {error}; expected count, rate or at") from error


# --- the small tables ------------------------------------------------------------------------------------------------


def info(plan: Plan, suite: str) -> LedgerInfo:
    return LedgerInfo(
        schema=str(CURRENT[FileKind.LEDGER]),
        file=FileKind.LEDGER,
        run=f"synth-{'mix' if plan.mix else 'plain'}-{plan.messages}-{plan.seed}",
        suite=suite,
        origin=Origin.SYNTH,
        client="synth",
        client_version=suite,
        broker=BrokerInfo(kind="none", name="none", version="none"),
        seed=plan.seed,
        started_unix_ms=STARTED_UNIX_MS,
        ended_unix_ms=STARTED_UNIX_MS + DURATION_US // 1000 + 60_000,
        grace_us=GRACE_US,
        settle_us=GRACE_US,
        durable_us=DURABLE_US,
    )


def small_tables(plan: Plan) -> dict[str, list[tuple[Any, ...]]]:
    worlds = [plan.world(number) for number in range(plan.worlds)]
    topics = TOPICS + plan.mix
    return {
        "stream": [
            rows.Stream(world.stream(s), f"producer-{world.number}-{s}", int(world.topic(s)), world.number)
            for world in worlds
            for s in range(world.streams)
        ],
        "topic": [
            rows.Topic(
                world.number * topics + topic,
                f"persistent://public/default/made-{world.number}-{topic}",
                dedup=int(plan.mix and topic in DEDUP_TOPICS),
                read_back=int(plan.mix),
            )
            for world in worlds
            for topic in range(topics)
        ],
        "key": [rows.Key(key, f"key-{key}") for key in range(KEYS)],
        "subscription": _subscriptions(plan),
        "consumer": [row for world in worlds for row in _consumers(world)],
        "writer": [rows.Writer(world.number, f"world-{world.number}") for world in worlds],
        "epoch": _epochs() if plan.mix else [],
    }


def _subscriptions(plan: Plan) -> list[tuple[Any, ...]]:
    if not plan.mix:
        return [rows.Subscription(FAILOVER, "all", type="Exclusive")]
    return [
        rows.Subscription(FAILOVER, "failover", type="Failover", max_redeliv=MAX_REDELIV),
        rows.Subscription(
            KEY_SHARED, "key-shared", type="Key_Shared", nack_delay=NACK_DELAY_US, max_redeliv=MAX_REDELIV
        ),
    ]


def _consumers(world: World) -> Iterator[rows.Consumer]:
    for one in range(world.consumers):
        sub = KEY_SHARED if world.mix and one not in (FIRST, SECOND, LATER) else FAILOVER
        left = world.taken_over_at if world.takes_over and one == FIRST else None
        if one == SECOND and not world.takes_over:
            continue
        yield rows.Consumer(
            int(world.consumer(one)), sub, f"consumer-{world.number}-{one}", world.number, CAME_US, left
        )


def _epochs() -> list[tuple[Any, ...]]:
    slow, killed = EPOCHS_US
    return [
        rows.Epoch(0, "latency", "broker 0", *slow, sub=NONE),
        rows.Epoch(1, "kill", "broker 0", *killed, restart=1, sub=NONE),
    ]
