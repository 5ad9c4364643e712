"""The check of `connection.answers-auth-challenge`, both ways, on histories of a few lines."""

from __future__ import annotations

import msgspec
import pytest
from tests.conformance.pulsar._trials import codes_of

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, ANY_CLIENT, trial
from assay_conformance.history.script import Script
from assay_conformance.model.case import ClientConfig
from assay_conformance.model.event import ClosedBy
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


def _connected(by: ClosedBy = ClosedBy.BROKER, own: bool = True, **fields: object) -> list[str]:
    """A connection with credentials that ends without a challenge, in a Case that was made for the requirement."""
    story = Script()
    story.opened(0)
    story.up("CONNECT", fields={"auth_method_name": "token", "auth_data": "01", **fields})
    story.down("CONNECTED")
    story.at(1_000).cut(by=by)
    requirements = (answers_auth_challenge.requirement,) if own else ()
    case = msgspec.structs.replace(ANY_CASE, requirements=requirements)
    return codes_of(trial(answers_auth_challenge, story.done(), case))


def test_client_that_does_not_say_that_it_refreshes_credentials_is_found_where_it_is_not_asked() -> None:
    assert _connected() == ["not-announced"]


def test_client_that_says_so_and_is_not_asked_is_not_found() -> None:
    assert _connected(feature_flags={"supports_auth_refresh": True}) == []


def test_what_it_does_not_say_is_nothing_to_a_broker_that_stays_or_to_another_case() -> None:
    assert (_connected(ClosedBy.CLIENT), _connected(own=False)) == ([], [])


def test_fresh_credentials_that_come_late_are_found() -> None:
    assert codes_of(_challenged(answer={"auth_data": "02"}, at_ms=3_000)) == ["no-answer"]
