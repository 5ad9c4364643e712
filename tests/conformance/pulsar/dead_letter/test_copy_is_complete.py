"""The check of `dead-letter.copy-is-complete`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.pulsar._letters import STORED
from tests.conformance.pulsar._trials import codes_of
from tests.conformance.pulsar.dead_letter._letters import refused_twice

from assay_conformance.model.event import Meta
from assay_conformance.pulsar.checks.dead_letter.copy_is_complete import dead_letter_copy_is_complete


def test_dead_letter_with_all_of_its_original_is_accepted() -> None:
    story = refused_twice()
    story.posts()
    check = story.judged(dead_letter_copy_is_complete)
    assert (check.findings, check.exercised) == ([], 1)


def test_origin_in_the_spelling_of_the_java_client_is_accepted() -> None:
    story = refused_twice()
    story.posts(letter={"ORIGIN_MESSAGE_ID": "", "ORIGIN_MESSAGE_IDY_TIME": "1:0:-1"})
    assert codes_of(story.judged(dead_letter_copy_is_complete)) == ["no-origin"]
    story = refused_twice()
    letter = {"REAL_TOPIC": story.full("t"), "ORIGIN_MESSAGE_IDY_TIME": "1:0:-1"}
    meta = Meta(producer_name="letters", sequence_id=0, property_digests=(7,), letter=letter, key="k")
    story.send_frame(0, producer_id=5, handle=STORED, meta=meta)
    assert codes_of(story.judged(dead_letter_copy_is_complete)) == []


def test_properties_that_a_client_adds_of_its_own_are_accepted() -> None:
    story = refused_twice()
    story.posts(7, 8)
    assert codes_of(story.judged(dead_letter_copy_is_complete)) == []


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ({"letter": {"ORIGIN_MESSAGE_ID": "nobody"}}, "no-origin"),
        ({"letter": {"REAL_TOPIC": "another"}}, "other-topic"),
        ({"digest": 1}, "payload-changed"),
        ({"key": None}, "keys-changed"),
        ({"ordering_key": b"o"}, "keys-changed"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else value,
)
def test_dead_letter_that_lacks_something_is_found(told: dict[str, Any], code: str) -> None:
    story = refused_twice()
    story.posts(**told)
    assert codes_of(story.judged(dead_letter_copy_is_complete)) == [code]


@pytest.mark.parametrize("batched", [False, True], ids=["alone", "in-a-batch"])
def test_dead_letter_with_other_properties_in_place_of_its_originals_is_found(batched: bool) -> None:
    story = refused_twice()
    story.posts(8, batched=batched)
    assert codes_of(story.judged(dead_letter_copy_is_complete)) == ["properties-changed"]


def test_dead_letter_in_a_batch_is_judged_as_one_by_itself() -> None:
    story = refused_twice()
    story.posts(batched=True)
    check = story.judged(dead_letter_copy_is_complete)
    assert (check.findings, check.exercised) == ([], 1)


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ({"letter": {"ORIGIN_MESSAGE_ID": "nobody"}}, "no-origin"),
        ({"digest": 1}, "payload-changed"),
        ({"key": None}, "keys-changed"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else value,
)
def test_dead_letter_in_a_batch_that_lacks_something_is_found(told: dict[str, Any], code: str) -> None:
    story = refused_twice()
    story.posts(batched=True, **told)
    assert codes_of(story.judged(dead_letter_copy_is_complete)) == [code]
