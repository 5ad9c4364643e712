from __future__ import annotations

from typing import Final

from assay_conformance.model.event import Completion, ErrorClass, Outcome
from assay_conformance.pulsar.checks.schema._versions import written_with
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms

_ON_THE_WAY: Final = (ErrorClass.TRANSPORT, ErrorClass.TIMEOUT)
"""Errors of a request, not of what was read: `robustness.failure-needs-cause` judges those."""


def _asked(timeline: Timeline) -> list[Completion]:
    """Return the reads of values of messages that the application still had whole, with nothing to request."""
    return [end for end in timeline.ends("value") if not _is_excused(timeline, end)]


def _is_excused(timeline: Timeline, end: Completion) -> bool:
    """Return whether a failure is excused.

    An agent keeps only the id of what was acknowledged; and a schema that is requested may have no answer, or lose its
    connection.
    """
    call, consumer = timeline.call(end), timeline.consumer(end.handle)
    if consumer is None or timeline.closing_before(consumer, end) or end.error in _ON_THE_WAY:
        return True
    asked = (frame for frame in timeline.events.frames("GET_SCHEMA") if call.seq < frame.seq < end.seq)
    if not all(
        any("schema" in answer.fields for answer in timeline.answers_to_requests.all_to(frame)) for frame in asked
    ):
        return True
    return any(one.invoke.seq < call.seq for one in timeline.calls(consumer))


@check("schema.own-values-are-read", of=_asked)
def own_values_are_read(timeline: Timeline, end: Completion) -> Says:
    """schema.own-values-are-read: a value that was written with the consumer's own Avro schema is read, whichever call
    handed the message over."""
    ordinals = timeline.call(end).args.get("messages", ())
    handed = [timeline.delivered(end.handle or 0, ordinal) for ordinal in ordinals]
    written = [None if one is None else written_with(timeline, one) for one in handed]
    if not written or not all(one is not None and one.is_own for one in written):
        return
    yield Exercised(end)
    if end.outcome not in (Outcome.OK, Outcome.UNSUPPORTED):
        yield breach(
            "not-read",
            f"consumer {end.handle}: expected the values of deliveries {', '.join(map(str, ordinals))} to be decoded, "
            f"since they were written with its own schema; decoding failed at {ms(end.t_ns)}: {end.text or end.error}",
            *(one for one in handed if one is not None),
            end,
        )
