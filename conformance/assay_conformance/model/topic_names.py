"""What the partitions of a topic are called, in full names and in a topology's own alike: `TOPIC-partition-N`.

A name that ends otherwise is that of a topic which is no partition: a letter topic of a partition, or a number that
no client writes it so, as in `-partition-01` (TopicName.getPartitionIndex).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

NO_PARTITION: Final = -1
"""The number of a topic that is no partition, as message ids have it."""
_MARK: Final = "-partition-"
_PARTITION: Final = re.compile(rf"{_MARK}(0|[1-9][0-9]*)\Z")
_REMEMBERED: Final = 4096
"""Names: checks ask again and again for the few of a Case."""


@lru_cache(_REMEMBERED)
def base_topic(name: str) -> str:
    """Return the topic of which this is a partition; the name itself where it is none."""
    return _PARTITION.sub("", name)


@lru_cache(_REMEMBERED)
def partition_number(name: str) -> int:
    """Return the number of a partition; NO_PARTITION where the name is none."""
    match = _PARTITION.search(name)
    return int(match[1]) if match else NO_PARTITION


def is_partition(name: str) -> bool:
    return partition_number(name) != NO_PARTITION


def partition_name(topic: str, number: int) -> str:
    """Return the name of a partition; the topic's own with NO_PARTITION."""
    return topic if number == NO_PARTITION else f"{topic}{_MARK}{number}"


def part_names(topic: str, partitions: Iterable[int]) -> list[str]:
    """Return the topics that hold the messages of one: these partitions, or itself where it has none."""
    return [partition_name(topic, number) for number in partitions] or [topic]


def named_topics(args: Mapping[str, Any], first: str = "") -> Sequence[str]:
    """Return the topics in the arguments of an opened producer or consumer, which may be none.

    `first` stands for a topic where they name none at all.
    """
    topics: Sequence[str] | None = args.get("topics")
    return [str(args.get("topic", first))] if topics is None else topics


def renamed(name: str, names: Mapping[str, str]) -> str:
    """Return how a topic is called elsewhere.

    `names` knows topics; their partitions keep their numbers, and any other name is unchanged.
    """
    if name in names:
        return names[name]
    base = base_topic(name)
    return names[base] + name[len(base) :] if base in names else name
