"""Partitions beside each other, both ways. Topic `t` has five."""

from __future__ import annotations

from typing import Any

import msgspec

from assay_conformance.checks.base import Check
from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.case import Topic, Topology

FIVE = msgspec.structs.replace(ANY_CASE, topology=Topology(topics=(Topic(name="t", partitions=5),)))


class Story(Script):
    """A producer with a wire id for each partition."""

    def __init__(self, **config: Any) -> None:
        super().__init__()
        opening = self.invoke("open_producer", PRODUCER, args={"topic": "t", "config": config})
        self.connected()
        for partition in range(5):
            self.producer_ready(producer_id=partition, topic=f"t-partition-{partition}", name=f"n{partition}")
        self.complete(opening)

    def goes(self, number: int, partition: int) -> None:
        self.send(number)
        self.send_frame(number, producer_id=partition)

    def judged(self, check: type[Check]) -> tuple[list[str], int]:
        said = trial(check, self.done(), FIVE)
        return [finding.code for finding in said.findings], said.exercised
