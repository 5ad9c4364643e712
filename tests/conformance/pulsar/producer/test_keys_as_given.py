"""The check of `producer.keys-as-given`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CASE_NUMBER, NAME, PRODUCER, Script
from assay_conformance.model.event import Identity, Member, Meta
from assay_conformance.pulsar.checks.producer.keys_as_given import keys_as_given


def _judged(
    written: str | None = None, written_ordering: bytes | None = None, *, batch: int | None = None, **given: Any
) -> tuple[list[str], int]:
    """A message is sent with what is `given`, and stored with these keys."""
    story = Script()
    story.producer()
    story.send(0, **given)
    meta = Meta(producer_name=NAME, sequence_id=0, ordering_key=written_ordering, batch=batch)
    member = Member(size=64, digest=0, identity=Identity(CASE_NUMBER, PRODUCER, 0), key=written)
    story.stored(0, meta=meta, members=(member,))
    check = trial(keys_as_given, story.done())
    return [finding.code for finding in check.findings], check.exercised


def test_message_with_the_keys_that_it_was_sent_with_is_accepted() -> None:
    assert _judged("k", b"o", key="k", ordering_key="o") == ([], 1)


@pytest.mark.parametrize(("key", "ordering_key"), [(None, b"o"), ("k", None), ("k", b"k"), ("o", b"o")])
def test_message_with_other_keys_is_found(key: str | None, ordering_key: bytes | None) -> None:
    assert _judged(key, ordering_key, key="k", ordering_key="o")[0] == ["changed"]


def test_ordering_key_that_nobody_gave_is_found() -> None:
    assert _judged("k", b"o", key="k")[0] == ["changed"]


def test_ordering_key_in_a_batch_is_not_judged() -> None:
    assert _judged("k", None, batch=1, key="k", ordering_key="o") == ([], 1)


def test_message_without_keys_is_not_judged() -> None:
    assert _judged() == ([], 0)
