"""What a watcher keeps in mind while a run goes on: open buckets, what in them calls for a look, and what was said.

A clause of the screen that holds in a bucket is no alarm: it is a bucket to look into, at once or after a grace, for
what is missing may only be late. Whoever looks asks the rulebook, on rows. So nothing is said here that a verdict on
the ledger as it is would not say, and a bucket that turns out to be well is looked at again only when it changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from assay_conformance.ledger import clauses
from assay_conformance.ledger.clauses import CLAUSES, Clause, Scope
from assay_conformance.ledger.info import LedgerInfo
from assay_conformance.ledger.tables import ACK, ATTEMPT, DELIVERY, NONE, OUTCOME
from assay_conformance.ledger.words import EMPTY, WORDS, Bucket, Words, both

TABLES: Final = (ATTEMPT, OUTCOME, DELIVERY, ACK)
"""What is looked at while a run goes on; what is stored is read back at its end."""

AT_ONCE_S: Final = 0.0
TOLD_LATER_S: Final = 1.0
"""What may be excused by something that is written at the same time: a fault, a consumer that came or went."""
WRITTEN_LATER_S: Final = 4.0
"""What another process may have written already, though it has not been taken in."""
_IN_TIME: Final[Mapping[str, float]] = {
    "corrupt": AT_ONCE_S,
    "disorder": AT_ONCE_S,
    "stored_disorder": AT_ONCE_S,
    "key_disorder": AT_ONCE_S,
    "failed_delivered": AT_ONCE_S,
    "too_often": AT_ONCE_S,
    "at_once": AT_ONCE_S,
    "too_early": AT_ONCE_S,
    "not_counted": AT_ONCE_S,
    "before_time": AT_ONCE_S,
    "twice": TOLD_LATER_S,
    "acked_again": TOLD_LATER_S,
    "acked_twice": TOLD_LATER_S,
    "outlived": TOLD_LATER_S,
    "phantom": WRITTEN_LATER_S,
    "unasked": WRITTEN_LATER_S,
    "unlike": WRITTEN_LATER_S,
}
_MISSING: Final = ("lost", "never_again", "left")
"""What is looked for after the grace, and again after another one: it may still come."""
OF_WHAT_IS_NOT_THERE: Final = frozenset(
    {clauses.LOST, clauses.INVENTED, clauses.WINDOW, clauses.KEEPS, clauses.CONTRACT, clauses.FLOWS}
)
"""What an unreadable row would seem to break."""
_READ_BACK: Final = "what is stored: it is read back then"
AT_THE_END: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (clauses.INVENTED, clauses.FAILED, clauses.STORED_OK, clauses.DEDUP, clauses.CHUNKS),
        _READ_BACK,
    ),
    clauses.ORDER: "the order of the log, where no subscription shows it",
    clauses.KEY_ORDER: "the order of a key across its consumers: it takes all of the key's messages",
    clauses.KEEPS_KEYS: "owner of a key: the times without attach or detach are known afterwards",
    clauses.WINDOWS: "how messages fared: numbers, which every message changes",
    clauses.DISPATCH: "a stretch of more than 40 minutes",
    clauses.PUBLISH: "a stretch of more than 40 minutes",
}
"""Requirement -> what of it is not said while a run goes on."""
_FULL: Final = -1
"""A word in which every bit is set."""


class Look(NamedTuple):
    """A bucket to look into for one requirement."""

    bucket: Bucket
    requirement: str


class Update(NamedTuple):
    """The words of a bucket in one era, as they are now."""

    era: int
    bucket: Bucket
    words: Words


class Alarm(NamedTuple):
    """What a rule says of a message, or of a topic or epoch (`about`), as it was said."""

    requirement: str
    sub: int
    stream: int
    seq: int
    sentence: str
    about: int = NONE

    @property
    def key(self) -> tuple[str, int, int, int, int]:
        """Return what identifies the alarm, whatever else changes from one look to the next."""
        return (self.requirement, self.sub, self.stream, self.seq, self.about)


def live_clauses(info: LedgerInfo) -> dict[str, tuple[Clause, float]]:
    """Name -> clause, and for how long it has to hold before it is judged."""
    waits = {**_IN_TIME, **dict.fromkeys(_MISSING, info.grace_us / 1e6)}
    return {name: (CLAUSES[name], wait_s) for name, wait_s in waits.items()}


def live_waits(requirement: str) -> list[float | None]:
    """Return after how many seconds this requirement is judged, shortest first; None is the ledger's grace."""
    known = {_IN_TIME.get(name) for name in (*_IN_TIME, *_MISSING) if CLAUSES[name].requirement == requirement}
    return sorted(known, key=lambda wait: float("inf") if wait is None else wait)


