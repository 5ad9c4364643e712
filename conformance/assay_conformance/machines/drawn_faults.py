"""What goes wrong in a life: an action at some frame of one kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from hypothesis import strategies as st

from assay_conformance.machines.operations import Act
from assay_conformance.model.fault import Action, AnswerError, Direction, Fault, OnFrame, Refuse, Rewrite, Scope, Until
from assay_conformance.model.outside import Kill, Role

Strategy = st.SearchStrategy[Any]

MAX_FAULTS = 4
"""Of one life."""

MOST_HARMS = 3
"""That are drawn for it; some are several faults."""


class DrawnFault(NamedTuple):
    """Something that goes wrong: `action`, at the k-th `command` in its direction, and `times - 1` further ones (0 =
    all that follow), of one topic or of any. For `away_ms` from then on there is no connection to be had.

    `answers` and `session` are those of a trigger and a scope; `acts` come first in a life that has this fault.
    """

    command: str
    action: Action
    k: int = 1
    after_ms: int = 100
    times: int = 1
    topic: str = ""
    away_ms: int = 0
    answers: str = ""
    session: int | None = None
    acts: tuple[Act, ...] = ()


COMMON: Mapping[str, Direction] = {
    **dict.fromkeys(
        ("SEND", "PRODUCER", "SUBSCRIBE", "LOOKUP", "PARTITIONED_METADATA", "ACK", "FLOW"), Direction.TO_BROKER
    ),
    **dict.fromkeys(
        (
            *("SEND_RECEIPT", "PRODUCER_SUCCESS", "MESSAGE", "CONNECTED", "SUCCESS", "LOOKUP_RESPONSE"),
            *("ACK_RESPONSE", "CLOSE_CONSUMER"),
        ),
        Direction.TO_CLIENT,
    ),
}
"""Frames that faults aim at in any life."""

DIRECTIONS: Mapping[str, Direction] = {
    **COMMON,
    **dict.fromkeys(
        (
            *("SEEK", "UNSUBSCRIBE", "GET_LAST_MESSAGE_ID", "GET_TOPICS_OF_NAMESPACE", "WATCH_TOPIC_LIST"),
            *("CLOSE_PRODUCER", "REDELIVER_UNACKNOWLEDGED_MESSAGES", "GET_SCHEMA", "CONNECT", "AUTH_RESPONSE"),
        ),
        Direction.TO_BROKER,
    ),
    **dict.fromkeys(
        (
            *("PARTITIONED_METADATA_RESPONSE", "GET_LAST_MESSAGE_ID_RESPONSE", "GET_TOPICS_OF_NAMESPACE_RESPONSE"),
            *("WATCH_TOPIC_LIST_SUCCESS", "WATCH_TOPIC_UPDATE", "GET_SCHEMA_RESPONSE", "AUTH_CHALLENGE"),
        ),
        Direction.TO_CLIENT,
    ),
}
"""And in lives that have them."""


def faults_of(harm: DrawnFault) -> Iterator[Fault]:
    """Yield optional faults: they may be healed before they are reached."""
    trigger = OnFrame(
        command=harm.command,
        # A CLOSE_CONSUMER that is answered is the client's; brokers send it, too.
        direction=Direction.TO_BROKER if isinstance(harm.action, AnswerError) else DIRECTIONS[harm.command],
        k=harm.k,
        times=harm.times,
        answers=harm.answers,
    )
    scope = Scope(topic=harm.topic or None, session=harm.session)
    yield Fault(trigger=trigger, action=harm.action, scope=scope, until=Until(after_ms=harm.after_ms), optional=True)
    if harm.away_ms:
        yield Fault(trigger=trigger, action=Refuse(), until=Until(after_ms=harm.away_ms), optional=True)


def changes_process(faults: Iterable[Fault]) -> bool:
    """Return whether a client process may behave differently after these faults for as long as it lives.

    The C++ core keeps the message limit that a broker named last for all brokers of the process.
    """
    return any(isinstance(fault.action, Rewrite) and "max_message_size" in fault.action.fields for fault in faults)


def ends_process(faults: Iterable[Fault]) -> bool:
    """Return whether a client's process dies of them."""
    return any(isinstance(fault.action, Kill) and fault.action.target.role is Role.CLIENT for fault in faults)


ANYTIME = st.sampled_from((1, 1, 1, 2, 2, 3, 5))
"""Mostly one of the first frames of its kind: lives are short, and what a later one waits for may never come."""

LASTING = st.sampled_from((100, 500))
ONCE = st.just(1)
NOT_AWAY = st.just(0)


def at(
    commands: tuple[str, ...],
    actions: Strategy,
    k: Strategy = ANYTIME,
    after_ms: Strategy = LASTING,
    times: Strategy = ONCE,
    topic: str = "",
    away_ms: Strategy = NOT_AWAY,
) -> Strategy:
    """Return a strategy of one of the actions, at a frame of one of these kinds."""
    here, unsaid = (st.just(topic), away_ms), (st.just(""), st.none(), st.just(()))
    return st.builds(DrawnFault, st.sampled_from(commands), actions, k, after_ms, times, *here, *unsaid)


def some(strategy: Strategy, most: int) -> Strategy:
    """Return a strategy of one or more: a life in which nothing happens, or nothing goes wrong, shows nothing.

    No `min_size`, which is a length drawn first. The half of `most` in the mean: short lives are many.
    """
    return st.builds(lambda one, more: [one, *more], strategy, st.lists(strategy, max_size=most - 1))
