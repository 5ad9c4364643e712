"""Partitions by name: `TOPIC-partition-N` as Pulsar writes N, and nothing else."""

from __future__ import annotations

import pytest

from assay_conformance.model.topic_names import NO_PARTITION, base_topic, part_names, partition_number, renamed


@pytest.mark.parametrize("topic", ["t", "persistent://public/default/t", "t-partition-1"])
@pytest.mark.parametrize("number", [0, 7, 10])
def test_partition_tells_its_topic_and_number(topic: str, number: int) -> None:
    [name] = part_names(topic, [number])
    assert (base_topic(name), partition_number(name)) == (topic, number)


@pytest.mark.parametrize(
    "name", ["t", "t-partition-", "t-partition-01", "t-partition--1", "t-partition-0-s-DLQ", "t-partition-٣", ""]
)
def test_name_that_ends_otherwise_is_of_no_partition(name: str) -> None:
    assert (base_topic(name), partition_number(name)) == (name, NO_PARTITION)


def test_topic_without_partitions_holds_its_messages_itself() -> None:
    assert part_names("t", range(0)) == ["t"]


@pytest.mark.parametrize(("name", "told"), [("t", "x/t"), ("t-partition-2", "x/t-partition-2"), ("u", "u")])
def test_partition_keeps_its_number_in_other_names(name: str, told: str) -> None:
    assert renamed(name, {"t": "x/t"}) == told
