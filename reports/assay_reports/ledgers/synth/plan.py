"""What a made-up ledger is to hold: how many messages, in which worlds, and which anomalies where.

All of it follows from the plan, so that any process can make any part, and `truth.json` can be written first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import msgspec

from assay_conformance.ledger.tables import NONE
from assay_conformance.model.doors import convert, shown
from assay_conformance.model.errors import UsageError
from assay_reports.files import read_toml, understanding
from assay_reports.ledgers.synth.anomalies import KINDS, Anomaly, places
from assay_reports.ledgers.synth.flows import FLOWS, Flow
from assay_reports.ledgers.synth.world import KEY_SHARED, MIX_CONSUMERS, STREAMS, TOPICS, World

PLAIN_MESSAGES = 4_000_000
MIX_MESSAGES = 1_000_000
"""Messages of a world, so that its parts have about as many rows as those of a writer that rolls."""
DEFAULT_COUNT = 5
MOST_WORLDS = 10_000
"""Each has rows in the small tables, which every reader holds whole."""
MOST_ANOMALIES = 100_000
"""The plan holds all of them."""


class Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many anomalies of a kind: `count` of them, or `rate` times the messages, or `at` these [stream, seq]."""

    count: Annotated[int, msgspec.Meta(ge=0)] | None = None
    rate: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    at: tuple[tuple[int, int], ...] = ()


class Truth(msgspec.Struct, frozen=True):
    """One anomaly, by what has to be found. `sub` is -1 where it concerns none, or all; `stream` and `seq` are -1 where
    it is no message's, and `of` names the topic or the subscription."""

    kind: str
    requirements: tuple[str, ...]
    sub: int
    stream: int
    seq: int
    of: str = ""


class Plan(msgspec.Struct, frozen=True, dict=True):
    messages: int
    seed: int
    mix: bool
    world_messages: int
    anomalies: dict[str, Asked] = {}

    def __post_init__(self) -> None:
        if self.worlds > MOST_WORLDS:
            raise UsageError(
                f"{self.messages} messages in parts of {self.world_messages} are {self.worlds} parts; expected at most "
                f"{MOST_WORLDS}"
            )
        asked = sum(self._count(one) + len(one.at) for one in self.anomalies.values())
        if asked > MOST_ANOMALIES:
            raise UsageError(f"{asked} anomalies were asked for; expected at most {MOST_ANOMALIES}")

    @property
    def worlds(self) -> int:
        return -(-self.messages // self.world_messages)

    @property
    def parts(self) -> int:
        """Return the number of parts of each table: one for each world, and one for all flows."""
        return self.worlds + bool(self.flows)

    @cached_property
    def flows(self) -> tuple[Flow, ...]:
        kinds = [name for name in FLOWS if name in self.anomalies for _ in range(self._count(self.anomalies[name]))]
        streams, topics = self.worlds * (STREAMS + self.mix), self.worlds * (TOPICS + self.mix)
        return tuple(
            Flow(kind, streams + one, topics + one, KEY_SHARED + 1 + one, self.worlds * MIX_CONSUMERS + one)
            for one, kind in enumerate(kinds)
        )

    def _count(self, asked: Asked) -> int:
        return asked.count or round((asked.rate or 0) * self.messages)

    def world(self, number: int) -> World:
        """Return a world without its anomalies, whose places do not depend on them."""
        size = min(self.world_messages, self.messages - number * self.world_messages)
        return World(number, size, self.seed, self.mix)

    @cached_property
    def placed(self) -> Mapping[int, list[Anomaly]]:
        """Return the anomalies of each world, by its number. Raises UsageError if there is no room for all of them."""
        found: dict[int, list[Anomaly]] = {}
        taken: set[Hashable] = set()
        for kind, asked in self.anomalies.items():
            for number, s, q in self._places(kind, asked, taken) if kind in KINDS else ():
                taken.add(self._apart(kind, number, s, q))
                found.setdefault(number, []).append(Anomaly(kind, s, q))
        return found

    def truth(self) -> tuple[Truth, ...]:
        found = [
            Truth(one.kind, KINDS[one.kind].requirements, KINDS[one.kind].sub, self.world(number).stream(one.s), one.q)
            for number, anomalies in self.placed.items()
            for one in anomalies
        ]
        for flow in self.flows:
            kind = FLOWS[flow.kind]
            sub = flow.sub if kind.of_subscription else NONE
            found.append(Truth(flow.kind, (kind.requirement,), sub, NONE, NONE, flow.name))
        return tuple(sorted(found, key=lambda one: (one.kind, one.stream, one.seq, one.of)))

    def _apart(self, kind: str, number: int, s: int, q: int) -> Hashable:
        return number, KINDS[kind].apart(self.world(number), s, q)

    def _places(self, kind: str, asked: Asked, taken: set[Hashable]) -> Iterator[tuple[int, int, int]]:
        for stream, seq in asked.at:
            yield self._stated(kind, stream, seq)
        count = self._count(asked)
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
        taken: set[Hashable],
    ) -> tuple[int, int, int]:
        for trial in range(1000):
            drawn = self._draw(kind, one, trial)
            number, room = free[drawn % len(free)]
            s, q = room[(drawn >> 20) % len(room)]
            if self._apart(kind, number, s, q) not in taken:
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
    """Return a few of every kind that such a ledger can hold."""
    of_messages = {name: Asked(count=DEFAULT_COUNT) for name, kind in KINDS.items() if mix or kind.plain}
    return of_messages | (dict.fromkeys(FLOWS, Asked(count=1)) if mix else {})


def read_anomalies(path: Path, mix: bool) -> dict[str, Asked]:
    """Return a TOML file with a table for each kind. UsageError names the file and the key."""
    found = read_toml(path, "a TOML file of anomalies")
    return {name: _asked(path, name, value, mix) for name, value in found.items()}


def _asked(path: Path, name: str, value: Any, mix: bool) -> Asked:
    possible = [*(one for one, kind in KINDS.items() if mix or kind.plain), *(FLOWS if mix else ())]
    if name not in possible:
        known = " in a plain ledger" if name in {*KINDS, *FLOWS} else ""
        raise UsageError(f"{path}: no anomaly {shown(name)}{known}; expected one of {', '.join(possible)}")
    with understanding(f"{path}: {name}", "count, rate or at"):
        asked = convert(value, Asked)
    if name in FLOWS and asked.at:
        raise UsageError(f"{path}: {name}: at a topic of its own, and at no message; expected count or rate")
    return asked
