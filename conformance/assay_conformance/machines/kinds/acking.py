"""Consumers that are about their acknowledgments: one after the other, answered, or as other clients write them."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from assay_conformance.machines.environment import Environment
from assay_conformance.machines.kinds.kind import (
    ACK,
    ALL,
    AT_ONCE,
    BESIDE,
    DIES,
    FULL,
    LONG,
    MAY_BE_HARMED,
    NEXT,
    PAUSE,
    SETTLE,
    SHORT,
    SOME,
    THREE,
    WorkloadKind,
    beside_any,
    do,
    hits,
)
from assay_conformance.machines.network_faults import any_of
from assay_conformance.machines.operations import Operation
from assay_conformance.machines.scenarios import FEW, SEND_AND_RECEIVE, TIMES, call
from assay_conformance.model.fault import Cut, Delay, Drop, Hold, Rewrite

_REFUSED_ACK: dict[str, int | str | bool] = {"error": "MetadataError", "message": ""}
_ON_ANSWERS = hits(("ACK_RESPONSE",), Rewrite(_REFUSED_ACK), Delay(250), Hold(), Cut(before=True), Drop())
_OTHERS_ACKS = hits(
    ("ACK",),
    # Names one message for its whole batch; tells what is new and not what is left; takes all before it along.
    Rewrite({"message_id.batch_index": 1}),
    Rewrite({"message_id.ack_set": 0b1101}),
    Rewrite({"message_id.ack_set": 0b0011}),
    Rewrite({"message_id.ack_set": 0b11101}),
    Rewrite({"message_id.ack_set": 0b00111}),
    Rewrite({"ack_type": "Cumulative"}),
)

_SETTLES = call(st.sampled_from((Operation.ACK, Operation.ACK_ONE, Operation.ACK_ONE)), number=TIMES)
_COMES_BACK = st.one_of(do(Operation.RESTART_CLIENT), do(Operation.CLOSE_CONSUMER))

_HOLES = tuple(do(Operation.ACK_ONE, number) for number in (1, 3, 5))

ACKING: Mapping[str, WorkloadKind] = {
    "settles steadily": WorkloadKind(
        Environment(terms={"ack_group_ms": (100,), "ack_group_max": (1_000,), "partitions": (0,), **AT_ONCE}),
        st.one_of(
            st.tuples(FULL, ALL, *(each for n in range(1, 6) for each in (do(Operation.ACK_ONE, n), SHORT))),
            st.tuples(FULL, ALL, *(each for n in range(1, 6) for each in (do(Operation.NACK_FIRST, n), SHORT)), LONG),
        ),
    ),
    "waits for answers": WorkloadKind(
        Environment(
            needs=frozenset({"ack_receipt"}),
            terms={"ack_receipt": (True,), "ack_group_ms": (100, 50), "subscription_type": ("exclusive", "failover")},
        ),
        st.one_of(
            st.tuples(FULL, ALL, ACK, ACK, LONG, ACK),
            st.tuples(FULL, ALL, *(do(Operation.ACK_ONE, number) for number in (1, 2, 3)), LONG, ACK),
            st.tuples(
                FULL,
                ALL,
                do(Operation.ACK_UP_TO, 2),
                do(Operation.ACK_UP_TO, 3),
                do(Operation.PAUSE, 2),
                do(Operation.ACK_UP_TO, 1),
                do(Operation.ACK_UP_TO, 3),
                do(Operation.SETTLE),
                do(Operation.ACK_ONE, 4),
            ),
        ),
        harms=beside_any(_ON_ANSWERS),
    ),
    "settles as others do": WorkloadKind(
        Environment(
            terms={
                "partitions": (0,),
                "subscription_type": ("shared", "exclusive"),
                "batching": (True, True, False),
                "batching_max_messages": (10, 3),
                "batch_index_ack": (True, True, False),
                **AT_ONCE,
            }
        ),
        # Its own connection ends: a broker that loads its topic again knows less of acknowledgments than it received.
        st.tuples(FULL, ALL, _SETTLES, PAUSE, _SETTLES, LONG, _COMES_BACK, BESIDE, ALL, ALL),
        harms=any_of(_OTHERS_ACKS),
        more=SEND_AND_RECEIVE,
    ),
    "leaves holes": WorkloadKind(
        Environment(
            settings={"broker.cursor_persist_ms": (200,)},
            terms={
                "partitions": (0,),
                "subscription_type": ("shared", "exclusive", "key_shared"),
                "ack_group_ms": (0, 50),
                **AT_ONCE,
            },
        ),
        st.tuples(
            FULL,
            FULL,
            ALL,
            ALL,
            *_HOLES,
            LONG,
            do(Operation.ACK_ONE, 7),
            LONG,
            call(Operation.RESTART, number=FEW),
            ALL,
            LONG,
            ALL,
        ),
    ),
    "dies with what it has": WorkloadKind(
        Environment(terms={"ack_group_ms": (0, 100), "partitions": (0, 0, 3), "small_queue": (False,)}),
        st.one_of(
            st.tuples(FULL, SOME, _SETTLES, DIES, ALL, SETTLE),
            st.tuples(FULL, ALL, _SETTLES, PAUSE, DIES, FULL, ALL, SETTLE),
            st.tuples(FULL, ALL, do(Operation.NACK, 1), do(Operation.NACK, 2), PAUSE, DIES, ALL, SETTLE),
        ),
        harms=MAY_BE_HARMED,
        more=SEND_AND_RECEIVE,
    ),
    "is not heard": WorkloadKind(
        Environment(
            terms={
                "partitions": (0,),
                "subscription_type": ("exclusive", "failover", "shared"),
                "receiver_queue_size": (1, 3),
                "ack_group_ms": (100,),
                "chunking": (False,),
                "batching": (False,),
                **AT_ONCE,
            }
        ),
        st.tuples(
            FULL,
            NEXT,
            NEXT,
            call(st.sampled_from((Operation.ACK_UP_TO, Operation.ACK_ONE)), number=FEW),
            PAUSE,
            THREE,
            ALL,
        ),
        harms=any_of(hits(("ACK",), Cut(before=True), Cut(before=True), Cut(), latest=1)),
        more=SEND_AND_RECEIVE,
    ),
}
