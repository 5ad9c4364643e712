"""Where producers begin: at a partition of chance, so that many of them do not all begin at one."""

from __future__ import annotations

from typing import ClassVar

from assay_conformance.checks.base import ms
from assay_conformance.pulsar.checks.routing._routed import Routed, RoutingCheck

BY_CHANCE = 1e-9
"""How seldom producers that choose for themselves may all have chosen one partition."""


class StartsCheck(RoutingCheck):
    """The first message without a key that each producer was asked for, of all producers of a topic."""

    routing: ClassVar[str]

    def start(self) -> None:
        super().start()
        self._went: dict[tuple[int, int], Routed] = {}

    def judged(self, handle: int) -> bool:
        return self.view.producer_setting(handle, "routing") == self.routing

    def routed(self, message: Routed) -> None:
        if message.key is None and self.judged(message.handle):
            self._went.setdefault((message.handle, message.number), message)

    def finish(self) -> None:
        first: dict[str, list[Routed]] = {}
        for handle in dict.fromkeys(handle for handle, _ in self._went):
            sends = self.tracker.sends.get(handle, ())
            keyless = [send.invoke.number or 0 for send in sends if send.invoke.args.get("key") is None]
            message = self._went.get((handle, min(keyless, default=0)))
            if message is not None and handle not in self.tracker.lines.burst:
                topic = str(self.tracker.lines.openings[handle].args.get("topic", ""))
                first.setdefault(topic, []).append(message)
        for messages in first.values():
            self._spread(messages)

    def _spread(self, messages: list[Routed]) -> None:
        one, *_, last = (*messages, *messages)
        if one.partitions ** (1.0 - len(messages)) >= BY_CHANCE:
            return
        self.exercise(last.frame)
        if len({message.partition for message in messages}) == 1:
            self.breach(
                "all-at-one",
                f"{len(messages)} producers of a topic of {one.partitions} partitions, from {one.handle} at "
                f"{ms(one.frame.t_ns)} to {last.handle} at {ms(last.frame.t_ns)}, all began at partition "
                f"{one.partition}",
                one.frame,
                last.frame,
            )
