"""What a producer makes of partitions that it has found, both ways, on histories of a few lines.

Topic `t` has two partitions and gets three more; its producer is in at all five from 100 ms on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from assay_conformance.checks.trial import ANY_CASE, trial
from assay_conformance.history.script import PRODUCER, Script
from assay_conformance.model.case import Step, Topic, Topology, Who
from assay_conformance.model.event import Note
from assay_conformance.pulsar.checks.topics.uses_added_partitions import uses_added_partitions

GROWN = msgspec.structs.replace(
    ANY_CASE,
    steps=(Step(Who.BROKER, "grow", {"topic": "t", "partitions": 5}),),
    topology=Topology(topics=(Topic(name="t", partitions=2),)),
)
TURNS: dict[str, Any] = {"routing": "round_robin", "batching": False}


class Story(Script):
    def __init__(self, found: int = 5, **config: Any) -> None:
        super().__init__()
        opening = self.invoke("open_producer", PRODUCER, args={"topic": "t", "config": config})
        self.connected()
        for partition in range(found):
            if partition == 2:
                self.complete(opening)
            self.at(100).producer_ready(producer_id=partition, topic=f"t-partition-{partition}", name=f"n{partition}")
        self.at(1_000)

    def goes(self, number: int, partition: int, **named: Any) -> None:
        self.send(number, **named)
        self.send_frame(number, producer_id=partition, sequence_id=number)

    def keys(self, keys: int, place: Callable[[int], int]) -> Story:
        for number in range(keys):
            self.goes(number, place(number), key=f"k{number}")
        return self

    def turns(self, *partitions: int) -> Story:
        for number, partition in enumerate(partitions):
            self.goes(number, partition)
        return self

    def asks_router(self, partitions: int) -> Story:
        self.add(Note, text="router", handle=PRODUCER, values={"number": 0, "partitions": partitions, "answer": 0})
        return self.turns(0)

    def judged(self) -> tuple[list[str], int]:
        said = trial(uses_added_partitions, self.at(5_000).done(), GROWN)
        return [finding.code for finding in said.findings], said.exercised


@pytest.mark.parametrize(
    "story",
    [
        Story().keys(24, lambda number: number % 5),
        Story(**TURNS).turns(0, 1, 2, 3, 4),
        Story(router="by_number").asks_router(5),
    ],
    ids=["keys", "turns", "router"],
)
def test_producer_that_uses_what_it_has_found_is_accepted(story: Story) -> None:
    assert story.judged() == ([], 1)


@pytest.mark.parametrize(
    ("story", "code"),
    [
        (Story().keys(24, lambda number: number % 2), "unused"),
        (Story(**TURNS).turns(0, 1, 0, 1, 0), "unused"),
        (Story(router="by_number").asks_router(2), "router-told-otherwise"),
    ],
    ids=["keys", "turns", "router"],
)
def test_producer_that_leaves_them_unused_is_found(story: Story, code: str) -> None:
    assert story.judged() == ([code], 1)


def test_few_keys_may_all_be_of_the_old_partitions() -> None:
    assert Story().keys(22, lambda number: number % 2).judged() == ([], 0)


def test_who_has_not_found_all_partitions_goes_by_the_old_number() -> None:
    assert Story(found=4, **TURNS).turns(0, 1, 0, 1, 0).judged() == ([], 0)


def test_turns_end_for_the_check_where_a_message_never_left() -> None:
    story = Story(**TURNS).turns(0, 1, 0, 1)
    story.send(4)
    story.goes(5, 0)
    assert story.judged() == ([], 0)


def test_who_lost_its_connection_may_not_have_read_that_it_is_in() -> None:
    story = Story(**TURNS)
    story.at(300).cut()
    story.connected()
    for partition in range(2):
        story.producer_ready(producer_id=partition, topic=f"t-partition-{partition}", name=f"n{partition}")
    story.at(2_000)
    assert story.turns(0, 1, 0, 1, 0).judged() == ([], 0)


def test_busy_machine_leaves_it_open() -> None:
    story = Story(**TURNS)
    story.at(700).load(600, loop_lag_ms=200)
    story.at(1_000)
    assert story.turns(0, 1, 0, 1, 0).judged()[0] == []
