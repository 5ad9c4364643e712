"""What consumers of many kinds are drawn with: their surroundings, the scenes that bring these about, and harm of their
own.

Each row is a kind of application: one that buries what it cannot use, one that reads several topics, one that goes away
with work in its hands. Its first scene is of its kind; what follows is anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hypothesis import strategies as st

from assay_conformance.machines.acts import Act, Do
from assay_conformance.machines.harm import Strategy, at
from assay_conformance.machines.stock import STOCK
from assay_conformance.machines.surroundings import SUBSCRIPTION, TOPIC, Around, Surroundings, Way
from assay_conformance.machines.terms import Terms
from assay_conformance.model.case import ConfigValue, Topic
from assay_conformance.model.fault import Action, AnswerError, Cut, Delay, Drop, Hold, Rewrite
from assay_conformance.model.policy import Retention


@dataclass(frozen=True, slots=True)
class Kind:
    """`harms` None: those of any life. `stock`: what its topic may hold at first."""

    of: Surroundings
    scenes: Strategy
    harms: Strategy | None = None
    stock: Strategy = field(default_factory=lambda: st.just(()))

    def around(self) -> Strategy:
        chosen = {name: st.sampled_from(values) for name, values in self.of.settings.items()}
        return st.builds(Around, st.just(self.of), st.fixed_dictionaries(chosen), self.stock)

    def terms(self) -> Mapping[str, Strategy]:
        drawn = {name: st.sampled_from(values) for name, values in self.of.terms.items()}
        return {**drawn, "around": self.around()}


# --- acts -------------------------------------------------------------------------------------------------------------

_numbers = st.integers(0, 5)
_few = st.integers(1, 3)
_times = st.integers(1, 5)
_SEND = st.builds(Act, st.just(Do.SEND), _numbers, _times, _numbers, _numbers, st.just(0), st.booleans(), _numbers)
_ONE = st.builds(Act, st.just(Do.SEND), st.just(0), _few, st.integers(0, 3), _numbers, besides=_numbers)
_LARGE = st.builds(Act, st.just(Do.SEND), _numbers, _few, st.integers(4, 5), besides=_numbers)
_THREE_SENT = st.builds(Act, st.just(Do.SEND), st.just(0), st.just(3), st.integers(0, 3), _numbers)
_FULL = st.builds(Act, st.just(Do.SEND), st.just(0), st.just(5), st.integers(0, 3), _numbers)
_ACK = st.builds(Act, st.sampled_from((Do.ACK, Do.ACK_ONE, Do.ACK_UP_TO)), _numbers, _times)
_SETTLE = st.builds(Act, st.sampled_from((Do.ACK, Do.ACK_ONE, Do.ACK_UP_TO, Do.NACK, Do.NACK_ALL)), _numbers, _times)
_AWAY = st.builds(Act, st.sampled_from((Do.UNLOAD, Do.RESTART, Do.MOVE)))


def _do(do: Do, number: int = 5, who: int = 0) -> Strategy:
    return st.just(Act(do, who, number))


_ALL, _SECOND = _do(Do.RECEIVE), _do(Do.RECEIVE, who=1)
_SOME = st.builds(Act, st.just(Do.RECEIVE), _numbers, _times)
_SECOND_SOME = st.builds(Act, st.just(Do.RECEIVE), st.just(1), _few)
_SHORT, _PAUSE, _LONG = _do(Do.PAUSE, 1), _do(Do.PAUSE, 2), _do(Do.PAUSE, 3)
_NEXT, _THREE = _do(Do.RECEIVE, 1), _do(Do.RECEIVE, 3)
_BESIDE = _do(Do.OPEN_CONSUMER, 0)


# --- harm -------------------------------------------------------------------------------------------------------------


def _at(commands: tuple[str, ...], *actions: Action, topic: str = "", latest: int = 3) -> Strategy:
    return at(commands, st.sampled_from(actions), st.integers(1, latest), topic=topic)


def _on_letters(topic: str) -> Strategy:
    """Letters are refused, told of late or never, or their way ends."""
    return st.one_of(
        _at(("SEND",), AnswerError("NotAllowedError"), AnswerError("PersistenceError"), Cut(), topic=topic),
        _at(("SEND_RECEIPT",), Delay(400), Drop(), Cut(before=True), topic=topic),
        _at(("PRODUCER",), AnswerError("ServiceNotReady"), AnswerError("NotAllowedError"), topic=topic, latest=1),
    )


_REFUSED_ACK: dict[str, int | str | bool] = {"error": "MetadataError", "message": ""}
_ON_ANSWERS = _at(("ACK_RESPONSE",), Rewrite(_REFUSED_ACK), Delay(250), Hold(), Cut(before=True), Drop())
_OTHERS_ACKS = _at(
    ("ACK",),
    # Names one message for its whole batch; tells what is new and not what is left; takes all before it along.
    Rewrite({"message_id.batch_index": 1}),
    Rewrite({"message_id.ack_set": 0b1101}),
    Rewrite({"message_id.ack_set": 0b0011}),
    Rewrite({"ack_type": "Cumulative"}),
)
_WHILE_BACK = st.one_of(
    _at(("SUCCESS",), Hold(overtake=True), Delay(500, overtake=True)), _at(("SUBSCRIBE",), Cut(), Hold(), Delay(300))
)

# --- who there is -----------------------------------------------------------------------------------------------------

_DEAD = f"{TOPIC}-{SUBSCRIPTION}-DLQ"
_NO_LETTERS: dict[str, ConfigValue] = {"max_redeliver_count": 0, "retry_letters": False}
_INDIVIDUALLY = {"subscription_type": ("shared", "shared", "key_shared"), "partitions": (0,), "nack_delay_ms": (100,)}
_AT_ONCE = {"ack_timeout_ms": (0,)}
_ROOM = {"max_message_bytes": (Terms().max_message_bytes,)}
"""For letters: what they tell of their origin goes nowhere in chunks."""
_KNOWS_TOPICS = {"protocol_version": (21, 21, 16)}
"""Brokers before version 12 tell neither which topics there are nor which message is the last."""

_REFUSED = (_THREE, _do(Do.NACK_ALL))
_REFUSED_FIRST = (_NEXT, _do(Do.NACK_FIRST, 1))


def _reader(words: str, **config: ConfigValue) -> Way:
    return Way(
        subscription=words, config={"durable": False, "subscription_type": "exclusive", **config}, needs="reader"
    )


_WELL_WRITTEN = ("single messages", "old messages", "a batch")

KINDS: Mapping[str, Kind] = {
    "buries": Kind(
        Surroundings(
            needs=frozenset({"dead_letter", "nack_delay"}),
            settings={
                "consumer.max_redeliver_count": (1, 1, 2),
                "consumer.dead_letter_subscription": (None, "keeper"),
            },
            terms={**_INDIVIDUALLY, **_AT_ONCE, "chunking": (False,), **_ROOM},
            topics=(Topic(name=_DEAD),),
            ways=(Way(), Way((_DEAD,), config=_NO_LETTERS)),
        ),
        st.one_of(
            st.tuples(_THREE_SENT, *_REFUSED, *_REFUSED, *_REFUSED, _PAUSE),
            st.tuples(_ONE, *_REFUSED_FIRST, *_REFUSED_FIRST, *_REFUSED_FIRST, _PAUSE, _do(Do.OPEN_CONSUMER, 1)),
            st.tuples(
                _BESIDE,
                _FULL,
                _FULL,
                _ALL,
                _SECOND,
                _do(Do.NACK_ALL),
                _do(Do.NACK_ALL, who=1),
                _ALL,
                _SECOND,
                _do(Do.NACK_ALL),
                _do(Do.NACK_ALL, who=1),
                _LONG,
            ),
        ),
        harms=_on_letters(_DEAD),
    ),
    "refuses again": Kind(
        Surroundings(
            needs=frozenset({"nack_backoff", "nack_delay"}),
            settings={
                "consumer.nack_backoff_min_ms": (100,),
                "consumer.nack_backoff_max_ms": (210, 800),
                "consumer.nack_backoff_multiplier": (2, 8),
            },
            terms={**_INDIVIDUALLY, **_AT_ONCE},
        ),
        st.one_of(
            st.tuples(_ONE, *_REFUSED_FIRST, *_REFUSED_FIRST, *_REFUSED_FIRST, _LONG),
            st.tuples(_FULL, _ALL, _do(Do.NACK_FIRST, 1), *_REFUSED_FIRST, _do(Do.NACK_FIRST, 2), _LONG),
        ),
    ),
    "refuses and goes": Kind(
        Surroundings(
            needs=frozenset({"nack_delay"}), terms={"nack_delay_ms": (300, 4_000), "partitions": (0,), **_AT_ONCE}
        ),
        st.tuples(_FULL, _ALL, _do(Do.NACK_ALL), st.one_of(_do(Do.CLOSE_CONSUMER, who=0), _LONG), _BESIDE, _ALL),
    ),
    "reads several topics": Kind(
        Surroundings(
            topics=(Topic(name="u"),),
            written=(TOPIC, "u"),
            ways=(Way((TOPIC, "u"), "both"), Way(), Way(("u",))),
            terms={"partitions": (0,), "receiver_queue_size": (1_000, 1, 3)},
        ),
        st.one_of(
            st.tuples(
                _do(Do.OPEN_PRODUCER, 1), _FULL, _do(Do.SEND, 5), st.just(Act(Do.SEND, 1, 3)), *(_SOME,) * 2, _ALL
            ),
            st.tuples(
                _do(Do.OPEN_CONSUMER, 2),
                _do(Do.OPEN_PRODUCER, 1),
                st.just(Act(Do.SEND, 1, 3)),
                _SECOND,
                _ALL,
                st.builds(Act, st.sampled_from((Do.ACK_OF_ANOTHER, Do.ACK_UP_TO_ANOTHER)), st.just(0), _few),
                _ACK,
            ),
        ),
    ),
    "follows a pattern": Kind(
        Surroundings(
            needs=frozenset({"topic_patterns"}),
            settings={"consumer.pattern_update_ms": (1_000, 60_000)},
            topics=tuple(Topic(name=name) for name in ("ta", "tb", "u")),
            absent=("tb",),
            written=(TOPIC, "tb", "ta", "u"),
            ways=(Way((TOPIC, "ta", "tb"), pattern="t.*"), Way((TOPIC, "ta", "tb"), "later", pattern="t.*")),
            terms={"partitions": (0,), **_KNOWS_TOPICS},
        ),
        st.one_of(
            st.tuples(_FULL, _do(Do.OPEN_PRODUCER, 1), st.just(Act(Do.SEND, 1, 2)), _LONG, _ALL, _LONG, _ALL),
            st.tuples(
                _do(Do.OPEN_PRODUCER, 3), st.just(Act(Do.SEND, 1, 2)), _FULL, _do(Do.OPEN_CONSUMER, 1), _SECOND, _LONG
            ),
        ),
    ),
    "reads what is there": Kind(
        Surroundings(
            needs=frozenset({"reader", "has_message_available", "seek"}),
            terms={
                "partitions": (0,),
                "deduplication": (False,),
                "receiver_queue_size": (1_000, 3),
                **_AT_ONCE,
                **_KNOWS_TOPICS,
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
                _do(Do.ASK_FOR_MORE),
                _SOME,
                _do(Do.ASK_FOR_MORE),
                st.builds(Act, st.sampled_from((Do.SEEK, Do.SEEK_TIME)), st.just(0), _times),
                _do(Do.ASK_FOR_MORE),
                _SOME,
                _do(Do.ASK_FOR_MORE),
            ),
            st.tuples(
                st.builds(Act, st.just(Do.OPEN_CONSUMER), st.just(0), st.integers(1, 2)),
                st.builds(Act, st.just(Do.SEEK_TIME), st.just(1), _numbers),
                _do(Do.ASK_FOR_MORE, who=1),
                _SECOND,
                _do(Do.ASK_FOR_MORE, who=1),
            ),
            st.tuples(_SOME, st.one_of(_AWAY, _do(Do.CLOSE_CONSUMER)), _do(Do.OPEN_CONSUMER, 0), _SOME, _ALL),
        ),
        stock=st.lists(st.sampled_from(("single messages", "old messages", "a batch"))).map(
            lambda names: tuple(names[:3])
        ),
    ),
    "finds anything": Kind(
        Surroundings(
            needs=frozenset({"chunking_consumer"}),
            settings={
                "consumer.max_pending_chunked_messages": (None, 1, 2),
                "consumer.expire_incomplete_chunked_ms": (None, 300),
            },
            terms={
                "partitions": (0,),
                "deduplication": (False,),
                "subscription_type": ("exclusive", "failover"),
                "receiver_queue_size": (1_000, 10),
                **_AT_ONCE,
            },
        ),
        st.one_of(
            st.tuples(_ALL, _ACK, _LONG),
            st.tuples(_ALL, _ACK, _AWAY, _ALL),
            st.tuples(_ALL, _ALL, _LONG),
        ),
        stock=st.lists(st.sampled_from(tuple(STOCK))).map(lambda names: tuple(names[:4]) or ("chunks by turns",)),
    ),
    "is impatient": Kind(
        Surroundings(
            needs=frozenset({"short_ack_timeout"}),
            settings={"consumer.ack_timeout_tick_ms": (None, 300, 3_000)},
            terms={"ack_timeout_ms": (200, 400, 500), "subscription_type": ("shared", "exclusive"), "partitions": (0,)},
        ),
        st.tuples(_FULL, _ALL, st.one_of(_ACK, _SHORT), _LONG, _ALL),
    ),
    "has no queue": Kind(
        Surroundings(
            needs=frozenset({"zero_queue"}),
            terms={
                "receiver_queue_size": (0,),
                "partitions": (0,),
                "batching": (False,),
                "chunking": (False,),
                "nack_delay_ms": (4_000,),
                **_AT_ONCE,
            },
        ),
        st.one_of(
            st.tuples(_FULL, _SOME, _SHORT, _SOME),
            st.tuples(_do(Do.LISTEN, 1), st.one_of(_AWAY, _SHORT), _LONG, _LONG, _ONE, _ALL),
        ),
        harms=st.one_of(_at(("FLOW", "MESSAGE", "SUBSCRIBE"), Cut(), Cut(before=True)), _WHILE_BACK),
    ),
    "is one of several subscriptions": Kind(
        Surroundings(
            settings={"topic.retention": (None, Retention())},
            terms={"partitions": (0,), **_AT_ONCE},
            ways=(Way(), Way(subscription="slow"), Way(subscription="late")),
        ),
        st.one_of(
            st.tuples(
                _do(Do.OPEN_CONSUMER, 1),
                _FULL,
                _ALL,
                _do(Do.ACK),
                st.builds(Act, st.just(Do.RECEIVE), st.just(1), _few),
                _do(Do.ACK, who=1),
                _PAUSE,
                _do(Do.UNLOAD),
                _PAUSE,
                _do(Do.SEND, 1),
                _do(Do.OPEN_CONSUMER, 2),
                _do(Do.RECEIVE, who=2),
            ),
            st.tuples(_FULL, _ALL, _ACK, _SHORT, _do(Do.OPEN_BESIDE), _ONE, _ALL),
        ),
    ),
    "is one of a crowd": Kind(
        Surroundings(terms={"subscription_type": ("shared", "key_shared", "failover"), "partitions": (0,)}),
        st.one_of(
            st.tuples(_BESIDE, _FULL, _FULL, _FULL, _ALL, _SECOND, _ACK),
            st.tuples(_FULL, _ALL, _BESIDE, _do(Do.CLOSE_CONSUMER), _ALL, _LONG),
            st.tuples(_FULL, _FULL, _ALL, _BESIDE, _FULL, _ACK, _PAUSE, _do(Do.CLOSE_CONSUMER), _ALL),
        ),
    ),
    "is away": Kind(
        Surroundings(terms={"partitions": (0,)}),
        st.one_of(
            st.tuples(_FULL, _ALL, _AWAY, _SETTLE, _SETTLE, _PAUSE, _ALL),
            st.tuples(_SEND, _SOME, _AWAY, _do(Do.CLOSE_CONSUMER), _LONG),
            st.tuples(_SEND, _AWAY, st.builds(Act, st.just(Do.PAUSE), st.just(0), _few), _do(Do.CLOSE_CONSUMER), _LONG),
        ),
        harms=_WHILE_BACK,
    ),
    "settles steadily": Kind(
        Surroundings(terms={"ack_group_ms": (100,), "ack_group_max": (1_000,), "partitions": (0,), **_AT_ONCE}),
        st.one_of(
            st.tuples(_FULL, _ALL, *(each for n in range(1, 6) for each in (_do(Do.ACK_ONE, n), _SHORT))),
            st.tuples(_FULL, _ALL, *(each for n in range(1, 6) for each in (_do(Do.NACK_FIRST, n), _SHORT)), _LONG),
        ),
    ),
    "waits for answers": Kind(
        Surroundings(
            needs=frozenset({"ack_receipt"}),
            terms={"ack_receipt": (True,), "ack_group_ms": (100, 50), "subscription_type": ("exclusive", "failover")},
        ),
        st.one_of(
            st.tuples(_FULL, _ALL, _ACK, _ACK, _LONG, _ACK),
            st.tuples(
                _FULL,
                _ALL,
                _do(Do.ACK_UP_TO, 2),
                _do(Do.ACK_UP_TO, 3),
                _do(Do.PAUSE, 2),
                _do(Do.ACK_UP_TO, 1),
                _do(Do.ACK_UP_TO, 3),
                _do(Do.SETTLE),
                _do(Do.ACK_ONE, 4),
            ),
        ),
        harms=_ON_ANSWERS,
    ),
    "settles as others do": Kind(
        Surroundings(
            terms={"partitions": (0,), "subscription_type": ("shared", "exclusive"), "batching": (True, True, False)}
        ),
        st.tuples(_FULL, _ALL, _ACK, _PAUSE, _ACK, _PAUSE, _AWAY, _ALL),
        harms=_OTHERS_ACKS,
    ),
    "sends what is large": Kind(
        Surroundings(
            needs=frozenset({"chunking_producer", "chunking_consumer"}),
            settings={"producer.block_if_queue_full": (None, False)},
            terms={
                "chunking": (True,),
                "batching": (False,),
                "max_pending_messages": (1_000, 3, 5),
                "partitions": (0,),
                **_AT_ONCE,
            },
        ),
        st.one_of(
            st.tuples(
                _do(Do.HOLD_STORE), _LARGE, _LARGE, _SHORT, _do(Do.RELEASE_STORE), _do(Do.SETTLE), _FULL, _do(Do.SETTLE)
            ),
            st.tuples(_ONE, _LARGE, _ONE, _ALL, st.builds(Act, st.just(Do.SEEK), st.just(0), _times), _ALL),
        ),
    ),
    "seeks": Kind(
        Surroundings(
            needs=frozenset({"seek"}),
            terms={"partitions": (0,), "chunking": (False,), "receiver_queue_size": (1_000, 3), **_AT_ONCE},
        ),
        st.one_of(
            st.tuples(_FULL, _FULL, _SOME, st.builds(Act, st.just(Do.SEEK), st.just(0), _times), _ALL, _ALL),
            st.tuples(_FULL, _SOME, _ACK, st.builds(Act, st.just(Do.SEEK), st.just(0), _times), _ALL, _ACK),
            st.tuples(_FULL, _SOME, st.builds(Act, st.just(Do.SEEK_TIME), st.just(0), _numbers), _ALL),
        ),
        harms=st.one_of(_WHILE_BACK, _at(("CLOSE_CONSUMER", "MESSAGE"), Delay(200), Cut())),
        stock=st.sampled_from(((), (), ("old messages",), ("old messages", "single messages"))),
    ),
}
