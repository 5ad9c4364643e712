from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from assay_conformance.history.events import grouped
from assay_conformance.pulsar.checks.dedup._deduplication import initial_id, last_sequence_id
from assay_conformance.pulsar.timeline import Exercised, ProducerSession, Says, Timeline, Unit, breach, check, ms


def _first_units(timeline: Timeline) -> Iterator[Unit]:
    """Yield the unit with the first message of each producer handle, where its partition got nothing before.

    On several partitions a later message may leave sooner.
    """
    first = (line.units[0] for line in timeline.producers if line.handle is not None and line.units)
    return (unit for unit in first if unit.numbers and unit.numbers[0] == 0)


@check("dedup.resumes-after-last-sequence-id", of=_first_units)
def resumes_after_last_sequence_id(timeline: Timeline, unit: Unit) -> Says:
    """dedup.resumes-after-last-sequence-id: the first SEND of a new producer has the configured initial id plus one, or
    else the broker's last id plus one.

    Judged on the first session of a producer handle, where its first message leaves; a handle that reconnected before
    it sent anything may use either answer.
    """
    handle, frame, ready = unit.line.handle or 0, unit.first, unit.sends[0][0].admitted
    chosen = timeline.chooses_ids(unit.line) or timeline.view.producer_setting(handle, "batching_type") == "key_based"
    if chosen or ready is None or ready.seq > frame.seq or _reconnected(timeline, unit):
        return
    initial = initial_id(timeline.view, handle)
    last = last_sequence_id(ready)
    expected = (last if initial is None else initial) + 1
    source = f"the broker's last id is {last}" if initial is None else f"the configured initial id is {initial}"
    yield Exercised(frame)
    if unit.sequence_id != expected:
        yield breach(
            "starts-elsewhere",
            f"{unit.line}: its first SEND left at {ms(frame.t_ns)} with sequence id {unit.sequence_id}; expected "
            f"{expected}, since {source} (PRODUCER_SUCCESS at {ms(ready.t_ns)})",
            *(ready, frame),
        )


def _reconnected(timeline: Timeline, unit: Unit) -> bool:
    """Return whether another session of that name was admitted between opening the handle and this SEND."""
    opening, (session, frame) = timeline.openings[unit.line.handle or 0], unit.sends[0]
    named = timeline.once(_admitted_by_name).get((unit.line.topic, unit.line.name), ())
    first = bisect_right(named, opening.seq, key=_admitted_seq)
    meanwhile = named[first : bisect_left(named, frame.seq, key=_admitted_seq)]
    return any(other is not session for other in meanwhile)


def _admitted_by_name(timeline: Timeline) -> dict[tuple[str, str | None], list[ProducerSession]]:
    """Return sessions by topic and name, as they were admitted."""
    admitted = (session for session in timeline.producer_sessions if session.admitted is not None)
    return grouped(sorted(admitted, key=_admitted_seq), lambda session: (session.topic, session.name))


def _admitted_seq(session: ProducerSession) -> int:
    return -1 if session.admitted is None else session.admitted.seq
