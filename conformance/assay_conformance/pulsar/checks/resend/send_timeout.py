from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from assay_conformance.checks.lines import is_duplicate
from assay_conformance.model.event import Completion, ErrorClass, Event, Fate, Frame
from assay_conformance.pulsar.timeline import (
    DEFAULT_SEND_TIMEOUT_MS,
    MS,
    Exercised,
    Says,
    Send,
    Timeline,
    Why,
    breach,
    check,
    each,
    ended_ns,
    may_wait_for_partition,
    ms,
)
from assay_conformance.pulsar.timeline.handlers import done_ns

_TIMEOUT = ErrorClass.TIMEOUT
_TROUBLE = (Why.NOT_A_FRAME, Why.SEND_ERROR, Why.RECEIPT_LATER, Why.RECEIPT_STALE)
"""What a connection may not have seen before a receipt, if that is to end its send for certain."""


@check("resend.send-timeout")
def send_timeout(timeline: Timeline) -> Says:
    """resend.send-timeout: a send without a receipt fails with a time-out when its send time-out has passed, not
    before; one whose receipt has come does not.

    Judged are sends made when the producer had been opened: a client may take sends before, and keep them until it is.
    One timer may take the whole queue with it when the oldest expires (Java and C++ do): the young ones die early, but
    never before the oldest is due. A batch's clock starts with its first message (Java) or when it closes (C++, Go),
    which the batching delay bounds. A blocking send starts its clock when the queue lets it in, which no witness sees.
    A send that opens its partition ends with that.
    """
    for handle, opened in timeline.opened_producers.items():
        timeout_ms = timeline.view.producer_setting(handle, "send_timeout_ms")
        if timeout_ms != 0 and not timeline.view.producer_setting(handle, "block_if_queue_full"):
            timeout_ns = int(timeout_ms or DEFAULT_SEND_TIMEOUT_MS) * MS
            yield from _Timed(timeline, handle, opened, timeout_ns).judged()


class _Send(NamedTuple):
    """A send that is due. `called_ns`: the latest that the client can have been called; `expired_ns`: when the last
    older one had expired, which may have taken it along."""

    send: Send
    called_ns: int
    expired_ns: int | None

    @property
    def end(self) -> Completion | None:
        return self.send.completion

    @property
    def soonest_ns(self) -> int:
        """The earliest that the client can have been called."""
        return self.send.invoke.t_ns if self.send.called_ns is None else self.send.called_ns


