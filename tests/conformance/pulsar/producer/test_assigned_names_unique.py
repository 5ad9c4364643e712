"""The check of `producer.assigned-names-unique`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar._identity import judged

from assay_conformance.history.script import Script
from assay_conformance.pulsar.checks.producer.assigned_names_unique import assigned_names_unique


def _named(*names: str, asked: str = "", topics: tuple[str, ...] = ("t", "t")) -> Script:
    story = Script()
    for number, (name, topic) in enumerate(zip(names, topics, strict=True)):
        request = story.producer_asks(producer_id=number, topic=topic, name=asked)
        story.down("PRODUCER_SUCCESS", request_id=request.request_id, fields={"producer_name": name})
    return story


def test_different_names_are_accepted() -> None:
    assert judged(_named("a-1", "a-2"), assigned_names_unique) == ([], 1)


def test_name_that_is_given_twice_is_found() -> None:
    assert judged(_named("a-1", "a-1"), assigned_names_unique) == (["given-twice"], 0)


def test_name_that_a_producer_brings_is_its_own_business() -> None:
    assert judged(_named("a-1", "a-1", asked="a-1"), assigned_names_unique) == ([], 0)


def test_names_of_two_topics_are_not_compared() -> None:
    assert judged(_named("a-1", "a-1", topics=("t", "u")), assigned_names_unique) == ([], 0)


def test_producer_that_waited_is_told_its_name_twice() -> None:
    story = _named("a-1", topics=("t",))
    story.down("PRODUCER_SUCCESS", request_id=0, fields={"producer_name": "a-1"})
    assert judged(story, assigned_names_unique)[0] == []
