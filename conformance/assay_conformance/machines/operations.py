"""What can happen in a mixed life: the words of it, and the tables that their numbers pick from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from assay_conformance.machines.environment import TOPIC
from assay_conformance.machines.initial_backlog import LONG_AGO_MS, SECOND_MS
from assay_conformance.model.case import Config
from assay_conformance.pulsar.cases.batching.tuning import PROPERTIES

KEYS = (None, None, "a", "my-key", "é", "k1")
"""Most messages have none; the others' partitions distinguish one hash from another."""

DELAYS_MS = (0, 0, 0, 0, 300, 900)
"""Until a message may be delivered."""

BESIDES: tuple[dict[str, Any], ...] = (
    {},
    {},
    {},
    {"properties": PROPERTIES},
    {"event_time_ms": 1},
    {"ordering_key": "o", "properties": {"long": "x" * 400}},
    {"properties": {"long": "x" * 70_000}},
)
"""What a send may say besides; the last one is for lives that are about it."""

MOST_NAMED = 10
"""Messages that one call names by their numbers: of each the copy that came last, and no older one."""

LATER_MS = (0, 100, 300)
"""Until one that is sent round comes again."""

LETTERS_MS = 40_000
"""What sending round gets: most clients wait half a minute for the receipt of a letter, whatever their settings say of
other sends."""

PLACES_IN_TIME_MS = (0, LONG_AGO_MS + 2 * SECOND_MS, LONG_AGO_MS + 7 * SECOND_MS - 1, LONG_AGO_MS + 3_600 * SECOND_MS)
"""Ahead of everything, at an old message, between two of them, and after all old ones."""

ODD: Sequence[tuple[str, dict[str, Any], str]] = (
    ("open_consumer", {"topics": [TOPIC], "subscription": "odd", "config": {"ack_timeout_ms": 50}}, "ack_timeout"),
    ("open_producer", {"topic": TOPIC, "config": {"batching": True, "chunking": True}}, "chunking_producer"),
)
"""What no client should open, and what it has to be able to do so that it is asked."""

VARIANTS: tuple[Config, ...] = (
    {"batching_partition_switch_frequency": 0},
    {"batching_max_messages": 10},
    {"batching_partition_switch_frequency": 1},
    {},
)
"""How a producer may differ from the others of its life."""

MANY = 12
"""Messages of a producer that is compared with another one."""

WAITS = "wait_for_exclusive"
MODES = ("", "exclusive", "exclusive", WAITS, WAITS, "exclusive_with_fencing")
"""How a producer claims its topic, where some do."""

LINGER_MS = 1_200
"""More than a period of a rate."""

ADMITTED_MS = 1_500
"""What a producer that waits for its topic gets, once all others are closed; and an operation of one that may have
lost it."""

PAUSES_MS = (5, 50, 150, 400, 50, 1_200)
"""The longest is for what is due in its time: most lives are over by then."""

RECEIVE_TIMEOUT_MS = 200
LISTEN_MS = 1_000
"""How long an application waits that does other things meanwhile, and at the end of some lives: what has not come by
then was lost."""
EVERYTHING = 100
"""Messages: more than there are."""
MOST_ADDED = 2
"""Partitions that a topic gets while it is used."""


class Operation(StrEnum):
    """What can happen."""

    SEND = "send"
    SEND_BY_ALL = "send-by-all"
    FLUSH = "flush"
    OPEN_PRODUCER = "open-producer"
    REOPEN_PRODUCER = "reopen-producer"
    CLOSE_PRODUCER = "close-producer"
    OPEN_CONSUMER = "open-consumer"
    CLOSE_CONSUMER = "close-consumer"
    UNSUBSCRIBE = "unsubscribe"
    RECEIVE = "receive"
    ACK = "ack"
    ACK_ONE = "ack-one"
    ACK_UP_TO = "ack-up-to"
    ACK_OF_ANOTHER = "ack-of-another"
    ACK_UP_TO_ANOTHER = "ack-up-to-another"
    NACK = "nack"
    NACK_FIRST = "nack-first"
    NACK_ALL = "nack-all"
    REDELIVER_ALL = "redeliver-all"
    LATER = "later"
    LISTEN = "listen"
    SEEK = "seek"
    SEEK_TIME = "seek-time"
    SEEK_TWICE = "seek-twice"
    ASK_FOR_MORE = "ask-for-more"
    ASK_FOR_LAST = "ask-for-last"
    READ_FROM = "read-from"
    OPEN_BESIDE = "open-beside"
    OPEN_ODD = "open-odd"
    PAUSE = "pause"
    SETTLE = "settle"
    UNLOAD = "unload"
    UNLOAD_ONE = "unload-one"
    RESTART = "restart"
    GROW = "grow"
    MOVE = "move"
    MIGRATE = "migrate"
    HOLD_STORE = "hold-store"
    RELEASE_STORE = "release-store"
    FIND = "find"
    CHALLENGE = "challenge"
    RESTART_CLIENT = "restart-client"
    KILL_CLIENT = "kill-client"
    OPEN_NAMESAKE = "open-namesake"
    SEND_AGAIN = "send-again"
    FAIL_STORE = "fail-store"
    LINGER = "linger"
    CALL_INSIDE = "call-inside"
    PAUSE_HANDLER = "pause-handler"
    RESUME_HANDLER = "resume-handler"
    READ_VALUES = "read-values"
    SEND_IN_CALLBACK = "send-in-callback"


