"""Partitions beside each other: one that stands still holds nobody else up, and batches fill one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.consumption import TimedCheck, late
from assay_conformance.checks.lines import Line
from assay_conformance.checks.occasions import Trait
from assay_conformance.checks.routing import Routed, TurnsCheck
from assay_conformance.checks.tolerance import MS, TOLERANCES
from assay_conformance.model.event import Completion, ErrorClass, Event, Frame, Invoke, Outcome
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import is_partition

WHOLE_MS = 5
"""Clients count whole milliseconds, and not at the moment of the call."""


class IndependentPartitions(TimedCheck):
    """While one partition is away or gives no receipts, a message to another leaves at once.

    Judged are producers that neither batch nor block when their queue is full: that would stop their caller. So does a
    synchronous send, and what is asked for meanwhile comes to the client behind it.
    """

    requirement = RequirementId("routing.partitions-are-independent")
    needs = (Trait.PARTITION,)

    def start(self) -> None:
        self._still: dict[int, list[tuple[Line, Event]]] = {}
        """Send -> partitions that stood still when it was asked for, and since when."""
        self._waited_for: dict[int, set[int]] = {}
        """Producer handle -> its synchronous sends that have not ended."""

    @on(Completion, "send")
    def ended(self, event: Completion) -> None:
        self._waited_for.get(event.handle or 0, set()).discard(event.op)

    @on(Invoke, "send")
    def asked(self, event: Invoke) -> None:
        waited_for = self._waited_for.setdefault(event.handle or 0, set())
        behind = bool(waited_for)
        if event.args.get("mode") == "sync":
            waited_for.add(event.op)
        if behind:
            return
        lines = self.tracker.lines.of_handle(event.handle or 0)
        self._still[event.op] = [(line, since) for line in lines if (since := _still_since(line)) is not None]

    @on(Frame, "SEND")
    def send(self, event: Frame) -> None:
        unit, setting = self.tracker.lines.first(event), self.view.producer_setting
        handle = 0 if unit is None else unit.line.handle or 0
        if unit is None or not is_partition(unit.line.topic) or not unit.numbers:
            return
        if setting(handle, "batching") or setting(handle, "block_if_queue_full") or unit.session.ready is None:
            return
        send = self.tracker.send_of(handle, unit.numbers[0])
        # A broker that stops reading stops for all partitions that share a connection.
        still = [] if send is None or not self.view.is_read_at_once() else self._still.get(send.invoke.op, [])
        sick = next((since for line, since in still if line is not unit.line), None)
        own = any(line is unit.line for line, _ in still)
        if send is None or sick is None or own or unit.session.ready.seq > send.invoke.seq:
            return
        self.exercise(event)
        if late("answer", send.invoke.t_ns, event.t_ns):
            self.overdue(
                "answer",
                send.invoke.t_ns,
                event.t_ns,
                "held-up",
                f"{unit.line}: message {unit.numbers[0]} was asked for at {ms(send.invoke.t_ns)}, and left for "
                f"{unit.line.topic} at {ms(event.t_ns)}; that was ready all the time, and another partition had stood "
                f"still since {ms(sick.t_ns)}",
                sick,
                send.invoke,
                event,
            )


def _still_since(line: Line) -> Event | None:
    """Since when a partition stands still: its producer was sent away, or has a SEND without an answer."""
    last = line.sessions[-1] if line.sessions else None
    if last is None:
        return None
    away = next((session.sent_away for session in reversed(line.sessions) if session.sent_away), None)
    if away is not None and (last.ready is None or last.sent_away is not None):
        return away
    head = last.queue.head
    return None if head is None else head.first


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


class FillsInWindows(TurnsCheck, TimedCheck):
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


class WindowNotBelowDelay(Check):
    """A window of less than one publish delay is refused."""

    requirement = RequirementId("routing.partition-switch-frequency-minimum")
    skips_plain = True

    @on(Completion, "open_producer")
    def opened(self, event: Completion) -> None:
        delays = self.view.producer_setting(event.handle or 0, "batching_partition_switch_frequency")
        if delays is None or int(delays) >= 1 or event.outcome is Outcome.UNSUPPORTED:
            return
        if event.error is ErrorClass.INVALID_CONFIG:
            self.exercise(event)
        elif event.outcome is Outcome.OK:
            self.breach(
                "taken",
                f"producer {event.handle} was opened at {ms(event.t_ns)} with windows of {delays} publish delays; at "
                "least one is needed for a batch to fill, and a refusal was expected",
                self.tracker.lines.openings[event.handle or 0],
                event,
            )
