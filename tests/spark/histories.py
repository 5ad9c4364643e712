"""Small histories, drawn at random and packed into one ledger: each has numbers of its own, so none sees another.

A history is first what a healthy run leaves: unknown outcomes of which some are stored, attempts repeated, messages
refused and delivered again, cumulative acknowledgments, chunks, one or two subscriptions. Then defects are worked into
it. Nobody writes down which: the rules on all rows say what is wrong, and everything else is compared with them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from assay_conformance.ledger.certificates import of_consumer, of_outcomes
from assay_conformance.ledger.collection import Rows, Small
from assay_conformance.ledger.info import LedgerInfo, Order, Origin
from assay_conformance.ledger.rows import (
    Ack,
    Attempt,
    Consumer,
    Delivery,
    Epoch,
    Key,
    Outcome,
    Stored,
    Stream,
    Subscription,
    Topic,
    Writer,
)
from assay_conformance.ledger.script import some_info
from assay_conformance.ledger.tables import NONE, AckKind, Integrity, Result

NACK_DELAY_US = 200_000
CAME_US = -60_000_000
"""Everybody was there long before."""
TYPES = ("Exclusive", "Failover", "Shared", "Key_Shared")
FIRST_SEQS = (0, 0, 0, 61, 63, 64, 127, (1 << 39) - 3)
"""Where a stream begins: at edges of words, and beyond what 40 bits hold."""


def info(order: Order = Order.PARTITION, self_checking: bool = True) -> LedgerInfo:
    return some_info(
        origin=Origin.HISTORY,
        ended_unix_ms=600_000,
        order=order,
        self_checking=self_checking,
        # A history here is over in two seconds: bounds are as much smaller.
        grace_us=30_000,
        settle_us=30_000,
        durable_us=10_000,
        due_early_us=1_000,
    )


@dataclass
class Packed:
    """Rows of many histories, and their small tables."""

    attempts: list[Attempt] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    acks: list[Ack] = field(default_factory=list)
    stored: list[Stored] = field(default_factory=list)
    small: dict[str, list[Any]] = field(default_factory=dict)

    def rows(self) -> Rows:
        return Rows(*(tuple(rows) for rows in self.tables().values()))

    def tables(self) -> dict[str, list[Any]]:
        return {
            "attempt": self.attempts,
            "outcome": self.outcomes,
            "delivery": self.deliveries,
            "ack": self.acks,
            "stored": self.stored,
        }

    def smalls(self) -> Small:
        names = ("stream", "topic", "key", "subscription", "consumer", "writer", "epoch")
        return Small(*({row[0]: row for row in self.small.get(name, ())} for name in names))

    def add(self, table: str, row: Any) -> None:
        self.small.setdefault(table, []).append(row)


def pack(seed: int, histories: int, defects: Iterable[str] = (), most: int = 3) -> Packed:
    """`histories` of them, each with up to `most` kinds of the defects that are named."""
    chance = random.Random(seed)
    packed = Packed()
    packed.add("writer", Writer(0, "w0"))
    named = sorted(defects)
    for number in range(histories):
        kinds = chance.sample(named, chance.randint(0, min(most, len(named)))) if named else []
        _History(chance, packed, number, frozenset(kinds)).write()
    return packed


@dataclass
class _Message:
    stream: int
    seq: int
    key: int
    crc: int
    t: int
    code: int
    place: tuple[int, int, int]
    is_stored: bool
    due: int | None


class _History:
    def __init__(self, chance: random.Random, packed: Packed, number: int, defects: frozenset[str]) -> None:
        self.chance, self.packed, self.number, self.defects = chance, packed, number, defects
        self.topic = Topic(
            number,
            f"topic-{number}",
            dedup=chance.randint(0, 1),
            publish_rate=NONE,
            read_back=int(chance.random() < 0.8),
        )
        self.streams = [number * 4 + one for one in range(chance.randint(1, 3))]
        self.keys = [number * 8 + one for one in range(chance.randint(0, 4))]
        self.entry = 0

    def write(self) -> None:
        add = self.packed.add
        add("topic", self.topic)
        for stream in self.streams:
            add("stream", Stream(stream, f"producer-{stream}", self.number))
        for key in self.keys:
            add("key", Key(key, f"key-{key}"))
        restart = self.chance.random() < 0.4
        messages = self._send()
        self._store(messages)
        for one in range(self.chance.randint(1, 2)):
            self._subscribe(self.number * 2 + one, messages, restart)

    def hit(self, defect: str, share: float = 0.08) -> bool:
        return defect in self.defects and self.chance.random() < share

    # --- sending ----------------------------------------------------------------------------------------------------

    def _send(self) -> list[_Message]:
        chance, t = self.chance, 0
        next_seq = {stream: chance.choice(FIRST_SEQS) for stream in self.streams}
        messages, outcomes = [], {stream: list[Outcome]() for stream in self.streams}
        all_unknown = chance.random() < 0.05
        for _ in range(chance.randint(1, 70)):
            stream = chance.choice(self.streams)
            seq = next_seq[stream]
            next_seq[stream] += 1
            t += chance.randint(1_000, 40_000)
            message = self._message(stream, seq, t, Result.UNKNOWN if all_unknown else self._code())
            messages.append(message)
            attempts = chance.choice((1, 1, 1, 1, 2, 4)) if message.code != Result.OK else 1
            for attempt in range(attempts):
                self.packed.attempts.append(
                    Attempt(stream, seq, message.key, t + attempt, 10, message.crc, attempt, message.due)
                )
            code = message.code
            place = message.place if code == Result.OK else (NONE, NONE, NONE)
            outcomes[stream].append(Outcome(stream, seq, *place, t + 5_000, code, attempts - 1))
            t += attempts
        for rows in outcomes.values():
            self._swap(rows)
            self.packed.outcomes += [row._replace(ord=ord_) for row, ord_ in zip(rows, of_outcomes(rows), strict=True)]
        return messages

    def _code(self) -> int:
        return self.chance.choices((Result.OK, Result.FAIL, Result.UNKNOWN), (90, 5, 5))[0]

    def _message(self, stream: int, seq: int, t: int, code: int) -> _Message:
        chance = self.chance
        self.entry += 1
        is_stored = code == Result.OK or (code == Result.UNKNOWN and chance.random() < 0.5)
        if code == Result.FAIL and self.hit("failed_stored", 0.4):
            is_stored = True
        if code == Result.OK and self.hit("ok_unstored"):
            is_stored = False
        key = chance.choice([NONE, *self.keys])
        due = t + chance.randint(0, 300_000) if chance.random() < 0.05 else None
        if due is not None:
            # Later messages of its key would rightly overtake it.
            key = NONE
        crc = chance.getrandbits(32) - (1 << 31)
        return _Message(stream, seq, key, crc, t, code, (7, self.entry, NONE), is_stored, due)

    def _swap(self, rows: list[Outcome]) -> None:
        if "stored_disorder" in self.defects and len(rows) > 1:
            at = self.chance.randrange(len(rows) - 1)
            one, other = rows[at], rows[at + 1]
            rows[at] = one._replace(ledger=other.ledger, entry=other.entry)
            rows[at + 1] = other._replace(ledger=one.ledger, entry=one.entry)

    def _store(self, messages: list[_Message]) -> None:
        if not self.topic.read_back and self.chance.random() < 0.5:
            return
        if "log_disorder" in self.defects and len(messages) > 1:
            one, other = self.chance.sample(messages, 2)
            one.place, other.place = other.place, one.place
        for message in messages:
            if not message.is_stored:
                continue
            copies = 2 if self.hit("stored_twice") else 1
            chunks = self.chance.choice((1,) * 9 + (3,))
            for copy in range(copies):
                for chunk in range(chunks):
                    if chunks > 1 and self.hit("chunk_missing", 0.2):
                        continue
                    ledger, entry, batch = message.place
                    self.packed.stored.append(
                        Stored(
                            message.stream,
                            message.seq,
                            ledger,
                            entry + 10_000 * copy,
                            batch,
                            chunk,
                            chunks,
                            message.crc,
                        )
                    )

    # --- receiving --------------------------------------------------------------------------------------------------

    def _subscribe(self, sub: int, messages: list[_Message], restart: bool) -> None:
        chance = self.chance
        kind = chance.choice(TYPES)
        self.packed.add(
            "subscription",
            Subscription(
                sub,
                f"sub-{sub}",
                kind,
                str(self.number),
                whole=int(chance.random() < 0.9),
                nack_delay=chance.choice((NONE, NACK_DELAY_US)),
                max_redeliv=chance.choice((NONE, 5)),
            ),
        )
        consumers = [sub * 2 + one for one in range(1 if kind == "Exclusive" else chance.randint(1, 2))]
        joined = self._joined(kind, consumers, messages)
        given = self._given(kind, consumers, messages, joined)
        if restart:
            given = self._restarted(sub, given)
        left_at = None
        if given and len(consumers) == 1 and chance.random() < 0.3:
            given, left_at = self._handed_on(given, sub * 2 + 1)
            self.packed.add("consumer", Consumer(sub * 2 + 1, sub, f"consumer-{sub * 2 + 1}", t_from=left_at))
        for consumer in consumers:
            came_us = CAME_US if joined is None or consumer == consumers[0] else joined
            self.packed.add("consumer", Consumer(consumer, sub, f"consumer-{consumer}", t_from=came_us, t_to=left_at))
        self._certify(sub, given, {(m.stream, m.seq): m.due for m in messages if m.due is not None})

    def _joined(self, kind: str, consumers: list[int], messages: list[_Message]) -> int | None:
        """When the second consumer of a key's subscription comes, if the first one was alone for a while."""
        if kind != "Key_Shared" or len(consumers) < 2 or self.chance.random() < 0.5:
            return None
        return self.chance.choice(messages).t

    def _given(
        self, kind: str, consumers: list[int], messages: list[_Message], joined: int | None = None
    ) -> list[_Given]:
        chance, given = self.chance, list[_Given]()
        active = consumers[0]
        for message in messages:
            if not message.is_stored or self.hit("lost"):
                continue
            if kind in ("Shared", "Key_Shared"):
                slot = message.key if kind == "Key_Shared" else chance.getrandbits(8)
                active = consumers[(slot + self.hit("key_moved")) % len(consumers)]
                if joined is not None and message.t < joined:
                    active = consumers[0]
            t = message.t + 8_000
            if message.due is not None and kind in ("Shared", "Key_Shared") and not self.hit("before_time", 0.5):
                t = max(t, message.due)
            if kind == "Key_Shared" and message.key != NONE and self.hit("overtaken", 0.2):
                t += 300_000
            given += self._lives(active, message, t)
            if self.hit("phantom"):
                ghost = _Message(
                    message.stream, message.seq + 100 + chance.randrange(99), NONE, 1, t, 0, (7, 1, 0), True, None
                )
                given.append(_Given(active, ghost, t + 1, 0, t + 2, AckKind.ACK))
        given.sort(key=lambda one: one.t)
        if "disorder" in self.defects and len(given) > 1:
            for _ in range(chance.randint(1, 2)):
                at = chance.randrange(len(given) - 1)
                one, other = given[at], given[at + 1]
                one.message, other.message = other.message, one.message
        if "key_disorder" in self.defects:
            self._swap_of_a_key(given)
        return given

    def _swap_of_a_key(self, given: list[_Given]) -> None:
        """Two messages of one stream and key, which one consumer gets for the first time."""
        of_key: dict[tuple[int, int, int], list[_Given]] = {}
        for one in given:
            if one.message.key != NONE and not one.redeliv and one.said == AckKind.ACK:
                of_key.setdefault((one.consumer, one.message.stream, one.message.key), []).append(one)
        several = [same for same in of_key.values() if len(same) > 1]
        if several:
            one, other = self.chance.choice(several)[:2]
            one.message, other.message = other.message, one.message

    def _handed_on(self, given: list[_Given], heir: int) -> tuple[list[_Given], int]:
        """The consumer leaves behind its last message; what it had not acknowledged goes to the next one."""
        left_at = max(max(one.t, one.said_at or 0) for one in given) + 1_000
        again = list[_Given]()
        jumbled = "left_disorder" in self.defects
        for one in sorted(given, key=lambda one: one.message.t, reverse=jumbled):
            if one.said == AckKind.ACK and self.chance.random() < (0.5 if jumbled else 0.1):
                one.said = one.said_at = None
                if not self.hit("forgotten", 0.5):
                    t = left_at + 1_000 + len(again)
                    again.append(_Given(heir, one.message, t, int(jumbled), t + 1_000, AckKind.ACK))
        return [*given, *again], left_at

    def _lives(self, consumer: int, message: _Message, t: int) -> list[_Given]:
        """One message's deliveries, with what was said of each."""
        chance, lives = self.chance, list[_Given]()
        redeliv = 0
        while redeliv < 2 and chance.random() < 0.1:
            lives.append(_Given(consumer, message, t, redeliv, t + 100, AckKind.NACK))
            t += 100 + NACK_DELAY_US + chance.randint(0, 50_000)
            if self.hit("too_early", 0.5):
                t -= chance.choice((NACK_DELAY_US, 60_000))
            redeliv += 0 if self.hit("not_counted", 0.5) else 1
        said = None if self.hit("left") else AckKind.ACK
        if lives and self.hit("never_again", 0.5):
            return lives
        last = _Given(consumer, message, t, redeliv, None if said is None else t + 300, said)
        last.corrupt = self.hit("corrupt")
        lives.append(last)
        if self.hit("twice"):
            lives.append(_Given(consumer, message, t + chance.randint(0, 30_000), 0, t + 40_000, AckKind.ACK))
        if self.hit("acked_again"):
            lives.append(_Given(consumer, message, t + 90_000, redeliv + 1, t + 91_000, AckKind.ACK))
        if self.hit("too_often"):
            lives.append(_Given(consumer, message, t + 95_000, 9, t + 96_000, AckKind.ACK))
        return lives

    def _restarted(self, sub: int, given: list[_Given]) -> list[_Given]:
        """A kill in the middle; what it may do, and what it must not."""
        if not given:
            return given
        at = self.chance.choice(given).t
        self.packed.add("epoch", Epoch(sub, "kill", "broker 0", at, at + 20_000, 1, sub))
        again = [
            _Given(one.consumer, one.message, at + 50_000 + place, 0, at + 60_000 + place, AckKind.ACK)
            for place, one in enumerate(given)
            if one.said == AckKind.ACK and one.said_at is not None and one.t < at and self.hit("outlived", 0.1)
        ]
        return sorted([*given, *again], key=lambda one: one.t)

    def _certify(self, sub: int, given: list[_Given], due: dict[tuple[int, int], int]) -> None:
        by_consumer: dict[int, list[_Given]] = {}
        for one in given:
            by_consumer.setdefault(one.consumer, []).append(one)
        cumulative = self.chance.random() < 0.2
        for consumer, own in by_consumer.items():
            deliveries = [_delivery(sub, consumer, pos, one) for pos, one in enumerate(own)]
            acks = [ack for one in own for ack in _acks(sub, consumer, one, cumulative)]
            certified = of_consumer(deliveries, acks, due)
            self.packed.deliveries += [
                row._replace(**told._asdict()) for row, told in zip(deliveries, certified, strict=True)
            ]
            self.packed.acks += acks


