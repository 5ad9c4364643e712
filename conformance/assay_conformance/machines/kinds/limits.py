"""What is limited: rates, what may be unacknowledged, how old a message grows, and how much a client may hold.

Most limits show on a world that nothing else is done to, and rates only after a few of their periods.
"""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from assay_conformance.machines.drawn_faults import at
from assay_conformance.machines.environment import Environment
from assay_conformance.machines.initial_backlog import BACKLOGS
from assay_conformance.machines.kinds.kind import (
    ALL,
    AT_ONCE,
    BESIDE,
    DONE,
    FULL,
    LARGE,
    LONG,
    LONGEST,
    MAY_BE_HARMED,
    ONE,
    PAUSE,
    SHORT,
    THREE,
    WorkloadKind,
    beside_any,
    do,
)
from assay_conformance.machines.network_faults import UNHARMED
from assay_conformance.machines.operations import Operation
from assay_conformance.machines.parameters import LARGEST, Parameters
from assay_conformance.machines.policies import (
    COUNTS_ENTRIES,
    NOT_KEPT,
    OF_DISPATCH,
    OWED,
    PLAIN,
    PUBLISHED,
    RATES,
    SIX_A_SECOND,
    SPARES_CAUGHT_UP,
)
from assay_conformance.machines.scenarios import FEW, SEND_AND_RECEIVE, SETTLED, call
from assay_conformance.model.fault import Hold

_AGES = (LONGEST, LONG, LONG)
_REFUSE_ALL = (do(Operation.NACK_ALL), PAUSE, do(Operation.RECEIVE, 5))
_REFUSE_FEW = (do(Operation.NACK, 1), do(Operation.NACK, 2), do(Operation.NACK, 3), do(Operation.RECEIVE, 5), LONG)
_ACK_SOME = call(st.sampled_from((Operation.ACK_ONE, Operation.ACK)), number=FEW)
_UNTIL_PUBLISHED_MS = 2_000
"""A rate lets forty messages through before a send times out."""
_NO_RECEIPTS = at(("SEND_RECEIPT",), st.just(Hold()), st.just(1), st.just(500), times=st.just(0))

