"""What the steps of a Case may say: for each verb its arguments, what each has to be, and how large it may be.

The bounds lie far above every Case there is, and far below what makes a machine stand still.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from assay_conformance.model.agent import CallbackAct, HandlerAct, SendMode
from assay_conformance.model.case import Who
from assay_conformance.model.direction import Direction

MOST_MESSAGES: Final = 100_000
MOST_BYTES: Final = 64 * 1024 * 1024
"""Of one message."""
MOST_MS: Final = 10 * 24 * 3_600_000
MOST_HANDLES: Final = 1_000_000
LAST_MOMENT_MS: Final = 2**53


class Kind(NamedTuple):
    """What a value has to be, in words and as a question."""

    words: str
    fits: Callable[[Any], bool]


class Verb(NamedTuple):
    required: Mapping[str, Kind] = {}
    optional: Mapping[str, Kind] = {}


def whole(low: int, high: int) -> Kind:
    return Kind(f"a whole number from {low} to {high}", lambda value: type(value) is int and low <= value <= high)


def _one_of(*words: str) -> Kind:
    return Kind(f"one of {', '.join(words)}", lambda value: isinstance(value, str) and value in words)


def _list_of(kind: Kind, words: str, least: int = 0) -> Kind:
    def fits(value: Any) -> bool:
        return isinstance(value, list) and least <= len(value) <= MOST_MESSAGES and all(map(kind.fits, value))

    return Kind(words, fits)


def _plain(value: Any) -> bool:
    return isinstance(value, bool | int | float | str)


FLAG: Final = Kind("true or false", lambda value: isinstance(value, bool))
TEXT: Final = Kind("a string", lambda value: isinstance(value, str))
NUMBER: Final = Kind(
    "a number from -1 on",
    lambda value: type(value) in (int, float) and -1 <= value <= LAST_MOMENT_MS,
)
MS: Final = whole(0, MOST_MS)
MOMENT: Final = whole(0, LAST_MOMENT_MS)
COUNT: Final = whole(1, MOST_MESSAGES)
SIZE: Final = whole(0, MOST_BYTES)
HANDLE: Final = whole(0, MOST_HANDLES)
NUMBERED: Final = whole(0, MOST_HANDLES)
TOPICS: Final = _list_of(TEXT, "a list of topics")
HANDLES: Final = _list_of(HANDLE, "a list of numbers that steps save")
ORDINALS: Final = _list_of(NUMBERED, "a list of whole numbers")
FIELDS: Final = Kind(
    "values by the names of fields", lambda value: isinstance(value, dict) and all(map(_plain, value.values()))
)
PROPERTIES: Final = Kind(
    "strings by name",
    lambda value: isinstance(value, dict) and all(isinstance(one, str) for one in value.values()),
)

CONFIG: Final[Mapping[str, Kind]] = {
    **dict.fromkeys(
        (
            "ack_receipt",
            "auto_ack_oldest_chunked",
            "batch_index_ack",
            "batching",
            "block_if_queue_full",
            "chunking",
            "durable",
            "key_shared_out_of_order",
            "lazy_start_partitioned_producers",
            "read_compacted",
            "retry_letters",
            "start_inclusive",
        ),
        FLAG,
    ),
    **dict.fromkeys(
        (
            "access_mode",
            "batching_type",
            "compression",
            "consumer_name",
            "credentials",
            "dead_letter_subscription",
            "dead_letter_topic",
            "hashing_scheme",
            "initial_position",
            "interceptor",
            "interface",
            "key_shared_ranges",
            "producer_name",
            "properties",
            "retry_letter_topic",
            "router",
            "routing",
            "schema",
            "schema_definition",
            "subscription_type",
            "tls_trust_certs",
            "tokens",
        ),
        TEXT,
    ),
}
"""Configuration keys whose values are no numbers."""


def kind_of(key: str) -> Kind:
    """Return what the value of a configuration key has to be."""
    return CONFIG.get(key, NUMBER)


def is_configuration(value: Any) -> bool:
    return isinstance(value, dict) and all(kind_of(key).fits(one) for key, one in value.items())


_CONFIG: Final = Kind("configuration keys, each with a value of its kind", is_configuration)
MESSAGE: Final[Mapping[str, Kind]] = {
    "size": SIZE,
    "key": TEXT,
    "ordering_key": TEXT,
    "properties": PROPERTIES,
    "sequence_id": MOMENT,
    "event_time_ms": MOMENT,
    "deliver_after_ms": MOMENT,
    "deliver_at_ms": MOMENT,
}


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and all(kind.fits(value[key]) for key, kind in MESSAGE.items() if key in value)


_MESSAGES: Final = _list_of(Kind("", _is_message), f"a list of messages, each with some of {', '.join(MESSAGE)}")
_NAMED: Final = {"messages": ORDINALS, "numbers": ORDINALS, "all": FLAG}
_INSIDE: Final = {"inside": NUMBERED}
"""The delivery whose handler call it is; 0 is the oldest one that runs."""
_IN_CALLBACK: Final = {"in_callback": HANDLE}
"""The number that a step of sends saves: the callback of its first message, which waits."""
_ON_CLOSED: Final = {"on_closed": FLAG}
"""Whether the call is made also where the close of its handle has ended; else the step is left out then."""
_LISTENERS: Final = {"listener": FLAG, "state_listener": FLAG}
_ON_CONSUMER: Final = Verb({"consumer": HANDLE})


def _wait(**arguments: Kind) -> Verb:
    return Verb(arguments, {"deadline_ms": MS})


VERBS: Final[Mapping[tuple[Who, str], Verb]] = {
    (Who.AGENT, "open_client"): Verb({}, {"config": _CONFIG}),
    (Who.AGENT, "open_producer"): Verb({"client": HANDLE}, {"topic": TEXT, "config": _CONFIG, **_ON_CLOSED}),
    (Who.AGENT, "open_consumer"): Verb(
        {"client": HANDLE},
        {
            "topic": TEXT,
            "topics": TOPICS,
            "subscription": TEXT,
            "pattern": TEXT,
            "start_of": HANDLE,
            "start_delivery": NUMBERED,
            **_LISTENERS,
            **_ON_CLOSED,
            "config": _CONFIG,
        },
    ),
    (Who.AGENT, "open_table_view"): Verb({"client": HANDLE}, {"topic": TEXT, "subscription": TEXT, "listener": FLAG}),
    (Who.AGENT, "read_table_view"): Verb({"handle": HANDLE}),
    (Who.AGENT, "send"): Verb(
        {"producer": HANDLE},
        {
            "count": COUNT,
            "mode": _one_of(*SendMode),
            "callback": _one_of(*CallbackAct),
            "messages": _MESSAGES,
            **_IN_CALLBACK,
            **_ON_CLOSED,
            **MESSAGE,
        },
    ),
    (Who.AGENT, "end_callback"): Verb({"send": HANDLE}),
    (Who.AGENT, "burst"): Verb({"producer": HANDLE, "count": COUNT}, {"size": SIZE}),
    (Who.AGENT, "flush"): Verb({"producer": HANDLE}, {**_IN_CALLBACK, **_ON_CLOSED}),
    (Who.AGENT, "close"): Verb({"handle": HANDLE}, {**_INSIDE, **_IN_CALLBACK}),
    (Who.AGENT, "stats"): Verb({"handle": HANDLE}),
    (Who.AGENT, "receive"): Verb(
        {"consumer": HANDLE}, {"count": COUNT, "timeout_ms": MS, "does": _one_of(*HandlerAct), **_ON_CLOSED}
    ),
    (Who.AGENT, "let_return"): Verb({"consumer": HANDLE, "delivery": NUMBERED}, {"raises": FLAG}),
    (Who.AGENT, "batch_receive"): _ON_CONSUMER,
    (Who.AGENT, "ack"): Verb(
        {"consumer": HANDLE}, {**_NAMED, **_INSIDE, **_IN_CALLBACK, **_ON_CLOSED, "cumulative": FLAG, "of": HANDLE}
    ),
    (Who.AGENT, "nack"): Verb({"consumer": HANDLE}, {**_NAMED, **_INSIDE}),
    (Who.AGENT, "redeliver_all"): _ON_CONSUMER,
    (Who.AGENT, "reconsume_later"): Verb({"consumer": HANDLE}, {**_NAMED, "delay_ms": MS}),
    (Who.AGENT, "value"): Verb({"consumer": HANDLE}, _NAMED),
    (Who.AGENT, "seek"): Verb(
        {"consumer": HANDLE}, {"delivery": NUMBERED, "publish_time_ms": MOMENT, **_IN_CALLBACK, **_ON_CLOSED}
    ),
    (Who.AGENT, "has_message_available"): _ON_CONSUMER,
    (Who.AGENT, "last_message_id"): _ON_CONSUMER,
    (Who.AGENT, "unsubscribe"): Verb({"consumer": HANDLE}, _ON_CLOSED),
    (Who.AGENT, "pause"): _ON_CONSUMER,
    (Who.AGENT, "resume"): _ON_CONSUMER,
    (Who.AGENT, "crash"): Verb(),
    (Who.BENCH, "heal"): Verb({}, {"fault": NUMBERED}),
    (Who.WAIT, "ms"): Verb({"ms": MS}),
    (Who.WAIT, "ops"): Verb({}, {"ops": HANDLES, "handle": HANDLE, "deadline_ms": MS}),
    (Who.WAIT, "received"): _wait(consumer=HANDLE, count=COUNT),
    (Who.WAIT, "frame"): Verb(
        {"command": TEXT, "direction": _one_of(*Direction)},
        {"count": COUNT, "where": FIELDS, "deadline_ms": MS},
    ),
    (Who.WAIT, "fired"): Verb({"fault": NUMBERED}, {"count": COUNT, "deadline_ms": MS}),
    (Who.WAIT, "healed"): _wait(fault=NUMBERED),
    (Who.WAIT, "stored"): _wait(topic=TEXT, count=COUNT),
}
"""Who and verb -> its arguments; those of broker steps are `broker.steps.STEPS`. What is not named here is not read."""

OPENING: Final = ("open_client", "open_producer", "open_consumer", "open_table_view")
"""What has to say by which number its handle goes."""

EITHER: Final[Mapping[str, tuple[str, ...]]] = {"seek": ("delivery", "publish_time_ms")}
"""Verbs that need one of these."""

RANGES: Final[Mapping[str, Kind]] = {
    "brokers": whole(1, 16),
    "partitions": whole(0, 1_000),
    "max_message_bytes": whole(1, MOST_BYTES),
    "size": SIZE,
    "copies": whole(0, MOST_MESSAGES),
    "by": whole(1, 1_000),
    "k": COUNT,
    "times": whole(0, MOST_MESSAGES),
    "connections": whole(0, MOST_MESSAGES),
    "piece_bytes": whole(1, MOST_BYTES),
    "keep_bytes": SIZE,
    "step": NUMBERED,
    **dict.fromkeys(
        (
            "auth_refresh_ms",
            "backlog_check_ms",
            "expiry_check_ms",
            "keep_alive_ms",
            "liveness_check_ms",
            "retention_check_ms",
            "tick_ms",
        ),
        whole(1, MOST_MS),
    ),
    **dict.fromkeys(("cursor_flush_s", "dedup_snapshot_entries", "max_pending_sends", "period_s"), COUNT),
}
"""Numbers of topology, faults, limits and broker steps, by their names; 0 would leave some brokers looking without
end."""
