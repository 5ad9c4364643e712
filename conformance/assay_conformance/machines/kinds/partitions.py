"""Those whose messages go to many partitions: round and round, by key, and to new ones."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from assay_conformance.machines.drawn_faults import at
from assay_conformance.machines.environment import Environment
from assay_conformance.machines.kinds.kind import (
    DONE,
    FIRST,
    FIVE,
    FULL,
    IDENTIFIED,
    LONG,
    LONGEST,
    MAY_BE_HARMED,
    ONE,
    SHORT,
    WorkloadKind,
    beside_any,
    do,
)
from assay_conformance.machines.network_faults import UNHARMED
from assay_conformance.machines.operations import Operation
from assay_conformance.machines.scenarios import FEW, call, sends
from assay_conformance.model.fault import Hold

_ONE_ALONE = sends(FIRST, st.just(1), IDENTIFIED)
_BREATH = do(Operation.PAUSE, 0)
_STAYS_AWAY = at(("PRODUCER_SUCCESS",), st.just(Hold(overtake=True)), st.sampled_from((3, 4, 4, 5)), st.just(1_500))
_SPREADS = {"routing": ("round_robin",), "router": ("",), "chunking": (False,), "small_queue": (False,)}

PARTITIONS: Mapping[str, WorkloadKind] = {
    "goes round its partitions": WorkloadKind(
        Environment(
            needs=frozenset({"partitioned_topics"}),
            terms={
                **_SPREADS,
                "partitions": (3, 5),
                "batching": (True, True, False),
                "batching_max_messages": (1_000,),
                "batching_max_publish_delay_ms": (50, 100, 150),
                "batching_partition_switch_frequency": (1, 2, 2, 10),
            },
        ),
        st.one_of(st.tuples(*(_ONE_ALONE, SHORT) * 10), st.tuples(*(_ONE_ALONE, _BREATH, _BREATH) * 12)),
        harms=MAY_BE_HARMED,
    ),
    "has one partition away": WorkloadKind(
        Environment(
            needs=frozenset({"partitioned_topics"}),
            terms={**_SPREADS, "partitions": (3,), "batching": (False, False, True)},
        ),
        st.tuples(ONE, call(Operation.UNLOAD_ONE, who=FEW), FIVE, LONG, FIVE),
        harms=beside_any(_STAYS_AWAY),
    ),
    "gets more partitions": WorkloadKind(
        Environment(
            needs=frozenset({"partitioned_topics"}),
            terms={**_SPREADS, "partitions": (2, 3), "router": ("", "by_number"), "batching": (False, False, True)},
        ),
        st.tuples(FULL, do(Operation.GROW), LONGEST, FULL, FIVE, FIVE, DONE, FIVE),
        harms=MAY_BE_HARMED,
    ),
    "comes and goes": WorkloadKind(
        Environment(
            needs=frozenset({"partitioned_topics"}),
            terms={
                **_SPREADS,
                "partitions": (5,),
                "routing": ("single", "round_robin"),
                "batching": (False,),
                "claims": (False,),
            },
        ),
        st.tuples(*(_ONE_ALONE, do(Operation.CLOSE_PRODUCER), do(Operation.OPEN_PRODUCER, 0)) * 20),
        harms=UNHARMED,
        more=st.tuples(_ONE_ALONE),
    ),
}
