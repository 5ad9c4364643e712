"""Order at the application: an Exclusive or Failover consumer receives messages as they came, a Key_Shared one those of
each key."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.event import MessageId, Received

ORDERED = ("Exclusive", "Failover")


@dataclass(slots=True)
class Progress:
    """What a consumer has received from one topic or partition. `returns`: how often it may still go back to earlier
    ids."""

    last: Received | None = None
    place: tuple[int, int, int] = (-1, -1, -1)
    returns: int = 0


def is_again(session: ConsumerSession) -> bool:
    """Whether its consumer has subscribed to this topic before."""
    sessions = session.consumer.sessions if session.consumer is not None else []
    return sum(one.topic == session.topic for one in sessions) > 1


def describe(id: MessageId) -> str:
    return id.name + (f" message {id.batch_index}" if id.batch_index >= 0 else "")
