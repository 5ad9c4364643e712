"""routing.key-chooses-partition"""

from __future__ import annotations

from assay_conformance.checks.base import ms
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.routing._routed import Routed, RoutingCheck

KEYS_THAT_SPREAD = 20
"""So many different keys, hashed, share one of three partitions or more by chance once in 10^9 times."""


class KeyChoosesPartition(RoutingCheck):
    """The same key goes to the same partition, whichever routing mode a producer of that hashing scheme has; and keys
    are spread, not sent where messages without one go.
    """

    requirement = RequirementId("routing.key-chooses-partition")

    def start(self) -> None:
        super().start()
        self._places: dict[tuple[str, object, str], Routed] = {}
        self._keyed: dict[int, dict[str, Routed]] = {}

    def routed(self, message: Routed) -> None:
        key = message.key
        if key is None:
            return
        self._keyed.setdefault(message.handle, {}).setdefault(key, message)
        topic = str(self.tracker.lines.openings[message.handle].args.get("topic", ""))
        # Producers of an unknown scheme are each alone with it.
        scheme = self.view.producer_setting(message.handle, "hashing_scheme") or message.handle
        before = self._places.setdefault((topic, scheme, key), message)
        if before is message:
            return
        self.exercise(message.frame)
        if before.partition != message.partition:
            self.breach(
                "key-moved",
                f"{message} went to partition {message.partition} at {ms(message.frame.t_ns)}, and {before} to "
                f"partition {before.partition} at {ms(before.frame.t_ns)}; there were always {message.partitions}",
                before.frame,
                message.frame,
            )

    def finish(self) -> None:
        for handle, keyed in self._keyed.items():
            messages = list(keyed.values())
            if len(keyed) < KEYS_THAT_SPREAD or messages[0].partitions < 3:
                continue
            self.exercise(messages[-1].frame)
            if len({message.partition for message in messages}) == 1:
                self.breach(
                    "keys-ignored",
                    f"producer {handle}: {len(keyed)} different keys all went to partition {messages[0].partition} of "
                    f"{messages[0].partitions}",
                    messages[0].frame,
                    messages[-1].frame,
                )
