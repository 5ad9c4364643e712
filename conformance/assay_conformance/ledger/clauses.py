"""The screen: what in the words of a bucket calls for a look, and what in them shows that it was tried.

Every clause and every tally is stated twice, side by side: as a Python function, which is the reference, and as SQL
over the words and the fields of the scope, which is what an engine runs. The screen never misses: whatever a rule finds
on all rows lies in a flagged bucket. It may flag a bucket that is well; that costs nothing but a look.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from heapq import merge
from typing import NamedTuple

from assay_conformance.ledger.info import LedgerInfo, Order
from assay_conformance.ledger.rows import Subscription, Topic
from assay_conformance.ledger.tables import ACK, DELIVERY, NONE
from assay_conformance.ledger.words import Words, bits

ORDERED_TYPES = ("Exclusive", "Failover")
SHARED_TYPES = ("Shared", "Key_Shared")
"""Types of subscription in which single messages are redelivered, and nothing is acknowledged cumulatively."""

GIVEN = (DELIVERY.name, ACK.name)
"""Tables whose rows are of a subscription."""


class Restart(NamedTuple):
    """A broker was killed or stopped: acknowledgments ended by `durable_us` bind what is delivered after `over_us`."""

    durable_us: int
    over_us: int


class Scope(NamedTuple):
    """What was promised where a bucket lies: its subscription and its topic. `acks`: the ledger has any of this
    subscription, and one that is missing means something. `ordered`, `keyed`: order is promised of a stream, of a key
    in a stream. `compared`: payloads can be compared with what was sent."""

    whole: int = 0
    nack_delay: int = NONE
    max_redeliv: int = NONE
    acks: int = 0
    dedup: int = 0
    read_back: int = 0
    ordered: int = 0
    keyed: int = 0
    shared: int = 0
    self_checking: int = 1
    compared: int = 1
    due_early_us: int = 0
    restarts: tuple[Restart, ...] = ()


@dataclass(frozen=True, slots=True)
class Clause:
    """One reason to look into a bucket. `sql` is over the words and the fields of the scope, as is `holds`."""

    name: str
    requirement: str
    words: tuple[str, ...]
    sql: str
    holds: Callable[[Words, Scope], object]
    of_subscription: bool = True
    """Read with the words of each subscription; else once for a stream."""


DEDUP = "dedup.effectively-once"
ORDER = "ordering.keeps-send-order"
KEY_ORDER = "ordering.key-shared-keeps-order"
CHUNKS = "chunking.delivers-whole-only"
SURVIVES = "ack.survives-unload"
ENDS = "nack.acked-not-redelivered"
KEEPS = "subscription.retains-until-acked"
KEEPS_KEYS = "subscription.key-shared-same-consumer"
LEAST = "nack.minimum-delay"
WINDOW = "nack.redelivery-requested-in-time"
COUNTED = "nack.redelivery-count"
DISPATCH = "throttling.dispatch-rate-holds"
PUBLISH = "throttling.publish-rate-holds"
DUE = "delayed.not-before-deliver-at-time"
LOST = "delivery.successful-send-is-delivered"
INVENTED = "delivery.no-phantom-messages"
FAILED = "delivery.failed-send-is-not-stored"
STORED_OK = "delivery.successful-send-is-stored"
AS_SENT = "delivery.payload-unchanged"
CONTRACT = "delivery.no-unexplained-duplicates"
FLOWS = "delivery.resumes-after-fault"
WINDOWS = "delivery.statistics-per-fault"

LEAST_DELAY_MS = 100
LEAST_DELAY_US = LEAST_DELAY_MS * 1_000
"""nack.minimum-delay: what is configured below counts as this."""

MOST_INCOMPLETE = 10
"""How many messages in chunks a consumer keeps incomplete if neither Case nor client sets a number; beyond it the
oldest is dropped."""

WIDEST_PRECISION_MS = 256
"""How many low bits of the time a client forgets at most when it notes a nack: it may ask so much sooner."""


def earliest_ms(delay_ms: int, precision_ms: int | None) -> int:
    """Return when a nacked message may be asked for again.

    `precision_ms` is None where the client's is not known.
    """
    return delay_ms - (WIDEST_PRECISION_MS if precision_ms is None else precision_ms)


_CLAUSES = (
    Clause("lost", LOST, ("rb", "db"), "whole = 1 and rb & ~db <> 0", lambda w, s: s.whole and w.rb & ~w.db),
    Clause("phantom", INVENTED, ("db", "sb"), "db & ~sb <> 0", lambda w, _: w.db & ~w.sb),
    Clause("stored_phantom", INVENTED, ("bb", "sb"), "bb & ~sb <> 0", lambda w, _: w.bb & ~w.sb, False),
    Clause("failed_stored", FAILED, ("xb", "bb"), "xb & bb <> 0", lambda w, _: w.xb & w.bb, False),
    Clause("failed_delivered", FAILED, ("xb", "db"), "xb & db <> 0", lambda w, _: w.xb & w.db),
    Clause(
        "ok_unstored",
        STORED_OK,
        ("rb", "bb"),
        "read_back = 1 and rb & ~bb <> 0",
        lambda w, s: s.read_back and w.rb & ~w.bb,
        False,
    ),
    Clause("corrupt", AS_SENT, ("bad",), "bad > 0", lambda w, _: w.bad),
    Clause(
        "unlike",
        AS_SENT,
        ("sb", "fb", "fn", "mb", "sx", "dx"),
        "self_checking = 0 and compared = 1 and (sb <> fb or fn <> bit_count(fb) or mb <> 0 or sx <> dx) "
        "and (fn > 0 or mb <> 0)",
        lambda w, s: (
            not s.self_checking
            and s.compared
            and (w.sb != w.fb or w.fn != bits(w.fb) or w.mb or w.sx != w.dx)
            and (w.fn or w.mb)
        ),
    ),
    Clause("twice", CONTRACT, ("fb", "fn"), "fn <> bit_count(fb)", lambda w, _: w.fn != bits(w.fb)),
    Clause("unasked", CONTRACT, ("mb", "nb"), "mb & ~nb <> 0", lambda w, _: w.mb & ~w.nb),
    Clause(
        "too_often",
        CONTRACT,
        ("mr",),
        "max_redeliv >= 0 and mr > max_redeliv",
        lambda w, s: s.max_redeliv >= 0 and w.mr > s.max_redeliv,
    ),
    Clause(
        "stored_twice",
        DEDUP,
        ("bb", "bn"),
        "dedup = 1 and bn <> bit_count(bb)",
        lambda w, s: s.dedup and w.bn != bits(w.bb),
        False,
    ),
    Clause("disorder", ORDER, ("badgap",), "ordered = 1 and badgap > 0", lambda w, s: s.ordered and w.badgap),
    Clause(
        "stored_disorder", ORDER, ("badord",), "ordered = 1 and badord > 0", lambda w, s: s.ordered and w.badord, False
    ),
    Clause("key_disorder", KEY_ORDER, ("badkgap",), "keyed = 1 and badkgap > 0", lambda w, s: s.keyed and w.badkgap),
    Clause(
        "at_once",
        LEAST,
        ("least_nack_us",),
        f"shared = 1 and nack_delay >= 0 and least_nack_us < least(nack_delay, {LEAST_DELAY_US})",
        lambda w, s: s.shared and s.nack_delay >= 0 and w.least_nack_us < min(s.nack_delay, LEAST_DELAY_US),
    ),
    Clause(
        "too_early",
        WINDOW,
        ("least_nack_us",),
        "shared = 1 and nack_delay >= 0 and least_nack_us < nack_delay",
        lambda w, s: s.shared and s.nack_delay >= 0 and w.least_nack_us < s.nack_delay,
    ),
    Clause("never_again", WINDOW, ("nb", "ab"), "nb & ~ab <> 0", lambda w, _: w.nb & ~w.ab),
    Clause("left", KEEPS, ("db", "ab"), "acks = 1 and db & ~ab <> 0", lambda w, s: s.acks and w.db & ~w.ab),
    Clause("acked_again", ENDS, ("kb",), "kb <> 0", lambda w, _: w.kb),
    Clause(
        "outlived",
        SURVIVES,
        ("least_done_us", "last_us"),
        "exists(restarts, one -> least_done_us <= one.durable_us and last_us > one.over_us)",
        lambda w, s: any(w.least_done_us <= one.durable_us and w.last_us > one.over_us for one in s.restarts),
    ),
    Clause("acked_twice", ENDS, ("ab", "an"), "an <> bit_count(ab)", lambda w, _: w.an != bits(w.ab)),
    Clause(
        "not_counted",
        COUNTED,
        ("uncounted",),
        "shared = 1 and uncounted > 0",
        lambda w, s: s.shared and w.uncounted,
    ),
    Clause(
        "before_time",
        DUE,
        ("least_due_us",),
        "shared = 1 and least_due_us < -due_early_us",
        lambda w, s: s.shared and w.least_due_us < -s.due_early_us,
    ),
)
CLAUSES: Mapping[str, Clause] = {clause.name: clause for clause in _CLAUSES}


@dataclass(frozen=True, slots=True)
class Tally:
    """How often the precondition of a requirement occurred in a bucket. As a `Clause`, in every bucket, summed up."""

    requirement: str
    words: tuple[str, ...]
    sql: str
    count: Callable[[Words, Scope], int]
    of_subscription: bool = True


_TALLIES = (
    Tally(LOST, ("rb",), "if(whole = 1, bit_count(rb), 0)", lambda w, s: bits(w.rb) if s.whole else 0),
    Tally(INVENTED, ("db",), "bit_count(db)", lambda w, _: bits(w.db)),
    Tally(FAILED, ("xb",), "bit_count(xb)", lambda w, _: bits(w.xb), False),
    Tally(
        STORED_OK, ("rb",), "if(read_back = 1, bit_count(rb), 0)", lambda w, s: bits(w.rb) if s.read_back else 0, False
    ),
    Tally(AS_SENT, ("db",), "if(compared = 1, bit_count(db), 0)", lambda w, s: bits(w.db) if s.compared else 0),
    Tally(CONTRACT, ("db",), "bit_count(db)", lambda w, _: bits(w.db)),
    Tally(DEDUP, ("bb",), "if(dedup = 1, bit_count(bb), 0)", lambda w, s: bits(w.bb) if s.dedup else 0, False),
    Tally(ORDER, ("db",), "if(ordered = 1, bit_count(db), 0)", lambda w, s: bits(w.db) if s.ordered else 0),
    Tally(KEY_ORDER, ("kn",), "if(keyed = 1, kn, 0)", lambda w, s: w.kn if s.keyed else 0),
    Tally(CHUNKS, ("cn",), "cn", lambda w, _: w.cn, False),
    Tally(
        LEAST,
        ("wn",),
        "if(shared = 1 and nack_delay >= 0, wn, 0)",
        lambda w, s: w.wn if s.shared and s.nack_delay >= 0 else 0,
    ),
    Tally(WINDOW, ("nb",), "bit_count(nb)", lambda w, _: bits(w.nb)),
    Tally(
        SURVIVES,
        ("least_done_us", "ab"),
        "if(exists(restarts, one -> least_done_us <= one.durable_us), bit_count(ab), 0)",
        lambda w, s: bits(w.ab) if any(w.least_done_us <= one.durable_us for one in s.restarts) else 0,
    ),
    Tally(ENDS, ("ab", "nb"), "bit_count(ab & nb)", lambda w, _: bits(w.ab & w.nb)),
    Tally(KEEPS, ("mb", "nb", "ab"), "bit_count(mb & ~nb & ab)", lambda w, _: bits(w.mb & ~w.nb & w.ab)),
    Tally(COUNTED, ("gn",), "if(shared = 1, gn, 0)", lambda w, s: w.gn if s.shared else 0),
    Tally(DUE, ("dn",), "if(shared = 1, dn, 0)", lambda w, s: w.dn if s.shared else 0),
)
TALLIES: Mapping[str, Tally] = {tally.requirement: tally for tally in _TALLIES}


@dataclass(frozen=True, slots=True)
class Aside:
    """A small fold of its own, of few rows: its keys, its words, and which of its rows call for a look."""

    name: str
    requirement: str
    keys: tuple[str, ...]
    meaning: str
    flagged: str
    """SQL over its words."""


CHUNKED = Aside(
    "chunked",
    CHUNKS,
    ("stream", "seq"),
    "of stored rows with chunks > 1: cb = bit_or(1 << (chunk & 63)), cm = max(chunks)",
    "cm > 63 or cb <> shiftleft(1L, cast(cm as int)) - 1",
)


def scope(
    subscription: Subscription | None,
    topic: Topic,
    info: LedgerInfo,
    acks: bool = True,
    restarts: tuple[Restart, ...] = (),
) -> Scope:
    """Return what holds for the buckets of a subscription on a topic, or, without one, for those of its streams."""
    by_key = info.order is Order.KEY
    compared = int(info.self_checking or info.checksums)
    if subscription is None:
        return Scope(
            dedup=topic.dedup,
            read_back=topic.read_back,
            ordered=int(info.order is Order.PARTITION),
            self_checking=int(info.self_checking),
            compared=compared,
            due_early_us=info.due_early_us,
        )
    kind = subscription.type
    return Scope(
        whole=subscription.whole,
        nack_delay=subscription.nack_delay,
        max_redeliv=subscription.max_redeliv,
        acks=int(acks and info.each_ack_recorded),
        dedup=topic.dedup,
        read_back=topic.read_back,
        ordered=int(kind in ORDERED_TYPES and info.order is Order.PARTITION),
        shared=int(kind in SHARED_TYPES),
        keyed=int((kind == "Key_Shared" and info.order is not Order.NONE) or (kind in ORDERED_TYPES and by_key)),
        self_checking=int(info.self_checking),
        compared=compared,
        due_early_us=info.due_early_us,
        restarts=restarts,
    )


def covers(subscription: Subscription, topic: int) -> bool:
    """Return whether the subscription is of this topic."""
    return not subscription.topics or topic in _numbers(subscription.topics)


def covered(subscription: Subscription, topics: frozenset[int]) -> frozenset[int]:
    """Return which of these topics a subscription covers."""
    return topics & _numbers(subscription.topics) if subscription.topics else topics


class Covering:
    """Many subscriptions by the topics that they are of."""

    def __init__(self, subscriptions: Iterable[Subscription]) -> None:
        self._all = [*subscriptions]
        self._of_every_topic = [place for place, one in enumerate(self._all) if not one.topics]
        self._of: dict[int, list[int]] = {}
        for place, one in enumerate(self._all):
            for topic in _numbers(one.topics):
                self._of.setdefault(topic, []).append(place)

    def of(self, topic: int) -> Iterator[Subscription]:
        """Yield the subscriptions of a topic, in the order in which they were given."""
        places = merge(self._of_every_topic, self._of.get(topic, ()))
        return (self._all[place] for place in places)


@lru_cache
def _numbers(topics: str) -> frozenset[int]:
    return frozenset(map(int, topics.split()))
