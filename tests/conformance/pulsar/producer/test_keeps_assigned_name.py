"""The check of `producer.keeps-assigned-name`, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.pulsar.checks.producer.keeps_assigned_name import keeps_assigned_name


def _renamed(name: str, config: dict[str, Any] | None = None, **fields: Any) -> Check:
    """The broker calls it p; after a cut it registers as this."""
    story = Script()
    story.producer(**(config or {}))
    story.cut()
    story.connected(1)
    story.producer_asks(1, name=name, **fields)
    return trial(keeps_assigned_name, story.done())


def test_producer_that_comes_back_under_its_given_name_is_accepted() -> None:
    check = _renamed("p", user_provided_producer_name=False)
    assert (check.findings, check.exercised) == ([], 1)


def test_producer_that_comes_back_without_its_name_is_found() -> None:
    assert codes_of(_renamed("", user_provided_producer_name=False)) == ["other-name"]


def test_given_name_that_passes_for_the_users_own_is_found() -> None:
    assert codes_of(_renamed("p")) == ["claims-own-name"]


def test_name_in_an_answer_that_was_lost_need_not_be_kept() -> None:
    story = Script()
    opening = story.invoke("open_producer", PRODUCER, args={"topic": "t"})
    story.connected(0)
    story.producer_ready(name="lost")
    story.cut()
    story.producer_again(1, name="read")
    story.complete(opening, producer_name="read")
    story.cut(1)
    story.producer_again(2, name="read", user_provided_producer_name=False)
    assert codes_of(trial(keeps_assigned_name, story.done())) == []


def test_configured_name_is_not_judged() -> None:
    check = _renamed("p", {"producer_name": "p"})
    assert (codes_of(check), check.exercised) == ([], 0)
