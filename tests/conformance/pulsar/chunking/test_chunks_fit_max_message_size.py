"""The check of `chunking.chunks-fit-max-message-size`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.chunking._size_limits import CASE, LIMIT, chunk

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.event import ErrorClass
from assay_conformance.pulsar.checks.chunking.chunks_fit_max_message_size import chunks_fit_max_message_size


def test_chunk_within_the_limit_is_accepted() -> None:
    check = chunk(chunks_fit_max_message_size, size=LIMIT + 100)
    assert (check.findings, check.exercised) == ([], 1)


def test_chunk_that_forgot_its_metadata_is_found() -> None:
    assert codes_of(chunk(chunks_fit_max_message_size, size=LIMIT + 400)) == ["too-large"]


def _no_room(error: ErrorClass, **config: Any) -> Check:
    story = Script()
    story.producer(chunking=True, **config)
    story.send(0, properties={"long": "x" * LIMIT})
    story.fail(0, error)
    return trial(chunks_fit_max_message_size, story.done(), CASE)


def test_metadata_that_leave_no_room_are_refused() -> None:
    check = _no_room(ErrorClass.TOO_LARGE)
    assert (check.findings, check.exercised) == ([], 1)


def test_metadata_that_leave_no_room_must_not_be_tried() -> None:
    assert codes_of(_no_room(ErrorClass.TIMEOUT)) == ["no-room-left"]


@pytest.mark.parametrize("error", [ErrorClass.QUEUE_FULL, ErrorClass.CLOSED])
def test_metadata_that_leave_no_room_may_be_refused_for_another_reason_first(error: ErrorClass) -> None:
    assert codes_of(_no_room(error)) == []


def test_metadata_that_leave_no_room_show_nothing_as_their_producer_is_closed() -> None:
    story = Script()
    story.producer(chunking=True)
    story.send(0, properties={"long": "x" * LIMIT})
    story.invoke("close", PRODUCER)
    story.fail(0, ErrorClass.OTHER)
    assert codes_of(trial(chunks_fit_max_message_size, story.done(), CASE)) == []


def test_metadata_that_leave_no_room_go_nowhere_if_the_router_says_so() -> None:
    assert codes_of(_no_room(ErrorClass.OTHER, router="out_of_range")) == []