LIMITS: Mapping[str, WorkloadKind] = {
    "reads at a rate": WorkloadKind(
        Environment(
            terms={
                "rates": tuple(RATES),
                "settings": (PLAIN, PLAIN, *OF_DISPATCH),
                "backlog": tuple(BACKLOGS),
                "partitions": (0, 0, 0, 3),
                "subscription_type": ("exclusive", "shared"),
                "receiver_queue_size": (1_000, 10),
                "nack_delay_ms": (100,),
                **AT_ONCE,
            },
            quiet=True,
        ),
        st.one_of(
            st.tuples(*(LONGEST,) * 3),
            st.tuples(ALL, *_REFUSE_ALL, *_REFUSE_ALL, *_REFUSE_ALL, LONGEST),
        ),
        harms=MAY_BE_HARMED,
        more=st.tuples(ALL),
    ),
    "is owed a rate": WorkloadKind(
        Environment(
            terms={
                "rates": tuple(OWED),
                "settings": (PLAIN, COUNTS_ENTRIES, SPARES_CAUGHT_UP),
                "backlog": ("plain", "batched"),
                "partitions": (0, 3),
                "subscription_type": ("exclusive",),
                "receiver_queue_size": (1_000,),
                **AT_ONCE,
            },
            quiet=True,
        ),
        st.tuples(*(LONGEST,) * 4),
        harms=UNHARMED,
        more=st.tuples(LONGEST),
    ),
    "reads batches": WorkloadKind(
        Environment(
            terms={
                "settings": tuple(OF_DISPATCH),
                "backlog": ("batched", "batched", "plain"),
                "partitions": (0,),
                "subscription_type": ("exclusive", "shared"),
                "receiver_queue_size": (10, 12, 5),
                **AT_ONCE,
            },
            quiet=True,
        ),
        st.tuples(*(ALL,) * 6),
        harms=MAY_BE_HARMED,
        more=st.tuples(ALL),
    ),
    "leaves much unacknowledged": WorkloadKind(
        Environment(
            settings={"topic.max_unacked_per_consumer": (3, 4, 10), "topic.max_unacked_per_subscription": (None, 5)},
            terms={
                "subscription_type": ("shared", "shared", "key_shared"),
                "receiver_queue_size": (3, 1_000),
                "partitions": (0,),
                "chunking": (False,),
                "listens_out": (False, True),
                **AT_ONCE,
            },
        ),
        st.one_of(
            st.tuples(FULL, FULL, ALL, _ACK_SOME, PAUSE, ALL, do(Operation.ACK), LONG, LONG),
            st.tuples(BESIDE, FULL, FULL, ALL, _ACK_SOME, PAUSE, ALL, do(Operation.ACK), LONG, LONG),
        ),
        harms=MAY_BE_HARMED,
    ),
    "grows old": WorkloadKind(
        Environment(
            settings={"topic.message_ttl_s": (1,), "broker.expiry_check_ms": (100,)},
            terms={"partitions": (0,), "subscription_type": ("exclusive", "failover"), **AT_ONCE},
        ),
        st.one_of(
            st.tuples(do(Operation.CLOSE_CONSUMER), FULL, *_AGES, FULL, BESIDE, ALL),
            st.tuples(FULL, THREE, do(Operation.ACK), do(Operation.CLOSE_CONSUMER), *_AGES, FULL, BESIDE, ALL),
        ),
        harms=MAY_BE_HARMED,
        more=st.one_of(SEND_AND_RECEIVE, SETTLED),
    ),
    "has little room": WorkloadKind(
        Environment(
            needs=frozenset({"memory_limit", "across_partitions_limit"}),
            settings={
                "client.memory_limit_bytes": (None, 5_000, 10_000),
                "producer.block_if_queue_full": (False,),
                "producer.max_pending_across_partitions": (None, 6, 9, 30),
            },
            terms={
                "partitions": (0, 3),
                "routing": ("single", "single", "round_robin"),
                "router": ("",),
                "max_pending_messages": (1_000, 1_000, 3, 5),
                "small_queue": (False,),
                "varied": (False,),
                "max_message_bytes": (1_000,),
                "send_timeout_ms": (1_000,),
                "own_client": (True, False),
            },
        ),
        st.one_of(
            st.tuples(FULL, LARGE, DONE, do(Operation.HOLD_STORE), LARGE, FULL, FULL, SHORT, DONE),
            st.tuples(LARGE, LARGE, DONE, SHORT, do(Operation.HOLD_STORE), FULL, FULL, FULL, FULL, DONE),
            st.tuples(
                do(Operation.OPEN_PRODUCER, 0), do(Operation.HOLD_STORE), LARGE, FULL, call(Operation.SEND_BY_ALL), LONG
            ),
        ),
        harms=st.one_of(UNHARMED, beside_any(_NO_RECEIPTS)),
        more=st.tuples(FULL),
    ),
    "refuses at a rate": WorkloadKind(
        Environment(
            terms={
                "rates": (SIX_A_SECOND,),
                "backlog": ("plain",),
                "partitions": (0,),
                "subscription_type": ("shared",),
                "receiver_queue_size": (1_000,),
                "nack_delay_ms": (100, 1),
                **AT_ONCE,
            },
            quiet=True,
        ),
        st.one_of(st.tuples(ALL, *_REFUSE_ALL * 6), st.tuples(ALL, *_REFUSE_FEW * 10)),
        harms=UNHARMED,
        more=st.tuples(LONGEST),
    ),
    "publishes at a rate": WorkloadKind(
        Environment(
            terms={
                "rates": tuple(PUBLISHED),
                "sizes": (LARGEST,),
                "partitions": (0,),
                "max_message_bytes": (Parameters().max_message_bytes,),
                "compression": ("NONE",),
                "batching": (False,),
                "chunking": (False,),
                "small_queue": (False,),
                "max_pending_messages": (1_000,),
                "send_timeout_ms": (_UNTIL_PUBLISHED_MS,),
                "deduplication": (False,),
                **AT_ONCE,
            }
        ),
        st.tuples(*(FULL,) * 8, DONE),
        harms=UNHARMED,
        more=st.tuples(LONGEST),
    ),
    "reads at once or never": WorkloadKind(
        Environment(
            terms={
                "persistent": (False,),
                "rates": tuple(NOT_KEPT),
                "partitions": (0,),
                "subscription_type": ("exclusive", "shared"),
                "receiver_queue_size": (1_000,),
                "batching": (False,),
                **AT_ONCE,
            }
        ),
        st.tuples(*(ONE, DONE) * 4, ALL, LONGEST, ALL),
        harms=UNHARMED,
        more=st.tuples(ONE),
    ),
}