@dataclass
class _Given:
    consumer: int
    message: _Message
    t: int
    redeliv: int
    said_at: int | None
    said: int | None
    corrupt: bool = False


def _delivery(sub: int, consumer: int, pos: int, one: _Given) -> Delivery:
    message = one.message
    return Delivery(
        sub,
        consumer,
        pos,
        message.stream,
        message.seq,
        message.key,
        *message.place,
        one.redeliv,
        one.t,
        message.crc ^ 1 if one.corrupt else message.crc,
        ok=Integrity.BAD if one.corrupt else Integrity.GOOD,
    )


def _acks(sub: int, consumer: int, one: _Given, cumulative: bool) -> list[Ack]:
    if one.said is None or one.said_at is None:
        return []
    kind = AckKind.COVERED if cumulative and one.said == AckKind.ACK else one.said
    message = one.message
    return [Ack(sub, consumer, message.stream, message.seq, *message.place, kind, one.said_at, one.said_at + 100)]


DEFECTS = (
    "acked_again",
    "before_time",
    "chunk_missing",
    "corrupt",
    "disorder",
    "failed_stored",
    "forgotten",
    "key_disorder",
    "key_moved",
    "left",
    "left_disorder",
    "log_disorder",
    "lost",
    "never_again",
    "not_counted",
    "ok_unstored",
    "outlived",
    "overtaken",
    "phantom",
    "stored_disorder",
    "stored_twice",
    "too_early",
    "too_often",
    "twice",
)
Draw = Callable[[int], Packed]
