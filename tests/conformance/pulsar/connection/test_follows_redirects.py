"""The check of `connection.follows-redirects`, both ways, on histories of a few lines."""

from __future__ import annotations

import pytest
from tests.conformance.pulsar._trials import judged

from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.connection.follows_redirects import MAX_REDIRECTS, follows_redirects


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
    assert judged(follows_redirects, story) == ([], 1)


def test_redirect_without_authority_is_followed_without() -> None:
    story = _redirected(authoritative=False)
    _asks(story, 1, 2, authoritative=False)
    assert judged(follows_redirects, story) == ([], 1)


def test_redirect_followed_without_its_authority_is_found() -> None:
    story = _redirected()
    _asks(story, 1, 2, authoritative=False)
    assert judged(follows_redirects, story)[0] == ["authority-dropped"]


def _registers(story: Script, conn: int = 1) -> None:
    story.up("PRODUCER", conn, producer_id=0, request_id=50, fields={"topic": story.full("t")})


def test_redirect_that_is_taken_for_the_broker_is_found() -> None:
    story = _redirected()
    _registers(story)
    assert judged(follows_redirects, story) == (["not-followed"], 0)


@pytest.mark.parametrize("response", ["Connect", "Failed"])
def test_registration_behind_another_answer_is_accepted(response: str) -> None:
    story = _redirected()
    _asks(story, 1, 2, authoritative=True)
    story.down("LOOKUP_RESPONSE", 1, request_id=2, fields={"response": response})
    _registers(story)
    assert judged(follows_redirects, story) == ([], 1)


def test_registration_beside_a_look_up_without_an_answer_is_accepted() -> None:
    story = _redirected()
    _asks(story, 1, 2, authoritative=True)
    _registers(story)
    assert judged(follows_redirects, story) == ([], 1)


def test_lookup_that_begins_anew_has_no_authority() -> None:
    story = _redirected()
    _asks(story, 0, 2, authoritative=False)
    assert judged(follows_redirects, story) == ([], 0)


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
    assert judged(follows_redirects, story)[0] == codes


def _going_round(times: int) -> Script:
    story = _redirected()
    for request in range(2, times + 2):
        _asks(story, request % 2, request, authoritative=True)
        fields = {"response": "Redirect", "authoritative": True}
        story.down("LOOKUP_RESPONSE", request % 2, request_id=request, fields=fields)
    return story


def test_redirects_up_to_the_bound_are_followed() -> None:
    assert judged(follows_redirects, _going_round(MAX_REDIRECTS)) == ([], MAX_REDIRECTS)


def test_lookup_given_up_at_the_bound_begins_anew_where_it_began() -> None:
    story = _going_round(MAX_REDIRECTS)
    _asks(story, 0, 90, authoritative=False)
    assert judged(follows_redirects, story) == ([], MAX_REDIRECTS)


def test_redirects_without_end_are_found_once() -> None:
    assert judged(follows_redirects, _going_round(MAX_REDIRECTS + 5))[0] == ["unbounded"]


def _another(story: Script, requests: range) -> None:
    """Another lookup of the topic, redirected so often."""
    _asks(story, 0, requests.start, authoritative=False)
    for request in requests[1:]:
        _asks(story, request % 2, request, authoritative=True)


def test_lookups_of_a_producer_and_a_consumer_are_redirected_side_by_side() -> None:
    story = _going_round(MAX_REDIRECTS - 1)
    _another(story, range(100, 100 + MAX_REDIRECTS))
    _asks(story, 0, 200, authoritative=True)
    assert judged(follows_redirects, story)[0] == []


def test_redirects_without_end_are_found_beside_another_lookup() -> None:
    story = _going_round(MAX_REDIRECTS - 1)
    _another(story, range(100, 103 + MAX_REDIRECTS))
    assert judged(follows_redirects, story)[0] == ["unbounded"]


def test_redirects_without_end_are_found_behind_a_lookup_that_was_answered() -> None:
    story = _redirected()
    _asks(story, 1, 2, authoritative=True)
    story.down("LOOKUP_RESPONSE", 1, request_id=2, fields={"response": "Connect", "authoritative": True})
    _another(story, range(100, 102 + MAX_REDIRECTS))
    assert judged(follows_redirects, story)[0] == ["unbounded"]
