from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay_conformance.model.case import Who
from assay_conformance.model.event import AgentEnded, Event, Fired, Frame, Invoke, Stepped
from assay_conformance.model.topic_names import base_topic, partition_name
from assay_conformance.pulsar.checks._shut_out import refused_for_good
from assay_conformance.pulsar.timeline import MS, Exercised, Says, Timeline, breach, check, ms, topics_of

_KEEPS_BACK = frozenset({"delay", "drop", "hold"})
"""Faults that make a request or its answer late, or keep it back for good."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """The only producer or consumer that was open on a topic when partitions were added to it, and their names."""

    kind: str
    opening: Invoke
    grown: Stepped
    added: frozenset[str]


def _opened(timeline: Timeline) -> Iterator[_Opened]:
    """Yield what was opened before partitions were added.

    None where a broker may stop reading because of a publish rate: it reads the request for the partition count late.
    """
    for event in timeline.events.of(Stepped) if timeline.view.is_read_at_once() else ():
        step = timeline.view.case.step(event.step)
        if step is None or event.skipped or step.who is not Who.BROKER or step.verb != "grow":
            continue
        topic, partitions = str(step.args["topic"]), int(step.args["partitions"])
        grown = timeline.topology.named(topic)
        before = 0 if grown is None else grown.partitions
        added = frozenset(partition_name(topic, number) for number in range(before, partitions))
        for kind in ("producer", "consumer") if before else ():
            on_it = list(_open_on(timeline, kind, topic, event))
            if len(on_it) == 1 and not _opens_on_use(timeline, kind, on_it[0]):
                yield _Opened(kind, on_it[0], event, added)


def _open_on(timeline: Timeline, kind: str, topic: str, at: Event) -> Iterator[Invoke]:
    """Yield open calls whose producer or consumer was open on a topic at an event."""
    for call in timeline.events.invokes(f"open_{kind}"):
        if topic in topics_of(timeline, call) and timeline.is_in_use(call, at):
            yield call


def _opens_on_use(timeline: Timeline, kind: str, opening: Invoke) -> bool:
    """Return whether a partition is registered with when a message is to go there first."""
    lazy = "lazy_start_partitioned_producers"
    return kind == "producer" and bool(timeline.view.setting(kind, lazy, opening.args.get("config")))


@check("topics.finds-added-partitions", of=_opened)
def finds_added_partitions(timeline: Timeline, opened: _Opened) -> Says:
    """topics.finds-added-partitions: every added partition is registered with within one update interval.

    Judged for a topic with one producer or one consumer, so that it is certain which of them registered. Not judged
    after a lost connection (the client has to reconnect first), a fault that delays or drops frames, or a refusal: then
    it does not have to try again. An update that got no answer ends with the operation time-out. A producer that starts
    lazily registers when it uses a partition.
    """
    interval_ms = timeline.view.setting(opened.kind, "partitions_update_ms", opened.opening.args.get("config"))
    grown, registered = opened.grown, _answered(timeline, opened)
    # The broker may have finished long before the bench records the end of the step.
    missing = [topic for topic in opened.added if topic not in registered or registered[topic].seq > grown.seq]
    if not interval_ms:
        return
    if not missing:
        yield Exercised(grown)
        return
    found = [registered[topic] for topic in missing if topic in registered]
    done = max(found, key=lambda answer: answer.seq) if len(found) == len(missing) else None
    over = timeline.over(opened.opening) or timeline.ended
    seen = over if done is None or over.seq < done.seq else done
    if _is_void(timeline, opened, missing, seen) or (
        seen is over and _is_shut_out(timeline, missing, registered, over)
    ):
        return
    due_ns = max(grown.t_ns, _unanswered_until_ns(timeline, opened)) + int(interval_ms) * MS
    if timeline.bounds.is_missing("answer", due_ns, seen.t_ns, what="a registration"):
        came = f"it had registered with the last of them only at {ms(seen.t_ns)}"
        never = f"it had not registered with all of them by {ms(seen.t_ns)}"
        yield breach(
            "not-found",
            f"partitions were added to the topic of {opened.kind} {opened.opening.handle} at {ms(grown.t_ns)}; "
            f"expected it to register with all of them by {ms(due_ns)}, one update interval later; "
            f"{came if seen is done else never}",
            *(grown, seen),
        )
    elif seen is done:
        yield Exercised(seen)


def _answered(timeline: Timeline, opened: _Opened) -> dict[str, Frame]:
    """Return by added partition the first answer to a registration of this kind that admits one."""
    return {topic: answer for topic, answer in _answers(timeline, opened) if answer.command != "ERROR"}


def _answers(timeline: Timeline, opened: _Opened) -> list[tuple[str, Frame]]:
    """Return the answers, the latest first."""
    asked = (one for one in timeline.registrations if one.kind == opened.kind and one.session.topic in opened.added)
    answers = [(one.session.topic, one.answer) for one in asked if one.answer is not None]
    return sorted(answers, key=lambda one: -one[1].seq)


def _is_void(timeline: Timeline, opened: _Opened, missing: list[str], seen: Event) -> bool:
    """Return whether something happened until then after which it need not register in time, or at all."""
    grown = opened.grown
    keeping = (one for one in timeline.events.of(Fired) if one.action in _KEEPS_BACK)
    refusals = (one for topic, one in _answers(timeline, opened) if one.command == "ERROR" and topic in missing)
    void: list[Event] = [*timeline.disconnections, *timeline.events.of(AgentEnded), *keeping, *refusals]
    void += _refused_counts(timeline, opened)
    return any(grown.seq < one.seq <= seen.seq for one in void)


def _unanswered_until_ns(timeline: Timeline, opened: _Opened) -> int:
    """Return until when the client may wait for an answer to how many partitions the topic had before it grew."""
    topics, grown = {base_topic(topic) for topic in opened.added}, opened.grown
    asked = (
        one.frame
        for one in timeline.requests("PARTITIONED_METADATA")
        if one.answer is None and one.frame.seq < grown.seq and base_topic(timeline.local_topic(one.frame)) in topics
    )
    timeout_ns = timeline.operation_timeout_ns(opened.opening.handle)
    return max((frame.t_ns + timeout_ns for frame in asked), default=0)


def _refused_counts(timeline: Timeline, opened: _Opened) -> Iterator[Event]:
    """Yield errors in answer to how many partitions the topic has: it asks again an interval later."""
    topics = {base_topic(topic) for topic in opened.added}
    for request in timeline.requests("PARTITIONED_METADATA"):
        if request.error and request.answer and base_topic(timeline.local_topic(request.frame)) in topics:
            yield request.answer


def _is_shut_out(timeline: Timeline, missing: list[str], registered: dict[str, Frame], over: Event) -> bool:
    left = [topic for topic in missing if topic not in registered or registered[topic].seq > over.seq]
    refused = timeline.once(refused_for_good)
    return any(topic in refused and refused[topic][0].seq < over.seq for topic in left)
