"""What two runs of one Case are compared by: aspects of what it came to, none of which is a time."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

Value = tuple[str, ...]
"""Words: of a call its end, of messages their names. The empty one says that there is none."""


class Kind(StrEnum):
    """`ENDS`: how a call ended, and with which class of error. `ALL_ENDS`: the ends of all sends of a producer.
    `SHOWN`: what a call gave beside its end.

    `HANDED_OVER`: which messages a subscription gave to the application; `EXTENT`: whether that is all that its topics
    hold; `DISORDER`: those that came for the first time after a later one of their key or partition; `REPEATED`:
    those that came again.

    `STORED`: which messages a topic holds; `STORED_DISORDER`: those after a later one of their producer;
    `STORED_AGAIN`: those it holds twice; `CONTENT`: keys, properties and codecs.

    `SUBSCRIPTIONS`: those of a topic; `UNACKNOWLEDGED`: what one has left. `REGISTERED`: producers and consumers at the
    brokers before the first is closed at the end of the Case; `CONNECTED`: connections after the last close.
    `PROCESS`: whether the client's process lived.
    """

    ENDS = "end of the call"
    ALL_ENDS = "ends of all sends"
    SHOWN = "what the call shows"
    HANDED_OVER = "messages delivered"
    EXTENT = "share delivered"
    DISORDER = "messages delivered out of order"
    REPEATED = "messages delivered again"
    STORED = "messages stored"
    STORED_DISORDER = "messages stored out of order"
    STORED_AGAIN = "messages stored twice"
    CONTENT = "content of stored messages"
    SUBSCRIPTIONS = "subscriptions"
    UNACKNOWLEDGED = "messages not acknowledged"
    REGISTERED = "producers and consumers registered before the end"
    CONNECTED = "connections left at the end"
    PROCESS = "process of the client"


class Aspect(NamedTuple):
    """`verb` is that of a call, and what it shows, else empty; `place`: of which call, subscription or topic of the
    Case."""

    kind: Kind
    place: str
    verb: str = ""


Outcomes = Mapping[Aspect, Value]
"""What one run came to. An aspect that is not in it was not seen, or the client does not show it."""
