"""What the rules are given: the rows to look at, the small tables, and sums over all rows."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from enum import StrEnum
from operator import attrgetter
from typing import NamedTuple

from assay_conformance.ledger import keys, log
from assay_conformance.ledger.clauses import CLAUSES, KEEPS_KEYS, ORDER, TALLIES, Covering, Restart, Scope, scope
from assay_conformance.ledger.info import LedgerInfo
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
from assay_conformance.ledger.spans import Spans, quantile, spans
from assay_conformance.ledger.tables import NONE, AckKind, Result
from assay_conformance.ledger.words import EMPTY, Bucket, Words, both, fold

US_PER_S = 1_000_000

Message = tuple[int, int]
"""(stream, seq)"""


class Rows(NamedTuple):
    """Rows of the five tables that come in parts: all of a ledger, or those of some buckets."""

    attempts: tuple[Attempt, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    deliveries: tuple[Delivery, ...] = ()
    acks: tuple[Ack, ...] = ()
    stored: tuple[Stored, ...] = ()

    def __bool__(self) -> bool:
        return any(table for table in self)


class Small(NamedTuple):
    """The small tables, by number."""

    streams: Mapping[int, Stream] = {}
    topics: Mapping[int, Topic] = {}
    keys: Mapping[int, Key] = {}
    subscriptions: Mapping[int, Subscription] = {}
    consumers: Mapping[int, Consumer] = {}
    writers: Mapping[int, Writer] = {}
    epochs: Mapping[int, Epoch] = {}

    def scopes(self, info: LedgerInfo, acking: Iterable[int]) -> dict[tuple[int, int], Scope]:
        """Return by (sub, stream) what holds for each pair that belongs together, and for (-1, stream) of each stream.

        `acking`: subscriptions of which the ledger has acknowledgments.
        """
        having, covering = set(acking), Covering(self.subscriptions.values())
        found = {}
        for stream in self.streams.values():
            topic = self.topics[stream.topic]
            found[NONE, stream.stream] = scope(None, topic, info)
            for subscription in covering.of(stream.topic):
                acks = subscription.sub in having
                restarts = self.restarts(subscription.sub, info)
                found[subscription.sub, stream.stream] = scope(subscription, topic, info, acks, restarts)
        return found

    def restarts(self, sub: int, info: LedgerInfo) -> tuple[Restart, ...]:
        """Return the kills and stops of brokers that concern a subscription."""
        return tuple(
            Restart(one.t_from - info.durable_us, one.t_from if one.t_to is None else one.t_to)
            for one in self.epochs.values()
            if one.restart and one.sub in (NONE, sub)
        )


class Counted(StrEnum):
    """What a `Second` counts. SENT and STORED (ok) are a topic's, the others a subscription's. AGAIN: deliveries with
    `again` or `redeliv` above 0, FIRST: all others."""

    SENT = "sent"
    STORED = "stored"
    FIRST = "first"
    AGAIN = "again"
    ACKED = "acked"
    REFUSED = "refused"


OF_TOPIC = (Counted.SENT, Counted.STORED)


class Second(NamedTuple):
    """How many there were in one second of the run. `of`: row of `topic`, or of `subscription`."""

    what: Counted
    of: int
    second: int
    n: int


class Window(NamedTuple):
    """Of the messages that were asked for in an epoch: how they fared. `lost`: pairs of a confirmed message and a whole
    subscription that never got it; `again`: deliveries beyond the first of a subscription. Latencies are from the first
    attempt to the first delivery of each subscription, -1 where there is none."""

    epoch: int
    messages: int
    lost: int
    again: int
    p50_us: int = NONE
    p99_us: int = NONE
    most_us: int = NONE


class Sums(NamedTuple):
    """What is known of all rows, whichever were picked.

    `exercised`: requirement -> how often its precondition occurred, as `TALLIES` count it; `series`: sorted, of
    `unit_us` each; `last_seq`: stream -> greatest number asked for; `last_given`: (sub, stream) -> greatest number
    delivered; `events`: rows of attempt, outcome and delivery; `end_us`: the time of the last row; `moved`: keys that
    two consumers had at once; `overtaken`: messages of a key that came to one consumer after later ones to another;
    `behind`: messages that lie in the log after later ones; `spans`: how long messages took over the run, for people.
    """

    exercised: Mapping[str, int]
    series: tuple[Second, ...] = ()
    windows: tuple[Window, ...] = ()
    last_seq: Mapping[int, int] = {}
    events: int = 0
    end_us: int = 0
    unit_us: int = US_PER_S
    last_given: Mapping[tuple[int, int], int] = {}
    moved: tuple[keys.Moved, ...] = ()
    overtaken: tuple[keys.Overtaken, ...] = ()
    behind: tuple[log.Behind, ...] = ()
    spans: Spans = Spans()


def sums(
    rows: Rows,
    small: Small,
    info: LedgerInfo,
    unit_us: int = US_PER_S,
    asked: Container[str] = TALLIES,
    drawn: bool = True,
) -> Sums:
    """Return the sums of a whole ledger in memory.

    Only requirements that are `asked` for are counted as `exercised`; `drawn`: with what no rule reads.
    """
    tallies = [tally for tally in TALLIES.values() if tally.requirement in asked]
    names = {name for tally in tallies for name in tally.words}
    buckets = with_streams(fold((row for table in rows for row in table), names), small, info)
    exercised: Counter[str] = Counter()
    for bucket, words, holds in buckets:
        for tally in tallies:
            if tally.of_subscription is (bucket.sub != NONE):
                exercised[tally.requirement] += tally.count(words, holds)
    last_seq: dict[int, int] = {}
    for row in rows.attempts:
        last_seq[row.stream] = max(row.seq, last_seq.get(row.stream, -1))
    last_given: dict[tuple[int, int], int] = {}
    for got in rows.deliveries:
        place = (got.sub, got.stream)
        last_given[place] = max(got.seq, last_given.get(place, -1))
    turns = keys.turns(rows.deliveries, small, info)
    pairs = keys.crossing(turns)
    exercised[KEEPS_KEYS] = keys.kept(turns)
    in_log = log.in_log(rows.stored, small, info)
    exercised[ORDER] += in_log.messages
    return Sums(
        exercised,
        series(rows, small, unit_us),
        windows(rows, small, drawn),
        last_seq,
        len(rows.attempts) + len(rows.outcomes) + len(rows.deliveries),
        max((row.t for table in rows[:4] for row in table), default=0),
        unit_us,
        last_given,
        keys.moved(pairs, keys.firsts(rows.deliveries, small, pairs)),
        keys.overtaken(rows.deliveries, small, info),
        in_log.behind,
        spans(rows) if drawn else Spans(),
    )


def flagged(folds: Mapping[Bucket, Words], small: Small, info: LedgerInfo) -> dict[Bucket, tuple[str, ...]]:
    """Return the buckets that call for a look, with the names of the clauses that say so; the screen in Python.

    What `Aside`s flag is not among them.
    """
    found = {}
    for bucket, words, holds in with_streams(folds, small, info):
        of_subscription = bucket.sub != NONE
        names = tuple(
            clause.name
            for clause in CLAUSES.values()
            if clause.of_subscription is of_subscription and clause.holds(words, holds)
        )
        if names:
            found[bucket] = names
    return found


def with_streams(
    folds: Mapping[Bucket, Words], small: Small, info: LedgerInfo
) -> Iterable[tuple[Bucket, Words, Scope]]:
    """Yield every bucket with what holds there; those of a subscription have the words of their stream in them."""
    acking = {bucket.sub for bucket, words in folds.items() if words.an}
    scopes = small.scopes(info, acking)
    subs: dict[int, list[int]] = {}
    for sub, stream in scopes:
        subs.setdefault(stream, []).append(sub)
    places = {(bucket.stream, bucket.b) for bucket in folds}
    for stream, b in sorted(places):
        common = folds.get(Bucket(NONE, stream, b), EMPTY)
        for sub in subs.get(stream, ()):
            own = EMPTY if sub == NONE else folds.get(Bucket(sub, stream, b), EMPTY)
            yield Bucket(sub, stream, b), both(common, own), scopes[sub, stream]


def windows(rows: Rows, small: Small, drawn: bool = True) -> tuple[Window, ...]:
    """Return what became of the messages of each epoch.

    Unless it is `drawn`, how long they took is there only where one is lost.
    """
    if not small.epochs:
        return ()
    sent: dict[Message, int] = {}
    for row in sorted(rows.attempts, key=attrgetter("t")):
        sent.setdefault((row.stream, row.seq), row.t)
    by_time, sent_us = list(sent), list(sent.values())
    lost = _lost(rows, small)
    times: dict[Message, dict[int, list[int]]] = {}
    for delivery in rows.deliveries if drawn or lost else ():
        times.setdefault((delivery.stream, delivery.seq), {}).setdefault(delivery.sub, []).append(delivery.t)

    def inside(epoch: Epoch) -> Sequence[Message]:
        end = len(sent_us) if epoch.t_to is None else bisect_right(sent_us, epoch.t_to)
        return by_time[bisect_left(sent_us, epoch.t_from) : end]

    return tuple(_window(epoch.epoch, inside(epoch), sent, lost, times) for epoch in small.epochs.values())


def _lost(rows: Rows, small: Small) -> Mapping[Message, int]:
    """Return, of confirmed messages, how many subscriptions that should have got them never did."""
    ok = Result.OK
    confirmed = {(row.stream, row.seq) for row in rows.outcomes if row.code == ok}
    got = {(row.sub, row.stream, row.seq) for row in rows.deliveries}
    covering = Covering(one for one in small.subscriptions.values() if one.whole)
    lost: Counter[Message] = Counter()
    for stream, seq in confirmed:
        missing = sum((one.sub, stream, seq) not in got for one in covering.of(small.streams[stream].topic))
        if missing:
            lost[stream, seq] = missing
    return lost


def _window(
    epoch: int,
    inside: Sequence[Message],
    sent: Mapping[Message, int],
    lost: Mapping[Message, int],
    times: Mapping[Message, Mapping[int, list[int]]],
) -> Window:
    latencies, again = [], 0
    for message in inside if times else ():
        for got in times.get(message, {}).values():
            latencies.append(min(got) - sent[message])
            again += len(got) - 1
    latencies.sort()
    failed = sum(lost.get(message, 0) for message in inside) if lost else 0
    return Window(epoch, len(inside), failed, again, *(quantile(latencies, share) for share in (0.5, 0.99, 1.0)))


def series(rows: Rows, small: Small, unit_us: int = US_PER_S) -> tuple[Second, ...]:
    """Return messages a second (or another unit), of each topic and subscription."""
    topic_of = {stream.stream: stream.topic for stream in small.streams.values()}
    ok, nack = Result.OK, AckKind.NACK
    counted: Mapping[Counted, Iterable[tuple[int, int]]] = {
        Counted.SENT: ((topic_of[row.stream], row.t // unit_us) for row in rows.attempts),
        Counted.STORED: ((topic_of[row.stream], row.t // unit_us) for row in rows.outcomes if row.code == ok),
        Counted.FIRST: ((row.sub, row.t // unit_us) for row in rows.deliveries if not (row.again or row.redeliv)),
        Counted.AGAIN: ((row.sub, row.t // unit_us) for row in rows.deliveries if row.again or row.redeliv),
        Counted.ACKED: ((row.sub, row.t // unit_us) for row in rows.acks if row.kind != nack),
        Counted.REFUSED: ((row.sub, row.t // unit_us) for row in rows.acks if row.kind == nack),
    }
    found = (Second(what, *place, n) for what, places in counted.items() for place, n in Counter(places).items())
    return tuple(sorted(found))
