"""Those whose producers are what matters: what they send, how much of it is on its way, and who has their name."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from assay_conformance.machines.acts import Do
from assay_conformance.machines.harm import at
from assay_conformance.machines.kinds.kind import (
    ALL,
    AT_ONCE,
    FIRST,
    FIVE,
    FULL,
    LARGE,
    LONG,
    LONGEST,
    ONE,
    PAUSE,
    SHORT,
    TOLD,
    Kind,
    beside_any,
    do,
)
from assay_conformance.machines.network_harm import UNHARMED
from assay_conformance.machines.policies import LIVENESS, PLAIN, QUICK_TICK, SNAPSHOTS
from assay_conformance.machines.scenes import FEW, NUMBERS, TIMES, call, sends
from assay_conformance.machines.surroundings import Surroundings
from assay_conformance.machines.terms import Terms
from assay_conformance.model.fault import AnswerError, Cut, CutHow, Drop

_HOLD, _RELEASE, _SETTLE, _FLUSH = map(do, (Do.HOLD_STORE, Do.RELEASE_STORE, Do.SETTLE, Do.FLUSH))
_MANY = sends(FIRST, st.just(12), st.integers(2, 4))
_ONE = sends(FIRST, FEW, TOLD, key=NUMBERS)
_ONE_BY_ONE = (_ONE, _SETTLE)
_FOR_LATER = sends(FIRST, FEW, TOLD, delay=st.integers(4, 5))

_IN_CHUNKS = {"chunking": (True,), "batching": (False,), "partitions": (0,), **AT_ONCE}
_LARGE_SCENES = (
    st.tuples(_HOLD, LARGE, LARGE, SHORT, _RELEASE, _SETTLE, FULL, _SETTLE),
    st.tuples(_HOLD, LARGE, LARGE, _RELEASE, _SETTLE, PAUSE, _HOLD, FIVE, ONE, SHORT, _SETTLE),
    st.tuples(LARGE, _SETTLE, LARGE, _SETTLE, PAUSE, _HOLD, _MANY, SHORT, _SETTLE),
)

_PASSING = ("ServiceNotReady", "ProducerBusy", "ProducerBlockedQuotaExceededError")
_REFUSED_AGAIN = st.tuples(
    at(("SEND", "SEND_RECEIPT"), st.sampled_from((Cut(), Cut(before=True))), st.integers(1, 3)),
    at(
        ("PRODUCER",),
        st.sampled_from(_PASSING).map(AnswerError),
        st.just(2),
        st.just(8_000),
        st.sampled_from((1, 2, 3)),
    ),
    at(("SEND", "SEND_RECEIPT"), st.just(Cut()), st.integers(4, 6)),
)
_FALLS_SILENT = at(
    ("SEND", "SEND_RECEIPT"), st.sampled_from((Cut(how=CutHow.BLACKHOLE), Cut())), st.integers(1, 2), st.just(4_000)
)
_NO_RECEIPTS = at(("SEND_RECEIPT",), st.just(Drop()), TIMES, st.just(500), st.just(0))

WRITING: Mapping[str, Kind] = {
    "sends what is large": Kind(
        Surroundings(
            needs=frozenset({"chunking_producer", "chunking_consumer"}),
            settings={"producer.block_if_queue_full": (None, False)},
            terms={"max_pending_messages": (1_000, 5, 5), "own_client": (True, False), **_IN_CHUNKS},
        ),
        st.one_of(*_LARGE_SCENES, st.tuples(ONE, LARGE, ONE, ALL, call(Do.SEEK, who=st.just(0), number=TIMES), ALL)),
    ),
    "has little memory for what is large": Kind(
        Surroundings(
            needs=frozenset({"chunking_producer", "chunking_consumer", "memory_limit"}),
            settings={"producer.block_if_queue_full": (None, False), "client.memory_limit_bytes": (5_000, 10_000)},
            terms={"own_client": (True, True, False), **_IN_CHUNKS},
        ),
        st.one_of(_LARGE_SCENES),
    ),
    "has little memory": Kind(
        Surroundings(
            needs=frozenset({"memory_limit"}),
            settings={"client.memory_limit_bytes": (3_000, 5_000), "producer.block_if_queue_full": (False,)},
            terms={
                "chunking": (False,),
                "batching": (False,),
                "partitions": (0,),
                "max_message_bytes": (Terms().max_message_bytes,),
                "send_timeout_ms": (500, 1_000),
                "own_client": (True,),
                **AT_ONCE,
            },
        ),
        st.one_of(
            st.tuples(LARGE, SHORT, do(Do.CLOSE_PRODUCER), do(Do.OPEN_PRODUCER, 0), PAUSE, _HOLD, _MANY, _SETTLE),
            st.tuples(_HOLD, LARGE, LONG, PAUSE, _MANY, _SETTLE),
            st.tuples(_MANY, _SETTLE, _MANY, _SETTLE, _MANY, _SETTLE),
        ),
        harms=st.one_of(UNHARMED, beside_any(_NO_RECEIPTS)),
    ),
    "fills batches": Kind(
        Surroundings(
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
            st.tuples(_MANY, FULL, _SETTLE),
            st.tuples(ONE, _FLUSH, PAUSE, ONE, _FLUSH, _SETTLE),
            st.tuples(_HOLD, _MANY, PAUSE, PAUSE, _RELEASE, _SETTLE),
            st.tuples(_HOLD, ONE, _FLUSH, SHORT, _MANY, _FLUSH, SHORT, _RELEASE, ONE, _FLUSH, _SETTLE),
            st.tuples(*(_ONE, do(Do.PAUSE, 0)) * 8, _SETTLE),
        ),
        harms=st.one_of(UNHARMED, UNHARMED, beside_any(_NO_RECEIPTS)),
    ),
    "is refused when it is back": Kind(
        Surroundings(
            terms={"send_timeout_ms": (2_000,), "partitions": (0,), "batching": (False,), "claims": (False,)},
        ),
        # Some clients wait for seconds before they ask again.
        st.one_of(st.tuples(*_ONE_BY_ONE * 6), st.tuples(_ONE, SHORT, _ONE, *(LONGEST,) * 6)),
        harms=_REFUSED_AGAIN,
        more=st.tuples(*_ONE_BY_ONE),
    ),
    "shares its name": Kind(
        Surroundings(
            terms={
                "clients": (2,),
                "named": (True,),
                "partitions": (0,),
                "settings": (LIVENESS, LIVENESS, PLAIN),
                "claims": (False,),
            }
        ),
        st.one_of(
            st.tuples(ONE, SHORT, do(Do.OPEN_NAMESAKE), ONE, LONG, call(Do.SEND, who=st.just(1)), LONG),
            st.tuples(ONE, ONE, do(Do.OPEN_NAMESAKE), call(Do.CLOSE_PRODUCER, who=NUMBERS), ONE, LONG),
        ),
        harms=beside_any(_FALLS_SILENT),
    ),
    "comes back to a topic loaded anew": Kind(
        Surroundings(
            terms={
                "deduplication": (True,),
                "named": (True,),
                "partitions": (0,),
                "settings": (SNAPSHOTS, SNAPSHOTS, PLAIN),
                "chunking": (False,),
            }
        ),
        st.tuples(
            ONE,
            do(Do.OPEN_PRODUCER, 0),
            call(Do.SEND, who=st.just(1), number=FEW),
            _SETTLE,
            call(Do.RESTART, number=FEW),
            st.one_of(do(Do.REOPEN_PRODUCER), SHORT),
            do(Do.SEND_AGAIN, 2),
            ONE,
        ),
    ),
    "sends for later": Kind(
        Surroundings(
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
            st.tuples(_FOR_LATER, _ONE, ALL, LONGEST, ALL),
            st.tuples(_FOR_LATER, _ONE, _SETTLE, call(Do.RESTART, number=FEW), LONG, ALL, LONGEST, ALL),
        ),
    ),
}
