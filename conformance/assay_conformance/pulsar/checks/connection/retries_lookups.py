from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from assay_conformance.checks.parts import ended_by_client, topics_of
from assay_conformance.history.events import OPENS
from assay_conformance.model.event import Completion, Event, Frame, Invoke, Outcome
from assay_conformance.model.fault import Direction
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.outcomes.errors import BUSY
from assay_conformance.pulsar.timeline import (
    MS,
    TOLERANCES,
    Exercised,
    Request,
    Says,
    Timeline,
    breach,
    check,
    ended_ns,
    ms,
)
from assay_conformance.pulsar.timeline.requests import LOOKUPS

FINAL = ("AuthorizationError",)

LEAST_PAUSE_NS = 20 * MS
"""Back-off begins at 100 ms in most clients and at 10 ms in one; retries in quicker succession have none."""

_DISTURBING = ("CLOSE_PRODUCER", "CLOSE_CONSUMER", "TOPIC_MIGRATED", "SEND_ERROR")


@dataclass(slots=True)
class _Opening:
    """An open_producer or open_consumer, and the results of its lookups."""

    call: Invoke
    topics: frozenset[str]
    failures: int = 0
    final: dict[str, Frame] = field(default_factory=dict)
    """Topic (or partition) -> the answer that is final; lookups of other partitions may be on their way."""
    is_doubtful: bool = False
    """There was an answer that only some clients hold to be final, or an ERROR for the registration itself."""
    last: dict[str, Frame] = field(default_factory=dict)
    """Topic (or partition) -> its last failed answer, until the next lookup."""
    hasty: Counter[str] = field(default_factory=Counter)
    """Topic -> how many lookups in a row left without a pause."""


@dataclass(slots=True)
class _Pending:
    """Open calls that have not ended, by operation, and what may be looked up for others."""

    openings: dict[int, _Opening] = field(default_factory=dict)
    open_topics: set[str] = field(default_factory=set)
    """Topics with a producer or consumer that is open: it may look them up, too."""
    is_disturbed: bool = False
    """Whether one that is open may have had to look up its topic, after a lost connection or a close by the broker."""

    def on(self, topic: str) -> list[_Opening]:
        """Return the openings that look this topic up."""
        return [opening for opening in self.openings.values() if base_topic(topic) in opening.topics]

    def alone_on(self, topic: str) -> _Opening | None:
        """Return the opening that looks it up, where there is exactly one."""
        found = self.on(topic)
        return found[0] if len(found) == 1 else None

    def is_for_open_topic(self, topic: str, frame: Frame) -> bool:
        """Return whether a lookup may be for a topic that is open.

        An open producer or consumer looks for added partitions at intervals, and looks its topic up to reconnect.
        """
        seeks_partitions = frame.command.startswith("PARTITIONED_METADATA")
        return base_topic(topic) in self.open_topics and (seeks_partitions or self.is_disturbed)


@check("connection.retries-lookups")
def retries_lookups(timeline: Timeline) -> Says:
    """connection.retries-lookups: a lookup with a temporary error is repeated within the operation time-out, and after
    a pause; one that cannot succeed later is not.

    The back-off doubles: in the second half of the time the next lookup may not fit any more. Judged while one
    producer or consumer is being opened on a topic, leaving out lookups that may belong to one that is open already.
    Pauses are judged for topics on which nothing else is opened.
    """
    pending = _Pending()
    asked = timeline.requests(*LOOKUPS, "PRODUCER", "SUBSCRIBE")
    if any(one.error for one in asked):
        requests = {event.seq: one for one in asked for event in (one.frame, one.answer) if event is not None}
        for event in _steps(timeline, requests):
            yield from _judge(timeline, pending, event, requests.get(event.seq))


def _steps(timeline: Timeline, requests: dict[int, Request]) -> list[Event]:
    """Return lookups, registrations, answers, open calls and their ends, in order.

    What disturbs those that are open is among them.
    """
    events: list[Event] = [event for one in requests.values() for event in (one.frame, one.answer) if event is not None]
    events += [*timeline.events.invokes(*OPENS), *timeline.events.completions(*OPENS)]
    disturbing = (one for one in timeline.events.frames(*_DISTURBING) if one.dir is Direction.TO_CLIENT)
    events += [*timeline.disconnections, *(one for one in disturbing if one.to_receiver)]
    return sorted({event.seq: event for event in events}.values(), key=lambda event: event.seq)


