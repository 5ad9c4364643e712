"""Producers and clients that open in ways of their own: lazily, with a schema, with a supplier that may fail."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from assay_conformance.cases.build import DEFAULT_PAYLOAD_BYTES
from assay_conformance.machines.answer_faults import answers_to
from assay_conformance.machines.environment import Environment
from assay_conformance.machines.kinds.kind import (
    ALL,
    AT_ONCE,
    DONE,
    FIRST,
    FULL,
    IDENTIFIED,
    LONG,
    LONGEST,
    PAUSE,
    SHORT,
    SOME,
    WorkloadKind,
    beside_any,
    do,
    hits,
)
from assay_conformance.machines.network_faults import lost_or_late, unanswered
from assay_conformance.machines.operations import Operation
from assay_conformance.machines.scenarios import FEW, NUMBERS, call, sends
from assay_conformance.model.fault import AnswerError, Cut, Delay
from assay_conformance.pulsar.cases.schema import FIRST as FIRST_SCHEMA
from assay_conformance.pulsar.cases.schema import SECOND as SECOND_SCHEMA

_ALONE = sends(FIRST, st.just(1), IDENTIFIED)
_FLUSH, _CLOSE, _OPEN = do(Operation.FLUSH), do(Operation.CLOSE_PRODUCER), do(Operation.OPEN_PRODUCER, 0)
_CHALLENGES, _READS = do(Operation.CHALLENGE), do(Operation.READ_VALUES)
_AWAY_WITH_ONE = call(Operation.UNLOAD_ONE, who=FEW)
_AWAY = call(st.sampled_from((Operation.UNLOAD, Operation.RESTART)), number=FEW)
_OPENS_ANOTHER = call(Operation.OPEN_PRODUCER, number=st.just(0), size=NUMBERS)
_SENDS_BESIDE = sends(st.just(1), FEW, IDENTIFIED)
_DEFINITIONS = (FIRST_SCHEMA["schema_definition"], SECOND_SCHEMA["schema_definition"])

OPENING: Mapping[str, WorkloadKind] = {
    "opens partitions lazily": WorkloadKind(
        Environment(
            needs=frozenset({"partitioned_topics", "lazy_start"}),
            settings={"producer.lazy_start_partitioned_producers": (True,)},
            terms={
                "partitions": (2, 3, 5),
                "routing": ("round_robin", "round_robin", "single"),
                "router": ("",),
                "claims": (False,),
                "batching": (False, False, True),
                "deduplication": (False, True),
            },
        ),
        st.one_of(
            st.tuples(*(_ALONE, SHORT) * 4, FULL, FULL, DONE, _FLUSH, _CLOSE, _OPEN, FULL, DONE, ALL),
            st.tuples(_ALONE, do(Operation.GROW), LONGEST, FULL, FULL, do(Operation.GROW), LONGEST, FULL, FULL, DONE),
            st.tuples(FULL, _AWAY_WITH_ONE, FULL, FULL, _FLUSH, LONG, FULL, DONE, ALL),
            st.tuples(_FLUSH, _CLOSE, _OPEN, do(Operation.GROW), _CLOSE, _OPEN, FULL, FULL, DONE, ALL),
        ),
        harms=beside_any(
            st.one_of(
                hits(("PRODUCER", "PRODUCER_SUCCESS", "LOOKUP"), Cut(), Delay(500, overtake=True), latest=4),
                hits(("PRODUCER",), AnswerError("ServiceNotReady"), AnswerError("AuthorizationError"), latest=4),
                unanswered("PRODUCER", "PARTITIONED_METADATA"),
            )
        ),
    ),
    "has a schema": WorkloadKind(
        Environment(
            needs=frozenset({"schema"}),
            settings={
                "producer.schema": ("avro",),
                "consumer.schema": ("avro",),
                "producer.schema_definition": _DEFINITIONS[:1],
                "consumer.schema_definition": _DEFINITIONS,
            },
            variants=tuple({"schema_definition": definition} for definition in _DEFINITIONS),
            terms={
                "varied": (True, True, False),
                "sizes": ((DEFAULT_PAYLOAD_BYTES,),),
                "partitions": (0, 0, 2),
                "receives": ("", "listener", "batch"),
                "chunking": (False,),
                "persistent": (True,),
                **AT_ONCE,
            },
        ),
        st.one_of(
            st.tuples(FULL, ALL, _READS, FULL, ALL, _READS, DONE),
            st.tuples(FULL, SOME, _READS, _AWAY, FULL, ALL, ALL, _READS, DONE),
            st.tuples(_OPENS_ANOTHER, FULL, _SENDS_BESIDE, ALL, ALL, _READS, _CLOSE, _OPENS_ANOTHER, FULL, ALL, _READS),
            st.tuples(do(Operation.OPEN_CONSUMER, 0), _OPENS_ANOTHER, FULL, _SENDS_BESIDE, _AWAY, ALL, ALL, _READS),
        ),
        harms=st.one_of(
            beside_any(
                st.one_of(
                    unanswered("GET_SCHEMA"),
                    lost_or_late("GET_SCHEMA_RESPONSE"),
                    hits(("PRODUCER", "SUBSCRIBE"), AnswerError("IncompatibleSchema"), latest=3),
                )
            ),
            answers_to("GET_SCHEMA"),
        ),
    ),
    "has a supplier of credentials": WorkloadKind(
        Environment(
            needs=frozenset({"auth_refresh"}),
            settings={
                "client.credentials": (
                    "token:first,token:second",
                    "token:first,wait:300:second",
                    "wait:300:first,token:second,wait:600:first",
                    "token:first,raise,token:second",
                ),
            },
            terms={"tokens": ("first,second",), "proxied": (False,), "brokers": (1, 2)},
        ),
        st.one_of(
            st.tuples(FULL, _CHALLENGES, SHORT, FULL, ALL, _CHALLENGES, PAUSE, FULL, DONE, ALL),
            st.tuples(FULL, _AWAY, FULL, LONG, _CHALLENGES, FULL, DONE, ALL),
            st.tuples(FULL, DONE, LONGEST, FULL, DONE, ALL),
        ),
        harms=beside_any(
            st.one_of(
                hits(("CONNECT", "CONNECTED", "AUTH_CHALLENGE", "AUTH_RESPONSE"), Cut(), Delay(300)),
                lost_or_late("AUTH_CHALLENGE", "CONNECTED"),
            )
        ),
    ),
}
