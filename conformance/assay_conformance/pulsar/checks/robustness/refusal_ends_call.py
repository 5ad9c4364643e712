from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from assay_conformance.history.events import between
from assay_conformance.model.event import Event, Frame, Invoke
from assay_conformance.pulsar.checks._final_errors import Final, judge_final
from assay_conformance.pulsar.outcomes.ends import REFUSED
from assay_conformance.pulsar.outcomes.errors import FINAL_ERRORS
from assay_conformance.pulsar.outcomes.rules import FINAL
from assay_conformance.pulsar.timeline import Breach, Exercised, Request, Says, Timeline, breach, check, each, ms

_CALLS = {"SEEK": "seek", "UNSUBSCRIBE": "unsubscribe"}
"""Requests that only a call makes, and that no client repeats over an error."""

_OPENINGS = (
    *(Final(error, "it is refused for good", ends_openings=True, only_openings=True) for error in FINAL),
    *(
        Final(error, "it is refused for good", ends_openings=True, only_openings=True, kinds=("producer",))
        for error in sorted(FINAL_ERRORS)
    ),
)


@check(REFUSED)
def refusal_ends_call(timeline: Timeline) -> Says:
    """robustness.refusal-ends-call: a call whose request is refused for good fails with that answer, and does not ask
    again.

    Which errors refuse what for good is a table (`pulsar/outcomes/rules.py`). Seeks and unsubscribes of several topics
    are not judged, nor those of which another one goes on.
    """
    for final in _OPENINGS:
        yield from judge_final(timeline, final)
    yield from each(list(_refused(timeline)), _ends, timeline)


class _Refused(NamedTuple):
    call: Invoke
    request: Frame
    answer: Frame


def _refused(timeline: Timeline) -> Iterator[_Refused]:
    for command, verb in _CALLS.items():
        for request, answer in _errors(timeline, command):
            session = timeline.consumer_sessions.of(request.frame)
            consumer = None if session is None else session.consumer
            if consumer is None or len({one.topic for one in consumer.sessions}) != 1:
                continue
            pending = timeline.pending.calls(consumer.handle, verb, request.frame)
            if len(pending) == 1:
                yield _Refused(pending[0], request.frame, answer)


def _errors(timeline: Timeline, command: str) -> Iterator[tuple[Request, Frame]]:
    for request in timeline.requests(command):
        if request.answer is not None and request.error is not None and request.answer.intact is not False:
            yield request, request.answer


def _ends(timeline: Timeline, refused: _Refused) -> Says:
    call, request, answer = refused
    end = timeline.end_of(call.op)
    if not timeline.had_time_to_read(answer, end or timeline.ended) or (end is not None and end.seq < answer.seq):
        return
    yield Exercised(answer)
    until = end or timeline.ended
    found = between([one.frame for one in timeline.requests(request.command)], answer, until)
    again = next((one for one in found if _is_of_same(timeline, one, request)), None)
    if again is not None:
        yield _wrong("kept-trying", refused, f"it sent another at {ms(again.t_ns)}", again)
    if timeline.bounds.is_missing("answer", answer.t_ns, until.t_ns):
        yield _wrong("kept-waiting", refused, f"it had not ended by {ms(until.t_ns)}", until)


def _is_of_same(timeline: Timeline, frame: Frame, request: Frame) -> bool:
    sessions = timeline.consumer_sessions
    one, other = sessions.of(frame), sessions.of(request)
    return one is not None and other is not None and one.consumer is other.consumer


def _wrong(code: str, refused: _Refused, what: str, event: Event) -> Breach:
    call, request, answer = refused
    return breach(
        code,
        f"{call.verb} of handle {call.handle}: its {request.command} was answered {answer.fields.get('error')} at "
        f"{ms(answer.t_ns)}; expected it to fail with that, and to send no further request; {what}",
        *(request, answer, event),
    )
