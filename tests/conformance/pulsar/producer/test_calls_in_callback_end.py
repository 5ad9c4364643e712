"""Calls that are made in the callback of a send, and beside it."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar.producer.callbacks import Callbacks

from assay_conformance.pulsar.checks.producer.calls_in_callback_end import calls_in_callback_end
from assay_conformance.pulsar.checks.robustness.calls_do_not_hang import calls_do_not_hang


@pytest.mark.parametrize(("verb", "inside"), [("send", True), ("send", False), ("flush", False), ("close", False)])
def test_call_that_ends_is_accepted(verb: str, inside: bool) -> None:
    story = Callbacks()
    call = story.calls(verb, inside=inside)
    story.returns()
    story.complete(call)
    assert story.judged(calls_in_callback_end) == ([], 1)


@pytest.mark.parametrize(("verb", "inside"), [("send", True), ("flush", False)])
def test_call_that_never_ends_is_found(verb: str, inside: bool) -> None:
    story = Callbacks()
    call = story.calls(verb, inside=inside)
    story.returns()
    story.never_ends(call)
    assert story.judged(calls_in_callback_end) == (["never-ended"], 0)


def test_call_beside_a_callback_that_was_not_let_return_may_wait() -> None:
    story = Callbacks()
    story.never_ends(story.calls("flush", inside=False))
    assert story.judged(calls_in_callback_end) == ([], 0)


def test_call_that_waits_in_its_callback_is_not_judged_here() -> None:
    story = Callbacks()
    story.never_ends(story.calls("flush", inside=True))
    assert story.judged(calls_in_callback_end) == ([], 0)
    assert story.judged(calls_do_not_hang)[0] == []


def test_send_into_a_queue_that_blocks_may_wait_in_its_callback() -> None:
    story = Callbacks(block_if_queue_full=True)
    call = story.calls("send", inside=True)
    story.returns()
    story.never_ends(call)
    assert story.judged(calls_in_callback_end) == ([], 0)
    assert story.judged(calls_do_not_hang)[0] == []


def test_call_behind_the_return_is_no_call_beside() -> None:
    story = Callbacks()
    story.returns()
    story.complete(story.calls("flush", inside=False))
    assert story.judged(calls_in_callback_end) == ([], 0)


def test_call_whose_connection_was_lost_is_not_judged() -> None:
    story = Callbacks()
    call = story.calls("send", inside=True)
    story.returns()
    story.cut()
    story.never_ends(call)
    assert story.judged(calls_in_callback_end) == ([], 0)
