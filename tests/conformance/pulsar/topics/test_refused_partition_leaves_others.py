"""What becomes of a producer of which an added partition is refused, on histories of a few lines.

Topic `t` has two partitions and gets a third.
"""

from __future__ import annotations

import msgspec

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.case import Step, Topic, Topology, Who
from assay_conformance.model.event import ErrorClass, Outcome
from assay_conformance.pulsar.checks.topics.refused_partition_leaves_others import refused_partition_leaves_others

GROWN = msgspec.structs.replace(
    ANY_CASE,
    steps=(Step(Who.BROKER, "grow", {"topic": "t", "partitions": 3}),),
    topology=Topology(topics=(Topic(name="t", partitions=2),)),
)


class Story(Script):
    def __init__(self, opened: Outcome = Outcome.OK) -> None:
        super().__init__()
        opening = self.invoke("open_producer", PRODUCER, args={"topic": "t"})
        self.connected()
        for partition in range(2):
            self.producer_ready(producer_id=partition, topic=f"t-partition-{partition}", name=f"n{partition}")
        self.complete(opening, opened)

    def refuses(self, partition: int) -> None:
        asked = self.at(500).producer_asks(producer_id=partition, topic=f"t-partition-{partition}", name="late")
        self.down("ERROR", request_id=asked.request_id, fields={"error": "AuthorizationError"})

    def judged(self) -> tuple[list[str], int]:
        said = trial(refused_partition_leaves_others, self.at(5_000).done(), GROWN)
        return [finding.code for finding in said.findings], said.exercised


def test_send_that_succeeds_behind_the_refusal_is_right() -> None:
    story = Story()
    story.refuses(2)
    story.send(1)
    story.ok(1)
    assert story.judged() == ([], 1)


def test_send_that_fails_as_closed_behind_the_refusal_is_found() -> None:
    story = Story()
    story.refuses(2)
    story.send(1)
    story.fail(1, ErrorClass.CLOSED)
    assert story.judged() == (["closed-by-refusal"], 1)


def test_send_to_the_refused_partition_may_time_out() -> None:
    story = Story()
    story.refuses(2)
    story.send(1)
    story.fail(1, ErrorClass.TIMEOUT)
    assert story.judged() == ([], 1)


def test_send_that_the_application_closes_over_is_not_judged() -> None:
    story = Story()
    story.refuses(2)
    story.send(1)
    story.invoke("close", PRODUCER, args={"handle": PRODUCER})
    story.fail(1, ErrorClass.CLOSED)
    assert story.judged() == ([], 0)


def test_refusal_of_a_partition_that_was_there_before_is_not_judged() -> None:
    story = Story()
    story.refuses(1)
    story.send(1)
    story.fail(1, ErrorClass.CLOSED)
    assert story.judged() == ([], 0)


def test_producer_that_never_opened_is_not_judged() -> None:
    story = Story(Outcome.FAIL)
    story.refuses(2)
    story.send(1)
    story.fail(1, ErrorClass.CLOSED)
    assert story.judged() == ([], 0)


def test_send_to_a_partition_whose_producer_a_broker_ended_is_not_judged() -> None:
    story = Story()
    story.send(0)
    story.send_frame(0)
    story.down("SEND_ERROR", producer_id=0, sequence_id=0, fields={"error": "TopicTerminatedError"})
    story.refuses(2)
    story.send(1)
    story.fail(1, ErrorClass.CLOSED)
    assert story.judged() == ([], 0)
