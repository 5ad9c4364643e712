"""Producers that matter for who they are: they share a name or a topic, wait for it, lose it, and come back to it."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from assay_conformance.machines.drawn_faults import at
from assay_conformance.machines.environment import Environment
from assay_conformance.machines.kinds.kind import (
    DONE,
    FEW_IDENTIFIED,
    LONG,
    LONGEST,
    MAY_BE_HARMED,
    ONE,
    SHORT,
    WorkloadKind,
    beside_any,
    do,
)
from assay_conformance.machines.network_faults import NO_RECEIPTS
from assay_conformance.machines.operations import MODES, WAITS, Act, Operation
from assay_conformance.machines.policies import FEW_NAMES, LIVENESS, PLAIN, SNAPSHOTS
from assay_conformance.machines.scenarios import FEW, NUMBERS, call
from assay_conformance.model.fault import AnswerError, Cut, CutHow

_ONE_BY_ONE = (FEW_IDENTIFIED, DONE)
_OTHER_SENDS = call(Operation.SEND, who=st.just(1), number=FEW)
_ANOTHER = do(Operation.OPEN_PRODUCER, 0)
_THIRD_SENDS_MUCH = (st.just(Act(Operation.SEND, 2, 1)), DONE) * 4
_ASKS_FOR_ITS_TURN = st.just(Act(Operation.OPEN_PRODUCER, number=0, size=MODES.index(WAITS)))

_PASSING = ("ServiceNotReady", "ProducerBusy", "ProducerBlockedQuotaExceededError")
_LOST = at(("SEND", "SEND_RECEIPT"), st.sampled_from((Cut(), Cut(before=True))), st.integers(1, 3))
_REFUSED_AGAIN = st.tuples(
    _LOST,
    at(
        ("PRODUCER",),
        st.sampled_from(_PASSING).map(AnswerError),
        st.just(2),
        st.just(8_000),
        st.sampled_from((1, 2, 3)),
    ),
    at(("SEND", "SEND_RECEIPT"), st.just(Cut()), st.integers(4, 6)),
)
_OVER_QUOTA = st.tuples(
    _LOST,
    at(
        ("PRODUCER",),
        st.just(AnswerError("ProducerBlockedQuotaExceededException")),
        st.just(2),
        st.just(2_000),
        st.sampled_from((1, 2)),
    ),
)
_FALLS_SILENT = at(
    ("SEND", "SEND_RECEIPT"), st.sampled_from((Cut(how=CutHow.BLACKHOLE), Cut())), st.integers(1, 2), st.just(4_000)
)

_KNOWN = {"deduplication": (True,), "named": (True,), "partitions": (0,), "chunking": (False,)}
"""A broker keeps the last id of each name."""

NAMES: Mapping[str, WorkloadKind] = {
    "is refused when it is back": WorkloadKind(
        Environment(
            terms={"send_timeout_ms": (2_000,), "partitions": (0,), "batching": (False,), "claims": (False,)},
        ),
        # Some clients wait for seconds before they ask again.
        st.one_of(st.tuples(*_ONE_BY_ONE * 6), st.tuples(FEW_IDENTIFIED, SHORT, FEW_IDENTIFIED, *(LONGEST,) * 6)),
        harms=_REFUSED_AGAIN,
        more=st.tuples(*_ONE_BY_ONE),
    ),
    "finds its topic full": WorkloadKind(
        Environment(terms={"partitions": (0,), "chunking": (False,), "claims": (False,)}),
        st.tuples(ONE, ONE, ONE, LONG),
        harms=_OVER_QUOTA,
    ),
    "leaves without receipts": WorkloadKind(
        # Without a time-out of its own a send ends with its producer or not at all; so none may wait for room.
        Environment(
            terms={
                "partitions": (0,),
                "claims": (False,),
                "send_timeout_ms": (0,),
                "small_queue": (False,),
                "max_pending_messages": (1_000,),
            }
        ),
        st.tuples(FEW_IDENTIFIED, SHORT, do(Operation.CLOSE_PRODUCER), LONG),
        harms=NO_RECEIPTS,
        more=st.tuples(LONG),
    ),
    "waits for its turn": WorkloadKind(
        Environment(
            needs=frozenset({"access_modes"}),
            terms={"claims": (True,), "partitions": (0,), "protocol_version": (21,), "clients": (1, 2)},
        ),
        st.one_of(
            st.tuples(ONE, _ASKS_FOR_ITS_TURN, LONGEST, do(Operation.CLOSE_PRODUCER), ONE),
            st.tuples(ONE, _ASKS_FOR_ITS_TURN, SHORT, ONE, LONG, do(Operation.CLOSE_PRODUCER), ONE),
        ),
        harms=MAY_BE_HARMED,
        more=st.tuples(ONE),
    ),
    "shares its name": WorkloadKind(
        Environment(
            terms={
                "clients": (2,),
                "named": (True,),
                "partitions": (0,),
                "settings": (LIVENESS, LIVENESS, PLAIN),
                "claims": (False,),
            }
        ),
        st.one_of(
            st.tuples(ONE, SHORT, do(Operation.OPEN_NAMESAKE), ONE, LONG, call(Operation.SEND, who=st.just(1)), LONG),
            st.tuples(ONE, ONE, do(Operation.OPEN_NAMESAKE), call(Operation.CLOSE_PRODUCER, who=NUMBERS), ONE, LONG),
        ),
        harms=beside_any(_FALLS_SILENT),
    ),
    "comes back to a topic loaded anew": WorkloadKind(
        Environment(
            terms={
                **_KNOWN,
                "settings": (SNAPSHOTS, SNAPSHOTS, PLAIN),
            }
        ),
        st.tuples(
            ONE,
            _ANOTHER,
            _OTHER_SENDS,
            DONE,
            call(Operation.RESTART, number=FEW),
            st.one_of(do(Operation.REOPEN_PRODUCER), SHORT),
            do(Operation.SEND_AGAIN, 2),
            ONE,
        ),
    ),
    "has one name of many": WorkloadKind(
        Environment(
            terms={
                **_KNOWN,
                "claims": (False,),
                "settings": (FEW_NAMES,),
                "batching": (False,),
            }
        ),
        st.tuples(
            ONE,
            _ANOTHER,
            _OTHER_SENDS,
            DONE,
            _ANOTHER,
            *_THIRD_SENDS_MUCH,
            call(Operation.RESTART, number=FEW),
            ONE,
            _OTHER_SENDS,
        ),
        harms=MAY_BE_HARMED,
        more=st.tuples(ONE),
    ),
}
