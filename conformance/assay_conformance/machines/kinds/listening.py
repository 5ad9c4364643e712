"""Consumers whose messages go to handlers: of several topics and partitions, while these open, come, return and go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from assay_conformance.machines.environment import TOPIC, Environment, Way
from assay_conformance.machines.kinds.kind import (
    ACK,
    ALL,
    AT_ONCE,
    AWAY,
    FULL,
    KNOWS_TOPICS,
    LONG,
    LONGEST,
    SECOND,
    SETTLE,
    SHORT,
    SOME,
    WHILE_BACK,
    WorkloadKind,
    beside_any,
    do,
    hits,
)
from assay_conformance.machines.operations import Act, Operation
from assay_conformance.machines.scenarios import NUMBERS, TIMES, call
from assay_conformance.model.case import Topic
from assay_conformance.model.fault import Cut, Delay, Hold

_INSIDE = call(Operation.CALL_INSIDE, who=NUMBERS, number=NUMBERS, size=NUMBERS)
_PAUSES, _RESUMES = do(Operation.PAUSE_HANDLER), do(Operation.RESUME_HANDLER)
_WRITES_ELSEWHERE, _SENDS_THERE = do(Operation.OPEN_PRODUCER, 1), st.just(Act(Operation.SEND, 1, 3))
_LISTENS: Mapping[str, tuple[Any, ...]] = {
    "receives": ("listener",),
    "listens_out": (True,),
    "receiver_queue_size": (1_000, 3, 1),
    "subscription_type": ("shared", "exclusive", "failover", "key_shared"),
    "nack_delay_ms": (100,),
}
_WHILE_OPENING = hits(
    ("SUBSCRIBE", "LOOKUP", "PARTITIONED_METADATA", "SUCCESS"), Delay(500, overtake=True), Hold(), Cut()
)

LISTENING: Mapping[str, WorkloadKind] = {
    "listens to several topics": WorkloadKind(
        Environment(
            needs=frozenset({"message_listener"}),
            settings={"client.listener_threads": (None, None, 2), "consumer.ack_timeout_ms": (None, None, 200)},
            topics=(Topic(name="u"),),
            written=(TOPIC, "u"),
            ways=(Way((TOPIC, "u"), "both"), Way(("u", TOPIC), "both"), Way()),
            terms={**_LISTENS, "partitions": (0, 2), "ack_group_ms": (100, 50)},
        ),
        st.one_of(
            st.tuples(_WRITES_ELSEWHERE, FULL, _SENDS_THERE, *(_INSIDE,) * 4, SOME, _INSIDE, SETTLE, LONG, ALL),
            st.tuples(_WRITES_ELSEWHERE, FULL, _SENDS_THERE, SOME, SETTLE, AWAY, _INSIDE, ALL, ACK, ALL),
            st.tuples(
                _WRITES_ELSEWHERE, FULL, SOME, _PAUSES, _SENDS_THERE, SETTLE, AWAY, LONG, SOME, _RESUMES, ALL, ALL, ACK
            ),
            st.tuples(FULL, call(Operation.OPEN_CONSUMER, number=TIMES), SECOND, _INSIDE, _INSIDE, FULL, ALL, SECOND),
        ),
        harms=beside_any(st.one_of(_WHILE_OPENING, WHILE_BACK)),
    ),
    "listens to what comes to be": WorkloadKind(
        Environment(
            needs=frozenset({"message_listener", "topic_patterns"}),
            settings={"consumer.pattern_update_ms": (1_000,)},
            topics=(Topic(name="ta"), Topic(name="tb")),
            absent=("tb",),
            written=(TOPIC, "tb", "ta"),
            ways=(Way((TOPIC, "ta", "tb"), pattern="t.*"),),
            terms={**_LISTENS, "partitions": (0, 2), **KNOWS_TOPICS, **AT_ONCE},
        ),
        st.one_of(
            st.tuples(FULL, SOME, _WRITES_ELSEWHERE, _SENDS_THERE, LONGEST, ALL, _INSIDE, _SENDS_THERE, ALL),
            st.tuples(FULL, SOME, _PAUSES, _WRITES_ELSEWHERE, _SENDS_THERE, LONGEST, SOME, _RESUMES, LONG, ALL, ALL),
            st.tuples(FULL, SOME, do(Operation.GROW), LONGEST, FULL, FULL, ALL, _INSIDE, ALL),
        ),
        harms=beside_any(_WHILE_OPENING),
    ),
    "listens as a reader": WorkloadKind(
        Environment(
            needs=frozenset({"message_listener", "reader"}),
            ways=tuple(
                Way(
                    subscription=words,
                    config={"durable": False, "subscription_type": "exclusive", **config},
                    needs="reader",
                )
                for words, config in (("r", {}), ("late", {"initial_position": "latest"}))
            ),
            terms={**_LISTENS, "partitions": (0,), **KNOWS_TOPICS, **AT_ONCE},
        ),
        st.one_of(
            st.tuples(FULL, SOME, do(Operation.ASK_FOR_MORE), AWAY, SOME, do(Operation.ASK_FOR_MORE), ALL, ALL),
            st.tuples(FULL, _INSIDE, do(Operation.OPEN_CONSUMER, 1), FULL, SHORT, SOME, do(Operation.ASK_FOR_MORE)),
        ),
        harms=beside_any(hits(("MESSAGE",), Cut(), Cut(before=True), latest=3)),
        stock=st.lists(st.sampled_from(("single messages", "a batch"))).map(lambda names: tuple(names[:2])),
    ),
}