def _judge(timeline: Timeline, pending: _Pending, event: Event, request: Request | None) -> Says:
    match event:
        case Invoke():
            pending.openings[event.op] = _Opening(event, topics_of(timeline.view, event))
        case Completion():
            yield from _ended(timeline, pending, event)
        case Frame() if request is not None:
            topic = timeline.local_topic(request.frame)
            if event is request.answer:
                _answered(pending, topic, event, was_read=timeline.was_read(event))
            elif event.command in LOOKUPS:
                yield from _looked_up(timeline, pending, topic, event)
        case _:
            pending.is_disturbed = True


def _answered(pending: _Pending, topic: str, answer: Frame, *, was_read: bool) -> None:
    """Note an answer. One that may not have been read, since its connection was lost, explains any end."""
    opening, error = pending.alone_on(topic), answer.fields.get("error")
    is_failure = answer.command == "ERROR" or answer.fields.get("response") == "Failed"
    is_look_up = answer.command != "ERROR" and was_read
    if is_look_up and is_failure and error in BUSY:
        if opening is not None:
            opening.failures += 1
            opening.last[topic] = answer
    elif is_look_up and error in FINAL and opening is not None and not pending.is_for_open_topic(topic, answer):
        opening.final.setdefault(topic, answer)
    elif is_failure:
        # Any of several open calls on the topic may fail because of it.
        for one in pending.on(topic):
            one.is_doubtful = True


def _looked_up(timeline: Timeline, pending: _Pending, topic: str, frame: Frame) -> Says:
    opening = pending.alone_on(topic)
    if opening is None:
        return
    final, last = opening.final.get(topic), opening.last.pop(topic, None)
    if final is not None and not pending.is_for_open_topic(topic, frame):
        yield breach(
            "kept-asking",
            f"the lookup of topic {topic} failed with {final.fields.get('error')} at {ms(final.t_ns)}, which is "
            f"final; expected no other lookup; one left at {ms(frame.t_ns)}",
            *(final, frame),
        )
    if last is None or base_topic(topic) in pending.open_topics:
        return
    due_ns = opening.call.t_ns + timeline.operation_timeout_ns(opening.call.handle)
    had_time = opening.failures == 1 and last.t_ns < (opening.call.t_ns + due_ns) // 2
    if had_time and frame.t_ns > due_ns and timeline.bounds.is_overdue("answer", due_ns, frame.t_ns, what="a lookup"):
        yield breach(
            "repeated-late",
            f"the lookup of topic {topic} failed with {last.fields.get('error')} at {ms(last.t_ns)}; expected another "
            f"before {ms(due_ns)}, the operation time-out of its open call; it left at {ms(frame.t_ns)}",
            *(last, frame),
        )
    opening.hasty[topic] = opening.hasty[topic] + 1 if frame.t_ns - last.t_ns < LEAST_PAUSE_NS else 0
    if opening.hasty[topic] == 3:
        yield breach(
            "without-pause",
            f"topic {topic}: three lookups in a row left within {LEAST_PAUSE_NS // MS} ms of a failed one; expected a "
            f"longer pause; the last failed at {ms(last.t_ns)}, and the next left at {ms(frame.t_ns)}",
            *(last, frame),
        )


def _ended(timeline: Timeline, pending: _Pending, end: Completion) -> Says:
    opening = pending.openings.pop(end.op, None)
    if opening is not None and end.outcome is Outcome.OK:
        pending.open_topics |= opening.topics
    if opening is None or not (opening.failures or opening.final) or ended_by_client(end):
        return
    its_own = (one for topic, one in opening.last.items() if not pending.is_for_open_topic(topic, one))
    last = max((one for one in its_own if one.t_ns <= ended_ns(end)), key=lambda one: one.seq, default=None)
    took_ns = end.t_ns - opening.call.t_ns
    timeout_ns = timeline.operation_timeout_ns(opening.call.handle)
    if end.outcome is Outcome.OK or opening.final or last is None:
        yield Exercised(end)
    elif not opening.is_doubtful and took_ns < _has_room_until(opening, timeout_ns):
        yield breach(
            "gave-up",
            f"{end.verb} of handle {end.handle} failed at {ms(end.t_ns)} after {last.fields.get('error')} at "
            f"{ms(last.t_ns)}; expected another lookup, since only {took_ns // MS} ms of its {timeout_ns // MS} ms "
            "had passed",
            *(last, end),
        )


def _has_room_until(opening: _Opening, timeout_ns: int) -> int:
    """Return the time since the call by which the next lookup, and even the second one, would have fitted."""
    spare = TOLERANCES["answer"].slack_ns if opening.failures == 1 else 2 * TOLERANCES["reconnect"].slack_ns
    return min(timeout_ns // 2, timeout_ns - spare)
