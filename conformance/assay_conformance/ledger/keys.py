"""Which consumer had a key when, and in which order several of a Key_Shared subscription got its messages.

A key may be handed on for a while after a consumer attached: what its former consumer has in its queue is delivered
late, and the next one gets it only then. So one turn after the other proves nothing; while no consumer attached or
left and no fault acted, turns that overlap do. And whichever consumer comes or goes, none gets a message of a key
before another one has got all that was sent before it: a certificate shows that of one consumer, and here it is judged
across them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, groupby
from typing import TYPE_CHECKING, NamedTuple

from assay_conformance.ledger.info import LedgerInfo, Order
from assay_conformance.ledger.rows import Consumer, Delivery, Subscription
from assay_conformance.ledger.tables import NONE, Again

if TYPE_CHECKING:
    from assay_conformance.ledger.collection import Small

KEYED_TYPE = "Key_Shared"
MOST_MOVED = 1_000
"""Keys that are reported, and messages that were overtaken; a ledger with more of them has said enough."""

_LEAST_US, _MOST_US = -(1 << 62), 1 << 62


class Calm(NamedTuple):
    """A time in which a subscription's keys stay where they are; both ends belong to it."""

    sub: int
    number: int
    from_us: int
    to_us: int


class Turn(NamedTuple):
    """First deliveries of a key of a topic to one consumer, in one calm time."""

    sub: int
    topic: int
    key: int
    calm: int
    consumer: int
    n: int
    first_us: int
    last_us: int


class Moved(NamedTuple):
    """A key that two consumers had at once: `other` got message `seq` of `stream` as its first one of the key, when
    `turn` had begun and was not over."""

    turn: Turn
    other: Turn
    stream: int
    seq: int


class Place(NamedTuple):
    """A time at which a consumer got something of a key."""

    sub: int
    topic: int
    key: int
    consumer: int
    t: int


class Crew(NamedTuple):
    """A time in which a subscription's consumers were the same; both ends belong to it."""

    sub: int
    number: int
    from_us: int
    to_us: int


class Overtaken(NamedTuple):
    """`consumer` got message `seq` for the first time at `t`; another one had got the later message `by_seq` of its
    stream and key before, at `by_t`."""

    sub: int
    stream: int
    seq: int
    key: int
    consumer: int
    t: int
    by_seq: int
    by_t: int
    by_consumer: int


def _shared_by_key(small: Small) -> Iterator[tuple[Subscription, list[Consumer]]]:
    """Yield Key_Shared subscriptions that have had several consumers."""
    of_sub: dict[int, list[Consumer]] = {}
    for one in small.consumers.values():
        of_sub.setdefault(one.sub, []).append(one)
    for subscription in small.subscriptions.values():
        mine = of_sub.get(subscription.sub, [])
        if subscription.type == KEYED_TYPE and len(mine) > 1:
            yield subscription, mine


def crews(small: Small, info: LedgerInfo) -> tuple[Crew, ...]:
    """Return the consumers of every Key_Shared subscription that keeps order and has had several."""
    found: list[Crew] = []
    for subscription, mine in _shared_by_key(small) if info.order is not Order.NONE else ():
        cuts = sorted({t for one in mine for t in (one.t_from, one.t_to) if t is not None})
        ends = zip([_LEAST_US, *cuts], [*(cut - 1 for cut in cuts), _MOST_US], strict=True)
        found += (Crew(subscription.sub, number, *end) for number, end in enumerate(ends))
    return tuple(found)


def in_turn(row: Delivery) -> bool:
    """Return whether a delivery has its place in the order of its key. What has a time is delivered by that."""
    return counts(row) and row.wait is None


def overtaken(deliveries: Iterable[Delivery], small: Small, info: LedgerInfo) -> tuple[Overtaken, ...]:
    """Return the first messages that were overtaken.

    What one consumer got in disorder is not among them: its certificates say so.
    """
    subs = {one.sub for one in crews(small, info)}
    first: dict[tuple[int, int, int], dict[int, tuple[int, int]]] = {}
    for row in deliveries:
        if row.sub in subs and in_turn(row):
            came = (row.t, row.consumer)
            of_key = first.setdefault((row.sub, row.stream, row.key), {})
            of_key[row.seq] = min(came, of_key.get(row.seq, came))
    found = []
    for (sub, stream, key), messages in first.items():
        furthest = (-1, 0, NONE)
        for t, seq, consumer in sorted((t, seq, consumer) for seq, (t, consumer) in messages.items()):
            if seq < furthest[0] and consumer != furthest[2]:
                found.append(Overtaken(sub, stream, seq, key, consumer, t, *furthest))
            furthest = max(furthest, (seq, t, consumer))
    return tuple(sorted(found)[:MOST_MOVED])


