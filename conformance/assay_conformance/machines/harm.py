"""What goes wrong in a life: an action at some frame of one kind."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import strategies as st

from assay_conformance.model.fault import Action, Direction, Fault, OnFrame, Until

Strategy = st.SearchStrategy[Any]

MAX_FAULTS = 4
"""Of one life."""


class Harm(NamedTuple):
    """Something that goes wrong: `action`, at the k-th `command` in its direction, and `times - 1` further ones (0 =
    all that follow)."""

    command: str
    action: Action
    k: int = 1
    after_ms: int = 100
    times: int = 1


DIRECTIONS: dict[str, Direction] = {
    **dict.fromkeys(
        ("SEND", "PRODUCER", "SUBSCRIBE", "LOOKUP", "PARTITIONED_METADATA", "ACK", "FLOW"), Direction.TO_BROKER
    ),
    **dict.fromkeys(
        ("SEND_RECEIPT", "PRODUCER_SUCCESS", "MESSAGE", "CONNECTED", "SUCCESS", "LOOKUP_RESPONSE"), Direction.TO_CLIENT
    ),
}
"""The frames that faults aim at."""


def fault_of(harm: Harm) -> Fault:
    """An optional one: it may be healed before it is reached."""
    trigger = OnFrame(command=harm.command, direction=DIRECTIONS[harm.command], k=harm.k, times=harm.times)
    return Fault(trigger=trigger, action=harm.action, until=Until(after_ms=harm.after_ms), optional=True)


ANYTIME = st.integers(1, 5)
LASTING = st.sampled_from((100, 500))
ONCE = st.just(1)


def at(
    commands: tuple[str, ...],
    actions: Strategy,
    k: Strategy = ANYTIME,
    after_ms: Strategy = LASTING,
    times: Strategy = ONCE,
) -> Strategy:
    """One of the actions, at a frame of one of these kinds."""
    return st.builds(Harm, st.sampled_from(commands), actions, k, after_ms, times)
