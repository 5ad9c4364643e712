"""Consumers that unsubscribe: of one topic and several, of partitions, by a pattern, and beside another consumer."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from assay_conformance.machines.answer_faults import answers_to
from assay_conformance.machines.environment import TOPIC, Environment, Way
from assay_conformance.machines.kinds.kind import (
    ACK,
    ALL,
    BESIDE,
    FULL,
    KNOWS_TOPICS,
    LONG,
    SHORT,
    SOME,
    WorkloadKind,
    beside_any,
    do,
)
from assay_conformance.machines.network_faults import lost_or_late, unanswered
from assay_conformance.machines.operations import Operation
from assay_conformance.machines.scenarios import NUMBERS, TIMES, call
from assay_conformance.model.case import Topic

_UNSUBSCRIBES = call(Operation.UNSUBSCRIBE, who=NUMBERS, number=TIMES)
_FIRST_UNSUBSCRIBES = call(Operation.UNSUBSCRIBE, who=st.just(0), number=TIMES)
_COMES = call(Operation.OPEN_CONSUMER, who=NUMBERS, number=NUMBERS)
_AROUND_IT = st.one_of(
    beside_any(st.one_of(unanswered("UNSUBSCRIBE"), lost_or_late("SUCCESS"), unanswered("SUBSCRIBE"))),
    answers_to("UNSUBSCRIBE", "CLOSE_CONSUMER"),
)

LEAVING: Mapping[str, WorkloadKind] = {
    "unsubscribes": WorkloadKind(
        Environment(
            needs=frozenset({"unsubscribe"}),
            terms={"partitions": (0, 0, 3), "subscription_type": ("exclusive", "shared", "failover", "key_shared")},
            ways=(Way(), Way(subscription="other")),
        ),
        st.one_of(
            st.tuples(FULL, SOME, _FIRST_UNSUBSCRIBES, LONG),
            st.tuples(FULL, SOME, ACK, _UNSUBSCRIBES, FULL, BESIDE, ALL),
            st.tuples(BESIDE, FULL, SOME, _UNSUBSCRIBES, SHORT, _UNSUBSCRIBES, LONG),
            st.tuples(_COMES, FULL, _UNSUBSCRIBES, do(Operation.UNLOAD), FULL, ALL, LONG),
        ),
        harms=_AROUND_IT,
    ),
    "unsubscribes from several topics": WorkloadKind(
        Environment(
            needs=frozenset({"unsubscribe"}),
            topics=(Topic(name="ta"),),
            written=(TOPIC, "ta"),
            ways=(
                Way((TOPIC, "ta"), "both"),
                Way((TOPIC, "ta"), "alike", pattern="t.*", needs="topic_patterns"),
                Way(("ta",), "one"),
            ),
            terms={"partitions": (0,), **KNOWS_TOPICS},
        ),
        st.one_of(
            st.tuples(do(Operation.OPEN_PRODUCER, 1), FULL, SOME, _FIRST_UNSUBSCRIBES, LONG),
            st.tuples(_COMES, FULL, SOME, ACK, _UNSUBSCRIBES, _COMES, FULL, ALL),
        ),
        harms=_AROUND_IT,
    ),
}
