"""Clients that end an acknowledgment without the broker's answer, or in spite of it."""

from __future__ import annotations

from assay_conformance.client.acks import AckGroup, Ended
from assay_conformance.client.refusal import Refusal
from assay_conformance.client.values import Failed
from assay_conformance.wire import Frame
from assay_conformance.wire import pulsar_pb2 as pb


class AckResponseNotAwaited(AckGroup):
    """An acknowledgment call ends when it is grouped, although it is to wait for the broker's answer."""

    breaks = "ack.call-waits-for-response"
    stands_for = "an option that is read and not passed on"

    @property
    def _awaits_answer(self) -> bool:
        return False


class AckErrorWithoutMessageSucceeds(AckGroup):
    """An ACK_RESPONSE with an error but no message ends the acknowledgment call with success."""

    breaks = "ack.error-response-is-no-success"
    stands_for = "Go client (read in its source): an ack response without a message is a success"

    def _failure(self, answer: Frame | Refusal) -> Failed | None:
        if isinstance(answer, Frame) and not answer.body.message:
            return None
        return super()._failure(answer)


class LostAckResponseSucceeds(AckGroup):
    """Acknowledgment calls whose answers are lost with the connection end with success."""

    breaks = "ack.error-response-is-no-success"
    stands_for = "futures completed by a clean-up that does not know their outcome"

    def _end_lost(self, ends: list[Ended]) -> None:
        self._end(ends, None)


class CoveredAckSucceedsEarly(AckGroup):
    """An acknowledgment that a pending cumulative one covers succeeds before that one is answered."""

    breaks = "ack.call-waits-for-response"
    stands_for = "an ack that needs no command of its own taken for complete"

    def _wait_for_what_left(self, kind: pb.CommandAck.AckType) -> None:
        ends, self._waiting[kind] = self._waiting[kind], []
        self._end(ends, None)


class AckResponseEndsOneCall(AckGroup):
    """Of several acknowledgment calls sent in one command, only the first ends with its answer."""

    breaks = "ack.call-waits-for-response"
    stands_for = "one callback kept for a command, where several calls wait"

    def _end(self, ends: list[Ended], failed: Failed | None) -> None:
        super()._end(ends[:1] if self._settings.ack_receipt else ends, failed)


class AwaitsAckResponseOfOldBroker(AckGroup):
    """An acknowledgment call waits for the answer of a broker that is too old to send one."""

    breaks = "ack.no-response-from-old-broker"
    stands_for = "a version checked where the command is built, and not where it is awaited"

    def _end_unanswered(self) -> None:
        pass
