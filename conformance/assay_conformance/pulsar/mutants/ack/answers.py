"""Clients that end an acknowledgment without the broker's answer, or in spite of it."""

from __future__ import annotations

from assay_conformance.client.acks import AckGroup, Ended
from assay_conformance.client.refusal import Refusal
from assay_conformance.client.values import Failed
from assay_conformance.wire import Frame
from assay_conformance.wire import pulsar_pb2 as pb


class AckResponseNotAwaited(AckGroup):
    """An acknowledgment ends when it is grouped, although the broker's answer was asked for."""

    breaks = "ack.call-waits-for-response"
    stands_for = "an option that is read and not handed on"

    @property
    def _awaits_answer(self) -> bool:
        return False


class AckErrorWithoutMessageSucceeds(AckGroup):
    """An answer with an error and no text ends the acknowledgment well."""

    breaks = "ack.error-response-is-no-success"
    stands_for = "Go client (read in its source): an ack response without a message is a success"

    def _failure(self, answer: Frame | Refusal) -> Failed | None:
        if isinstance(answer, Frame) and not answer.body.message:
            return None
        return super()._failure(answer)


class LostAckResponseSucceeds(AckGroup):
    """Acknowledgments whose answers are lost with the connection end well."""

    breaks = "ack.error-response-is-no-success"
    stands_for = "futures completed by a clean-up that does not know how they ended"

    def _end_lost(self, ends: list[Ended]) -> None:
        self._end(ends, None)


class CoveredAckSucceedsEarly(AckGroup):
    """An acknowledgment that one under way covers ends well before that one is answered."""

    breaks = "ack.call-waits-for-response"
    stands_for = "what needs no command of its own taken for done"

    def _wait_for_what_left(self, kind: pb.CommandAck.AckType) -> None:
        ends, self._waiting[kind] = self._waiting[kind], []
        self._end(ends, None)


class AckResponseEndsOneCall(AckGroup):
    """Of the calls that left in one command only the first ends with its answer."""

    breaks = "ack.call-waits-for-response"
    stands_for = "one callback kept for a command, where several calls wait"

    def _end(self, ends: list[Ended], failed: Failed | None) -> None:
        super()._end(ends[:1] if self._settings.ack_receipt else ends, failed)


class AwaitsAckResponseOfOldBroker(AckGroup):
    """The answer is awaited of a broker too old to give one."""

    breaks = "ack.no-response-from-old-broker"
    stands_for = "a version checked where the command is built, and not where it is awaited"

    def _end_unanswered(self) -> None:
        pass
