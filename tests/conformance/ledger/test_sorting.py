"""What in a history was torn on its way, by which side had sent it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assay_conformance.history.script import Script
from assay_conformance.ledger.from_history.sorting import sort
from assay_conformance.model.event import Fate

TEARS = (Fate.DROPPED, Fate.ALTERED, Fate.INJECTED, Fate.HELD, Fate.DUPLICATED)


def a_send(s: Script, fate: Fate) -> None:
    s.producer()
    s.send_frame(0, fate=fate)


def a_message(s: Script, fate: Fate) -> None:
    s.consumer()
    s.message(0, fate=fate)


def an_answer(s: Script, fate: Fate) -> None:
    s.producer()
    s.receipt(0, fate=fate)


@pytest.mark.parametrize("fate", TEARS)
@pytest.mark.parametrize(
    ("frame", "torn", "sends"), [(a_send, True, True), (a_message, True, False), (an_answer, False, False)]
)
def test_sends_are_torn_by_what_was_done_to_a_send(
    frame: Callable[[Script, Fate], None], torn: bool, sends: bool, fate: Fate
) -> None:
    script = Script()
    frame(script, fate)
    found = sort(script.done())
    assert (found.torn, found.torn_sends) == (torn, sends)


@pytest.mark.parametrize("fate", [Fate.PASSED, Fate.CUT])
def test_a_send_that_passed_or_ended_with_its_connection_is_whole(fate: Fate) -> None:
    script = Script()
    a_send(script, fate)
    assert not sort(script.done()).torn_sends
