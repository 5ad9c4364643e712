"""Consumers that refuse what they get: it comes again later, ever later, or ends in a letter."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from assay_conformance.machines.drawn_faults import Strategy
from assay_conformance.machines.environment import SUBSCRIPTION, TOPIC, Environment, Way
from assay_conformance.machines.kinds.kind import (
    ALL,
    AT_ONCE,
    BESIDE,
    FULL,
    INDIVIDUALLY,
    LARGE,
    LONG,
    LONGEST,
    NEXT,
    ONE,
    PAUSE,
    ROOM,
    SECOND,
    THREE,
    THREE_SENT,
    WorkloadKind,
    beside_any,
    do,
    hits,
)
from assay_conformance.machines.operations import Operation
from assay_conformance.machines.scenarios import FEW, call
from assay_conformance.model.case import ConfigValue, Topic
from assay_conformance.model.fault import Action, AnswerError, Cut, Delay, Drop
from assay_conformance.model.policy import DelayedDelivery


def _on_letters(topic: str, *lost: Action) -> Strategy:
    """Draw faults of letters: SEND_ERROR, a late receipt, `lost` ones, or the end of their connection."""
    return st.one_of(
        hits(("SEND",), AnswerError("NotAllowedError"), AnswerError("PersistenceError"), Cut(), topic=topic),
        hits(("SEND_RECEIPT",), Delay(400), *lost, Cut(before=True), topic=topic),
        hits(("PRODUCER",), AnswerError("ServiceNotReady"), AnswerError("NotAllowedError"), topic=topic, latest=1),
    )


_DEAD, _AGAIN = f"{TOPIC}-{SUBSCRIPTION}-DLQ", f"{TOPIC}-{SUBSCRIPTION}-RETRY"
_TWO_CHUNKS = 2_000
"""Bytes that a frame holds: less than a large message has, and more than a letter's properties."""
_NO_LETTERS: dict[str, ConfigValue] = {"max_redeliver_count": 0, "retry_letters": False}

_REFUSED = (THREE, do(Operation.NACK_ALL))
_REFUSED_FIRST = (NEXT, do(Operation.NACK_FIRST, 1))
_NACKED, _ACKED_BY_NUMBER = call(Operation.NACK, number=FEW), call(Operation.ACK_ONE, number=FEW)
_LATER = call(Operation.LATER, number=FEW)
_LISTENS = do(Operation.LISTEN, 1)


REFUSING: Mapping[str, WorkloadKind] = {
    "buries": WorkloadKind(
        Environment(
            needs=frozenset({"dead_letter", "nack_delay"}),
            settings={
                "consumer.max_redeliver_count": (1, 1, 2),
                "consumer.dead_letter_subscription": (None, "keeper"),
            },
            terms={**INDIVIDUALLY, **AT_ONCE, "chunking": (False,), **ROOM},
            topics=(Topic(name=_DEAD),),
            ways=(Way(), Way((_DEAD,), config=_NO_LETTERS)),
        ),
        st.one_of(
            st.tuples(THREE_SENT, *_REFUSED, *_REFUSED, *_REFUSED, PAUSE),
            st.tuples(ONE, *_REFUSED_FIRST, *_REFUSED_FIRST, *_REFUSED_FIRST, PAUSE, do(Operation.OPEN_CONSUMER, 1)),
            st.tuples(ONE, *_REFUSED_FIRST, *_REFUSED_FIRST, LONG, THREE, LONGEST, THREE),
            st.tuples(
                BESIDE,
                FULL,
                FULL,
                ALL,
                SECOND,
                do(Operation.NACK_ALL),
                do(Operation.NACK_ALL, who=1),
                ALL,
                SECOND,
                do(Operation.NACK_ALL),
                do(Operation.NACK_ALL, who=1),
                LONG,
            ),
        ),
        harms=beside_any(_on_letters(_DEAD, Drop())),
    ),
    "buries what is large": WorkloadKind(
        Environment(
            needs=frozenset({"dead_letter", "nack_delay", "chunking_producer", "chunking_consumer"}),
            settings={"consumer.max_redeliver_count": (1,), "topology.max_message_bytes": (_TWO_CHUNKS,)},
            terms={**INDIVIDUALLY, **AT_ONCE, "chunking": (True,), "batching": (False,)},
            topics=(Topic(name=_DEAD),),
            ways=(Way(), Way((_DEAD,), config=_NO_LETTERS)),
        ),
        st.tuples(LARGE, *_REFUSED, *_REFUSED, LONG, do(Operation.OPEN_CONSUMER, 1), SECOND, PAUSE),
    ),
    "sends round": WorkloadKind(
        Environment(
            needs=frozenset({"retry_letter", "dead_letter", "nack_delay"}),
            settings={
                "consumer.retry_letters": (True,),
                "consumer.max_redeliver_count": (None, None, 1),
                "broker.delayed_strict": (True,),
            },
            terms={**INDIVIDUALLY, **AT_ONCE, "chunking": (False,), **ROOM},
            topics=(Topic(name=_DEAD), Topic(name=_AGAIN, delayed_delivery=DelayedDelivery(tick_ms=100))),
            sends_round=True,
        ),
        st.one_of(
            st.tuples(THREE_SENT, THREE, _LATER, LONG, THREE, _LATER, LONG, THREE),
            st.tuples(ONE, NEXT, _LATER, _LISTENS, LONG, NEXT, _LATER, LONG, NEXT),
        ),
        harms=beside_any(_on_letters(_AGAIN)),
    ),
    "refuses again": WorkloadKind(
        Environment(
            needs=frozenset({"nack_backoff", "nack_delay"}),
            settings={
                "consumer.nack_backoff_min_ms": (100,),
                "consumer.nack_backoff_max_ms": (210, 800),
                "consumer.nack_backoff_multiplier": (2, 8),
            },
            terms={**INDIVIDUALLY, **AT_ONCE},
        ),
        st.one_of(
            st.tuples(ONE, *_REFUSED_FIRST, *_REFUSED_FIRST, *_REFUSED_FIRST, LONG),
            st.tuples(FULL, ALL, do(Operation.NACK_FIRST, 1), *_REFUSED_FIRST, do(Operation.NACK_FIRST, 2), LONG),
            st.tuples(FULL, ALL, do(Operation.NACK_FIRST, 1), LONG, *_REFUSED_FIRST, do(Operation.NACK, 2), LONG, LONG),
        ),
    ),
    "refuses and goes": WorkloadKind(
        Environment(
            needs=frozenset({"nack_delay"}), terms={"nack_delay_ms": (300, 300, 4_000), "partitions": (0,), **AT_ONCE}
        ),
        st.one_of(
            st.tuples(
                FULL, ALL, do(Operation.NACK_ALL), st.one_of(do(Operation.CLOSE_CONSUMER, who=0), LONG), BESIDE, ALL
            ),
            st.tuples(FULL, ALL, do(Operation.NACK_ALL), st.one_of(do(Operation.ACK), _ACKED_BY_NUMBER), LONG, ALL),
            st.tuples(FULL, ALL, _NACKED, _ACKED_BY_NUMBER, LONG, ALL),
            st.tuples(FULL, THREE, _ACKED_BY_NUMBER, do(Operation.REDELIVER_ALL), ALL, ALL),
            st.tuples(
                FULL, ALL, do(Operation.NACK, 1), do(Operation.NACK, 2), do(Operation.ACK_ONE, 1), LONG, LONG, ALL
            ),
        ),
    ),
}
