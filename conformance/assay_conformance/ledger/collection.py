"""What the rules are given: the rows to look at, the small tables, and sums over all rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from assay_conformance.ledger.clauses import TALLIES, Scope, covers, scope
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
from assay_conformance.ledger.tables import NONE, Result, Word
from assay_conformance.ledger.words import EMPTY, Bucket, Words, both, fold

US_PER_S = 1_000_000


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
        """(sub, stream) -> what holds there, for every pair that belongs together, and (-1, stream) for each stream.

        `acking`: subscriptions of which the ledger has acknowledgments.
        """
        having = set(acking)
        found = {}
        for stream in self.streams.values():
            topic = self.topics[stream.topic]
            found[NONE, stream.stream] = scope(None, topic, info)
            for subscription in self.subscriptions.values():
                if covers(subscription, stream.topic):
                    acks = subscription.sub in having
                    found[subscription.sub, stream.stream] = scope(subscription, topic, info, acks)
        return found


class Counted(StrEnum):
    """What a `Second` counts. SENT, TOLD (ok) and KEPT (stored) are a topic's, the others a subscription's."""

    SENT = "sent"
    TOLD = "told"
    FIRST = "first"
    AGAIN = "again"
    ACKED = "acked"
    REFUSED = "refused"


OF_TOPIC = (Counted.SENT, Counted.TOLD)


class Second(NamedTuple):
    """How many there were in one second of the run. `of`: row of `topic`, or of `subscription`."""

    what: Counted
    of: int
    second: int
    n: int


class Sums(NamedTuple):
    """What is known of all rows, whichever were picked. `exercised`: requirement -> how often its precondition
    occurred; `series` sorted; `events`: rows of attempt, outcome and delivery."""

    exercised: Mapping[str, int]
    series: tuple[Second, ...] = ()
    events: int = 0


def sums(rows: Rows, small: Small, info: LedgerInfo) -> Sums:
    """Of a whole ledger in memory."""
    buckets = with_streams(fold(row for table in rows for row in table), small, info)
    exercised: Counter[str] = Counter()
    for bucket, words, holds in buckets:
        for tally in TALLIES.values():
            if tally.of_subscription is (bucket.sub != NONE):
                exercised[tally.requirement] += tally.count(words, holds)
    events = len(rows.attempts) + len(rows.outcomes) + len(rows.deliveries)
    return Sums(exercised, series(rows, small), events)


def with_streams(
    folds: Mapping[Bucket, Words], small: Small, info: LedgerInfo
) -> Iterable[tuple[Bucket, Words, Scope]]:
    """Every bucket with what holds there; those of a subscription have the words of their stream in them."""
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


def series(rows: Rows, small: Small) -> tuple[Second, ...]:
    """Messages a second, of each topic and subscription."""
    topic_of = {stream.stream: stream.topic for stream in small.streams.values()}
    found: Counter[tuple[Counted, int, int]] = Counter()
    for sent in rows.attempts:
        found[Counted.SENT, topic_of[sent.stream], sent.t // US_PER_S] += 1
    for outcome in rows.outcomes:
        if outcome.code == Result.OK:
            found[Counted.TOLD, topic_of[outcome.stream], outcome.t // US_PER_S] += 1
    for row in rows.deliveries:
        what = Counted.AGAIN if row.again or row.redeliv else Counted.FIRST
        found[what, row.sub, row.t // US_PER_S] += 1
    for said in rows.acks:
        what = Counted.REFUSED if said.kind == Word.NACK else Counted.ACKED
        found[what, said.sub, said.t // US_PER_S] += 1
    return tuple(Second(*key, count) for key, count in sorted(found.items()))
