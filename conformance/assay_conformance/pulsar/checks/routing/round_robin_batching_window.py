"""routing.round-robin-batching-window"""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import ms
from assay_conformance.checks.consumption import TimedCheck
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.model.requirement import RequirementId
from assay_conformance.pulsar.checks.routing._routed import Routed, TurnsCheck

WHOLE_MS = 5
"""Clients count whole milliseconds, and not at the moment of the call."""


@dataclass(slots=True)
class _Stay:
    """Messages in a row to one partition, by the time of their calls."""

    messages: list[Routed]
    called_ns: list[int]

    @property
    def partition(self) -> int:
        return self.messages[0].partition

    @property
    def size(self) -> int:
        return sum(message.send.invoke.size or 0 for message in self.messages)


class RoundRobinBatchingWindow(TurnsCheck, TimedCheck):
    """Under round robin with batching a producer stays on a partition for a window, and then goes to the next.

    A window lasts `batching_partition_switch_frequency` publish delays. Between two changes there is a window, or as
    much as fills a batch; messages that come without a pause stay no longer than one and a publish delay. Of delays
    below the tolerance, the machine's own pauses may take more than one.
    """

    requirement = RequirementId("routing.round-robin-batching-window")
    batching = True

    def routed(self, message: Routed) -> None:
        if message.key is None and self._window_ns(message.handle):
            super().routed(message)

    def finish(self) -> None:
        for handle, seen in self.seen.items():
            window_ns = self._window_ns(handle)
            for stays in self._stretches(seen, window_ns):
                for stay in stays:
                    self._upper(stay, window_ns)
                for before, stay, after in zip(stays, stays[1:], stays[2:], strict=False):
                    self._between(before, stay, after, window_ns)
        TimedCheck.finish(self)

    def _window_ns(self, handle: int) -> int:
        setting = self.view.producer_setting
        delays = setting(handle, "batching_partition_switch_frequency")
        delay_ms = setting(handle, "batching_max_publish_delay_ms")
        return int(delays or 0) * int(delay_ms or 0) * MS

    def _stretches(self, seen: dict[int, Routed], window_ns: int) -> list[list[_Stay]]:
        """Stays one behind the other, without a pause: over one the partition may have changed unseen."""
        stretches: list[list[_Stay]] = []
        last_ns = 0
        for number in sorted(seen):
            message = seen[number]
            end = message.send.completion
            told_ns = None if end is None else end.called_ns
            called_ns = message.send.invoke.t_ns if told_ns is None else told_ns
            if not stretches or called_ns - last_ns > window_ns // 2 or number - 1 not in seen:
                stretches.append([])
            last_ns, stays = called_ns, stretches[-1]
            if stays and stays[-1].partition == message.partition:
                stays[-1].messages.append(message)
                stays[-1].called_ns.append(called_ns)
            else:
                stays.append(_Stay([message], [called_ns]))
        return stretches

    def _upper(self, stay: _Stay, window_ns: int) -> None:
        first_ns, last_ns = stay.called_ns[0], stay.called_ns[-1]
        delay_ms = int(self.view.producer_setting(stay.messages[0].handle, "batching_max_publish_delay_ms") or 0)
        if last_ns - first_ns > window_ns + max(delay_ms * MS, TOLERANCES["notice"].slack_ns):
            self.suspect(
                "notice",
                first_ns,
                last_ns,
                "stayed-too-long",
                f"{stay.messages[-1]} went to partition {stay.partition} at {ms(last_ns)}, as all since "
                f"{ms(first_ns)}; a window lasts {window_ns // MS} ms",
                stay.messages[0].frame,
                stay.messages[-1].frame,
            )

    def _between(self, before: _Stay, stay: _Stay, after: _Stay, window_ns: int) -> None:
        first, last = stay.messages[0], stay.messages[-1]
        self.exercise(first.frame)
        expected = (stay.partition + 1) % last.partitions
        if after.partition != expected:
            self.breach(
                "out-of-turn",
                f"{after.messages[0]} went to partition {after.partition} behind partition {stay.partition}; "
                f"{expected} of {last.partitions} was next",
                last.frame,
                after.messages[0].frame,
            )
        setting, following = self.view.producer_setting, after.messages[0].send.invoke.size or 0
        full = (
            len(stay.messages) >= int(setting(first.handle, "batching_max_messages") or 1),
            stay.size + following >= int(setting(first.handle, "batching_max_bytes") or 1),
        )
        since_ns, until_ns = before.called_ns[-1], after.called_ns[0]
        if not any(full) and until_ns - since_ns < window_ns - WHOLE_MS * MS:
            self.suspect(
                "notice",
                since_ns,
                until_ns,
                "left-early",
                f"{after.messages[0]} went to partition {after.partition} at {ms(until_ns)}, and partition "
                f"{stay.partition} was gone to after {ms(since_ns)}: {len(stay.messages)} messages of {stay.size} "
                f"bytes fill no batch, and a window lasts {window_ns // MS} ms",
                first.frame,
                after.messages[0].frame,
            )
