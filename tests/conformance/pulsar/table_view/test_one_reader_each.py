"""The check of `table-view.one-reader-each`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.table_view.views import Views

from assay_conformance.pulsar.checks.table_view.one_reader_each import one_reader_each


def _reads() -> Views:
    story = Views()
    story.opens()
    story.subscribed(subscription="v")
    return story


def test_view_with_one_reader_is_accepted() -> None:
    assert _reads().judged(one_reader_each) == ([], 1)


def test_view_that_subscribes_to_what_it_reads_is_found() -> None:
    story = _reads()
    story.subscribed(subscription="v", consumer_id=1)
    assert story.judged(one_reader_each) == (["read-twice"], 2)


def test_view_that_comes_again_behind_a_loss_is_accepted() -> None:
    story = _reads()
    story.cut()
    story.connected(1)
    story.subscribed(1, subscription="v")
    assert story.judged(one_reader_each) == ([], 2)


def test_view_that_comes_again_when_its_broker_closed_it_is_accepted() -> None:
    story = _reads()
    story.down("CLOSE_CONSUMER", consumer_id=0)
    story.subscribed(subscription="v")
    assert story.judged(one_reader_each) == ([], 2)
