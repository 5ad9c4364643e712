"""Which consumer of a Key_Shared subscription has a key.

AUTO_SPLIT: a ring of consistent hashing, 100 points a consumer, each the hash of the consumer's name, its number among
those of the same name, and the point's number (ConsistentHashingStickyKeyConsumerSelector of 4.0; place 0 is reserved).
STICKY: the ranges the consumers ask for; a place in none of them has no consumer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from functools import lru_cache

from assay_conformance.broker.consumer import Consumer
from assay_conformance.broker.rules import RING_POINTS, RefusalError
from assay_conformance.wire import STICKY_RANGE, murmur3_32
from assay_conformance.wire.pulsar_pb2 import KeySharedMeta, KeySharedMode, ServerError


class Selector(ABC):
    """`hash` is that of the key, without its sign bit."""

    @abstractmethod
    def add(self, consumer: Consumer) -> None:
        """Add a consumer, beside which no holder stands."""

    @abstractmethod
    def remove(self, consumer: Consumer) -> None: ...

    @abstractmethod
    def holder(self, consumer: Consumer) -> Consumer | None:
        """Return the consumer that has what this one asks for. Raises RefusalError for invalid ranges."""

    @abstractmethod
    def select(self, hash: int) -> Consumer | None: ...


class Ring(Selector):
    """Of the consumers at one point the first that came has it."""

    def __init__(self) -> None:
        self._points: list[int] = []
        self._at: dict[int, list[Consumer]] = {}
        self._numbers: dict[Consumer, int] = {}

    def add(self, consumer: Consumer) -> None:
        taken = {number for known, number in self._numbers.items() if known.name == consumer.name}
        self._numbers[consumer] = next(number for number in range(len(taken) + 1) if number not in taken)
        for point in self._points_of(consumer):
            if point not in self._at:
                insort(self._points, point)
            self._at.setdefault(point, []).append(consumer)

    def remove(self, consumer: Consumer) -> None:
        for point in self._points_of(consumer):
            self._at[point].remove(consumer)
            if not self._at[point]:
                del self._at[point]
                del self._points[bisect_left(self._points, point)]
        del self._numbers[consumer]

    def holder(self, _consumer: Consumer) -> Consumer | None:
        return None

    def select(self, hash: int) -> Consumer | None:
        if not self._points:
            return None
        slot = bisect_left(self._points, _place(hash))
        return self._at[self._points[slot % len(self._points)]][0]

    def _points_of(self, consumer: Consumer) -> tuple[int, ...]:
        return _points(consumer.name, self._numbers[consumer])


@lru_cache(maxsize=1024)
def _points(name: str, number: int) -> tuple[int, ...]:
    """Return the points of a consumer on the ring, which are asked for when it comes and again when it goes."""
    prefix = f"{name}\0{number}\0"
    return tuple(_place(murmur3_32(f"{prefix}{index}".encode())) for index in range(RING_POINTS))


class Ranges(Selector):
    """Both ends of a range belong to it."""

    def __init__(self) -> None:
        self._taken: dict[Consumer, list[tuple[int, int]]] = {}

    def add(self, consumer: Consumer) -> None:
        self._taken[consumer] = _wanted(consumer)

    def holder(self, consumer: Consumer) -> Consumer | None:
        wanted = _wanted(consumer)
        for known, ranges in self._taken.items():
            if any(start <= other_end and other <= end for start, end in wanted for other, other_end in ranges):
                return known
        return None

    def remove(self, consumer: Consumer) -> None:
        del self._taken[consumer]

    def select(self, hash: int) -> Consumer | None:
        place = hash % STICKY_RANGE
        for consumer, ranges in self._taken.items():
            if any(start <= place <= end for start, end in ranges):
                return consumer
        return None


def _wanted(consumer: Consumer) -> list[tuple[int, int]]:
    wanted = [(part.start, part.end) for part in consumer.key_shared.hashRanges]
    if not wanted:
        raise RefusalError(ServerError.ConsumerAssignError, "Ranges for KeyShared policy must not be empty.")
    if any(start > end for start, end in wanted):
        raise RefusalError(ServerError.ConsumerAssignError, "Fixed hash range start > end")
    return wanted


def selector(meta: KeySharedMeta) -> Selector:
    return Ranges() if meta.keySharedMode == KeySharedMode.STICKY else Ring()


def _place(hash: int) -> int:
    return hash % (STICKY_RANGE - 1) + 1
