"""Those whose producers are what matters."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from assay_conformance.machines.acts import Do
from assay_conformance.machines.kinds.kind import ALL, AT_ONCE, FULL, LARGE, ONE, SHORT, Kind, do
from assay_conformance.machines.scenes import TIMES, call
from assay_conformance.machines.surroundings import Surroundings

SENDING: Mapping[str, Kind] = {
    "sends what is large": Kind(
        Surroundings(
            needs=frozenset({"chunking_producer", "chunking_consumer"}),
            settings={"producer.block_if_queue_full": (None, False)},
            terms={
                "chunking": (True,),
                "batching": (False,),
                "max_pending_messages": (1_000, 3, 5),
                "partitions": (0,),
                **AT_ONCE,
            },
        ),
        st.one_of(
            st.tuples(do(Do.HOLD_STORE), LARGE, LARGE, SHORT, do(Do.RELEASE_STORE), do(Do.SETTLE), FULL, do(Do.SETTLE)),
            st.tuples(ONE, LARGE, ONE, ALL, call(Do.SEEK, who=st.just(0), number=TIMES), ALL),
        ),
    ),
}
