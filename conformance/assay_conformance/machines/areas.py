"""What is drawn, area by area: each has its own share of calls, of harm, and of terms, and one has everything.

All areas write Cases of the same kind (`mixed`), and the checks of every chapter judge each of them: an area only says
what happens more often. Strategies draw plain lists, never a length first, and filter nothing; those shapes reduce to
the minimum.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from typing import Any

from hypothesis import strategies as st

from assay_conformance.machines.acts import EVERY_LIFE, NEEDS, Act, Do
from assay_conformance.machines.consuming import KINDS, Kind
from assay_conformance.machines.finds import FINDS
from assay_conformance.machines.harm import DIRECTIONS, LASTING, Strategy, at
from assay_conformance.machines.mixed import case_of
from assay_conformance.machines.policies import BACKLOGS, DELAYS, PLAIN, RATES, SETTINGS
from assay_conformance.machines.strange import STRANGE
from assay_conformance.machines.terms import (
    LARGE,
    LONGEST_WAIT_MS,
    OPERATION_TIMEOUT_MS,
    SEND_TIMEOUT_MS,
    SIZES,
    Terms,
)
from assay_conformance.model.case import Case
from assay_conformance.model.fault import (
    AnswerError,
    Corrupt,
    Cut,
    CutHow,
    Delay,
    Drop,
    Duplicate,
    Hold,
    Resegment,
    Rewrite,
)


class Area(StrEnum):
    MIXED = "mixed"
    ORDERING = "ordering"
    RESEND = "resend"
    DEDUP = "dedup"
    CHUNKING = "chunking"
    ACK = "ack"
    NACK = "nack"
    THROTTLING = "throttling"
    CONSUMING = "consuming"
    PRODUCER = "producer"
    TOPICS = "topics"


def by_turns(number: int) -> Area:
    """Whose turn it is, where areas are drawn of one after the other."""
    areas = tuple(Area)
    return areas[number % len(areas)]


_ABOUT: Mapping[Area, frozenset[str]] = {
    Area.CHUNKING: frozenset({"chunking_producer", "chunking_consumer"}),
    Area.NACK: frozenset({NEEDS[Do.NACK]}),
}


def lacking(area: Area, able: Collection[str]) -> frozenset[str]:
    """Capabilities that are missing from `able` and without which this area has nothing to draw: every life has a
    producer and a consumer, and some areas are about more."""
    return _ABOUT.get(area, frozenset()).union(EVERY_LIFE).difference(able)


MOST_MORE = 2
"""Scenes of any kind that follow the one a life of consumers is about."""

# --- calls ------------------------------------------------------------------------------------------------------------

_numbers = st.integers(0, 5)
_times = st.integers(1, 5)
_sizes = st.integers(0, len(SIZES) - 1)
_sends = st.builds(Act, st.just(Do.SEND), _numbers, _times, _sizes, _numbers, _numbers, st.booleans(), _numbers)
_calls = st.builds(Act, st.sampled_from(Do), _numbers, _times, _numbers)
_receives = st.builds(Act, st.just(Do.RECEIVE), _numbers, _times, st.just(0))
_settles = st.builds(Act, st.sampled_from((Do.ACK, Do.ACK_ONE, Do.ACK_UP_TO, Do.NACK)), _numbers, _times, st.just(0))
_pauses = st.builds(Act, st.just(Do.PAUSE), st.just(0), _numbers)


def _one_of(*calls: Do) -> Strategy:
    return st.tuples(st.builds(Act, st.sampled_from(calls), _numbers, _times, _numbers))


_CALL = st.tuples(_calls)
_SEND = st.tuples(_sends)
_SEND_AND_RECEIVE = st.tuples(_sends, _receives)
_SETTLED = st.tuples(_sends, _receives, _settles)
_SETTLED_AFTER_ALL = st.tuples(_sends, _receives, _settles, _pauses, _settles)

_plainly = {"delay": st.just(0), "sync": st.just(False)}
_keyed = st.builds(Act, st.just(Do.SEND), st.just(0), st.just(1), st.just(3), _numbers, **_plainly, besides=st.just(0))
_KEYS_IN_TURN = st.tuples(_keyed, _keyed, _keyed, _keyed, _keyed)
_flushes = st.builds(Act, st.just(Do.FLUSH), _numbers)
_FLUSHED_TWICE = st.tuples(st.builds(Act, st.just(Do.HOLD_STORE)), _sends, _flushes, _flushes, _pauses)
_FOUND = st.tuples(st.builds(Act, st.just(Do.FIND), _numbers, st.integers(0, len(FINDS) - 1)), _receives)
_SIDE_BY_SIDE = st.tuples(
    st.builds(Act, st.just(Do.OPEN_PRODUCER), _numbers, _times, _numbers),
    st.builds(Act, st.just(Do.SEND_BY_ALL), _numbers, _times, _numbers, _numbers, **_plainly, besides=_numbers),
)
_trickles = st.builds(
    Act, st.just(Do.SEND), _numbers, st.integers(1, 3), st.integers(0, 3), st.just(0), **_plainly, besides=_numbers
)
_short_pauses = st.builds(Act, st.just(Do.PAUSE), st.just(0), st.integers(0, 1))
_TRICKLE = st.builds(lambda send, pause, times: (send, pause) * times, _trickles, _short_pauses, st.integers(3, 7))
_SELDOM = st.one_of(_KEYS_IN_TURN, _FLUSHED_TWICE, _FOUND, _SIDE_BY_SIDE, _TRICKLE)
# A scene is a call, or messages on their way to being settled, in the end after all.
_SCENES = st.one_of(_SEND, _CALL, _SEND_AND_RECEIVE, _SETTLED, _SETTLED_AFTER_ALL)
_AWAY = _one_of(Do.UNLOAD, Do.RESTART, Do.MOVE, Do.REOPEN_PRODUCER, Do.RESTART_CLIENT)
_SLOW_STORE = st.tuples(
    st.builds(Act, st.just(Do.HOLD_STORE)), _sends, _pauses, st.builds(Act, st.just(Do.RELEASE_STORE))
)

# What is sent around whatever happens meanwhile, and who goes while it does.
_ACROSS = st.tuples(_sends, _pauses, _sends)
_LEAVES = st.tuples(_sends, _pauses, st.builds(Act, st.just(Do.CLOSE_PRODUCER), _numbers))
_FAILING_STORE = st.tuples(st.builds(Act, st.just(Do.HOLD_STORE)), _sends, st.builds(Act, st.just(Do.FAIL_STORE)))
_FULL_STORE = st.tuples(
    st.builds(Act, st.just(Do.HOLD_STORE)), _sends, _sends, _pauses, st.builds(Act, st.just(Do.RELEASE_STORE))
)
_LINGER = _one_of(Do.LINGER)
_REFUSED = st.tuples(_receives, st.builds(Act, st.just(Do.NACK), _numbers, _times), _pauses)
_NEXT_CONSUMER = st.tuples(
    st.builds(Act, st.just(Do.CLOSE_CONSUMER), _numbers), _sends, st.builds(Act, st.just(Do.OPEN_CONSUMER), _numbers)
)

# --- harm -------------------------------------------------------------------------------------------------------------

_ends = st.sampled_from((Cut(), Cut(before=True), Cut(abrupt=True), Cut(how=CutHow.FIN), Cut(how=CutHow.BLACKHOLE)))
_cuts = st.sampled_from(
    (Cut(), Cut(before=True), Cut(abrupt=True), Cut(how=CutHow.FIN), Cut(how=CutHow.BLACKHOLE), Hold(), Delay(20))
)
_anywhere = at(tuple(DIRECTIONS), _cuts)
# These name what they are for: most frames may neither be lost nor come twice without the connection dying of it.
_torn = at(
    ("SEND", "SEND_RECEIPT", "MESSAGE"),
    st.sampled_from((Drop(), Duplicate(), Hold(overtake=True), Delay(50, overtake=True), Corrupt(), Resegment(7))),
)
_refused = at(
    ("SEND", "PRODUCER", "SUBSCRIBE", "LOOKUP"),
    st.sampled_from(
        ("ServiceNotReady", "PersistenceError", "TooManyRequests", "NotAllowedError", "TopicTerminatedError")
    ).map(AnswerError),
)
HARMS = st.one_of(_anywhere, _torn, _refused)


MOST_SCENES, MOST_HARMS = 4, 3


def some(strategy: Strategy, most: int) -> Strategy:
    """One or more: a life in which nothing happens, or nothing goes wrong, takes the place of one that shows something.
    No `min_size`, which is a length drawn first. The half of `most` in the mean: short lives are many."""
    return st.builds(lambda one, more: [one, *more], strategy, st.lists(strategy, max_size=most - 1))


def _cut_at(*commands: str) -> Strategy:
    """The way ends, or is slow, at one of these frames."""
    return at(commands, st.one_of(_ends, _cuts))


def _lost_or_late(*commands: str) -> Strategy:
    """One of these frames is lost, late, or comes twice; the connection lives on."""
    return at(commands, st.sampled_from((Drop(), Hold(), Delay(50), Duplicate())))


def _any_of(*harms: Strategy) -> Strategy:
    """Each alone."""
    return st.tuples(st.one_of(*harms))


_ONE_HARM = _any_of(HARMS)

_RETURN_ERRORS = (
    "ServiceNotReady",
    "TooManyRequests",
    "ProducerBusy",
    "ProducerBlockedQuotaExceededError",
    "ProducerBlockedQuotaExceededException",
    "ProducerFenced",
    "TopicNotFound",
    "TopicTerminatedError",
)
_HALF_A_SECOND, _AT_THE_RETURN = st.just(500), st.just(2)
_lost = at(("SEND", "SEND_RECEIPT"), _ends, after_ms=_HALF_A_SECOND)
_OUTAGE = st.tuples(
    at(
        ("SEND", "SEND_RECEIPT", "MESSAGE"),
        st.sampled_from((Cut(), Cut(before=True))),
        after_ms=st.just(100),
        away_ms=LASTING,
    )
)
_REFUSED_RETURN = st.tuples(
    _lost,
    at(
        ("PRODUCER",),
        st.sampled_from(_RETURN_ERRORS).map(AnswerError),
        _AT_THE_RETURN,
        st.just(2_000),
        st.sampled_from((1, 4)),
    ),
    at(("SEND_RECEIPT",), st.just(Cut()), st.integers(6, 10)),
)
_SLOW_RETURN = st.tuples(
    _lost, at(("PRODUCER", "PRODUCER_SUCCESS"), st.sampled_from((Hold(), Hold(overtake=True))), _AT_THE_RETURN)
)
_ANOTHER_RANGE = st.tuples(at(("SEND_RECEIPT",), st.just(Rewrite({"highest_sequence_id": 1_000}))))
_NO_RECEIPTS = st.tuples(at(("SEND_RECEIPT",), st.just(Drop()), times=st.just(0)))
_UNHARMED = st.just(())


# --- terms ------------------------------------------------------------------------------------------------------------


def _mostly(plain: Any, *others: Any, times: int = 7) -> Strategy:
    """The plain one so many times as often as another."""
    return st.sampled_from((*(plain,) * times, *others))


TERMS: Mapping[str, Strategy] = {
    "deduplication": st.booleans(),
    "partitions": st.sampled_from((0, 0, 3)),
    "brokers": st.sampled_from((1, 1, 2)),
    "spread": st.booleans(),
    "proxied": st.sampled_from((False, False, False, False, True)),
    "protocol_version": st.sampled_from((21, 21, 21, 21, 21, 21, 16, 11)),
    "max_message_bytes": st.sampled_from((Terms().max_message_bytes, Terms().max_message_bytes, 1_000)),
    "tokens": st.sampled_from(("", "", "", "first,second")),
    "operation_timeout_ms": st.sampled_from((*[OPERATION_TIMEOUT_MS] * 7, LONGEST_WAIT_MS)),
    "keep_alive_ms": st.sampled_from((30_000, 30_000, 30_000, 700)),
    "batching": st.booleans(),
    "batching_type": st.sampled_from(("default", "default", "key_based")),
    "batching_max_messages": st.sampled_from((3, 3, 10)),
    "batching_max_bytes": st.sampled_from((131_072, 131_072, 1_000)),
    "batching_max_publish_delay_ms": st.sampled_from((10, 10, 10, 10, 50, 700)),
    "batching_partition_switch_frequency": st.sampled_from((10, 1, 2)),
    "send_timeout_ms": st.sampled_from((*[SEND_TIMEOUT_MS] * 4, *[SEND_TIMEOUT_MS // 2] * 3, LONGEST_WAIT_MS)),
    "varied": st.booleans(),
    "small_queue": st.sampled_from((False, False, True)),
    "routing": st.sampled_from(("round_robin", "single")),
    "router": st.sampled_from(("", "", "", "", "by_number", "out_of_range")),
    "interceptor": st.sampled_from(("", "", "notes")),
    "hashing_scheme": st.sampled_from(("java_string", "murmur3_32", "")),
    "chunking": st.booleans(),
    "named": st.booleans(),
    "compression": st.sampled_from(("NONE", "LZ4", "ZSTD", "ZLIB", "SNAPPY")),
    "subscription_type": st.sampled_from(("exclusive", "shared", "failover", "key_shared")),
    "receiver_queue_size": st.sampled_from((1_000, 1, 3)),
    "ack_group_ms": st.sampled_from((100, 0, 50)),
    "ack_group_max": st.sampled_from((1_000, 2)),
    "ack_receipt": st.booleans(),
    "batch_index_ack": st.booleans(),
    "max_pending_messages": st.sampled_from((1_000, 1_000, 3)),
    "nack_delay_ms": st.sampled_from((100, 1, 300)),
    "ack_timeout_ms": st.sampled_from((0, 200)),
}


@dataclass(frozen=True, slots=True)
class _Bent:
    """How an area differs: scenes and harms of its own (those that go together are one draw), and the terms it insists
    on."""

    scenes: Strategy = _SCENES
    harms: Strategy = _ONE_HARM
    terms: Mapping[str, Strategy] = field(default_factory=dict)


_PLAIN = {"compression": st.just("NONE"), "chunking": st.just(False), "small_queue": st.just(False)}

_AREAS: Mapping[Area, _Bent] = {
    Area.MIXED: _Bent(
        terms={
            "clients": st.sampled_from((1, 1, 2)),
            "settings": _mostly(PLAIN, *SETTINGS, times=18),
            "delays": _mostly(PLAIN, *DELAYS),
            "backlog": _mostly("", *BACKLOGS, times=15),
            "claims": _mostly(False, True),
        }
    ),
    Area.ORDERING: _Bent(
        scenes=st.one_of(
            _SEND, _SEND, _ACROSS, _SEND_AND_RECEIVE, _AWAY, _one_of(Do.SETTLE, Do.FLUSH, Do.OPEN_PRODUCER)
        ),
        harms=st.one_of(_any_of(_cut_at("SEND", "SEND_RECEIPT", "MESSAGE"), _anywhere), _OUTAGE),
        terms={**_PLAIN, "subscription_type": st.sampled_from(("exclusive", "failover", "key_shared"))},
    ),
    Area.RESEND: _Bent(
        scenes=st.one_of(
            _SEND,
            _ACROSS,
            _LEAVES,
            _SEND_AND_RECEIVE,
            _AWAY,
            _SLOW_STORE,
            _one_of(Do.SETTLE, Do.FLUSH, Do.CLOSE_PRODUCER),
        ),
        harms=st.one_of(
            _any_of(
                _cut_at("SEND", "SEND_RECEIPT", "PRODUCER", "PRODUCER_SUCCESS", "LOOKUP", "LOOKUP_RESPONSE"),
                _lost_or_late("SEND_RECEIPT"),
                _refused,
            ),
            _OUTAGE,
            _REFUSED_RETURN,
            _SLOW_RETURN,
            _ANOTHER_RANGE,
            _NO_RECEIPTS,
        ),
        terms={"batching_max_publish_delay_ms": st.just(10), "ack_timeout_ms": st.just(0)},
    ),
    Area.DEDUP: _Bent(
        scenes=st.one_of(
            _SEND,
            _SEND_AND_RECEIVE,
            _AWAY,
            _SLOW_STORE,
            _FAILING_STORE,
            _one_of(Do.REOPEN_PRODUCER, Do.SETTLE),
            _one_of(Do.SEND_AGAIN),
        ),
        harms=_any_of(_cut_at("SEND", "SEND_RECEIPT", "PRODUCER_SUCCESS"), _lost_or_late("SEND_RECEIPT"), _torn),
        terms={
            "deduplication": st.just(True),
            "named": st.just(True),
            "settings": _mostly(PLAIN, *SETTINGS, times=12),
        },
    ),
    Area.CHUNKING: _Bent(
        scenes=st.one_of(
            st.tuples(st.builds(Act, st.just(Do.SEND), _numbers, st.integers(1, 2), st.integers(3, 5))),
            _SEND_AND_RECEIVE,
            _SETTLED,
            _AWAY,
        ),
        harms=_any_of(_cut_at("SEND", "SEND_RECEIPT", "MESSAGE", "FLOW"), _torn),
        terms={"chunking": st.just(True), "batching": st.just(False), "ack_timeout_ms": st.just(0)},
    ),
    Area.ACK: _Bent(
        scenes=st.one_of(_SETTLED, _SETTLED, _SEND_AND_RECEIVE, _AWAY, _one_of(Do.CLOSE_CONSUMER, Do.OPEN_CONSUMER)),
        harms=_any_of(_cut_at("ACK", "MESSAGE", "FLOW", "SUBSCRIBE", "SUCCESS"), _anywhere),
        terms={"chunking": st.just(False), "small_queue": st.just(False)},
    ),
    Area.NACK: _Bent(
        scenes=st.one_of(
            st.tuples(_sends, _receives, st.builds(Act, st.just(Do.NACK), _numbers, _times), _pauses, _receives),
            _SETTLED_AFTER_ALL,
            _AWAY,
            _one_of(Do.CLOSE_CONSUMER, Do.OPEN_CONSUMER),
        ),
        harms=_any_of(_cut_at("ACK", "MESSAGE", "FLOW", "SUBSCRIBE"), _anywhere),
        terms={**_PLAIN, "subscription_type": st.sampled_from(("exclusive", "shared", "key_shared"))},
    ),
    Area.THROTTLING: _Bent(
        scenes=st.one_of(
            _SEND, _SEND_AND_RECEIVE, _SETTLED, _REFUSED, _FULL_STORE, _LINGER, _one_of(Do.SETTLE, Do.UNLOAD)
        ),
        harms=st.one_of(_UNHARMED, _UNHARMED, _any_of(_cut_at("SEND", "SEND_RECEIPT", "MESSAGE", "FLOW"), _anywhere)),
        terms={
            **_PLAIN,
            "rates": st.sampled_from((PLAIN, *RATES)),
            "settings": st.sampled_from((PLAIN, *SETTINGS)),
            "backlog": st.sampled_from(("", *BACKLOGS)),
            "sizes": st.sampled_from((SIZES, LARGE)),
        },
    ),
    Area.PRODUCER: _Bent(
        scenes=st.one_of(
            _SEND,
            _ACROSS,
            _LEAVES,
            _one_of(Do.OPEN_PRODUCER),
            _one_of(Do.OPEN_NAMESAKE, Do.REOPEN_PRODUCER, Do.CLOSE_PRODUCER),
            _one_of(Do.SETTLE, Do.FLUSH),
            _AWAY,
        ),
        harms=st.one_of(
            _any_of(_lost, _cut_at("PRODUCER", "PRODUCER_SUCCESS")), _OUTAGE, _REFUSED_RETURN, _SLOW_RETURN
        ),
        terms={
            "clients": st.sampled_from((1, 2, 2)),
            "named": _mostly(True, False, times=3),
            "claims": st.booleans(),
            "ack_timeout_ms": st.just(0),
        },
    ),
    Area.TOPICS: _Bent(
        scenes=st.one_of(
            _SEND, _SEND_AND_RECEIVE, _SETTLED, _NEXT_CONSUMER, _AWAY, _one_of(Do.SETTLE, Do.OPEN_CONSUMER)
        ),
        harms=st.one_of(_UNHARMED, _any_of(_cut_at("SEND", "MESSAGE", "SUBSCRIBE", "PRODUCER"), _anywhere)),
        terms={
            **_PLAIN,
            "persistent": st.booleans(),
            "brokers": st.sampled_from((1, 2)),
            "delays": st.sampled_from(DELAYS),
            "backlog": _mostly("", "plain", times=3),
            "ack_timeout_ms": st.just(0),
        },
    ),
}


def lives(area: Area = Area.MIXED, able: Collection[str] | None = None) -> st.SearchStrategy[Case]:
    """Cases of an area for a client that is `able` to do so much (None: everything). Their ids say nothing: the plan
    numbers them."""
    if area is Area.CONSUMING:
        return st.one_of([lives_of(kind, able) for kind in KINDS.values() if kind.of.is_for(able)])
    bent = _AREAS[area]
    scenes = some(st.one_of(bent.scenes, bent.scenes, bent.scenes, bent.scenes, bent.scenes, _SELDOM), MOST_SCENES)
    harms = some(st.one_of(bent.harms, bent.harms, bent.harms, _any_of(STRANGE)), MOST_HARMS)
    return _lives(scenes, harms, bent.terms, area, able)


def lives_of(kind: Kind, able: Collection[str] | None = None) -> st.SearchStrategy[Case]:
    """Lives of one kind of consumers: a scene of their own first, and then anything; what is strange is for others."""
    scenes = st.builds(lambda one, more: [one, *more], kind.scenes, st.lists(_SCENES, max_size=MOST_MORE))
    harms = _ONE_HARM if kind.harms is None else _any_of(kind.harms, HARMS)
    return _lives(scenes, some(harms, MOST_HARMS), kind.terms(), Area.CONSUMING, able)


def _lives(
    scenes: Strategy, harms: Strategy, terms: Mapping[str, Strategy], area: Area, able: Collection[str] | None
) -> st.SearchStrategy[Case]:
    return st.builds(
        lambda lived, wrong, agreed: case_of(
            chain.from_iterable(lived), chain.from_iterable(wrong), agreed, area.value, able
        ),
        scenes,
        harms,
        st.builds(Terms, **{**TERMS, **terms}),
    )
