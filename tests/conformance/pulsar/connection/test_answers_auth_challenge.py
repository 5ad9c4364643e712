"""The check of `connection.answers-auth-challenge`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import ClientConfig
from assay_conformance.pulsar.checks.connection.answers_auth_challenge import answers_auth_challenge


def _challenged(*, answer: dict[str, str] | None, at_ms: int = 20, opened_with: str = "01") -> Check:
    story = Script()
    story.opened(0)
    story.up("CONNECT", fields={"auth_method_name": "token", "auth_data": opened_with})
    story.down("CONNECTED")
    story.down("AUTH_CHALLENGE")
    if answer is not None:
        story.at(at_ms).up("AUTH_RESPONSE", fields={"response": {"auth_method_name": "token", **answer}})
    case = msgspec.structs.replace(ANY_CASE, config=ClientConfig(client={"tokens": "first,second"}))
    facts = msgspec.structs.replace(ANY_CLIENT, settable=frozenset({"tokens"}))
    return trial(answers_auth_challenge, story.at(5_000).done(), case, facts)


def test_fresh_credentials_at_once_are_accepted() -> None:
    check = _challenged(answer={"auth_data": "02"})
    assert (check.findings, check.exercised) == ([], 1)


@pytest.mark.parametrize(
    ("answer", "code"),
    [({"auth_data": "01"}, "old-credentials"), ({}, "no-credentials"), (None, "no-answer")],
    ids=str,
)
def test_anything_else_is_found(answer: dict[str, str] | None, code: str) -> None:
    assert codes_of(_challenged(answer=answer)) == [code]


def test_credentials_behind_which_there_are_none_may_be_given_again() -> None:
    assert codes_of(_challenged(answer={"auth_data": b"second".hex()}, opened_with=b"second".hex())) == []


def test_fresh_credentials_that_come_late_are_found() -> None:
    assert codes_of(_challenged(answer={"auth_data": "02"}, at_ms=3_000)) == ["no-answer"]
