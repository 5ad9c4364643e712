"""Faults at the answers to requests: what lives may come to of the cells of `pulsar/outcomes/requests`.

A cell names a request, its phase, and what becomes of the answer. Lives ask for much by themselves; what they seldom
ask for, and a phase that they seldom come to, a fault brings with it: acts that come first in its life, and the loss of
a connection. Left out is what no life can do: to close what is being opened for the first time.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from hypothesis import strategies as st

from assay_conformance.machines.drawn_faults import ANYTIME, LASTING, ONCE, DrawnFault, Strategy, at
from assay_conformance.machines.operations import Act, Operation
from assay_conformance.machines.parameters import OPERATION_TIMEOUT_MS
from assay_conformance.model.fault import AnswerError, Cut, CutHow
from assay_conformance.pulsar.outcomes.losses import actions_of
from assay_conformance.pulsar.outcomes.requests import ERRORS, Cell, Loss, Phase, cells

LATE_MS: Final = OPERATION_TIMEOUT_MS + OPERATION_TIMEOUT_MS // 2

_WEIGHT_OF_LOSS: Final = 4
"""Each loss is drawn so many times as often as each error: half of what is drawn is an error, of which there are
many."""

_SEND, _RECEIVE, _UNLOAD = Act(Operation.SEND), Act(Operation.RECEIVE), Act(Operation.UNLOAD)
_OPEN_PRODUCER, _OPEN_CONSUMER = Act(Operation.OPEN_PRODUCER, number=0), Act(Operation.OPEN_CONSUMER, number=0)
_CLOSE_PRODUCER, _CLOSE_CONSUMER = Act(Operation.CLOSE_PRODUCER), Act(Operation.CLOSE_CONSUMER, number=0)


class _Asked(NamedTuple):
    """How a life comes to ask: `by` these acts, where its usual ones do not; `closes` ends what asks. `ahead`: how many
    are asked before anything comes back; None where each is one producer's or consumer's, which registers again."""

    by: tuple[Act, ...] = ()
    closes: Act = _CLOSE_CONSUMER
    ahead: int | None = None


_ASKED: Final[Mapping[str, _Asked]] = {
    "CONNECT": _Asked(ahead=1),
    "PARTITIONED_METADATA": _Asked((_OPEN_PRODUCER,), ahead=2),
    "LOOKUP": _Asked((_OPEN_PRODUCER,), _CLOSE_PRODUCER, ahead=2),
    "PRODUCER": _Asked((_OPEN_PRODUCER,), _CLOSE_PRODUCER),
    "SUBSCRIBE": _Asked((_OPEN_CONSUMER,)),
    "SEND": _Asked((_SEND,), _CLOSE_PRODUCER),
    "ACK": _Asked((_SEND, _RECEIVE, Act(Operation.ACK))),
    "SEEK": _Asked((_SEND, _RECEIVE, Act(Operation.SEEK))),
    "UNSUBSCRIBE": _Asked((Act(Operation.UNSUBSCRIBE),)),
    "CLOSE_PRODUCER": _Asked((_CLOSE_PRODUCER, _OPEN_PRODUCER)),
    "CLOSE_CONSUMER": _Asked((_CLOSE_CONSUMER, _OPEN_CONSUMER)),
    "GET_LAST_MESSAGE_ID": _Asked((Act(Operation.ASK_FOR_MORE),)),
    "GET_TOPICS_OF_NAMESPACE": _Asked(ahead=1),
    "GET_SCHEMA": _Asked((_SEND, _RECEIVE, Act(Operation.READ_VALUES)), ahead=0),
    "WATCH_TOPIC_LIST": _Asked(ahead=1),
}
_REGISTERS: Final = frozenset({"CONNECT", "LOOKUP", "PRODUCER", "SUBSCRIBE"})
"""Asked as a handle comes back: of these, what is asked while it is closed is asked on the way back."""
_AT_FIRST: Final = frozenset({"PARTITIONED_METADATA", "GET_TOPICS_OF_NAMESPACE", "WATCH_TOPIC_LIST"})
"""Asked at the first opening alone, for which a life waits."""


class _Aim(NamedTuple):
    """Which of the requests of a kind is meant, and for how long."""

    k: int
    times: int
    after_ms: int
    session: int | None = None


def _at_cell(cell: Cell, aim: _Aim) -> tuple[DrawnFault, ...]:
    """Return what happens to the answer."""
    command, answer = cell.request.command, cell.request.answer
    k, times, after_ms, session = aim
    if cell.answer in ERRORS:
        return (DrawnFault(command, AnswerError(cell.answer), k, after_ms, times, session=session),)
    by_request = command if answer == "SUCCESS" else ""
    after_ms = 2 * LATE_MS if cell.answer == Loss.LATE else after_ms
    times = times if cell.answer == Loss.NO_ANSWER else 1
    actions = actions_of(cell, LATE_MS)
    return tuple(DrawnFault(answer, one, k, after_ms, times, answers=by_request, session=session) for one in actions)


def _in_phase(cell: Cell, k: int, times: int, after_ms: int, cut: DrawnFault) -> tuple[DrawnFault, ...]:
    """Return the faults of a cell, the first of which brings the acts."""
    asked, registers = _ASKED[cell.request.command], cell.request.command in _REGISTERS
    is_back = cell.phase in (Phase.RETURN, Phase.SENT_AWAY) or (cell.phase is Phase.CLOSING and registers)
    k += asked.ahead if is_back and asked.ahead else 0
    aim = _Aim(k, times, after_ms, session=1 if is_back and asked.ahead is None else None)
    faults = _at_cell(cell, aim)
    acts: tuple[Act, ...] = () if registers and is_back else asked.by
    if cell.phase is Phase.CLOSING:
        acts = (*acts, asked.closes)
    if cell.phase is Phase.SENT_AWAY:
        acts = (_SEND, _UNLOAD, *acts, _SEND)
    elif is_back:
        faults, acts = (cut, *faults), (_SEND, *acts)
    return (faults[0]._replace(acts=acts), *faults[1:])


_CUTS: Final = at(
    ("SEND", "SEND_RECEIPT", "MESSAGE", "FLOW"),
    st.sampled_from((Cut(), Cut(before=True), Cut(how=CutHow.FIN))),
    ONCE,
)
_TIMES: Final = st.sampled_from((1, 1, 1, 2, 0))


def _weighted(*commands: str) -> tuple[Cell, ...]:
    """Return the cells of these requests, those with a loss several times."""
    reached = [cell for cell in cells() if cell.request.command in commands and _can_be(cell)]
    return tuple(cell for cell in reached for _ in range(1 if cell.answer in ERRORS else _WEIGHT_OF_LOSS))


def _can_be(cell: Cell) -> bool:
    """Return whether lives come to it."""
    return cell.phase is not Phase.CLOSING or cell.request.command not in _AT_FIRST


def answers_to(*commands: str) -> Strategy:
    """Return a strategy of the faults of one cell of these requests, with what brings it about."""
    reached = _weighted(*commands)
    # By number: a strategy is described by what it draws from.
    cell = st.sampled_from(range(len(reached))).map(lambda number: reached[number])
    return st.builds(_in_phase, cell, ANYTIME, _TIMES, LASTING, _CUTS)


OF_ANY_LIFE: Final = (
    *("CONNECT", "PARTITIONED_METADATA", "LOOKUP", "PRODUCER", "SUBSCRIBE", "SEND", "ACK", "SEEK", "UNSUBSCRIBE"),
    *("CLOSE_PRODUCER", "CLOSE_CONSUMER"),
)
"""Requests that a life may make wherever it is lived; others are for kinds of lives."""

ANSWERS: Final = answers_to(*OF_ANY_LIFE)
