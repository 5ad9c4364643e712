"""Consumers that wait for messages, or for others: impatient ones, some among others, some that are away; and those
beside which another topic is in trouble."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from assay_conformance.machines.drawn_faults import at
from assay_conformance.machines.environment import TOPIC, Environment, Way
from assay_conformance.machines.kinds.kind import (
    ACK,
    ALL,
    ASK_FOR_LAST,
    AT_ONCE,
    AWAY,
    BESIDE,
    FULL,
    LONG,
    LONGEST,
    ONE,
    PAUSE,
    SECOND,
    SENT,
    SETTLE,
    SHORT,
    SOME,
    WHILE_BACK,
    WorkloadKind,
    beside_any,
    do,
    hits,
)
from assay_conformance.machines.network_faults import ONE_HARM, any_of
from assay_conformance.machines.operations import Operation
from assay_conformance.machines.scenarios import FEW, SMALL, call, sends
from assay_conformance.model.case import Topic
from assay_conformance.model.fault import AnswerError, Cut, Drop, Hold
from assay_conformance.model.policy import Retention

_FINAL = ("TopicNotFound", "TopicNotFound", "ServiceNotReady")

_SLOW_TO_TAKE_BACK = at(("SUCCESS",), st.just(Hold(overtake=True)), st.just(2), st.just(500))
_UNTIL_IT_ASKS = call(Operation.PAUSE, number=st.sampled_from((2, 2, 3)))

_OTHER = "other"
_SENT_ELSEWHERE = sends(st.just(1), st.just(5), SMALL)
_NO_ANSWERS_ELSEWHERE = st.one_of(
    at(("SEND_RECEIPT",), st.just(Drop()), st.just(1), st.just(4_000), st.just(0), topic=_OTHER),
    at(("SUCCESS",), st.just(Drop()), FEW, st.just(4_000), st.just(0), topic=_OTHER),
)

COMPANY: Mapping[str, WorkloadKind] = {
    "stands beside another one": WorkloadKind(
        Environment(
            terms={
                "partitions": (0,),
                "clients": (1, 1, 2),
                "small_queue": (True, False),
                "batching": (False,),
                **AT_ONCE,
            },
            topics=(Topic(name=_OTHER),),
            written=(TOPIC, _OTHER),
            ways=(Way(), Way((_OTHER,)), Way((_OTHER,), config={"receiver_queue_size": 3})),
        ),
        st.one_of(
            st.tuples(
                do(Operation.OPEN_PRODUCER, 1), do(Operation.OPEN_CONSUMER, 2), _SENT_ELSEWHERE, FULL, ALL, FULL, ALL
            ),
            st.tuples(
                do(Operation.OPEN_PRODUCER, 1), _SENT_ELSEWHERE, do(Operation.CLOSE_PRODUCER, who=1), FULL, ALL, ONE
            ),
            st.tuples(
                do(Operation.OPEN_PRODUCER, 1),
                do(Operation.OPEN_CONSUMER, 1),
                _SENT_ELSEWHERE,
                SECOND,
                call(st.sampled_from((Operation.SEEK, Operation.NACK_ALL, Operation.CLOSE_CONSUMER)), who=st.just(1)),
                FULL,
                ALL,
            ),
        ),
        harms=st.one_of(st.tuples(_NO_ANSWERS_ELSEWHERE), ONE_HARM),
    ),
    "is impatient": WorkloadKind(
        Environment(
            needs=frozenset({"short_ack_timeout"}),
            settings={"consumer.ack_timeout_tick_ms": (None, 300, 300, 3_000)},
            terms={
                "ack_timeout_ms": (200, 400, 500, 500),
                "subscription_type": ("shared", "exclusive"),
                "partitions": (0,),
            },
        ),
        st.tuples(FULL, ALL, st.one_of(ACK, SHORT), LONG, ALL),
    ),
    "has no queue": WorkloadKind(
        Environment(
            needs=frozenset({"zero_queue"}),
            terms={
                "receiver_queue_size": (0,),
                "partitions": (0,),
                "batching": (False,),
                "chunking": (False,),
                "nack_delay_ms": (4_000,),
                **AT_ONCE,
            },
        ),
        st.one_of(
            st.tuples(FULL, SOME, SHORT, SOME),
            st.tuples(do(Operation.LISTEN, 1), st.one_of(AWAY, SHORT), LONG, LONGEST, ONE, ALL),
        ),
        harms=beside_any(st.one_of(hits(("FLOW", "MESSAGE", "SUBSCRIBE"), Cut(), Cut(before=True)), WHILE_BACK)),
    ),
    "is one of several subscriptions": WorkloadKind(
        Environment(
            settings={"topic.retention": (None, Retention())},
            terms={"partitions": (0,), "subscription_type": ("exclusive", "exclusive", "failover"), **AT_ONCE},
            ways=(Way(), Way(subscription="slow"), Way(subscription="late")),
        ),
        st.one_of(
            st.tuples(
                do(Operation.OPEN_CONSUMER, 1),
                FULL,
                ALL,
                do(Operation.ACK),
                call(Operation.RECEIVE, who=st.just(1), number=FEW),
                do(Operation.ACK, who=1),
                LONG,
                do(Operation.UNLOAD),
                LONG,
                do(Operation.SEND, 1),
                do(Operation.OPEN_CONSUMER, 2),
                do(Operation.RECEIVE, who=2),
            ),
            st.tuples(FULL, ALL, ACK, SHORT, do(Operation.OPEN_BESIDE), ONE, ALL),
            st.tuples(FULL, SOME, ASK_FOR_LAST, ONE, ASK_FOR_LAST),
        ),
    ),
    "is one of a crowd": WorkloadKind(
        Environment(terms={"subscription_type": ("shared", "key_shared", "failover"), "partitions": (0,)}),
        st.one_of(
            st.tuples(BESIDE, FULL, FULL, FULL, ALL, SECOND, ACK),
            st.tuples(FULL, ALL, BESIDE, do(Operation.CLOSE_CONSUMER), ALL, LONG),
            st.tuples(FULL, FULL, ALL, BESIDE, FULL, ACK, PAUSE, do(Operation.CLOSE_CONSUMER), ALL),
        ),
    ),
    "is away": WorkloadKind(
        Environment(terms={"partitions": (0,)}),
        st.one_of(
            st.tuples(FULL, ALL, AWAY, SETTLE, SETTLE, PAUSE, ALL),
            st.tuples(SENT, SOME, AWAY, do(Operation.CLOSE_CONSUMER), LONG),
            st.tuples(SENT, ASK_FOR_LAST, AWAY, ASK_FOR_LAST, ALL),
            st.tuples(
                SENT, AWAY, call(Operation.PAUSE, who=st.just(0), number=FEW), do(Operation.CLOSE_CONSUMER), LONG
            ),
            st.tuples(SENT, ALL, do(Operation.UNLOAD), _UNTIL_IT_ASKS, do(Operation.CLOSE_CONSUMER), LONG, LONG),
        ),
        harms=st.one_of(beside_any(WHILE_BACK), any_of(_SLOW_TO_TAKE_BACK)),
    ),
    "loses its topic": WorkloadKind(
        Environment(terms={"partitions": (0,), **AT_ONCE}),
        st.tuples(ONE, SHORT, st.one_of(AWAY, SHORT), FULL, do(Operation.LISTEN), LONGEST, LONGEST),
        harms=st.one_of(
            st.tuples(
                at(("SEND", "MESSAGE"), st.just(Cut()), FEW),
                at(("SUBSCRIBE",), st.sampled_from(_FINAL).map(AnswerError), st.just(2), st.just(4_000), st.just(0)),
            ),
            st.tuples(at(("SEND_RECEIPT", "MESSAGE", "FLOW"), st.just(Cut()), FEW)),
        ),
        more=st.tuples(ONE, ALL),
    ),
}