@dataclass
class Watching:
    """Times are seconds of any clock that does not go back."""

    info: LedgerInfo
    _scopes: Mapping[tuple[int, int], Scope] = field(default_factory=dict)
    _subs: dict[int, list[int]] = field(default_factory=dict)
    _acking: set[int] = field(default_factory=set)
    """Subscriptions that acknowledge at all."""
    _words: dict[Bucket, dict[int, Words]] = field(default_factory=dict)
    _unnamed: set[tuple[int, int]] = field(default_factory=set)
    _due: dict[Look, float] = field(default_factory=dict)
    _well: dict[Look, Words] = field(default_factory=dict)
    given: dict[tuple[int, int], int] = field(default_factory=dict)
    """(sub, stream) -> greatest number delivered."""

    def __post_init__(self) -> None:
        self._clauses = live_clauses(self.info)

    @property
    def open(self) -> int:
        """Return the number of buckets that are kept in memory."""
        return len(self._words)

    def knows(self, stream: int) -> bool:
        return stream in self._subs

    def name(self, scopes: Mapping[tuple[int, int], Scope], now_s: float = 0.0) -> None:
        """Take the run's streams and subscriptions, as far as they are known, from `Small.scopes`. Where anything else
        holds now, because a member left or a broker ended, what is pending is weighed again."""
        changed = {pair[1] for pair, scope in scopes.items() if self._scopes.get(pair, scope) != scope}
        self._scopes, self._subs = scopes, {}
        for sub, stream in scopes:
            self._subs.setdefault(stream, []).append(sub)
        for stream, b in {(bucket.stream, bucket.b) for bucket in self._words if bucket.stream in changed}:
            self._weigh(stream, b, now_s)

    def take(self, updates: Iterable[Update], now_s: float) -> None:
        """Take in buckets as they are now; the same ones may come several times, in any order."""
        touched: set[tuple[int, int]] = set()
        for update in updates:
            bucket = update.bucket
            self._words.setdefault(bucket, {})[update.era] = update.words
            touched.add((bucket.stream, bucket.b))
            if update.words.an:
                self._acking.add(bucket.sub)
            if bucket.sub != NONE and update.words.db:
                last = (bucket.b << 6) + (update.words.db & 0xFFFF_FFFF_FFFF_FFFF).bit_length() - 1
                pair = (bucket.sub, bucket.stream)
                self.given[pair] = max(last, self.given.get(pair, -1))
        # Rows may be there before the names of what they are about.
        self._unnamed |= {place for place in touched if not self.knows(place[0])}
        named = {place for place in self._unnamed if self.knows(place[0])}
        self._unnamed -= named
        for stream, b in touched | named:
            self._weigh(stream, b, now_s)

    def due(self, now_s: float) -> list[Look]:
        """Return what it is time to look into."""
        return [look for look, at_s in self._due.items() if at_s <= now_s]

    def looked(self, look: Look, now_s: float) -> None:
        """Note that it was looked into. What is missing is looked for again, as it may still come; the rest when it
        changes."""
        self._due.pop(look, None)
        words = self._whole(look.bucket)
        self._well[look] = words
        for name in _MISSING:
            clause, wait_s = self._clauses[name]
            if clause.requirement == look.requirement and self._holds(name, look.bucket, words):
                self._due[look] = now_s + wait_s

    def _weigh(self, stream: int, b: int, now_s: float) -> None:
        pending = False
        subs = self._subs.get(stream, [])
        for sub in subs:
            bucket = Bucket(sub, stream, b)
            words = self._whole(bucket)
            for name, (clause, wait_s) in self._clauses.items():
                if clause.of_subscription is (sub == NONE):
                    continue
                look = Look(bucket, clause.requirement)
                if self._holds(name, bucket, words):
                    if self._well.get(look) != words:
                        self._due[look] = min(now_s + wait_s, self._due.get(look, now_s + wait_s))
                elif not self._held_by_another(clause, bucket, words):
                    self._due.pop(look, None)
                    self._well.pop(look, None)
                pending = pending or look in self._due
        if not pending and self._settled(stream, b, subs):
            for sub in (NONE, *subs):
                self._words.pop(Bucket(sub, stream, b), None)
                for clause, _ in self._clauses.values():
                    self._well.pop(Look(Bucket(sub, stream, b), clause.requirement), None)

    def _holds(self, name: str, bucket: Bucket, words: Words) -> bool:
        return bool(self._clauses[name][0].holds(words, self._scopes[bucket.sub, bucket.stream]))

    def _held_by_another(self, clause: Clause, bucket: Bucket, words: Words) -> bool:
        return any(
            other.requirement == clause.requirement and self._holds(name, bucket, words)
            for name, (other, _) in self._clauses.items()
            if other.of_subscription is clause.of_subscription
        )

    def _whole(self, bucket: Bucket) -> Words:
        """With the words of its stream, over all eras."""
        words = EMPTY
        for one in {bucket, Bucket(NONE, bucket.stream, bucket.b)}:
            for each in self._words.get(one, {}).values():
                words = both(words, each)
        return words

    def _settled(self, stream: int, b: int, subs: list[int]) -> bool:
        """Return whether every message was sent, reported as stored, delivered on every subscription, and acknowledged
        on those with acknowledgments: nothing more is expected."""
        whole = [sub for sub in subs if sub != NONE and self._scopes[sub, stream].whole]
        if not whole:
            return False
        return all(
            (words := self._whole(Bucket(sub, stream, b))).sb == _FULL
            and words.rb | words.xb == _FULL
            and words.rb & ~words.db == 0
            and (sub not in self._acking or words.db & ~words.ab == 0)
            for sub in whole
        )


LIVE_WORDS: Final = tuple(word for word in WORDS if word.table in {table.name for table in TABLES})