def calms(small: Small, info: LedgerInfo) -> tuple[Calm, ...]:
    """Return the calm times of every Key_Shared subscription with several consumers."""
    found: list[Calm] = []
    for subscription, mine in _shared_by_key(small):
        sub = subscription.sub
        changes = [(t, t) for one in mine for t in (one.t_from, one.t_to) if t is not None]
        changes += [
            (one.t_from, _MOST_US if one.t_to is None else one.t_to)
            for one in small.epochs.values()
            if one.sub in (NONE, sub)
        ]
        begin_us = _LEAST_US
        for from_us, to_us in sorted(changes):
            if begin_us < from_us:
                found.append(Calm(sub, len(found), begin_us, from_us - 1))
            begin_us = max(begin_us, to_us + info.settle_us + 1)
        if begin_us < _MOST_US:
            found.append(Calm(sub, len(found), begin_us, _MOST_US))
    return tuple(found)


def counts(row: Delivery) -> bool:
    """Return whether a delivery says whose its key is. A batch goes where the first key in it belongs."""
    return row.key != NONE and row.batch == NONE and not row.redeliv and row.again == Again.FIRST


def turns(deliveries: Iterable[Delivery], small: Small, info: LedgerInfo) -> tuple[Turn, ...]:
    """Return every turn, sorted."""
    calm: dict[int, list[Calm]] = {}
    for one in calms(small, info):
        calm.setdefault(one.sub, []).append(one)
    if not calm:
        return ()
    found: dict[tuple[int, int, int, int, int], list[int]] = {}
    for row in deliveries:
        if row.sub in calm and counts(row):
            for one in calm[row.sub]:
                if one.from_us <= row.t <= one.to_us:
                    topic = small.streams[row.stream].topic
                    found.setdefault((row.sub, topic, row.key, one.number, row.consumer), []).append(row.t)
    return tuple(sorted(Turn(*place, len(times), min(times), max(times)) for place, times in found.items()))


def kept(all_turns: Iterable[Turn]) -> int:
    """Return the number of keys of which a second message shows whether they stay, in each calm time."""
    return sum(sum(turn.n for turn in same) > 1 for _, same in groupby(all_turns, _key))


def crossing(all_turns: Iterable[Turn]) -> list[tuple[Turn, Turn]]:
    """Return of each key the first two turns of which one began while the other was not over."""
    found = []
    for _, same in groupby(all_turns, _key):
        ordered = sorted(same, key=lambda turn: (turn.first_us, turn.consumer))
        crossed = next(((one, other) for one, other in combinations(ordered, 2) if other.first_us < one.last_us), None)
        if crossed is not None:
            found.append(crossed)
    return found[:MOST_MOVED]


def moved(pairs: Iterable[tuple[Turn, Turn]], firsts: Mapping[Place, tuple[int, int]]) -> tuple[Moved, ...]:
    """Return each pair with the first message (stream, seq) of its second turn."""
    return tuple(sorted(Moved(*pair, *firsts[first(pair[1])]) for pair in pairs))


def firsts(
    deliveries: Iterable[Delivery], small: Small, pairs: Iterable[tuple[Turn, Turn]]
) -> dict[Place, tuple[int, int]]:
    """Return the least message (stream, seq) with which each second turn began; it is among these deliveries."""
    wanted = {first(other) for _, other in pairs}
    if not wanted:
        return {}
    found: dict[Place, tuple[int, int]] = {}
    for row in deliveries:
        if counts(row):
            place = (row.sub, small.streams[row.stream].topic, row.key, row.consumer, row.t)
            if place in wanted:
                message = (row.stream, row.seq)
                begun = Place(*place)
                found[begun] = min(message, found.get(begun, message))
    return found


def first(turn: Turn) -> Place:
    """Return where a turn began."""
    return Place(turn.sub, turn.topic, turn.key, turn.consumer, turn.first_us)


def _key(turn: Turn) -> tuple[int, ...]:
    return turn[:4]
