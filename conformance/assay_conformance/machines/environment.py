"""What a life is lived in beside its terms: other topics, settings of one kind of client, ways to subscribe, and what
its topic holds before a client connects.

Plain data: a table names what may hold together (`consuming`), one of it is drawn for a life, with one value for each
setting, and laid over the Case that comes of the life.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from assay_conformance.model.case import Case, Config, ConfigValue, Topic

TOPIC, SUBSCRIPTION = "t", "s"


@dataclass(frozen=True, slots=True)
class Way:
    """How a consumer subscribes. `needs`: the capability that its client must have, "" for none."""

    topics: tuple[str, ...] = (TOPIC,)
    subscription: str = SUBSCRIPTION
    pattern: str = ""
    config: Mapping[str, ConfigValue] = field(default_factory=dict)
    needs: str = ""

    @property
    def is_reader(self) -> bool:
        return self.config.get("durable", True) is False

    @property
    def is_of_one_topic(self) -> bool:
        return len(self.topics) == 1 and not self.pattern


@dataclass(frozen=True, slots=True)
class Environment:
    """`settings`: what may be chosen for `<part>.<key>`, where a part is client, producer or consumer, the topic, the
    broker's settings, or the topology; None leaves it as it is. `terms` may be chosen likewise.

    `topics` are there beside the ordinary one, `absent` of them only once written to; `written` are those
    that producers choose from. A life in `quiet` ones has no producers.
    """

    needs: frozenset[str] = frozenset()
    settings: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    terms: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    topics: tuple[Topic, ...] = ()
    absent: tuple[str, ...] = ()
    written: tuple[str, ...] = (TOPIC,)
    ways: tuple[Way, ...] = (Way(),)
    variants: tuple[Config, ...] = ()
    """How producers differ where they do; left out, in settings of batches."""
    quiet: bool = False
    sends_round: bool = False
    """Whether consumers can have messages come again later, by way of a retry letter topic."""

    def is_for(self, able: Collection[str] | None) -> bool:
        """Return whether a client can do what it needs; None is one that can do everything."""
        return able is None or self.needs <= frozenset(able)


@dataclass(frozen=True, slots=True)
class Around:
    """Environment as they were chosen: what each setting is, and which lots of `stock` the topic holds at first."""

    of: Environment = Environment()
    chosen: Mapping[str, Any] = field(default_factory=dict)
    stock: tuple[str, ...] = ()

    def ways(self, able: Collection[str] | None) -> tuple[Way, ...]:
        """Return the ways that a client can go."""
        return tuple(way for way in self.of.ways if able is None or not way.needs or way.needs in able)

    def laid_over(self, case: Case) -> Case:
        """Return the Case in these surroundings."""
        config, topology = case.config, case.topology
        parts = {part: {**getattr(config, part), **self._of(part)} for part in config.__struct_fields__}
        own, *others = topology.topics
        return msgspec.structs.replace(
            case,
            config=msgspec.structs.replace(config, **parts),
            topology=msgspec.structs.replace(
                topology,
                topics=(msgspec.structs.replace(own, **self._of("topic")), *others, *self.of.topics),
                settings=msgspec.structs.replace(topology.settings, **self._of("broker")),
                **self._of("topology"),
            ),
        )

    def _of(self, part: str) -> dict[str, Any]:
        split = {tuple(name.split(".", 1)): value for name, value in self.chosen.items() if value is not None}
        return {key: value for (where, key), value in split.items() if where == part}
