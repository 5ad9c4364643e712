"""What is drawn, area by area: each has its own share of calls, of harm, and of terms, and one has everything.

All areas write Cases of the same kind (`mixed`), and the checks of every chapter judge each of them: an area only says
what happens more often. Strategies draw plain lists, never a length first, and filter nothing; those shapes reduce to
the minimum.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain

from hypothesis import strategies as st

from assay_conformance.machines import network_faults as harm
from assay_conformance.machines import scenarios
from assay_conformance.machines.answer_faults import ANSWERS
from assay_conformance.machines.broker_faults import STRANGE
from assay_conformance.machines.drawn_faults import MOST_HARMS, DrawnFault, Strategy, some
from assay_conformance.machines.drawn_parameters import TERMS, mostly
from assay_conformance.machines.environment import Around, Environment, Way
from assay_conformance.machines.initial_backlog import BACKLOGS
from assay_conformance.machines.interpreter import case_of
from assay_conformance.machines.kinds import CONSUMING, LIMITS, SENDING, WorkloadKind
from assay_conformance.machines.operations import CONSUMER, EVERY_LIFE, NEEDS, Act, Operation
from assay_conformance.machines.parameters import LARGE, SIZES, Parameters
from assay_conformance.machines.policies import DELAYS, LIVENESS, PLAIN, RATES, SETTINGS
from assay_conformance.model.case import Case


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
    SENDING = "sending"
    PRODUCER = "producer"
    TOPICS = "topics"
    LIMITS = "limits"


_USUAL_TURNS = 2
_TURNS: Mapping[Area, int] = {Area.CONSUMING: 8, Area.SENDING: 6, Area.LIMITS: 1}
"""Turns of an area, in each of which it is drawn of once. Areas of many kinds have more, and one whose lives wait for
periods of a rate has less."""


def by_turns(number: int, areas: Sequence[Area] = tuple(Area)) -> Area:
    """Return whose turn it is, where areas are drawn of one after the other."""
    turns = [area for round in range(max(_TURNS.values())) for area in areas if _TURNS.get(area, _USUAL_TURNS) > round]
    return turns[number % len(turns)]


_ABOUT: Mapping[Area, frozenset[str]] = {
    Area.CHUNKING: frozenset({"chunking_producer", "chunking_consumer", CONSUMER}),
    Area.ACK: frozenset({CONSUMER}),
    Area.NACK: frozenset({NEEDS[Operation.NACK], CONSUMER}),
    Area.CONSUMING: frozenset({CONSUMER}),
    Area.LIMITS: frozenset({CONSUMER}),
}


def lacking(area: Area, able: Collection[str]) -> frozenset[str]:
    """Return the capabilities missing from `able` without which this area has nothing to draw.

    Every life has a producer, and some areas are about more.
    """
    return _ABOUT.get(area, frozenset()).union(EVERY_LIFE).difference(able)


MOST_SCENES = 3
MOST_MORE = 2
"""Scenes of any kind that follow the one a life of consumers is about."""


@dataclass(frozen=True, slots=True)
class _Bent:
    """How an area differs: scenes and harms of its own (those that go together are one draw), and the terms it insists
    on."""

    scenes: Strategy = scenarios.ANY
    harms: Strategy = harm.ONE_HARM
    terms: Mapping[str, Strategy] = field(default_factory=dict)


_TWO_SUBSCRIPTIONS = Environment(ways=(Way(), Way(subscription="other")))
_PLAIN = {"compression": st.just("NONE"), "chunking": st.just(False), "small_queue": st.just(False)}

_AREAS: Mapping[Area, _Bent] = {
    Area.MIXED: _Bent(
        scenes=st.one_of(scenarios.ANY, *scenarios.COMPANY, *scenarios.ELSEWHERE, *scenarios.REOPENED),
        harms=st.one_of(harm.ONE_HARM, harm.any_of(harm.LOST_ACKS)),
        terms={
            "brokers": st.sampled_from((1, 2, 2)),
            "proxied": mostly(False, True, times=9),
            "clients": st.sampled_from((1, 1, 2)),
            "settings": mostly(PLAIN, *SETTINGS, times=18),
            "delays": mostly(PLAIN, *DELAYS),
            "backlog": mostly("", *BACKLOGS, times=15),
            "rates": mostly(PLAIN, *RATES, times=200),
            "claims": mostly(False, True),
            "around": mostly(Around(), Around(_TWO_SUBSCRIPTIONS), times=1),
        },
    ),
    Area.ORDERING: _Bent(
        scenes=st.one_of(
            scenarios.SEND,
            scenarios.ACROSS,
            scenarios.SEND_AND_RECEIVE,
            scenarios.AWAY,
            scenarios.one_of(Operation.SETTLE, Operation.FLUSH, Operation.OPEN_PRODUCER),
        ),
        harms=st.one_of(harm.any_of(harm.cut_at("SEND", "SEND_RECEIPT", "MESSAGE"), harm.ANYWHERE), harm.OUTAGE),
        terms={**_PLAIN, "subscription_type": st.sampled_from(("exclusive", "failover", "key_shared"))},
    ),
    Area.RESEND: _Bent(
        scenes=st.one_of(
            scenarios.SEND,
            scenarios.ACROSS,
            scenarios.LEAVES,
            scenarios.SEND_AND_RECEIVE,
            scenarios.AWAY,
            scenarios.SLOW_STORE,
            scenarios.one_of(Operation.SETTLE, Operation.FLUSH, Operation.CLOSE_PRODUCER),
        ),
        harms=st.one_of(
            harm.any_of(
                harm.cut_at("SEND", "SEND_RECEIPT", "PRODUCER", "PRODUCER_SUCCESS", "LOOKUP", "LOOKUP_RESPONSE"),
                harm.lost_or_late("SEND_RECEIPT"),
                harm.REFUSED,
            ),
            harm.OUTAGE,
            harm.REFUSED_RETURN,
            harm.SLOW_RETURN,
            harm.ANOTHER_RANGE,
            harm.NO_RECEIPTS,
        ),
        terms={"batching_max_publish_delay_ms": st.just(10), "ack_timeout_ms": st.just(0)},
    ),
    Area.DEDUP: _Bent(
        scenes=st.one_of(
            scenarios.SEND,
            scenarios.SEND_AND_RECEIVE,
            scenarios.AWAY,
            scenarios.SLOW_STORE,
            scenarios.FAILING_STORE,
            scenarios.one_of(Operation.REOPEN_PRODUCER, Operation.SETTLE),
            scenarios.one_of(Operation.SEND_AGAIN),
        ),
        harms=harm.any_of(
            harm.cut_at("SEND", "SEND_RECEIPT", "PRODUCER_SUCCESS"),
            harm.lost_or_late("SEND_RECEIPT"),
            harm.TORN,
            harm.OLD_IDS,
            harm.CALLED_MARKER,
        ),
        terms={
            "deduplication": st.just(True),
            "named": st.just(True),
            "settings": mostly(PLAIN, *SETTINGS, times=12),
        },
    ),
    Area.CHUNKING: _Bent(
        scenes=st.one_of(scenarios.LARGE_SEND, scenarios.SEND_AND_RECEIVE, scenarios.SETTLED, scenarios.AWAY),
        harms=harm.any_of(harm.cut_at("SEND", "SEND_RECEIPT", "MESSAGE", "FLOW"), harm.TORN),
        terms={"chunking": st.just(True), "batching": st.just(False), "ack_timeout_ms": st.just(0)},
    ),
    Area.ACK: _Bent(
        scenes=st.one_of(
            scenarios.SETTLED,
            scenarios.GROUPED,
            scenarios.SEND_AND_RECEIVE,
            scenarios.AWAY,
            scenarios.one_of(Operation.CLOSE_CONSUMER, Operation.OPEN_CONSUMER, Operation.UNSUBSCRIBE),
        ),
        harms=harm.any_of(
            harm.cut_at("ACK", "MESSAGE", "FLOW", "SUBSCRIBE", "SUCCESS", "UNSUBSCRIBE"), harm.ANYWHERE, harm.LOST_ACKS
        ),
        terms={"chunking": st.just(False), "small_queue": st.just(False)},
    ),
    Area.NACK: _Bent(
        scenes=st.one_of(
            st.tuples(scenarios.SENDS, scenarios.RECEIVES, scenarios.NACKS, scenarios.PAUSES, scenarios.RECEIVES),
            scenarios.SETTLED_AFTER_ALL,
            scenarios.REFUSED_TOGETHER,
            scenarios.AWAY,
            scenarios.one_of(Operation.CLOSE_CONSUMER, Operation.OPEN_CONSUMER, Operation.UNSUBSCRIBE),
        ),
        harms=harm.any_of(harm.cut_at("ACK", "MESSAGE", "FLOW", "SUBSCRIBE"), harm.ANYWHERE, harm.LOST_ACKS),
        terms={**_PLAIN, "subscription_type": st.sampled_from(("exclusive", "shared", "key_shared"))},
    ),
    Area.THROTTLING: _Bent(
        scenes=st.one_of(
            scenarios.SEND,
            scenarios.SEND_AND_RECEIVE,
            scenarios.SETTLED,
            scenarios.REFUSED,
            scenarios.FULL_STORE,
            scenarios.LINGER,
            scenarios.one_of(Operation.SETTLE, Operation.UNLOAD),
        ),
        harms=st.one_of(
            harm.UNHARMED,
            harm.any_of(harm.cut_at("SEND", "SEND_RECEIPT", "MESSAGE", "FLOW"), harm.ANYWHERE),
        ),
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
            scenarios.SEND,
            scenarios.ACROSS,
            scenarios.LEAVES,
            scenarios.one_of(Operation.OPEN_PRODUCER),
            scenarios.one_of(Operation.OPEN_NAMESAKE, Operation.REOPEN_PRODUCER, Operation.CLOSE_PRODUCER),
            scenarios.one_of(Operation.SETTLE, Operation.FLUSH),
            scenarios.AWAY,
        ),
        harms=st.one_of(
            harm.any_of(harm.LOST, harm.cut_at("PRODUCER", "PRODUCER_SUCCESS")),
            harm.OUTAGE,
            harm.REFUSED_RETURN,
            harm.SLOW_RETURN,
        ),
        terms={
            "clients": st.sampled_from((1, 2, 2)),
            "named": mostly(True, False, times=3),
            "settings": mostly(PLAIN, LIVENESS, times=2),
            "claims": st.booleans(),
            "ack_timeout_ms": st.just(0),
        },
    ),
    Area.TOPICS: _Bent(
        scenes=st.one_of(
            scenarios.SEND,
            scenarios.SEND_AND_RECEIVE,
            scenarios.SETTLED,
            scenarios.NEXT_CONSUMER,
            scenarios.MIGRATED,
            scenarios.STARTED_ANEW,
            scenarios.AWAY,
            scenarios.one_of(Operation.SETTLE, Operation.OPEN_CONSUMER),
        ),
        harms=st.one_of(
            harm.UNHARMED, harm.any_of(harm.cut_at("SEND", "MESSAGE", "SUBSCRIBE", "PRODUCER"), harm.ANYWHERE)
        ),
        terms={
            **_PLAIN,
            "persistent": st.booleans(),
            "brokers": st.sampled_from((1, 2)),
            "delays": st.sampled_from(DELAYS),
            "backlog": mostly("", "plain", times=3),
            "ack_timeout_ms": st.just(0),
        },
    ),
}


_KINDS: Mapping[Area, Mapping[str, WorkloadKind]] = {
    Area.CONSUMING: CONSUMING,
    Area.SENDING: SENDING,
    Area.LIMITS: LIMITS,
}
"""Areas whose lives are of one kind each."""


@dataclass(frozen=True, slots=True)
class Share:
    """What lives of an area, or of one kind of an area, are drawn from: a first scene, and `most_more` of `scenes` at
    most."""

    area: Area
    first: Strategy
    scenes: Strategy
    most_more: int
    harms: Strategy
    terms: Strategy

    def lives(self, able: Collection[str] | None) -> st.SearchStrategy[Case]:
        """Return a strategy of lives as lists; `life` writes what was drawn otherwise, too."""
        more = st.lists(self.scenes, max_size=self.most_more)
        lived = st.builds(lambda one, others: [one, *others], self.first, more)
        wrong = some(self.harms, MOST_HARMS)
        return st.builds(lambda acts, harms, terms: self.life(acts, harms, terms, able), lived, wrong, self.terms)

    def life(
        self,
        scenes: Iterable[Iterable[Act]],
        harms: Iterable[Iterable[DrawnFault]],
        terms: Parameters,
        able: Collection[str] | None,
    ) -> Case:
        faults = list(chain.from_iterable(harms))
        acts = chain(*(fault.acts for fault in faults), *scenes)
        return case_of(acts, faults, terms, self.area.value, able)


_OF_ALL_AREAS = st.one_of(harm.any_of(STRANGE), ANSWERS).map(tuple)
"""As often as each of what an area has of its own: mapped, these are one strategy among those, and not two."""


def shares(area: Area, able: Collection[str] | None = None) -> list[Share]:
    """Return one share for each kind of life that a client which is `able` to do so much can be asked.

    None: everything.
    """
    if area in _KINDS:
        return [share_of(kind, area) for kind in _KINDS[area].values() if kind.of.is_for(able)]
    bent = _AREAS[area]
    lived = st.one_of(bent.scenes, scenarios.SELDOM)
    wrong = st.one_of(bent.harms, _OF_ALL_AREAS)
    return [Share(area, lived, lived, MOST_SCENES - 1, wrong, st.builds(Parameters, **{**TERMS, **bent.terms}))]


def share_of(kind: WorkloadKind, area: Area = Area.CONSUMING) -> Share:
    """Return the share of one kind of life.

    It has a scene of its own first, and then others; foreign entries are for other lives.
    """
    return Share(
        area, kind.scenes, kind.more, MOST_MORE, kind.harms, st.builds(Parameters, **{**TERMS, **kind.terms()})
    )


def lives(area: Area = Area.MIXED, able: Collection[str] | None = None) -> st.SearchStrategy[Case]:
    """Return a strategy of Cases of an area for a client that is `able` to do so much (None: everything).

    Their ids say nothing: the plan numbers them.
    """
    return st.one_of([share.lives(able) for share in shares(area, able)])
