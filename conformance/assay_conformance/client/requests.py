"""Requests of one connection: each ends in exactly one of its answer, its time-out, or the connection's end."""

from __future__ import annotations

from collections.abc import Callable

from assay_conformance.client.refusal import Cause, Refusal
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.timers import Timer
from assay_conformance.wire import CommandType, Frame

Answered = Callable[[Frame | Refusal], None]


class _Request:
    __slots__ = ("answered", "timer")

    def __init__(self, answered: Answered, timer: Timer) -> None:
        self.answered = answered
        self.timer = timer


class Requests:
    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._open: dict[int, _Request] = {}

    def begin(self, answered: Answered) -> int:
        """Return the id of a new request; `answered` is called with the answer, or with why none came in time."""
        request_id = self._next_id()
        timer = self._shared.after(self._timeout_ns(), lambda: self._timed_out(request_id))
        self._open[request_id] = _Request(answered, timer)
        return request_id

    def wait_longer(self, request_id: int) -> None:
        """Wait longer for this request: the broker will answer it once more (producer_ready was false)."""
        self._open[request_id].timer.cancel()

    def answer(self, frame: Frame) -> None:
        request = self._open.pop(frame.body.request_id, None)
        if request is None:  # late, or not ours: ignored
            return
        if frame.type is CommandType.PRODUCER_SUCCESS and not frame.body.producer_ready:
            self._open[frame.body.request_id] = request
        else:
            request.timer.cancel()
        request.answered(frame)

    def refuse(self, request_id: int, refusal: Refusal) -> bool:
        """Return whether there was such a request."""
        request = self._open.pop(request_id, None)
        if request is None:
            return False
        request.timer.cancel()
        request.answered(refusal)
        return True

    def end(self, refusal: Refusal) -> None:
        """End all requests: their connection ended."""
        requests, self._open = self._open, {}
        for request in requests.values():
            request.timer.cancel()
            request.answered(refusal)

    def _timeout_ns(self) -> int:
        return self._shared.settings.operation_timeout_ms * MS

    def _next_id(self) -> int:
        return next(self._shared.request_ids)

    def _timed_out(self, request_id: int) -> None:
        self._open.pop(request_id).answered(Refusal(Cause.TIMED_OUT, "the broker did not answer in time"))
