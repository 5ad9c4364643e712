"""How bad a deviation is for an application: a closed set, worst first.

It imports nothing heavy, for the command line names these words in its help.
"""

from __future__ import annotations

from enum import StrEnum


class Impact(StrEnum):
    """What an application may meet because of a deviation, worst first."""

    LOST = "lost"
    CORRUPTED = "corrupted"
    DUPLICATED = "duplicated"
    OUT_OF_ORDER = "out of order"
    MISROUTED = "misrouted"
    DIES = "dies"
    HANGS = "hangs"
    FAILS = "fails without cause"
    GROWS = "leaks or grows"
    LATE = "late"
    WIRE_ONLY = "wire only"


IMPACT_MEANS: dict[Impact, str] = {
    Impact.LOST: "a message is not delivered, or is reported as stored and is not",
    Impact.CORRUPTED: "a message is delivered with other content than was sent",
    Impact.DUPLICATED: "a message is stored, or delivered, more often than it should be",
    Impact.OUT_OF_ORDER: "messages are delivered in another order than they were sent",
    Impact.MISROUTED: "a message goes to another partition, topic or consumer than it should",
    Impact.DIES: "the process ends",
    Impact.HANGS: "a call, or the whole client, does not go on",
    Impact.FAILS: "a call fails although it could have succeeded",
    Impact.GROWS: "memory, or the backlog of a subscription, grows",
    Impact.LATE: "something happens later than documented",
    Impact.WIRE_ONLY: "only the protocol is broken: an application does not notice it by itself",
}
"""Each impact as a person reads it, worst first."""

_HIDING = frozenset({Impact.LOST, Impact.DUPLICATED, Impact.OUT_OF_ORDER, Impact.DIES, Impact.HANGS})
"""Where one of these shows, another message that is lost, or another call that hangs, is not noticed."""

_ORDER = tuple(Impact)


def severity(impact: Impact | None) -> int:
    """Return the place of an impact among all, 0 for the worst; one that is not rated comes first, since it may be
    any."""
    return 0 if impact is None else 1 + _ORDER.index(impact)


def hides_others(impact: Impact | None) -> bool:
    """Return whether a new failure may go unnoticed beside one of this impact, or of none."""
    return impact is None or impact in _HIDING


def impact_words(impact: Impact | None) -> str:
    """Return the impact as a table shows it."""
    return "not rated" if impact is None else impact.value
