"""The check of `batching.send-counts-messages`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import NAME, Script
from assay_conformance.model.event import Fate, Meta
from assay_conformance.pulsar.checks.batching.send_counts_messages import send_counts_messages


def _judged(*numbers: int, **fields: Any) -> tuple[list[str], int]:
    story = Script()
    story.producer(batching=True)
    story.send_frame(*numbers, **fields)
    check = trial(send_counts_messages, story.done())
    return [finding.code for finding in check.findings], check.exercised


def test_batch_that_tells_its_number_is_accepted() -> None:
    assert _judged(0, 1, 2, batch=True) == ([], 1)


def test_message_alone_need_not_tell_that_it_is_one() -> None:
    assert _judged(0, num_messages=None) == ([], 1)


def test_batch_that_counts_as_one_message_is_found() -> None:
    assert _judged(0, 1, 2, batch=True, num_messages=None)[0] == ["other-number"]


def test_batch_without_a_message_is_found() -> None:
    meta = Meta(producer_name=NAME, sequence_id=0, batch=0)
    assert _judged(0, num_messages=0, meta=meta, members=())[0] == ["no-message"]


def test_number_that_a_fault_has_written_is_not_judged() -> None:
    assert _judged(0, num_messages=7, fate=Fate.ALTERED) == ([], 0)