NEEDS: Mapping[Operation, str] = {
    Operation.ACK_UP_TO: "cumulative_ack",
    Operation.ACK_UP_TO_ANOTHER: "cumulative_ack",
    Operation.NACK: "nack_delay",
    Operation.NACK_FIRST: "nack_delay",
    Operation.NACK_ALL: "nack_delay",
    Operation.REDELIVER_ALL: "redeliver_all",
    Operation.LATER: "retry_letter",
    Operation.UNSUBSCRIBE: "unsubscribe",
    Operation.SEEK: "seek",
    Operation.SEEK_TIME: "seek",
    Operation.SEEK_TWICE: "seek",
    Operation.MIGRATE: "resend_pending",
    Operation.ASK_FOR_MORE: "has_message_available",
    Operation.ASK_FOR_LAST: "last_message_id",
    Operation.READ_FROM: "start_message_id",
    Operation.SEND_AGAIN: "explicit_sequence_id",
    Operation.PAUSE_HANDLER: "listener_pause",
    Operation.RESUME_HANDLER: "listener_pause",
    Operation.READ_VALUES: "schema",
    Operation.SEND_IN_CALLBACK: "send_callback",
}
"""What a client has to be able to do for it; every client can do the others."""


PRODUCER, CONSUMER = "producer", "consumer"

EVERY_LIFE = (PRODUCER,)
"""Without this there is no life to draw; most have a consumer, too, where the client can be one."""


class Act(NamedTuple):
    """`who` picks among the open handles, round and round, or a client; `number` counts messages, names one, or picks a
    pause, a find, a way to subscribe, or a topic to write to; `size` picks a size, of an opening one of VARIANTS and
    MODES; `key`, `delay` and `besides` pick one of KEYS, DELAYS_MS and BESIDES for a send."""

    do: Operation
    who: int = 0
    number: int = 1
    size: int = 3
    key: int = 0
    delay: int = 0
    sync: bool = False
    besides: int = 0


OF_PRODUCERS = frozenset(
    {
        Operation.SEND,
        Operation.SEND_AGAIN,
        Operation.SEND_IN_CALLBACK,
        Operation.FLUSH,
        Operation.CLOSE_PRODUCER,
        Operation.REOPEN_PRODUCER,
        Operation.OPEN_NAMESAKE,
    }
)
OF_SEEKERS = frozenset({Operation.SEEK, Operation.SEEK_TIME, Operation.SEEK_TWICE})
OF_LOGS = OF_SEEKERS | {
    *(Operation.ACK, Operation.ACK_ONE, Operation.ACK_UP_TO, Operation.ACK_OF_ANOTHER, Operation.ACK_UP_TO_ANOTHER),
    *(Operation.NACK, Operation.NACK_FIRST, Operation.NACK_ALL, Operation.LATER),
    Operation.REDELIVER_ALL,
}
"""Of no use where nothing is kept."""
OF_CONSUMERS = OF_LOGS | {
    *(Operation.RECEIVE, Operation.LISTEN, Operation.ASK_FOR_MORE, Operation.ASK_FOR_LAST),
    Operation.READ_FROM,
    *(Operation.CLOSE_CONSUMER, Operation.UNSUBSCRIBE),
    *(Operation.CALL_INSIDE, Operation.PAUSE_HANDLER, Operation.RESUME_HANDLER),
    Operation.READ_VALUES,
}

HAVE_CONSUMERS = OF_CONSUMERS | {Operation.OPEN_CONSUMER, Operation.OPEN_BESIDE}
"""What a client that is no consumer is not asked."""
