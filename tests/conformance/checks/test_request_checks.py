"""Requests and their answers, both ways, on histories of a few lines."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from assay_conformance.checks.base import Check
from assay_conformance.checks.requests import MAX_REDIRECTS, FollowsRedirects, TidiesTimeOuts, UnknownIds
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.case import ClientConfig
from assay_conformance.model.event import ErrorClass, Fate, Outcome, Sides


def judged(check: type[Check], story: Script) -> tuple[list[str], int]:
    said = trial(check, story.done())
    return [finding.code for finding in said.findings], said.exercised


# --- redirects --------------------------------------------------------------------------------------------------------


def _asks(story: Script, conn: int, request: int, *, authoritative: bool) -> None:
    story.up("LOOKUP", conn, request_id=request, fields={"topic": story.full("t"), "authoritative": authoritative})


def _redirected(conn: int = 0, *, authoritative: bool = True) -> Script:
    """Broker 0 redirects; connection 1 is to broker 1."""
    story = Script()
    story.opened(0, broker=0)
    story.opened(1, broker=1)
    _asks(story, conn, 1, authoritative=False)
    fields = {"response": "Redirect", "authoritative": authoritative}
    story.down("LOOKUP_RESPONSE", conn, request_id=1, fields=fields)
    return story


def test_redirect_is_followed_with_its_authority() -> None:
    story = _redirected()
    _asks(story, 1, 2, authoritative=True)
    assert judged(FollowsRedirects, story) == ([], 1)


def test_redirect_without_authority_is_followed_without() -> None:
    story = _redirected(authoritative=False)
    _asks(story, 1, 2, authoritative=False)
    assert judged(FollowsRedirects, story) == ([], 1)


def test_redirect_followed_without_its_authority_is_found() -> None:
    story = _redirected()
    _asks(story, 1, 2, authoritative=False)
    assert judged(FollowsRedirects, story)[0] == ["authority-dropped"]


def test_lookup_that_begins_anew_has_no_authority() -> None:
    story = _redirected()
    _asks(story, 0, 2, authoritative=False)
    assert judged(FollowsRedirects, story) == ([], 0)


@pytest.mark.parametrize(
    ("topic", "url", "codes"),
    [
        ("t", "pulsar://b:1", []),
        ("t", "pulsar://b:2", ["authority-dropped"]),
        ("u", "pulsar://b:1", ["authority-dropped"]),
    ],
    ids=["there", "elsewhere", "another topic"],
)
def test_lookup_begins_anew_at_the_cluster_that_its_topic_went_to(topic: str, url: str, codes: list[str]) -> None:
    """A consumer's lookup was redirected too often; its topic's producer is sent to another cluster meanwhile."""
    story = Script({name: f"persistent://public/default/{name}" for name in ("t", "u")})
    story.producer(topic=topic)
    _asks(story, 0, 21, authoritative=False)
    story.down("LOOKUP_RESPONSE", request_id=21, fields={"response": "Redirect", "authoritative": True})
    told = {"resource_id": 0, "resource_type": "Producer", "brokerServiceUrl": url}
    story.down("TOPIC_MIGRATED", fields=told)
    story.opened(1, broker=1, url="pulsar://b:1")
    _asks(story, 1, 1, authoritative=False)
    assert judged(FollowsRedirects, story)[0] == codes


def _going_round(times: int) -> Script:
    story = _redirected()
    for request in range(2, times + 2):
        _asks(story, request % 2, request, authoritative=True)
        fields = {"response": "Redirect", "authoritative": True}
        story.down("LOOKUP_RESPONSE", request % 2, request_id=request, fields=fields)
    return story


def test_redirects_up_to_the_bound_are_followed() -> None:
    assert judged(FollowsRedirects, _going_round(MAX_REDIRECTS)) == ([], MAX_REDIRECTS)


def test_lookup_given_up_at_the_bound_begins_anew_where_it_began() -> None:
    story = _going_round(MAX_REDIRECTS)
    _asks(story, 0, 90, authoritative=False)
    assert judged(FollowsRedirects, story) == ([], MAX_REDIRECTS)


def test_redirects_without_end_are_found_once() -> None:
    assert judged(FollowsRedirects, _going_round(MAX_REDIRECTS + 5))[0] == ["unbounded"]


def _another(story: Script, requests: range) -> None:
    """Another lookup of the topic, redirected so often."""
    _asks(story, 0, requests.start, authoritative=False)
    for request in requests[1:]:
        _asks(story, request % 2, request, authoritative=True)


def test_lookups_of_a_producer_and_a_consumer_are_redirected_side_by_side() -> None:
    story = _going_round(MAX_REDIRECTS - 1)
    _another(story, range(100, 100 + MAX_REDIRECTS))
    _asks(story, 0, 200, authoritative=True)
    assert judged(FollowsRedirects, story)[0] == []


def test_redirects_without_end_are_found_beside_another_lookup() -> None:
    story = _going_round(MAX_REDIRECTS - 1)
    _another(story, range(100, 103 + MAX_REDIRECTS))
    assert judged(FollowsRedirects, story)[0] == ["unbounded"]


def test_redirects_without_end_are_found_behind_a_lookup_that_was_answered() -> None:
    story = _redirected()
    _asks(story, 1, 2, authoritative=True)
    story.down("LOOKUP_RESPONSE", 1, request_id=2, fields={"response": "Connect", "authoritative": True})
    _another(story, range(100, 102 + MAX_REDIRECTS))
    assert judged(FollowsRedirects, story)[0] == ["unbounded"]


# --- time-outs --------------------------------------------------------------------------------------------------------


def _unanswered() -> Script:
    story = Script()
    story.invoke("open_producer", PRODUCER, args={"topic": "t"})
    story.connected()
    story.producer_asks()
    return story


def test_registration_without_answer_is_closed_before_the_next() -> None:
    story = _unanswered()
    story.up("CLOSE_PRODUCER", producer_id=0, request_id=50)
    story.producer_asks()
    assert judged(TidiesTimeOuts, story) == ([], 1)


def test_registration_made_again_unclosed_is_found() -> None:
    story = _unanswered()
    story.producer_asks()
    assert judged(TidiesTimeOuts, story)[0] == ["asked-again"]


def test_registration_that_was_refused_need_not_be_closed() -> None:
    story = _unanswered()
    story.down("ERROR", request_id=1, fields={"error": "ServiceNotReady"})
    story.producer_asks()
    assert judged(TidiesTimeOuts, story) == ([], 0)


def _given_up() -> Script:
    story = _unanswered()
    opening = story.events[1]
    story.complete(opening, Outcome.FAIL, error=ErrorClass.TIMEOUT)  # type: ignore[arg-type]
    return story


def test_registration_that_was_given_up_and_left_is_found() -> None:
    story = _given_up()
    story.after(600)
    assert judged(TidiesTimeOuts, story)[0] == ["left-behind"]


def test_registration_whose_own_time_is_not_over_when_another_of_the_opening_was_given_up() -> None:
    """Of a partitioned topic each partition has its own, and the last one may have come to its broker late."""
    story = _given_up()
    story.after(600)
    patient = msgspec.structs.replace(ANY_CASE, config=ClientConfig(client={"operation_timeout_ms": 1_000}))
    assert trial(TidiesTimeOuts, story.done(), patient).findings == []


def test_registration_that_was_given_up_and_closed() -> None:
    story = _given_up()
    story.up("CLOSE_PRODUCER", producer_id=0, request_id=50)
    story.after(600)
    assert judged(TidiesTimeOuts, story) == ([], 1)


# --- unknown ids ------------------------------------------------------------------------------------------------------


def _news(**named: int) -> Script:
    story = Script()
    story.producer()
    story.down("SEND_RECEIPT", sides=Sides.RECEIVER, fate=Fate.INJECTED, **named)
    return story


def test_client_goes_on_behind_news_of_nobody() -> None:
    story = _news(producer_id=7)
    story.send_frame(0)
    assert judged(UnknownIds, story) == ([], 1)


def test_client_that_leaves_over_news_of_nobody_is_found() -> None:
    story = _news(producer_id=7)
    story.closed()
    assert judged(UnknownIds, story)[0] == ["connection-closed"]


def test_connection_that_is_left_over_one_of_two_strange_frames_tells_nothing_of_the_other() -> None:
    story = _news(producer_id=7)
    story.down("999", sides=Sides.RECEIVER, fate=Fate.INJECTED)
    story.closed()
    assert judged(UnknownIds, story)[0] == []


@pytest.mark.parametrize("spoilt", [{"fate": Fate.ALTERED}, {"meta": None}])
def test_connection_that_may_be_left_over_a_spoilt_message_tells_nothing_of_news(spoilt: dict[str, Any]) -> None:
    story = _news(producer_id=7)
    story.message(0, **spoilt)
    story.closed()
    assert judged(UnknownIds, story)[0] == []


def test_news_of_somebody_are_another_matter() -> None:
    story = _news(producer_id=0)
    story.closed()
    assert judged(UnknownIds, story) == ([], 0)
