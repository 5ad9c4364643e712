from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.model.event import Completion, Frame, MessageId, Outcome
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


class _Returned(NamedTuple):
    """An id that a call returned, and the answers that its client had got to the requests for it."""

    end: Completion
    id: MessageId
    answers: list[Frame]


def _returned(timeline: Timeline) -> Iterator[_Returned]:
    for end in timeline.ends("last_message_id"):
        if end.outcome is Outcome.OK and end.message_id is not None and (answers := _answers(timeline, end)):
            yield _Returned(end, end.message_id, answers)


def _answers(timeline: Timeline, end: Completion) -> list[Frame]:
    """Return the answers that came during the call to what its consumer asked then."""
    call, found = timeline.call(end), list[Frame]()
    for request in timeline.requests("GET_LAST_MESSAGE_ID"):
        session = timeline.consumer_sessions.of(request.frame)
        if session is not None and session.consumer is timeline.consumer(end.handle) and request.frame.seq > call.seq:
            found += (
                one for one in timeline.answers_to_requests.all_to(request.frame) if one.seq < end.seq and one.ids
            )
    return found


def _is_same(one: MessageId, other: MessageId) -> bool:
    """Return whether both name one message; a client may leave out the index in the batch."""
    indexes = (one.batch_index, other.batch_index)
    return one.position == other.position and (indexes[0] == indexes[1] or min(indexes) < 0)


@check("seek.last-message-id-as-answered", of=_returned)
def last_message_id_as_answered(_timeline: Timeline, returned: _Returned) -> Says:
    """seek.last-message-id-as-answered: a call for the last message of a topic returns the id that the broker answered
    to it."""
    end, id, answers = returned
    if any(_is_same(id, answer.ids[0]) for answer in answers):
        yield Exercised(end)
        return
    yield breach(
        "another-id",
        f"consumer {end.handle} was asked for the last message of its topic and returned {id.name} at {ms(end.t_ns)}; "
        f"expected {answers[-1].ids[0].name}, as its broker had answered at {ms(answers[-1].t_ns)}",
        *(answers[-1], end),
    )
