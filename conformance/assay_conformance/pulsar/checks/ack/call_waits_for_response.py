from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from assay_conformance.model.event import Event, Frame
from assay_conformance.pulsar.checks.ack._receipts import EndedAck, asked_for, ended, is_answered
from assay_conformance.pulsar.timeline import Call, Exercised, Says, Timeline, breach, check, each, ended_ns, ms


@check("ack.call-waits-for-response")
def call_waits_for_response(timeline: Timeline) -> Says:
    """ack.call-waits-for-response: an acknowledge call that waits for the broker succeeds once ACK_RESPONSE has come:
    not before, and soon after."""
    yield from each(ended(timeline, well=True), _ends_with_an_answer, timeline)
    yield from each(_given_up(timeline), _ends_soon, timeline)


def _ends_with_an_answer(timeline: Timeline, one: EndedAck) -> Says:
    calls, end = one
    if not all(is_answered(timeline, call, end) for call in calls):
        return
    for call in calls:
        asked = asked_for(timeline, call, end)
        if any(ack.answer is not None or ack.lost is not None for ack in asked):
            continue
        yield breach(
            "ended-without-answer",
            f"consumer {call.consumer.handle} was asked at {ms(call.invoke.t_ns)} to acknowledge {call.entry}; "
            f"expected the call to wait for ACK_RESPONSE; it succeeded at {ms(end.t_ns)}, "
            + ("before any ACK that asks for an answer" if not asked else "before the answer had come"),
            *(call.invoke, asked[-1].frame if asked else None, end),
        )
        return
    yield Exercised(end)


class _GivenUp(NamedTuple):
    """A call that had not succeeded at a time; `at`: as far as was known at that event, None for the whole history."""

    calls: Sequence[Call]
    end: Event
    end_ns: int
    at: Event | None


def _given_up(timeline: Timeline) -> Iterator[_GivenUp]:
    for one in ended(timeline, well=False):
        yield _GivenUp(one.calls, one.end, ended_ns(one.end), one.end)
    for calls, overdue in timeline.overdue("ack"):
        yield _GivenUp(calls, overdue, overdue.t_ns, None)


def _ends_soon(timeline: Timeline, one: _GivenUp) -> Says:
    """Judge whether a call ends soon; it waits for all that it names, be it of several topics."""
    calls, end, end_ns, at = one
    answers = [_good_answer(timeline, call, at) for call in calls]
    if not calls or not all(answers) or len(calls) != len(calls[0].invoke.args.get("messages", ())):
        return
    last = max((answer for answer in answers if answer is not None), key=lambda answer: answer.seq)
    if timeline.closing_before(calls[0].consumer, end):
        return
    if timeline.bounds.is_missing("answer", last.t_ns, end_ns, what="the end of a call"):
        yield breach(
            "not-ended",
            f"consumer {calls[0].consumer.handle} got ACK_RESPONSE at {ms(last.t_ns)}; expected the acknowledge call "
            f"that waits for it to succeed; it had not at {ms(end_ns)}",
            *(calls[0].invoke, last, end),
        )


def _good_answer(timeline: Timeline, call: Call, at: Event | None) -> Frame | None:
    """Return the good answer to the last ACK that left since the call.

    Of several that cover its entry nothing shows which is its own: all of them have to be answered, but those that went
    with their connection.
    """
    asked = asked_for(timeline, call, at)
    since = [one for one in asked if one.frame.seq > call.invoke.seq and one.lost is None]
    good = all(one.answer is not None and not one.refused for one in since)
    return since[-1].answer if since and good else None
