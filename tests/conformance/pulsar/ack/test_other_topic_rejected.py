"""Acknowledging a message of another consumer's topic, both ways, on histories of a few lines."""

from __future__ import annotations

from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import Outcome
from assay_conformance.pulsar.checks.ack.other_topic_rejected import other_topic_rejected

ANOTHER = 3


class Mistaken(Script):
    """A consumer of `topics`, and another one of topic `c`, which got one message."""

    def __init__(self, *topics: str) -> None:
        super().__init__({name: f"persistent://public/default/{name}" for name in "abc"})
        opening = self.invoke("open_consumer", CONSUMER, args={"topics": list(topics), "subscription": "s"})
        self.connected()
        for consumer_id, topic in enumerate(topics):
            self.subscribed(consumer_id=consumer_id, topic=topic)
        self.complete(opening)
        self.consumer(ANOTHER, consumer_id=9, topic="c")
        self.message(0, consumer_id=9)
        self.received(0, consumer=ANOTHER, topic=self.full("c"))

    def ack_of_another(self, outcome: Outcome) -> None:
        args = {"consumer": CONSUMER, "messages": [1], "of": ANOTHER}
        self.complete(self.invoke("ack", CONSUMER, args=args), outcome)

    def judged(self) -> tuple[list[str], int]:
        said = trial(other_topic_rejected, self.done())
        return [finding.code for finding in said.findings], said.exercised


def test_foreign_message_that_is_refused_is_fine() -> None:
    story = Mistaken("a", "b")
    story.ack_of_another(Outcome.FAIL)
    assert story.judged() == ([], 1)


def test_foreign_message_that_is_taken_is_found() -> None:
    story = Mistaken("a", "b")
    story.ack_of_another(Outcome.OK)
    assert story.judged() == (["accepted"], 0)


def test_foreign_message_that_is_acknowledged_is_found() -> None:
    story = Mistaken("a", "b")
    story.ack_of_another(Outcome.FAIL)
    story.ack_frame(0)
    assert story.judged()[0] == ["sent"]


def test_own_message_of_the_same_place_may_be_acknowledged() -> None:
    story = Mistaken("a", "b")
    story.message(0)
    story.received(0, topic=story.full("a"))
    story.ack_of_another(Outcome.FAIL)
    story.ack_frame(0)
    assert story.judged()[0] == []


def test_call_that_never_ends_shows_nothing() -> None:
    story = Mistaken("a", "b")
    story.invoke("ack", CONSUMER, args={"consumer": CONSUMER, "messages": [1], "of": ANOTHER})
    assert story.judged() == ([], 0)


def test_consumer_of_one_topic_takes_every_id_for_its_own() -> None:
    story = Mistaken("a")
    story.ack_of_another(Outcome.OK)
    assert story.judged() == ([], 0)


def test_message_of_a_topic_that_both_take_is_not_foreign() -> None:
    story = Mistaken("a", "c")
    story.ack_of_another(Outcome.OK)
    assert story.judged() == ([], 0)
