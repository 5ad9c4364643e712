from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Completion, ErrorClass, Note, Outcome
from assay_conformance.model.hooks import ROUTER
from assay_conformance.pulsar.timeline import OWN_ENDS, Exercised, Says, Timeline, breach, check, ms

_OWN_ENDS = (*OWN_ENDS, ErrorClass.TOO_LARGE, ErrorClass.QUEUE_FULL)
"""How a send may end by its size, or by what its producer is set to."""


class _Routing(NamedTuple):
    """A router's first answer for a message, and how its send ended. `bad`: the first answer to its producer that
    named no partition."""

    handle: int
    number: int
    answer: Note
    end: Completion
    bad: Note | None


def _routings(timeline: Timeline) -> Iterator[_Routing]:
    bad: dict[int, Note] = {}
    for handle, number in timeline.notes:
        send, answers = timeline.send(handle, number), timeline.notes_of(handle, number, ROUTER)
        if not answers or send is None or send.completion is None:
            continue
        if not 0 <= answers[0].values["answer"] < answers[0].values["partitions"]:
            bad.setdefault(handle, answers[0])
        yield _Routing(handle, number, answers[0], send.completion, bad.get(handle))


@check("routing.invalid-partition-fails-one-send", of=_routings)
def invalid_partition_fails_one_send(timeline: Timeline, routing: _Routing) -> Says:
    """routing.invalid-partition-fails-one-send: where a router's answer is no partition, that send fails, and without a
    fault the sends after it end well, or by what is wrong with themselves."""
    handle, number, answer, end, bad = routing
    timeline.check_numbered(handle)
    chosen, partitions = answer.values["answer"], answer.values["partitions"]
    message = f"message {number} of producer {handle}"
    if not 0 <= chosen < partitions:
        left = timeline.routed_by_application.get((handle, number))
        if left is None and end.outcome is not Outcome.OK:
            yield Exercised(end)
            return
        yield breach(
            "sent-anyway",
            f"{message} was routed to partition {chosen} of {partitions}; expected its send to fail; it ended "
            f"{end.outcome} at {ms(end.t_ns)}"
            + ("" if left is None else f", having left for partition {left.partition}"),
            *(answer, None if left is None else left.frame, end),
        )
    elif bad and end.outcome is not Outcome.OK and end.error not in _OWN_ENDS and not timeline.view.case.faults:
        yield breach(
            "others-fail",
            f"{message} had a valid partition; expected its send to succeed; it ended {end.outcome} at "
            f"{ms(end.t_ns)}, after the router had answered {bad.values['answer']} for another message",
            *(bad, end),
        )
