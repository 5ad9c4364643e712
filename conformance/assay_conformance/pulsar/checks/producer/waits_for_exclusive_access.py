from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from assay_conformance.model.event import Closed, Completion, ErrorClass, Frame, Outcome
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, each, ended_ns, ms


@check("producer.waits-for-exclusive-access")
def waits_for_exclusive_access(timeline: Timeline) -> Says:
    """producer.waits-for-exclusive-access: the open call of a producer that waits for exclusive access ends only by the
    broker's answer, not by a time-out. One whose connection ends while it waits registers again, or fails."""
    waits = list(_waits(timeline))
    yield from each(waits, _lasts, timeline)
    first_of = {wait.handle: wait for wait in reversed(waits) if wait.is_opened_meanwhile}
    yield from each(reversed(first_of.values()), _judge_not_given_up, timeline)


class _Turn(NamedTuple):
    """One PRODUCER of a producer that waits, what ended its wait, and the end of its connection."""

    request: Frame
    done: Frame | None
    lost: Closed | None


@dataclass(frozen=True, slots=True, eq=False)
class _Wait:
    """A producer, or one of its partitions, that has to wait: on one session, and on those that follow where the
    connection ended. `opened`: how its opening ended after `waits`."""

    handle: int
    waits: Frame
    turns: list[_Turn]
    opened: Completion | None

    @property
    def is_opened_meanwhile(self) -> bool:
        """Its opening ended while it waited. One that has to wait when it comes back, while the end of its opening is
        on its way to the bench, had been admitted."""
        done = self.turns[-1].done
        before = self.opened is not None and (done is None or done.seq > self.opened.seq)
        return before and self.opened is not None and self.waits.t_ns <= ended_ns(self.opened)


def _waits(timeline: Timeline) -> Iterator[_Wait]:
    ends = {end.handle: end for end in timeline.ends("open_producer")}
    some = any(_makes_wait(frame) for frame in timeline.events.frames("PRODUCER_SUCCESS"))
    for producer in timeline.producers if some else ():
        wait: _Wait | None = None
        opened = ends.get(producer.handle)
        for session in producer.sessions if producer.handle is not None else ():
            answers, request = timeline.answers_to(session.request), session.request
            done = next((one for one in answers if not _makes_wait(one)), None)
            turn = _Turn(request, done, timeline.closed(session.conn))
            last: _Turn | None = None if wait is None else wait.turns[-1]
            # One that had been open, and has to wait when it comes back, waits on after the end of its opening.
            ended = None if wait is None else wait.opened
            over = last is None or last.done is not None or (ended is not None and ended.seq < request.seq)
            if wait is not None and last is not None and not over:
                if last.lost is not None and last.lost.seq < request.seq:
                    wait.turns.append(turn)
            elif answers and _makes_wait(answers[0]):
                behind = opened if opened is not None and opened.seq > answers[0].seq else None
                wait = _Wait(producer.handle or 0, answers[0], [turn], behind)
                yield wait


def _makes_wait(answer: Frame) -> bool:
    return answer.command == "PRODUCER_SUCCESS" and answer.fields.get("producer_ready") is False


def _lasts(timeline: Timeline, wait: _Wait) -> Says:
    opened, waits, (_, done, lost) = wait.opened, wait.waits, wait.turns[-1]
    for turn in wait.turns[1:]:
        yield Exercised(turn.request)
    if opened is not None and _failed_with_its_connection(opened, lost):
        yield Exercised(opened)
    if opened is not None and (done is None or done.seq > opened.seq):
        return
    timeout_ns = timeline.operation_timeout_ns(wait.handle)
    until_ns = timeline.bounds.until(timeline.closing(wait.handle))
    if done is not None:
        if done.command == "PRODUCER_SUCCESS" and done.t_ns - waits.t_ns > timeout_ns:
            yield Exercised(done)
    elif lost is not None and timeline.bounds.is_missing("reconnect", lost.t_ns, until_ns, what="a PRODUCER"):
        yield breach(
            "not-asked-again",
            f"producer {wait.handle} waited for exclusive access when its connection ended at {ms(lost.t_ns)}; "
            f"expected it to register again or to fail; it had done neither by {ms(until_ns)}",
            *(waits, lost),
        )


def _failed_with_its_connection(opened: Completion, lost: Closed | None) -> bool:
    """Return whether the opening failed with its connection.

    A time-out is no answer to the end of a connection: the next one would have to wait as well.
    """
    lost_before = lost is not None and lost.seq < opened.seq
    return lost_before and opened.outcome is not Outcome.OK and opened.error is not ErrorClass.TIMEOUT


def _judge_not_given_up(timeline: Timeline, wait: _Wait) -> Says:
    end, waits, lost = wait.opened, wait.waits, wait.turns[-1].lost
    if end is None:
        return
    lost_before = lost is not None and lost.seq < end.seq
    if end.outcome is Outcome.OK:
        yield breach(
            "opened-unadmitted",
            f"producer {wait.handle} had to wait for exclusive access from {ms(waits.t_ns)} on; expected its open call "
            f"to wait for PRODUCER_SUCCESS; it succeeded without one at {ms(end.t_ns)}",
            *(waits, end),
        )
    elif end.error is ErrorClass.TIMEOUT and not lost_before and not _has_unanswered(timeline, wait.handle, end):
        yield breach(
            "gave-up",
            f"producer {wait.handle} had to wait for exclusive access from {ms(waits.t_ns)} on; expected no time-out, "
            f"since that may take as long as others have the topic; its open call timed out at {ms(end.t_ns)}",
            *(waits, end),
        )


def _has_unanswered(timeline: Timeline, handle: int, end: Completion) -> bool:
    """Return whether another partition of it waits for any answer at all: its time may be over."""
    asked = (one for one in timeline.registrations if one.handle == handle and one.frame.seq < end.seq)
    return any(one.answer is None or one.answer.seq > end.seq for one in asked)