class _Timed(NamedTuple):
    """The sends of one producer, and their time-out."""

    timeline: Timeline
    handle: int
    opened: Completion
    timeout_ns: int

    def judged(self) -> Says:
        due = list(self._due())
        yield from each(due, self._is_not_receipted)
        yield from each(due, self._ends_in_time)

    def _due(self) -> Iterator[_Send]:
        expired_ns: int | None = None
        batching_ns = self._batching_ns()
        for send in self.timeline.sends_of(self.handle):
            end = send.completion
            if end is not None and self._ended_in_time(end, batching_ns):
                continue
            called_ns = self._called_ns(send)
            if called_ns is not None and send.invoke.seq >= self.opened.seq:
                yield _Send(send, called_ns, expired_ns)
            if end is not None and end.error is _TIMEOUT and not self._is_early(_Send(send, 0, None)):
                expired_ns = ended_ns(end)

    def _ended_in_time(self, end: Completion, batching_ns: int) -> bool:
        """Return whether it ended in time, for another reason."""
        if end.error is _TIMEOUT or end.called_ns is None:
            return False
        return done_ns(end) <= end.called_ns + self.timeout_ns + batching_ns

    def _batching_ns(self) -> int:
        """Return how long a message may have waited in an open batch."""
        setting = partial(self.timeline.view.producer_setting, self.handle)
        return int(setting("batching_max_publish_delay_ms") or 0) * MS if setting("batching") is True else 0

    def _called_ns(self, send: Send) -> int | None:
        """Return when the client was called; None where it may not have been called at all.

        An agent that waits for something else of that producer keeps the send back, so the command proves nothing.
        """
        unit = self.timeline.unit_with(send)
        return unit.first.t_ns if send.called_ns is None and unit is not None else send.called_ns

    def _is_not_receipted(self, due: _Send) -> Says:
        """Judge a send whose receipt had not been there for long when it timed out."""
        end = due.end
        receipt = self._sound_receipt(due.send) if end is not None and end.error is _TIMEOUT else None
        if end is None or receipt is None:
            return
        self.timeline.check_whole(self.handle)
        until_ns = min(ended_ns(end), self.timeline.bounds.until(self.timeline.closed(receipt.conn)))
        if self.timeline.bounds.is_overdue("answer", receipt.t_ns, until_ns, what="a time-out"):
            yield breach(
                "though-receipted",
                f"producer {self.handle}: message {due.send.invoke.number} timed out at {ms(ended_ns(end))}; its "
                f"receipt had come at {ms(receipt.t_ns)}, and a success was expected",
                *(receipt, end),
            )

    def _sound_receipt(self, send: Send) -> Frame | None:
        """Return a receipt for the oldest unanswered unit, on a connection without trouble so far."""
        unit = self.timeline.unit_with(send)
        for receipt in unit.receipts if unit is not None else ():
            session = self.timeline.session_of(receipt)
            sent_away = None if session is None else session.sent_away
            is_for_nobody = sent_away is not None and sent_away.seq < receipt.seq
            is_sound = receipt.fate is Fate.PASSED and not is_for_nobody and not is_duplicate(receipt)
            is_sound = is_sound and self.timeline.was_read(receipt)
            if is_sound and self.timeline.is_in_turn(receipt) and not self.timeline.has_had_trouble(receipt, *_TROUBLE):
                return receipt
        return None

    def _ends_in_time(self, due: _Send) -> Says:
        end, bounds = due.end, self.timeline.bounds
        latest_ns = due.called_ns + self.timeout_ns + self._batching_ns()
        if self._was_answered(due.send, latest_ns) or self._otherwise_ended(end, latest_ns):
            return
        if may_wait_for_partition(self.timeline, self.handle, self.timeline.unit_with(due.send)):
            return
        if end is not None and self._is_early(due):
            yield from self._early(due, end)
            return
        seen_ns = bounds.end_ns if end is None else done_ns(end)
        if bounds.is_overdue("send-timeout", due.called_ns, seen_ns, due_ns=latest_ns, what="a send time-out"):
            came = "it had not ended then" if end is None else f"it ended at {ms(seen_ns)} ({end.error or end.outcome})"
            yield breach(
                "never" if end is None else "late",
                f"producer {self.handle}: message {due.send.invoke.number}, sent at {ms(due.called_ns)}, got no "
                f"receipt; expected its send to fail with a time-out by {ms(latest_ns)}; {came}",
                *self._evidence(due),
            )
        elif end is not None and end.error is _TIMEOUT:
            yield Exercised(end)

    def _early(self, due: _Send, end: Completion) -> Says:
        seen_ns, expired_ns = ended_ns(end), due.expired_ns
        if expired_ns is not None:
            if not self.timeline.bounds.is_past("in-flight", expired_ns, seen_ns):
                return
            self.timeline.bounds.check_fair("answer", expired_ns, seen_ns, what="which sends timed out together")
        yield breach(
            "early",
            f"producer {self.handle}: message {due.send.invoke.number} timed out at {ms(seen_ns)}; expected it to wait "
            f"until {ms(due.soonest_ns + self.timeout_ns)}, since no older message had timed out either",
            *self._evidence(due),
        )

    def _evidence(self, due: _Send) -> Iterator[Event | None]:
        unit = self.timeline.unit_with(due.send)
        yield from (due.send.invoke, None if unit is None else unit.first, due.end)

    def _was_answered(self, send: Send, due_ns: int) -> bool:
        unit, bounds = self.timeline.unit_with(send), self.timeline.bounds
        answers = unit.answers if unit is not None else ()
        return any(not bounds.is_past("send-timeout", due_ns, answer.t_ns) for answer in answers)

    def _otherwise_ended(self, end: Completion | None, due_ns: int) -> bool:
        """Return whether it ended for another reason, or its producer was closed before its time came."""
        closing = self.timeline.closing(self.handle)
        in_time = closing is not None and not self.timeline.bounds.is_past("send-timeout", due_ns, closing.t_ns)
        if closing is not None and in_time and (end is None or end.seq > closing.seq):
            return True
        return end is not None and end.error is not _TIMEOUT and done_ns(end) <= due_ns

    def _is_early(self, due: _Send) -> bool:
        """Return whether it timed out before it was due.

        That is by the agent's own clock where it reported call and end, which on a busy machine is known less well than
        what is tolerated to the bench.
        """
        end, bounds = due.end, self.timeline.bounds
        if end is None or end.error is not _TIMEOUT:
            return False
        if end.called_ns is not None and end.done_ns is not None:
            return bounds.is_before("time-out-early", end.called_ns + self.timeout_ns, end.done_ns)
        return bounds.is_before("time-out-early", due.soonest_ns + self.timeout_ns, ended_ns(end))
