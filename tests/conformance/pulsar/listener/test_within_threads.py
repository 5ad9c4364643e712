"""Whether more handler calls run at once than there are threads for them."""

from __future__ import annotations

from tests.conformance.pulsar.listener.handlers import Handlers

from assay_conformance.pulsar.checks.listener.within_threads import within_threads


def beside(threads: int, ends: bool) -> tuple[list[str], int]:
    """Two consumers of a client, whose handlers are called in turn; `ends`: the first returns before."""
    story = Handlers(listener_threads=threads)
    story.open(3, consumer_id=3, listener=True)
    story.called(0)
    if ends:
        story.handled(1)
    story.called(1, 3)
    return story.judged(within_threads)


def test_as_many_calls_as_threads_are_accepted() -> None:
    assert beside(2, ends=False) == ([], 2)
    assert beside(1, ends=True) == ([], 2)


def test_more_calls_than_threads_are_found() -> None:
    assert beside(1, ends=False) == (["too-many"], 1)


def test_client_of_which_the_number_of_threads_is_unknown_is_not_judged() -> None:
    story = Handlers()
    story.called(0)
    story.called(1)
    assert story.judged(within_threads) == ([], 0)
