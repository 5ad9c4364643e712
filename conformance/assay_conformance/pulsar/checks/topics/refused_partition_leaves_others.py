from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Completion, ErrorClass, Frame, Outcome
from assay_conformance.model.topic_names import base_topic, partition_number
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


class _Sent(NamedTuple):
    """A send after the refusal of an added partition's producer, by an application that has not closed its own."""

    refusal: Frame
    partition: str
    end: Completion


def _sent(timeline: Timeline) -> Iterator[_Sent]:
    refused: dict[int, tuple[Frame, str]] = {}
    for one in timeline.producer_registrations if timeline.grown_topics else ():
        topic, handle = one.session.topic, one.handle
        before, _ = timeline.grown_topics.get(base_topic(topic), (0, 0))
        if one.refusal is not None and handle is not None and 0 < before <= partition_number(topic):
            refused.setdefault(handle, (one.refusal, topic))
    for end in timeline.ends("send") if refused else ():
        found = refused.get(-1 if end.handle is None else end.handle)
        if found is not None and timeline.is_open(end.handle, end) and found[0].seq < timeline.call(end).seq:
            yield _Sent(*found, end)


@check("topics.refused-partition-leaves-others", of=_sent)
def refused_partition_leaves_others(timeline: Timeline, sent: _Sent) -> Says:
    """topics.refused-partition-leaves-others: the refusal of an added partition's producer closes none of the others.

    A message that goes to the refused partition itself may fail by that refusal, or in its time.
    """
    refusal, partition, end = sent
    yield Exercised(end)
    if end.outcome is not Outcome.OK and end.error is ErrorClass.CLOSED:
        call = timeline.call(end)
        yield breach(
            "closed-by-refusal",
            f"message {call.number} of producer {end.handle}, sent at {ms(call.t_ns)}, failed as closed at "
            f"{ms(end.t_ns)}; expected the producer to stay open: its application has not closed it, and only the "
            f"PRODUCER of {partition}, which was added, was refused, at {ms(refusal.t_ns)}",
            *(refusal, call, end),
        )
