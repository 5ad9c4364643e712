"""What a kind of application is, and the words that their scenes are written in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hypothesis import strategies as st

from assay_conformance.machines.drawn_faults import Strategy, at
from assay_conformance.machines.environment import Around, Environment
from assay_conformance.machines.network_faults import HARMS, ONE_HARM, UNHARMED, any_of
from assay_conformance.machines.operations import Act, Operation
from assay_conformance.machines.parameters import Parameters
from assay_conformance.machines.scenarios import ANY, FEW, NUMBERS, SMALL, SYNC, TIMES, call, sends
from assay_conformance.model.fault import Action, Cut, Delay, Hold


@dataclass(frozen=True, slots=True)
class WorkloadKind:
    """`scenes` are those of its kind, of which there is one, and `more` those that may follow; of harms, those that go
    together are one draw. `stock`: what its topic may hold at first."""

    of: Environment
    scenes: Strategy
    harms: Strategy = ONE_HARM
    more: Strategy = ANY
    stock: Strategy = field(default_factory=lambda: st.just(()))

    def around(self) -> Strategy:
        chosen = {name: st.sampled_from(values) for name, values in self.of.settings.items()}
        return st.builds(Around, st.just(self.of), st.fixed_dictionaries(chosen), self.stock)

    def terms(self) -> Mapping[str, Strategy]:
        drawn = {name: st.sampled_from(values) for name, values in self.of.terms.items()}
        return {**drawn, "around": self.around()}


# --- acts -------------------------------------------------------------------------------------------------------------

FIRST = st.just(0)
IDENTIFIED = st.integers(2, 3)
"""Sizes of messages of one chunk, with room for the identity in the payload."""
SENT = sends(key=NUMBERS, sync=SYNC, besides=NUMBERS)
ONE = sends(FIRST, FEW, SMALL, key=NUMBERS, besides=NUMBERS)
LARGE = sends(NUMBERS, FEW, st.integers(4, 5), besides=NUMBERS)
THREE_SENT = sends(FIRST, st.just(3), SMALL, key=NUMBERS)
FULL = sends(FIRST, st.just(5), SMALL, key=NUMBERS)
FIVE = sends(FIRST, st.just(5), IDENTIFIED)
FEW_IDENTIFIED = sends(FIRST, FEW, IDENTIFIED, key=NUMBERS)
ACK = call(st.sampled_from((Operation.ACK, Operation.ACK_ONE, Operation.ACK_UP_TO)), who=NUMBERS, number=TIMES)
SETTLE = call(
    st.sampled_from(
        (
            *(Operation.ACK, Operation.ACK_ONE, Operation.ACK_UP_TO),
            *(Operation.NACK, Operation.NACK_ALL, Operation.REDELIVER_ALL),
        )
    ),
    who=NUMBERS,
    number=TIMES,
)
ASK_FOR_LAST = call(Operation.ASK_FOR_LAST, who=NUMBERS)
AWAY = call(st.sampled_from((Operation.UNLOAD, Operation.RESTART, Operation.MOVE)), number=FEW)


def do(what: Operation, number: int = 5, who: int = 0) -> Strategy:
    return st.just(Act(what, who, number))


ALL, SECOND = do(Operation.RECEIVE), do(Operation.RECEIVE, who=1)
SOME = call(Operation.RECEIVE, who=NUMBERS, number=TIMES)
SHORT, PAUSE, LONG, LONGEST = (do(Operation.PAUSE, number) for number in (1, 2, 3, 5))
NEXT, THREE = do(Operation.RECEIVE, 1), do(Operation.RECEIVE, 3)
BESIDE = do(Operation.OPEN_CONSUMER, 0)
DIES = do(Operation.KILL_CLIENT)
DONE = do(Operation.SETTLE)
"""Whatever was asked for has ended."""


# --- harm -------------------------------------------------------------------------------------------------------------


MAY_BE_HARMED = st.one_of(UNHARMED, ONE_HARM)


def hits(commands: tuple[str, ...], *actions: Action, topic: str = "", latest: int = 3) -> Strategy:
    return at(commands, st.sampled_from(actions), st.integers(1, latest), topic=topic)


def beside_any(harm: Strategy) -> Strategy:
    """Return a strategy of one of these faults, or of those that any life has."""
    return any_of(harm, HARMS)


WHILE_BACK = st.one_of(
    hits(("SUCCESS",), Hold(overtake=True), Delay(500, overtake=True)), hits(("SUBSCRIBE",), Cut(), Hold(), Delay(300))
)

# --- terms ------------------------------------------------------------------------------------------------------------

INDIVIDUALLY = {"subscription_type": ("shared", "shared", "key_shared"), "partitions": (0,), "nack_delay_ms": (100,)}
AT_ONCE = {"ack_timeout_ms": (0,)}
ROOM = {"max_message_bytes": (Parameters().max_message_bytes,)}
"""For letters: what they name as their origin is in no chunk."""
KNOWS_TOPICS = {"protocol_version": (21, 21, 16)}
"""Brokers before version 12 can name neither the topics that exist nor the last message."""
