"""Consumers of several topics or that seek, readers, and messages that no producer of their life has sent."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from assay_conformance.machines.answer_faults import answers_to
from assay_conformance.machines.environment import TOPIC, Environment, Way
from assay_conformance.machines.initial_backlog import STOCK
from assay_conformance.machines.kinds.kind import (
    ACK,
    ALL,
    AT_ONCE,
    AWAY,
    FULL,
    KNOWS_TOPICS,
    LONG,
    NEXT,
    ONE,
    PAUSE,
    SECOND,
    SHORT,
    SOME,
    WHILE_BACK,
    WorkloadKind,
    beside_any,
    do,
    hits,
)
from assay_conformance.machines.network_faults import lost_or_late, unanswered
from assay_conformance.machines.operations import Act, Operation
from assay_conformance.machines.scenarios import FEW, NUMBERS, TIMES, call
from assay_conformance.model.case import ConfigValue, Topic
from assay_conformance.model.fault import Cut, Delay, Duplicate


def _reader(words: str, **config: ConfigValue) -> Way:
    return Way(
        subscription=words, config={"durable": False, "subscription_type": "exclusive", **config}, needs="reader"
    )


_A_BATCH = ("a batch",)
_READ_FROM = call(Operation.READ_FROM, who=st.just(0), number=TIMES, size=st.integers(0, 1))

READING: Mapping[str, WorkloadKind] = {
    "reads several topics": WorkloadKind(
        Environment(
            topics=(Topic(name="u"), Topic(name="v")),
            written=(TOPIC, "u", "v"),
            ways=(Way((TOPIC, "u"), "both"), Way(), Way(("u",)), Way(("v",))),
            terms={"partitions": (0,), "receiver_queue_size": (1_000, 1, 3)},
        ),
        st.one_of(
            st.tuples(
                do(Operation.OPEN_PRODUCER, 1),
                FULL,
                do(Operation.SEND, 5),
                st.just(Act(Operation.SEND, 1, 3)),
                *(SOME,) * 2,
                ALL,
            ),
            st.tuples(
                do(Operation.OPEN_PRODUCER, 1), FULL, FULL, st.just(Act(Operation.SEND, 1, 3)), PAUSE, *(NEXT,) * 8
            ),
            st.tuples(
                do(Operation.OPEN_CONSUMER, 3),
                do(Operation.OPEN_PRODUCER, 2),
                st.just(Act(Operation.SEND, 1, 3)),
                ONE,
                SECOND,
                ALL,
                call(
                    st.sampled_from((Operation.ACK_OF_ANOTHER, Operation.ACK_UP_TO_ANOTHER)), who=st.just(0), number=FEW
                ),
                ACK,
            ),
        ),
    ),
    "follows a pattern": WorkloadKind(
        Environment(
            needs=frozenset({"topic_patterns"}),
            settings={"consumer.pattern_update_ms": (1_000, 60_000)},
            topics=tuple(Topic(name=name) for name in ("ta", "tb", "u")),
            absent=("tb",),
            written=(TOPIC, "tb", "ta", "u"),
            ways=(Way((TOPIC, "ta", "tb"), pattern="t.*"), Way((TOPIC, "ta", "tb"), "later", pattern="t.*")),
            terms={"partitions": (0,), **KNOWS_TOPICS},
        ),
        st.one_of(
            st.tuples(FULL, do(Operation.OPEN_PRODUCER, 1), st.just(Act(Operation.SEND, 1, 2)), LONG, ALL, LONG, ALL),
            st.tuples(
                do(Operation.OPEN_PRODUCER, 3),
                st.just(Act(Operation.SEND, 1, 2)),
                FULL,
                do(Operation.OPEN_CONSUMER, 1),
                SECOND,
                LONG,
            ),
        ),
        harms=st.one_of(
            beside_any(
                st.one_of(
                    unanswered("GET_TOPICS_OF_NAMESPACE", "WATCH_TOPIC_LIST"),
                    lost_or_late("GET_TOPICS_OF_NAMESPACE_RESPONSE", "WATCH_TOPIC_LIST_SUCCESS", "WATCH_TOPIC_UPDATE"),
                )
            ),
            answers_to("GET_TOPICS_OF_NAMESPACE", "WATCH_TOPIC_LIST"),
        ),
    ),
    "reads what is there": WorkloadKind(
        Environment(
            needs=frozenset({"reader", "has_message_available", "seek"}),
            terms={
                "partitions": (0,),
                "deduplication": (False,),
                "receiver_queue_size": (1_000, 3),
                **AT_ONCE,
                **KNOWS_TOPICS,
            },
            ways=(
                _reader("r"),
                _reader("late", initial_position="latest"),
                _reader("with", start_inclusive=True),
            ),
            quiet=True,
        ),
        st.one_of(
            st.tuples(
                do(Operation.ASK_FOR_MORE),
                SOME,
                do(Operation.ASK_FOR_MORE),
                call(st.sampled_from((Operation.SEEK, Operation.SEEK_TIME)), who=st.just(0), number=TIMES),
                do(Operation.ASK_FOR_MORE),
                SOME,
                do(Operation.ASK_FOR_MORE),
            ),
            st.tuples(
                call(Operation.OPEN_CONSUMER, number=st.integers(1, 2)),
                call(Operation.SEEK_TIME, who=st.just(1), number=st.integers(0, 3)),
                do(Operation.ASK_FOR_MORE, who=1),
                SECOND,
                do(Operation.ASK_FOR_MORE, who=1),
            ),
            st.tuples(SOME, st.one_of(AWAY, do(Operation.CLOSE_CONSUMER)), do(Operation.OPEN_CONSUMER, 0), SOME, ALL),
        ),
        harms=st.one_of(
            beside_any(
                st.one_of(unanswered("GET_LAST_MESSAGE_ID", "SEEK"), lost_or_late("GET_LAST_MESSAGE_ID_RESPONSE"))
            ),
            answers_to("GET_LAST_MESSAGE_ID", "SEEK"),
        ),
        stock=st.lists(st.sampled_from(("single messages", "old messages", "a batch"))).map(
            lambda names: tuple(names[:3])
        ),
    ),
    "reads on": WorkloadKind(
        Environment(
            needs=frozenset({"reader"}),
            terms={"partitions": (0,), "deduplication": (False,), "receiver_queue_size": (1_000, 1), **AT_ONCE},
            ways=(_reader("r"), _reader("with", start_inclusive=True)),
            quiet=True,
        ),
        st.tuples(SOME, SHORT, AWAY, LONG, SOME, AWAY, LONG, ALL, ALL),
        harms=beside_any(hits(("MESSAGE",), Cut(), Cut(before=True), latest=3)),
        stock=st.lists(st.sampled_from(("single messages", "a batch"))).map(lambda names: tuple(names[:3]) or _A_BATCH),
    ),
    "reads from a message": WorkloadKind(
        Environment(
            needs=frozenset({"reader", "start_message_id"}),
            terms={"partitions": (0,), "deduplication": (False,), "receiver_queue_size": (1_000, 1), **AT_ONCE},
            quiet=True,
        ),
        st.one_of(
            st.tuples(ALL, _READ_FROM, SECOND, SECOND),
            st.tuples(ALL, _READ_FROM, AWAY, LONG, SECOND, SECOND),
            st.tuples(FULL, ALL, _READ_FROM, ONE, SECOND, do(Operation.ASK_FOR_MORE, who=1)),
        ),
        harms=beside_any(hits(("MESSAGE",), Cut(), Cut(before=True), latest=8)),
        stock=st.lists(st.sampled_from(("single messages", "a batch"))).map(lambda names: tuple(names[:3]) or _A_BATCH),
    ),
    "finds much of a kind": WorkloadKind(
        Environment(
            needs=frozenset({"chunking_consumer"}),
            settings={"consumer.expire_incomplete_chunked_ms": (None, 300)},
            terms={
                "partitions": (0,),
                "deduplication": (False,),
                "subscription_type": ("exclusive", "failover"),
                "receiver_queue_size": (10, 3, 3),
                **AT_ONCE,
            },
        ),
        st.one_of(
            st.tuples(*(ALL,) * 4, LONG, ALL), st.tuples(ALL, SHORT, do(Operation.NACK_FIRST, 1), LONG, ALL, ALL, ALL)
        ),
        harms=beside_any(hits(("MESSAGE",), Duplicate(), Duplicate(), Delay(600), latest=4)),
        stock=st.sampled_from(tuple(STOCK)).map(lambda name: (name,) * 5),
    ),
    "finds anything": WorkloadKind(
        Environment(
            needs=frozenset({"chunking_consumer"}),
            settings={
                "consumer.max_pending_chunked_messages": (None, None, None, 1, 2),
                "consumer.expire_incomplete_chunked_ms": (None, 300, 300),
            },
            terms={
                "partitions": (0,),
                "deduplication": (False,),
                "subscription_type": ("exclusive", "failover"),
                "receiver_queue_size": (1_000, 10, 3),
                **AT_ONCE,
            },
        ),
        st.one_of(
            st.tuples(ALL, ACK, LONG),
            st.tuples(ALL, ACK, AWAY, ALL),
            st.tuples(ALL, ALL, LONG, LONG),
        ),
        stock=st.lists(st.sampled_from(tuple(STOCK))).map(lambda names: tuple(names[:4]) or ("chunks by turns",)),
    ),
}

SEEKING: Mapping[str, WorkloadKind] = {
    "seeks": WorkloadKind(
        Environment(
            needs=frozenset({"seek"}),
            settings={"consumer.start_inclusive": (None, None, True)},
            terms={"partitions": (0,), "chunking": (False,), "receiver_queue_size": (1_000, 3), **AT_ONCE},
        ),
        st.one_of(
            st.tuples(FULL, FULL, SOME, call(Operation.SEEK, who=st.just(0), number=TIMES), ALL, ALL),
            st.tuples(FULL, SOME, ACK, call(Operation.SEEK, who=st.just(0), number=TIMES), ALL, ACK),
            st.tuples(
                FULL, FULL, SOME, call(Operation.SEEK_TWICE, number=TIMES, size=TIMES), do(Operation.LISTEN), LONG, ALL
            ),
            st.tuples(FULL, SOME, call(Operation.SEEK_TIME, who=st.just(0), number=NUMBERS), ALL),
        ),
        harms=st.one_of(
            beside_any(
                st.one_of(
                    WHILE_BACK, hits(("CLOSE_CONSUMER", "MESSAGE", "SUCCESS"), Delay(200), Cut()), unanswered("SEEK")
                )
            ),
            answers_to("SEEK", "ACK"),
        ),
        stock=st.sampled_from(((), (), ("old messages",), ("old messages", "single messages"))),
    ),
}
