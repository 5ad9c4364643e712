"""Requests of one connection: each ends in exactly one of its answer, its time-out, or the connection's end."""

from __future__ import annotations

from collections.abc import Callable

from assay_conformance.client.refusal import Cause, Refusal
from assay_conformance.client.shared import MS, Shared
from assay_conformance.client.timers import Timer
from assay_conformance.wire import CommandType, Frame

Answered = Callable[[Frame | Refusal], None]

_ANSWERED_BY = {
    CommandType.PARTITIONED_METADATA: CommandType.PARTITIONED_METADATA_RESPONSE,
    CommandType.LOOKUP: CommandType.LOOKUP_RESPONSE,
    CommandType.PRODUCER: CommandType.PRODUCER_SUCCESS,
    CommandType.ACK: CommandType.ACK_RESPONSE,
    CommandType.GET_LAST_MESSAGE_ID: CommandType.GET_LAST_MESSAGE_ID_RESPONSE,
    CommandType.GET_TOPICS_OF_NAMESPACE: CommandType.GET_TOPICS_OF_NAMESPACE_RESPONSE,
    CommandType.GET_SCHEMA: CommandType.GET_SCHEMA_RESPONSE,
    CommandType.WATCH_TOPIC_LIST: CommandType.WATCH_TOPIC_LIST_SUCCESS,
}
"""The others by SUCCESS."""


class _Request:
    __slots__ = ("answered", "kind", "timer")

    def __init__(self, answered: Answered, timer: Timer) -> None:
        self.answered = answered
        self.timer = timer
        self.kind = CommandType.SUCCESS


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

    def expect(self, request_id: int, command: int) -> None:
        """Note which command has this id: what answers another one is no answer to it."""
        self._open[request_id].kind = _ANSWERED_BY.get(CommandType(command), CommandType.SUCCESS)

    def wait_longer(self, request_id: int) -> None:
        """Wait longer for this request: the broker will answer it once more (producer_ready was false)."""
        self._open[request_id].timer.cancel()

    def answer(self, frame: Frame) -> None:
        request = self._open.get(frame.body.request_id)
        if request is None or frame.type is not request.kind:  # late, or not ours: ignored
            return
        del self._open[frame.body.request_id]
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
