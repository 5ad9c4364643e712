"""Old and new sequence ids in one batch, both ways."""

from __future__ import annotations

from typing import Any

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.dedup.old_and_new_ids_in_separate_batches import (
    old_and_new_ids_in_separate_batches,
)


def _batches(*batches: tuple[int, ...], last_sequence_id: int = -1, **config: Any) -> tuple[list[str], int]:
    """Batches of messages with these ids, which are also their numbers unless they come again."""
    story = Script()
    story.producer(last_sequence_id=last_sequence_id, **{"batching": True, **config})
    number = 100
    for ids in batches:
        numbers = range(number, number + len(ids))
        number += len(ids)
        for sent, id in zip(numbers, ids, strict=True):
            story.send(sent, sequence_id=id)
        story.send_frame(*numbers, sequence_id=ids[0], batch=True)
    check = trial(old_and_new_ids_in_separate_batches, story.done())
    return [finding.code for finding in check.findings], check.exercised


def test_ids_that_come_again_by_themselves_are_accepted() -> None:
    assert _batches((0, 1, 2), (1, 2), (3, 4)) == ([], 1)


def test_ids_that_come_again_beside_new_ones_are_found() -> None:
    assert _batches((0, 1, 2), (2, 3)) == (["mixed"], 1)


def test_ids_the_broker_had_named_are_old() -> None:
    assert _batches((1, 2, 3), last_sequence_id=2) == (["mixed"], 1)


def test_an_initial_id_stands_in_for_the_brokers() -> None:
    assert _batches((1, 2, 3), last_sequence_id=2, initial_sequence_id=0) == ([], 0)


def test_new_ids_show_nothing() -> None:
    assert _batches((0, 1), (2, 3)) == ([], 0)


def test_producer_that_does_not_batch_is_not_judged() -> None:
    assert _batches((0, 1), (1, 2), batching=False) == ([], 0)


def test_batches_of_one_key_each_are_older_than_what_left_before_them() -> None:
    assert _batches((0, 1, 3), (2, 4), batching_type="key_based") == ([], 0)
