from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge

from assay_conformance.model.event import Frame, Stored
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.dedup._deduplication import NO_SEQUENCE_ID, Name, deduplicated
from assay_conformance.pulsar.checks.dedup._last_ids import LastId, last_ids
from assay_conformance.pulsar.checks.dedup._names import Numbers, Step, steps
from assay_conformance.pulsar.timeline import IN_FLIGHT_NS, MS, Exercised, Says, Timeline, breach, check, ms


def _reported(timeline: Timeline) -> Iterator[tuple[LastId, int, int]]:
    """Yield the reported ids, each with the least and the greatest that it may be.

    It is any from the highest stored one to the highest that arrived, for what the broker refused lies between.
    """
    case, last = timeline.view.case, dict[Name, Stored]()
    changed = {step.args.get("topic") for step in case.steps if step.verb in ("store_entries", "set_policy")}
    topics = deduplicated(timeline.view) - changed
    judged = topics | ({topic.name for topic in case.topology.topics if not topic.deduplication} - changed)
    reports = [report for report in last_ids(timeline) if base_topic(report.name[0]) in judged]
    known, happened = dict[Name, Numbers](), steps(timeline, topics if reports else frozenset())
    streams: tuple[Iterable[LastId | Step], ...] = (reports, happened)
    for one in merge(*streams, key=lambda one: one.event.seq):
        if isinstance(one, LastId):
            yield one, *_bounds(timeline, one, known.get(one.name, Numbers()), last.get(one.name))
            continue
        numbers = known[one.name] = one.numbers
        if isinstance(one.event, Stored):
            numbers.stored, last[one.name] = max(numbers.stored, one.event.meta.highest_id), one.event
        elif one.publish is not None:
            numbers.arrived = max(numbers.arrived, one.publish.highest_id)


def _bounds(timeline: Timeline, report: LastId, known: Numbers, last: Stored | None) -> tuple[int, int]:
    """Return the bounds of a reported id.

    What was stored before the topic was loaded again, or so long ago that its name may be forgotten, is judged by other
    requirements.
    """
    topic = report.name[0]
    if base_topic(topic) not in deduplicated(timeline.view):
        return NO_SEQUENCE_ID, NO_SEQUENCE_ID
    idle_ns = timeline.topology.settings.dedup_idle_minutes * 60_000 * MS
    loaded = last is not None and timeline.loads(topic, last) != timeline.loads(topic, report.event)
    is_fresh = last is not None and not loaded and report.event.t_ns - last.t_ns <= idle_ns
    return known.stored if is_fresh else NO_SEQUENCE_ID, max(known.arrived, known.stored)


@check("dedup.reports-last-sequence-id", of=_reported)
def reports_last_sequence_id(timeline: Timeline, reported: tuple[LastId, int, int]) -> Says:
    """dedup.reports-last-sequence-id: PRODUCER_SUCCESS carries the highest id that has arrived under the name, and -1
    without deduplication. Not judged while its topic is loaded again."""
    ((topic, name), id, event), least, most = reported
    if least <= id <= most:
        if least > NO_SEQUENCE_ID:
            yield Exercised(event)
    elif not _is_loading(timeline, topic, event):
        yield breach(
            "wrong-last-id",
            f"PRODUCER_SUCCESS for producer {name} on topic {topic} at {ms(event.t_ns)} carries {id} as its last "
            f"sequence id; expected one from {least}, the highest stored, to {most}, the highest that arrived",
            event,
        )


def _is_loading(timeline: Timeline, topic: str, answer: Frame) -> bool:
    """Return whether the topic is being loaded.

    Waiting producers are answered while it is loaded again, and the step is recorded after that.
    """
    reloads = timeline.reloads(topic)
    return any(answer.seq < one.seq and one.t_ns - answer.t_ns <= IN_FLIGHT_NS for one in reloads)
