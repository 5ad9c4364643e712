"""What a check may say where something is not known."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from assay_conformance.judging.certainty import (
    Breach,
    Exercised,
    Judged,
    NotDecided,
    NotJudged,
    TooBusyError,
    UnknownError,
    breach,
    each,
    either,
    every,
)
from assay_conformance.model.event import Stepped

EVENT = Stepped(seq=1, t_ns=0, step=0)


def _unknown() -> bool:
    raise UnknownError("whose it is is not known")


def _judge(subject: str) -> Iterator[Judged]:
    if subject == "broken first":
        yield breach("broken", "it is broken", EVENT)
    yield Exercised(EVENT)
    if subject == "busy":
        raise TooBusyError("the machine was too busy")
    if subject != "known":
        _unknown()


def test_an_unknown_field_ends_its_subject_and_no_other() -> None:
    said = list(each(["unknown", "known"], _judge))
    assert said == [NotJudged("whose it is is not known"), Exercised(EVENT)]


def test_a_busy_machine_ends_a_subject_undecided() -> None:
    assert list(each(["busy"], _judge)) == [NotDecided("the machine was too busy")]


def test_a_breach_proven_before_the_unknown_field_was_read_stands() -> None:
    assert list(each(["broken first"], _judge)) == [Breach("broken", "it is broken", (EVENT,))]


def test_an_event_that_is_not_there_is_left_out_of_a_breach() -> None:
    assert breach("broken", "it is broken", None, EVENT).events == (EVENT,)


ORDERS: list[Callable[..., list[Callable[[], bool]]]] = [lambda *parts: [*parts], lambda *parts: [*reversed(parts)]]


@pytest.mark.parametrize("in_order", ORDERS)
def test_a_condition_that_one_part_settles_is_known_whatever_the_order(
    in_order: Callable[..., list[Callable[[], bool]]],
) -> None:
    assert either(*in_order(lambda: True, _unknown))
    assert not every(*in_order(lambda: False, _unknown))


@pytest.mark.parametrize("in_order", ORDERS)
def test_a_condition_that_no_part_settles_is_unknown(in_order: Callable[..., list[Callable[[], bool]]]) -> None:
    with pytest.raises(UnknownError):
        either(*in_order(lambda: False, _unknown))
    with pytest.raises(UnknownError):
        every(*in_order(lambda: True, _unknown))
