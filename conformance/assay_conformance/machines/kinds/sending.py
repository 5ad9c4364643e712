"""Those whose producers are what matters: what they send, and how much of it is on its way."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from assay_conformance.machines.drawn_faults import at
from assay_conformance.machines.environment import Environment
from assay_conformance.machines.kinds.kind import (
    ALL,
    AT_ONCE,
    DIES,
    DONE,
    FEW_IDENTIFIED,
    FIRST,
    FIVE,
    FULL,
    IDENTIFIED,
    LARGE,
    LONG,
    LONGEST,
    MAY_BE_HARMED,
    ONE,
    PAUSE,
    SHORT,
    WorkloadKind,
    beside_any,
    do,
)
from assay_conformance.machines.network_faults import UNHARMED
from assay_conformance.machines.operations import Act, Operation
from assay_conformance.machines.parameters import CHUNKING_LIMIT_BYTES, LARGEST, Parameters
from assay_conformance.machines.policies import QUICK_TICK, SMALL_BUFFER
from assay_conformance.machines.scenarios import FEW, TIMES, call, sends
from assay_conformance.model.fault import Drop, Rewrite

_HOLD, _RELEASE, _FLUSH = map(do, (Operation.HOLD_STORE, Operation.RELEASE_STORE, Operation.FLUSH))
_MANY = sends(FIRST, st.just(12), st.integers(2, 4))
_SENT_BY_ALL = call(Operation.SEND_BY_ALL)
_FOR_LATER = sends(FIRST, FEW, IDENTIFIED, delay=st.integers(4, 5))

_IN_CHUNKS = {"chunking": (True,), "batching": (False,), "partitions": (0,), **AT_ONCE}
_LARGE_SCENES = (
    st.tuples(_HOLD, LARGE, LARGE, SHORT, _RELEASE, DONE, FULL, DONE),
    st.tuples(_HOLD, LARGE, LARGE, _RELEASE, DONE, PAUSE, _HOLD, FIVE, ONE, SHORT, DONE),
    st.tuples(LARGE, DONE, LARGE, DONE, PAUSE, _HOLD, _MANY, SHORT, DONE),
)

_BACK_TO_IT = st.tuples(LARGE, ONE, LARGE, ALL, call(Operation.SEEK, who=FIRST, number=FEW), ALL)

_FIRST_LIMIT = st.tuples(at(("CONNECTED",), st.just(Rewrite({"max_message_size": CHUNKING_LIMIT_BYTES})), st.just(1)))
_NO_RECEIPTS = at(("SEND_RECEIPT",), st.just(Drop()), TIMES, st.just(500), st.just(0))

WRITING: Mapping[str, WorkloadKind] = {
    "sends what is large": WorkloadKind(
        Environment(
            needs=frozenset({"chunking_producer", "chunking_consumer"}),
            settings={
                "producer.block_if_queue_full": (None, False),
                "producer.chunk_max_message_bytes": (None, None, CHUNKING_LIMIT_BYTES // 2),
            },
            terms={"max_pending_messages": (1_000, 5, 5), "own_client": (True, False), **_IN_CHUNKS},
        ),
        st.one_of(*_LARGE_SCENES, _BACK_TO_IT),
    ),
    "dies with what it sends": WorkloadKind(
        Environment(
            terms={"named": (True, True, False), "deduplication": (True, False), "small_queue": (False,)},
        ),
        st.one_of(
            st.tuples(FULL, DIES, FULL, DONE, ALL),
            st.tuples(FIVE, DONE, DIES, FIVE, DONE, ALL),
            st.tuples(LARGE, FULL, DIES, LARGE, DONE, ALL, ALL),
            st.tuples(_HOLD, FULL, _MANY, SHORT, DIES, FULL, DONE, ALL),
        ),
        harms=MAY_BE_HARMED,
        more=st.tuples(FULL),
    ),
    "has little memory for what is large": WorkloadKind(
        Environment(
            needs=frozenset({"chunking_producer", "chunking_consumer", "memory_limit"}),
            settings={"producer.block_if_queue_full": (None, False), "client.memory_limit_bytes": (5_000, 10_000)},
            terms={"own_client": (True, True, False), **_IN_CHUNKS},
        ),
        st.one_of(_LARGE_SCENES),
    ),
    "has little memory": WorkloadKind(
        Environment(
            needs=frozenset({"memory_limit"}),
            settings={"client.memory_limit_bytes": (3_000, 5_000), "producer.block_if_queue_full": (False,)},
            terms={
                "chunking": (False,),
                "batching": (False,),
                "partitions": (0,),
                "max_message_bytes": (Parameters().max_message_bytes,),
                "send_timeout_ms": (500, 1_000),
                "small_queue": (False,),
                "max_pending_messages": (1_000,),
                "own_client": (True,),
                **AT_ONCE,
            },
        ),
        st.one_of(
            st.tuples(
                LARGE, SHORT, do(Operation.CLOSE_PRODUCER), do(Operation.OPEN_PRODUCER, 0), PAUSE, _HOLD, _MANY, DONE
            ),
            st.tuples(_HOLD, LARGE, LONG, PAUSE, _MANY, DONE),
            st.tuples(_MANY, DONE, _MANY, DONE, _MANY, DONE),
            st.tuples(do(Operation.OPEN_PRODUCER, 0), _HOLD, _SENT_BY_ALL, SHORT, DONE),
        ),
        harms=st.one_of(UNHARMED, beside_any(_NO_RECEIPTS)),
    ),
    "is told limits that differ": WorkloadKind(
        Environment(
            terms={
                "brokers": (2,),
                "spread": (True,),
                "proxied": (False,),
                "partitions": (0, 3),
                "max_message_bytes": (Parameters().max_message_bytes,),
                "chunking": (False,),
                "batching": (False,),
                "compression": ("NONE",),
            }
        ),
        st.tuples(FIVE, LARGE, FIVE, LARGE, LARGE),
        harms=_FIRST_LIMIT,
    ),
    "fills a broker's buffer": WorkloadKind(
        Environment(
            terms={
                "settings": (SMALL_BUFFER,),
                "clients": (2,),
                "named": (True,),
                "sizes": (LARGEST,),
                "partitions": (0,),
                "max_message_bytes": (Parameters().max_message_bytes,),
                "compression": ("NONE",),
                "small_queue": (False,),
                "chunking": (False,),
            }
        ),
        st.tuples(st.just(Act(Operation.OPEN_PRODUCER, 1, 0)), _HOLD, _SENT_BY_ALL, _SENT_BY_ALL, PAUSE),
        harms=MAY_BE_HARMED,
        more=st.tuples(ONE),
    ),
    "fills batches": WorkloadKind(
        Environment(
            settings={"producer.block_if_queue_full": (None, True, True)},
            terms={
                "batching": (True,),
                "batching_max_messages": (10, 1_000),
                "batching_max_publish_delay_ms": (50, 700),
                "max_pending_messages": (4, 12, 1_000),
                "max_message_bytes": (1_000,),
                "partitions": (0,),
                "chunking": (False,),
                "small_queue": (False,),
                "send_timeout_ms": (1_000,),
            },
        ),
        st.one_of(
            st.tuples(_MANY, FULL, DONE),
            st.tuples(ONE, _FLUSH, PAUSE, ONE, _FLUSH, DONE),
            st.tuples(_HOLD, _MANY, PAUSE, PAUSE, _RELEASE, DONE),
            st.tuples(_HOLD, ONE, _FLUSH, SHORT, _MANY, _FLUSH, SHORT, _RELEASE, ONE, _FLUSH, DONE),
            st.tuples(*(FEW_IDENTIFIED, do(Operation.PAUSE, 0)) * 8, DONE),
        ),
        harms=st.one_of(UNHARMED, beside_any(_NO_RECEIPTS)),
    ),
    "sends for later": WorkloadKind(
        Environment(
            needs=frozenset({"delayed_delivery"}),
            terms={
                "delays": (QUICK_TICK,),
                "subscription_type": ("shared", "exclusive"),
                "batching": (False,),
                "chunking": (False,),
                **AT_ONCE,
            },
        ),
        st.one_of(
            st.tuples(_FOR_LATER, FEW_IDENTIFIED, ALL, LONGEST, ALL),
            st.tuples(_FOR_LATER, FEW_IDENTIFIED, DONE, call(Operation.RESTART, number=FEW), LONG, ALL, LONGEST, ALL),
        ),
    ),
}
