"""Errors that end a producer or consumer for good: it is fenced, or its topic is deleted.

Judged are producers and consumers that had been registered before, and where the error is final for an open call as
well, open calls; on topics without partitions only, since with several topics the others go on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from assay_conformance.checks.consumption import from_client
from assay_conformance.checks.parts import takes_several
from assay_conformance.history.events import between
from assay_conformance.model.event import ErrorClass, Frame
from assay_conformance.model.topic_names import is_partition
from assay_conformance.pulsar.timeline import (
    IN_FLIGHT_NS,
    Consumer,
    Exercised,
    Registration,
    Says,
    Timeline,
    breach,
    each,
    is_vague,
    ms,
)
from assay_conformance.pulsar.timeline.requests import CLOSES

Key = tuple[str, int]
"""`producer` or `consumer`, and its handle."""

_AT_THE_CALL = (ErrorClass.TOO_LARGE, ErrorClass.QUEUE_FULL)


class Final(NamedTuple):
    """An error that is final, what it `means`, and what pending sends fail with, where the clause says so."""

    error: str
    means: str
    expected: ErrorClass | None = None
    ends_openings: bool = False
    only_openings: bool = False
    """It says nothing to a producer or consumer that had been admitted before."""
    kinds: tuple[str, ...] = ("producer", "consumer")


def judge_final(timeline: Timeline, final: Final) -> Says:
    """Judge whether a producer or consumer that got this error registers no more, and nothing of it stays pending."""
    refusals = list(_refusals(timeline, final))
    yield from (Exercised(refusal.frame) for refusal in refusals)
    yield from each(refusals, _judge_heeded, timeline, final)
    last = [one for one in refusals if one.lasts and timeline.had_time_to_read(one.frame, timeline.ended)]
    yield from each(last, _ends_what_waits, timeline, final)
    yield from each((one for one in last if one.key[0] == "producer"), _fails_pending, timeline, final)


@dataclass(slots=True, eq=False)
class _Refusal:
    """`returned`: its producer or consumer had been admitted before; `again`: its registrations after that; `lasts`: it
    was never admitted again."""

    key: Key
    frame: Frame
    returned: bool
    again: list[Frame] = field(default_factory=list)
    lasts: bool = True

    def __str__(self) -> str:
        return f"{self.key[0]} {self.key[1]}"


def _refusals(timeline: Timeline, final: Final) -> Iterator[_Refusal]:
    errors = (frame for frame in timeline.events.frames("ERROR") if frame.fields.get("error") == final.error)
    found = _registrations(timeline).items() if any(errors) else ()
    for key, registered in ((key, registered) for key, registered in found if key[0] in final.kinds):
        answers = [(answer, one.frame) for one in registered if (answer := _heard(timeline, key, one)) is not None]
        requests = [(one.frame, one.frame) for one in registered]
        returned, refusal = False, None
        for frame, request in sorted([*requests, *answers], key=lambda step: step[0].seq):
            if frame is request:
                if refusal is not None and not timeline.had_time_to_read(refusal.frame, frame):
                    refusal.lasts, refusal = False, None
                elif refusal is not None:
                    refusal.again.append(frame)
            elif frame.command != "ERROR":
                returned = True
                if refusal is not None:
                    refusal.lasts, refusal = False, None
            elif refusal is None and _ends(final, returned=returned) and _is(frame, final):
                refusal = _Refusal(key, frame, returned)
                yield refusal


def _ends(final: Final, *, returned: bool) -> bool:
    return not final.only_openings if returned else final.ends_openings


def _is(frame: Frame, final: Final) -> bool:
    return frame.intact is not False and frame.fields.get("error") == final.error


def _registrations(timeline: Timeline) -> dict[Key, list[Registration]]:
    """Return the registrations of producers and consumers of topics without partitions."""
    found: dict[Key, list[Registration]] = {}
    for one in timeline.registrations:
        owner = None if is_partition(one.session.topic) else one.owner
        several = isinstance(owner, Consumer) and takes_several(timeline.view, owner)
        if owner is not None and owner.handle is not None and not several:
            found.setdefault((one.kind, owner.handle), []).append(one)
    return found


def _heard(timeline: Timeline, key: Key, registration: Registration) -> Frame | None:
    """Return the answer, where it admits or refuses, and is still waited for.

    A request may be taken back, or given up.
    """
    request, answer = registration.frame, registration.answer
    if answer is None or answer.fields.get("producer_ready") is False:
        return None
    by_id = (timeline.events.frames_by(command, "conn", "producer_id", "consumer_id") for command in CLOSES)
    own = (request.conn, request.producer_id, request.consumer_id)
    if any(from_client(one) for closes in by_id for one in between(closes.get(own, ()), request, answer)):
        return None
    half_ns = timeline.operation_timeout_ns(key[1], otherwise_ms=30_000) // 2
    return answer if answer.command != "ERROR" or answer.t_ns - request.t_ns < half_ns else None


def _judge_heeded(timeline: Timeline, final: Final, refusal: _Refusal) -> Says:
    """Judge whether the refusal is heeded. A registration that left before the error was read is no breach."""
    for again in refusal.again:
        if again.t_ns > refusal.frame.t_ns + IN_FLIGHT_NS:
            yield breach(
                "kept-trying",
                f"{refusal} got {final.error} at {ms(refusal.frame.t_ns)}: {final.means}; expected no other "
                f"registration; it registered again at {ms(again.t_ns)}",
                *(refusal.frame, again),
            )


def _ends_what_waits(timeline: Timeline, final: Final, refusal: _Refusal) -> Says:
    (kind, handle), refused, ended = refusal.key, refusal.frame, timeline.ended
    waiting = timeline.sends_of(handle) if kind == "producer" and refusal.returned else ()
    since = f"{refusal} got {final.error} at {ms(refused.t_ns)}"
    for send in waiting:
        end = send.completion or ended
        if send.invoke.t_ns < refused.t_ns and timeline.bounds.is_missing("answer", refused.t_ns, end.t_ns):
            yield breach(
                "left-pending",
                f"{since}: {final.means}; expected its send of message {send.invoke.number} to fail; it had not ended "
                f"by {ms(end.t_ns)}",
                *(refused, end),
            )
            return
    opened = next((one for one in timeline.ends(f"open_{kind}") if one.handle == handle), ended)
    if not refusal.returned and timeline.bounds.is_missing("answer", refused.t_ns, opened.t_ns):
        yield breach(
            "still-opening",
            f"{since} while it was opened: {final.means}; expected the open call to fail; it had not ended by "
            f"{ms(opened.t_ns)}",
            *(refused, opened),
        )


def _fails_pending(timeline: Timeline, final: Final, refusal: _Refusal) -> Says:
    """Judge sends that were pending when the error came: called well before it, and ended after it. Left out are
    producers with sends that the broker refused for another reason."""
    handle, refused, expected = refusal.key[1], refusal.frame, final.expected
    lines = (answer.session.line for answer in timeline.answers if answer.frame.command == "SEND_ERROR")
    if expected is None or any(line is not None and line.handle == handle for line in lines):
        return
    timeline.check_owned(handle)
    for send in timeline.sends_of(handle):
        end = send.completion
        if end is None or end.seq < refused.seq or end.error in _AT_THE_CALL or end.called_ns is None:
            continue
        if timeline.bounds.is_past("crossing", end.called_ns, refused.t_ns) and is_vague(end, refused, expected):
            yield breach(
                "wrong-error",
                f"{refusal} got {final.error} at {ms(refused.t_ns)}: {final.means}; expected its send of message "
                f"{send.invoke.number} to fail with {expected}; it failed at {ms(end.t_ns)} with {end.error} "
                f"({end.text})",
                *(refused, end),
            )
