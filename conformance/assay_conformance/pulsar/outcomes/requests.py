"""What can become of each request of a client: its command, when it is asked, and what comes for an answer.

A *cell* is one request, in one phase, with one thing that happens to its answer. What a client then owes stands in
`ends`; the Cases that bring the cells about, in `cases/robustness/answers`.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from assay_conformance.wire.pulsar_pb2 import ServerError


class Phase(StrEnum):
    """When a request is asked: of what is opened, or was opened and never lost; after a lost connection; after the
    broker's CLOSE_PRODUCER or CLOSE_CONSUMER; and while the application closes what it is for."""

    OPENING = "opening"
    RETURN = "return"
    SENT_AWAY = "sent-away"
    CLOSING = "closing"


class Loss(StrEnum):
    """What else than an error can happen to an answer. The connection is lost ahead of it, in the middle of it, and
    after it; LATE is after the time-out of the operation."""

    NO_ANSWER = "no-answer"
    LOST_BEFORE = "lost-before"
    LOST_INSIDE = "lost-inside"
    LOST_BEHIND = "lost-behind"
    LATE = "late"
    TWICE = "twice"
    OTHER_KIND = "other-kind"


Answer = str
"""A name of the protocol's ServerError, or a `Loss`."""

ERRORS: Final[tuple[Answer, ...]] = tuple(ServerError.keys())
ANSWERS: Final[tuple[Answer, ...]] = (*ERRORS, *Loss)


class Request(NamedTuple):
    """`phases` in which a call of the application brings it about; `because`: why it is in no other one."""

    command: str
    answer: str
    phases: tuple[Phase, ...]
    because: str = ""
    without: tuple[Answer, ...] = ()
    """What cannot happen to its answer."""


_ALL: Final = tuple(Phase)
_OPEN: Final = (Phase.OPENING, Phase.RETURN, Phase.SENT_AWAY)
_AT_FIRST: Final = (Phase.OPENING, Phase.CLOSING)

REQUESTS: Final = (
    Request(
        "CONNECT",
        "CONNECTED",
        (Phase.OPENING, Phase.RETURN),
        "a broker that sends a handle away keeps the connection, and a close ends it",
    ),
    Request("PARTITIONED_METADATA", "PARTITIONED_METADATA_RESPONSE", _AT_FIRST, "what comes back knows its partitions"),
    Request("LOOKUP", "LOOKUP_RESPONSE", _ALL),
    Request("PRODUCER", "PRODUCER_SUCCESS", _ALL),
    Request("SUBSCRIBE", "SUCCESS", _ALL),
    Request("SEND", "SEND_RECEIPT", _ALL, without=(Loss.OTHER_KIND,)),
    Request("ACK", "ACK_RESPONSE", _ALL),
    Request("SEEK", "SUCCESS", _ALL),
    Request("UNSUBSCRIBE", "SUCCESS", _ALL),
    Request("CLOSE_PRODUCER", "SUCCESS", _OPEN, "it is the close"),
    Request("CLOSE_CONSUMER", "SUCCESS", _OPEN, "it is the close"),
    Request("GET_LAST_MESSAGE_ID", "GET_LAST_MESSAGE_ID_RESPONSE", _ALL),
    Request(
        "GET_TOPICS_OF_NAMESPACE", "GET_TOPICS_OF_NAMESPACE_RESPONSE", _AT_FIRST, "it is asked by time, and not again"
    ),
    Request("GET_SCHEMA", "GET_SCHEMA_RESPONSE", _ALL),
    Request("WATCH_TOPIC_LIST", "WATCH_TOPIC_LIST_SUCCESS", _AT_FIRST, "a watcher comes back apart from its consumer"),
    Request("GET_OR_CREATE_SCHEMA", "GET_OR_CREATE_SCHEMA_RESPONSE", (), "no verb of the agent protocol asks for it"),
    Request("AUTH_RESPONSE", "CONNECTED", (), "brokers answer it in the handshake alone, as they answer CONNECT"),
    Request(
        "PING", "PONG", (), "no call waits for it: `connection.closes-silent-connection` says what its answer decides"
    ),
)
"""Commands of clients that brokers answer. Transactions and CONSUMER_STATS are no verbs of the agent protocol."""


class Cell(NamedTuple):
    """One request, in one phase, and what happens to its answer."""

    request: Request
    phase: Phase
    answer: Answer


def cells() -> Iterator[Cell]:
    """Yield those that can be reached."""
    for request in REQUESTS:
        for phase in request.phases:
            yield from (Cell(request, phase, answer) for answer in ANSWERS if answer not in request.without)
