"""One world of a made-up ledger: its producers, topics and consumers, every row of them known in closed form.

A ledger of any size is worlds side by side, each with streams, topics and consumers of its own and one part a table. So
a part is made from its number alone: by any process, in any order, again after a kill, always to the same bytes.

A world sends in *rounds*: in round q each of its 16 streams sends its message q, one after the other. Keys go round
with a period of 50, so each certificate follows from q. What a healthy run holds besides sits at set remainders of q,
and never where anomalies are put (`GUARD`):

- q % 50 == 8, without a key: a send that ends unknown (stored or not), surely fails, or is sent again and deduplicated
- q % 50 in (20, 21): refused on the Key_Shared subscription, and delivered again
- q % 50 == 30 on the fourth topic: sent in three chunks
- in the middle, the Failover subscription is taken over by another consumer, which gets the last 20 rounds again
- a seventeenth stream sends messages that are to be delivered two seconds later
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np

STREAMS = 16
TOPICS = 4
KEYS = 50
KEYLESS = 8
DEDUP_TOPICS = (0, 1)
BATCHED_TOPICS = 2
"""The first ones hold batches of ten."""
CHUNK_TOPIC = 3
PERIOD = 300
"""Rounds between places for anomalies."""
PLACE = 150
GUARD = range(PLACE - 10, PLACE + 110)
"""Rounds of a period in which nothing but the ordinary happens, unless an anomaly is put there."""
AGAIN_ROUNDS = 20
"""Rounds that a cumulative acknowledgment covers, and that come again when a consumer takes over."""
DURATION_US = 60_000_000
DELAY_US = 2_000_000
NACK_US = 1_000_000
PAUSE_US = 2_000
COMES_AGAIN_US = NACK_US + PAUSE_US + 1
"""After a refusal; between two rounds, where no ordinary delivery is."""
RESTART_US = DURATION_US * 3 // 4
EPOCHS_US = ((DURATION_US // 4, DURATION_US // 4 + 5_000_000), (RESTART_US, RESTART_US + 1_000))
"""When something is done to the run: the network is slow; a broker is killed."""
ENTRIES = 30_000
SIZE = 128

TO_BROKER_US = 2_000
TO_CONSUMER_US = 3_000

FAILOVER, KEY_SHARED = 0, 1
"""The two subscriptions."""
MIX_CONSUMERS = 6
FIRST, SECOND, EVEN, ODD, LATER, LATER_SHARED = range(MIX_CONSUMERS)
LATER_STREAM = STREAMS


class Special(IntEnum):
    """What happens to a message besides being sent, stored, delivered and acknowledged."""

    NONE = 0
    UNKNOWN_LOST = 1
    UNKNOWN_STORED = 2
    FAILED = 3
    RESENT = 4
    REFUSED = 5
    CHUNKED = 6


@dataclass(frozen=True)
class World:
    """`messages` of it; `mix`: with all that healthy runs hold. Streams are numbered s, rounds q, from 0."""

    number: int
    messages: int
    seed: int
    mix: bool
    gone: dict[int, list[int]] = field(default_factory=dict)
    """Consumer -> places among its deliveries that anomalies took away; those are counted in no `pos`."""
    came: dict[int, list[int]] = field(default_factory=dict)
    """Consumer -> times of the deliveries that anomalies gave it."""

    @property
    def streams(self) -> int:
        return STREAMS + self.mix

    @property
    def consumers(self) -> int:
        return MIX_CONSUMERS if self.mix else 1

    @property
    def later(self) -> int:
        """Return the number of messages of the stream of delayed messages."""
        return self.messages // 17 if self.mix else 0

    @property
    def ranked(self) -> int:
        """Return the number of messages of the other streams: those whose rank q * 16 + s is below it."""
        return self.messages - self.later

    @property
    def rounds(self) -> int:
        return -(-self.ranked // STREAMS)

    @property
    def spacing_us(self) -> int:
        return max(2, DURATION_US // max(1, self.ranked))

    @property
    def takeover(self) -> int:
        """Return the first round of the second consumer; a round far behind the last one if no consumer takes over."""
        return (self.rounds // 2 // PERIOD * PERIOD if self.mix else 0) or 1 << 32

    @property
    def takes_over(self) -> bool:
        return self.takeover < self.rounds

    def stream(self, s: Any) -> Any:
        return self.number * self.streams + s

    def topic(self, s: Any) -> Any:
        return self.number * (TOPICS + self.mix) + np.where(s == LATER_STREAM, TOPICS, s % TOPICS)

    def consumer(self, one: Any) -> Any:
        return self.number * self.consumers + one

    # --- what is drawn for a message ---

    def noise(self, s: Any, q: Any) -> Any:
        """Return 64 bits that belong to the message: splitmix64 over stream, seq and seed."""
        z = (np.asarray(self.stream(s)).astype(np.uint64) << np.uint64(40)) ^ np.asarray(q).astype(np.uint64)
        z = z + np.uint64((self.seed * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) & 0xFFFF_FFFF_FFFF_FFFF)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))

    def special(self, s: Any, q: Any, noise: Any) -> Any:
        """Return a `Special` for each message."""
        if not self.mix:
            return np.zeros(np.broadcast(s, q).shape, np.int8)
        turn = q % PERIOD
        free = (turn < GUARD.start) | (turn >= GUARD.stop)
        free &= np.abs(q - self.takeover) > 2 * AGAIN_ROUNDS
        at = q % KEYS
        drawn = ((noise >> np.uint64(44)) % np.uint64(20)).astype(np.int8)
        topic = s % TOPICS
        found = np.where((at == KEYLESS) & (drawn < 4), drawn + 1, 0)
        found = np.where((found == Special.RESENT) & (topic > max(DEDUP_TOPICS)), Special.UNKNOWN_STORED, found)
        found = np.where(((at == 20) | (at == 21)) & (drawn < 4), Special.REFUSED, found)
        found = np.where((at == 30) & (topic == CHUNK_TOPIC) & (drawn < 5), Special.CHUNKED, found)
        return np.where(free & (s < STREAMS), found, 0).astype(np.int8)

    def crc(self, noise: Any) -> Any:
        return noise.astype(np.int32)

    def key(self, q: Any) -> Any:
        at = q % KEYS
        return np.where(at == KEYLESS, -1, at)

    # --- times ---

    def rank(self, s: Any, q: Any) -> Any:
        return q * STREAMS + np.where(s == LATER_STREAM, 0, s)

    def sent_at(self, s: Any, q: Any, noise: Any) -> Any:
        spread = np.uint64(max(1, self.spacing_us // 2))
        return self.rank(s, q) * self.spacing_us + ((noise >> np.uint64(20)) % spread).astype(np.int64)

    def confirmed_at(self, s: Any, q: Any, noise: Any) -> Any:
        spread = np.uint64(self.spacing_us * STREAMS // 2)
        late = ((noise >> np.uint64(32)) % spread).astype(np.int64)
        return self.rank(s, q) * self.spacing_us + self.spacing_us + TO_BROKER_US + late

    def delivered_at(self, s: Any, q: Any) -> Any:
        later = np.where(s == LATER_STREAM, DELAY_US + self.spacing_us, 0)
        pause = np.where((q >= self.takeover) & (s < STREAMS), PAUSE_US, 0)
        return self.rank(s, q) * self.spacing_us + TO_CONSUMER_US + later + pause

    @property
    def taken_over_at(self) -> int:
        """Return when, in µs, the first consumer has left and the second one gets what it had not acknowledged."""
        return int(self.delivered_at(STREAMS - 1, self.takeover - 1)) + 10

    def covered_at(self, q: Any) -> Any:
        """Return when, in µs, the cumulative acknowledgment that covers this round was called."""
        last = np.minimum(q // AGAIN_ROUNDS * AGAIN_ROUNDS + AGAIN_ROUNDS - 1, self.rounds - 1)
        at = self.delivered_at(STREAMS - 1, last) + 100
        left = (q >= self.takeover - AGAIN_ROUNDS) & (q < self.takeover)
        return np.where(left, self.taken_over_at + AGAIN_ROUNDS * STREAMS + 100, at)

    # --- places in the log ---

    def entries(self, s: Any, q: Any) -> tuple[Any, Any, Any]:
        """Return ledger, entry and batch index of messages; -1 is the batch index of an unbatched one."""
        at = q * (STREAMS // TOPICS) + s // TOPICS
        later, chunks = s == LATER_STREAM, s % TOPICS == CHUNK_TOPIC
        batched = (s % TOPICS < BATCHED_TOPICS) & (s < STREAMS)
        entry = np.where(later, q, np.where(chunks, at * 3 + 2, np.where(batched, at // 10, at)))
        batch = np.where(batched, at % 10, -1)
        return 1000 + np.asarray(self.topic(s)).astype(np.int64) * 1000 + entry // ENTRIES, entry % ENTRIES, batch

    # --- certificates and positions ---

    def of_failover(self, s: Any, q: Any) -> Any:
        if not self.mix:
            return np.zeros_like(q)
        return np.where(s == LATER_STREAM, LATER, np.where(q < self.takeover, FIRST, SECOND))

    def of_key_shared(self, s: Any, q: Any) -> Any:
        return np.where(s == LATER_STREAM, LATER_SHARED, np.where(q % 2 == 0, EVEN, ODD))

    def kgap(self, one: Any, q: Any) -> Any:
        """Return the column `kgap` of ordinary first deliveries to consumer `one`.

        The first round of its subscription is 0, but for the second consumer.
        """
        since = np.where(one == SECOND, self.takeover - AGAIN_ROUNDS, 0) if self.mix else 0
        return np.where(q % KEYS == KEYLESS, 1, np.where(q - KEYS < since, q + 1, KEYS))

    @cached_property
    def lacking(self) -> Any:
        """Return the ranks of the messages that are never stored, sorted."""
        return self._ranks(KEYLESS, (Special.UNKNOWN_LOST, Special.FAILED))

    @cached_property
    def refused(self) -> dict[int, Any]:
        """Return by consumer of the Key_Shared subscription the ranks of the messages that it nacks, sorted."""
        return {EVEN: self._ranks(20, (Special.REFUSED,)), ODD: self._ranks(21, (Special.REFUSED,))}

    def _ranks(self, remainder: int, kinds: tuple[Special, ...]) -> Any:
        if not self.mix:
            return np.zeros(0, np.int64)
        rounds = np.arange(remainder, self.rounds, KEYS)
        q: Any = np.repeat(rounds, STREAMS)
        s: Any = np.tile(np.arange(STREAMS), len(rounds))
        found = np.isin(self.special(s, q, self.noise(s, q)), [int(kind) for kind in kinds])
        ranks = self.rank(s, q)[found]
        return ranks[ranks < self.ranked]

    @cached_property
    def again_at(self) -> dict[int, Any]:
        """Return by consumer when, in µs, it gets each message of `refused` again; the times are sorted, too."""
        return {one: self._again_at(ranks) for one, ranks in self.refused.items()}

    def _again_at(self, ranks: Any) -> Any:
        return self.delivered_at(ranks % STREAMS, ranks // STREAMS) + 100 + COMES_AGAIN_US

    def position(self, one: Any, s: Any, q: Any) -> Any:
        """Return `pos` of ordinary deliveries to consumer number `one`, a scalar, in the order of time."""
        place = self.place(one, s, q)
        place = place - np.searchsorted(self._missing(one), place, "left")
        return place + np.searchsorted(self._extra_times(one), self.delivered_at(s, q), "right") + self._head(one)

    def position_at(self, one: int, t: Any) -> Any:
        """Return `pos` of a delivery at time t, in µs, that is not ordinary."""
        before = self._places_before(one, t)
        before -= np.searchsorted(self._missing(one), before, "left")
        return before + np.searchsorted(self._extra_times(one), t, "left") + self._head(one)

    def _head(self, one: int) -> int:
        return AGAIN_ROUNDS * STREAMS if self.mix and one == SECOND else 0

    def position_left(self, place: Any) -> Any:
        """Return `pos` at the second consumer of delivery number `place` of those that the first one had left."""
        return place - np.searchsorted(self._missing(SECOND), place - self._head(SECOND), "left")

    def place(self, one: int, s: Any, q: Any) -> Any:
        """Return which ordinary delivery of the consumer this would be if none were missing, from 0.

        What the second consumer gets again is before the first of them, and has negative places.
        """
        if one in (LATER, LATER_SHARED):
            return q + 0
        if one in (EVEN, ODD):
            return q // 2 * STREAMS + s
        return self.rank(s, q) - (self.takeover * STREAMS if one == SECOND else 0)

    def _places_before(self, one: int, t: Any) -> Any:
        if one in (LATER, LATER_SHARED):
            return -(-(t - TO_CONSUMER_US - DELAY_US - self.spacing_us) // (self.spacing_us * STREAMS))
        early = -(-(t - TO_CONSUMER_US) // self.spacing_us)
        late = -(-(t - TO_CONSUMER_US - PAUSE_US) // self.spacing_us)
        turn = self.takeover * STREAMS
        rank = np.clip(np.maximum(np.minimum(early, turn), late), 0, self.ranked)
        if one in (EVEN, ODD):
            odd = one == ODD
            q, s = rank // STREAMS, rank % STREAMS
            return (q + 1 - odd) // 2 * STREAMS + np.where(q % 2 == odd, s, 0)
        return np.maximum(rank - turn, 0) if one == SECOND else rank

    def _missing(self, one: int) -> Any:
        return self._of_consumers[one][0]

    def _extra_times(self, one: int) -> Any:
        return self._of_consumers[one][1]

    @cached_property
    def _of_consumers(self) -> dict[int, tuple[Any, Any]]:
        found = {}
        for one in range(self.consumers):
            ranks: Any = self.lacking if one < LATER else np.zeros(0, np.int64)
            s: Any = ranks % STREAMS
            q: Any = ranks // STREAMS
            whose = self.of_key_shared(s, q) if one in (EVEN, ODD) else self.of_failover(s, q)
            places = self.place(one, s, q)[whose == one]
            gone = np.array(self.gone.get(one, []), np.int64)
            times = [np.array(self.came.get(one, []), np.int64), self.again_at.get(one, np.zeros(0, np.int64))]
            found[one] = np.sort(np.concatenate([places, gone])), np.sort(np.concatenate(times))
        return found
