"""The check of `subscription.acks-on-source-topic`, both ways, on histories of a few lines."""

from __future__ import annotations

from tests.conformance.pulsar.subscription._patterns import FULL

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import CONSUMER, Script, entry_id
from assay_conformance.pulsar.checks.subscription.acks_on_source_topic import acks_on_source_topic


def _acknowledging(*acks: tuple[int, int], cumulative: bool = False, both: bool = False) -> tuple[list[str], int]:
    """A consumer of two topics gets message 0 on the first and 1 on the second, `both`: that on the first, too; then
    it says (topic, message)."""
    story = Script(FULL)
    story.connected()
    story.invoke("open_consumer", CONSUMER, args={"topics": ["news-a", "sports"], "subscription": "s"})
    for number, topic in enumerate(("news-a", "sports")):
        story.subscribed(consumer_id=number, topic=FULL[topic])
        story.message(number, consumer_id=number)
    if both:
        story.message(1, consumer_id=0)
    for consumer_id, entry in acks:
        story.up(
            "ACK",
            consumer_id=consumer_id,
            ids=(entry_id(entry),),
            ack_type="Cumulative" if cumulative else "Individual",
        )
    said = trial(acks_on_source_topic, story.done(), ANY_CASE)
    return [finding.code for finding in said.findings], said.exercised


def test_each_message_is_acknowledged_on_its_own_topic() -> None:
    assert _acknowledging((0, 0), (1, 1)) == ([], 2)


def test_message_that_is_acknowledged_on_another_topic_is_found() -> None:
    assert _acknowledging((0, 0), (0, 1))[0] == ["on-another"]


def test_place_that_two_topics_have_is_taken_on_either() -> None:
    assert _acknowledging((0, 1), both=True)[0] == []


def test_what_is_acknowledged_up_to_somewhere_is_of_no_message() -> None:
    assert _acknowledging((0, 1), cumulative=True)[0] == []
