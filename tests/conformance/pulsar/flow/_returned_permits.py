"""Permits of what no application sees, and of consumers without a queue, both ways, on histories of a few lines."""

from __future__ import annotations

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import trial
from assay_conformance.history.script import CONSUMER, Script
from assay_conformance.model.event import Completion, Invoke
from assay_conformance.model.facts import ClientFacts


class Asking(Script):
    """A consumer with that queue; what is asked for without a queue is granted by the lines of the test."""

    def __init__(self, queue: int) -> None:
        super().__init__()
        self.consumer(receiver_queue_size=queue)
        if queue:
            self.flow(queue)

    def receive(self, count: int) -> Invoke:
        return self.invoke("receive", CONSUMER, args={"consumer": CONSUMER, "count": count})

    def starves(self) -> Completion:
        receive = self.receive(1)
        self.after(1_000)
        return self.complete(receive, count=0)

    def again(self) -> None:
        self.cut()
        self.connected(1)
        self.subscribed(1)

    def judged(self, check: type[Check], facts: ClientFacts | None = None) -> tuple[list[str], int]:
        said = trial(check, self.done(), facts=facts)
        return [finding.code for finding in said.findings], said.exercised


def partly_acked(permits: int) -> Asking:
    """Of a batch of four one message is left; then so many permits follow."""
    story = Asking(queue=4)
    story.message(0, 1, 2, 3, ack_sets=((0b1000,),))
    story.flow(permits)
    return story


def takes_one() -> Asking:
    story = Asking(queue=0)
    receive = story.receive(1)
    story.flow(1)
    story.message(0)
    story.received(0)
    story.complete(receive, count=1)
    return story
