"""Clients whose calls do not end as what they asked for did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from assay_conformance.client.batch_receive import BatchLimits
from assay_conformance.client.consumer import Consumer
from assay_conformance.client.handler import Handler
from assay_conformance.client.pending import Pending
from assay_conformance.client.producer import Producer
from assay_conformance.client.refusal import Cause, Refusal
from assay_conformance.client.seeking import PendingSeek, Place, Seeking, Sought
from assay_conformance.client.settings import ConsumerSettings
from assay_conformance.client.subscription import Receive, Subscription
from assay_conformance.client.values import Done, Failed, Result
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import Frame
from assay_conformance.wire import pulsar_pb2 as pb

_ANSWERED = "robustness.success-needs-answer"
_CAUSED = "robustness.failure-needs-cause"
_CLOSED = "robustness.closed-handle-refuses"
_REFUSED = "robustness.refusal-ends-call"


class RefusedSeekSucceeds(Seeking):
    """A seek that the broker answers with an error succeeds."""

    breaks = _ANSWERED
    stands_for = "any answer to a request taken for a success"

    def _answered(self, pending: PendingSeek, answer: Frame | Refusal) -> None:
        if isinstance(answer, Refusal) and answer.cause is Cause.SERVER and pending is self._pending:
            self._end(pending, Done())
        else:
            super()._answered(pending, answer)


class UnansweredSeekSucceeds(Seeking):
    """A seek without an answer succeeds at its time-out."""

    breaks = _ANSWERED
    stands_for = "a time-out that ends the wait without an error"

    def _answered(self, pending: PendingSeek, answer: Frame | Refusal) -> None:
        if isinstance(answer, Refusal) and answer.cause is Cause.TIMED_OUT and pending is self._pending:
            self._end(pending, Done())
        else:
            super()._answered(pending, answer)


class SeekOnlyForgets(Seeking):
    """A seek empties the queue and succeeds, but sends no SEEK."""

    breaks = _ANSWERED
    stands_for = "a seek before anything was read that is only remembered for the next SUBSCRIBE"

    def begin(self, place: Place, sought: Sought) -> None:
        del place
        self._clear()
        sought(Done())


class NoMoreWhenRefused(Consumer):
    """If GET_LAST_MESSAGE_ID fails, has_message_available returns false."""

    breaks = _ANSWERED
    stands_for = "a default returned in place of an answer"

    def has_more(self, on_answer: Callable[[bool | Failed], None], *, readable: bool = False) -> None:
        super().has_more(lambda answer: on_answer(False if isinstance(answer, Failed) else answer), readable=readable)


class RefusedProducerOpens(Producer):
    """Opening a producer that the broker refuses for good succeeds."""

    breaks = _ANSWERED
    stands_for = "an object that is returned before it is known whether it works"

    def _ended(self, refusal: Refusal) -> None:
        if self._opened is not None:
            opened, self._opened = self._opened, None
            opened(Done(producer_name="", last_sequence_id=-1))
        super()._ended(refusal)


class RefusedConsumerOpens(Consumer):
    """Opening a consumer that the broker refuses for good succeeds."""

    breaks = _ANSWERED
    stands_for = "a consumer of several topics that is open as soon as each SUBSCRIBE was sent"

    def _opening_ends(self, result: Result) -> None:
        super()._opening_ends(Done())


class SecondSeekFails(Seeking):
    """Every seek but the first fails."""

    breaks = _CAUSED
    stands_for = "a flag that a seek is in progress, which is never cleared"

    _sought_before = False

    def begin(self, place: Place, sought: Sought) -> None:
        if self._sought_before:
            sought(Failed(ErrorClass.OTHER, "another seek is under way", certain=True))
            return
        self._sought_before = True
        super().begin(place, sought)


class EmptyFlushFails(Pending):
    """A flush fails if nothing is pending."""

    breaks = _CAUSED
    stands_for = "the outcome of the last send looked up when there is none"

    def flush(self, flushed: Callable[[Result], None]) -> None:
        if self._ops:
            super().flush(flushed)
        else:
            flushed(Failed(ErrorClass.OTHER, "there is no pending send", certain=True))


class WaitsForMoreThanItsQueue(BatchLimits):
    """A batch receive waits for as many messages as it may have, although the receiver queue holds fewer."""

    breaks = "robustness.calls-do-not-hang"
    stands_for = "apache/pulsar#6854: a policy's maximum of messages beyond the receiver queue, and no time-out"

    def __init__(self, settings: ConsumerSettings) -> None:
        super().__init__(settings)
        self._most = settings.batch_receive_max_messages


class SecondReceiveWaitsForEver(Subscription):
    """Of several receives that wait, one that is left when another gets a message has no time-out any more."""

    breaks = "robustness.calls-do-not-hang"
    stands_for = "a sibling of apache/pulsar#11689: the first timer is cancelled, whichever call ends"

    def _end(self, receive: Receive) -> None:
        super()._end(receive)
        left = self._receives[0] if self._receives and receive.got else None
        if left is not None and left.timer is not None:
            left.timer.cancel()


class StarvedReceiveFails(Subscription):
    """A receive that times out fails as if the consumer were closed."""

    breaks = _CAUSED
    stands_for = "one error for an empty queue and for a closed one"

    def _give_up(self, receive: Any) -> None:
        if receive.got:
            super()._give_up(receive)
        else:
            self._receives.remove(receive)
            self._shared.sink.completed(receive.op, Failed(ErrorClass.CLOSED, "the queue is closed", certain=True))


class UnreadConsumerClosesWithError(Subscription):
    """Closing a consumer that has delivered no message fails."""

    breaks = _CAUSED
    stands_for = "apache/pulsar-client-cpp#413: the first of several results taken for all of them"

    def close(self, closed: Callable[[Result], None]) -> None:
        unread = not self._handed
        error = Failed(ErrorClass.OTHER, "nothing to close", certain=False)
        super().close(lambda result: closed(error if unread else result))


class NoMoreFails(Consumer):
    """has_message_available fails at the end of a topic."""

    breaks = _CAUSED
    stands_for = "the absence of a next message taken for an error"

    def has_more(self, on_answer: Callable[[bool | Failed], None], *, readable: bool = False) -> None:
        end = Failed(ErrorClass.OTHER, "end of topic", certain=True)
        super().has_more(lambda answer: on_answer(end if answer is False else answer), readable=readable)


class ClosedConsumerAcks(Subscription):
    """An acknowledgment on a closed consumer succeeds, and is never sent."""

    breaks = _CLOSED
    stands_for = "a tracker that is released by the close, and created again by the next call"

    def ack(self, op: int, numbers: Sequence[int], *, cumulative: bool, of: Subscription) -> None:
        if self._closed:
            self._shared.sink.completed(op, Done())
        else:
            super().ack(op, numbers, cumulative=cumulative, of=of)


class OpeningRetriesRefusal(Handler):
    """An opening that gets AuthorizationError is repeated until its time-out."""

    breaks = _REFUSED
    stands_for = "a list of final errors that lacks one"

    def _is_final(self, refusal: Refusal) -> bool:
        denied = self._opening and refusal.code in (pb.AuthorizationError, pb.NotAllowedError)
        return not denied and super()._is_final(refusal)


class RefusedSeekAsksAgain(Seeking):
    """A seek that the broker refuses is sent three more times."""

    breaks = _REFUSED
    stands_for = "one retry policy around every request"

    _tries_left = 3

    def _answered(self, pending: PendingSeek, answer: Frame | Refusal) -> None:
        refused = isinstance(answer, Refusal) and answer.cause is Cause.SERVER
        if refused and pending is self._pending and self._tries_left:
            self._tries_left -= 1
            self._pending = None
            self.begin(pending.place, pending.sought)
        else:
            super()._answered(pending, answer)


class RefusedUnsubscribeAsksAgain(Consumer):
    """An unsubscribe that the broker refuses is sent once more."""

    breaks = _REFUSED
    stands_for = "one retry policy around every request"

    def unsubscribe(self, unsubscribed: Callable[[Result], None]) -> None:
        def ended(result: Result) -> None:
            if isinstance(result, Failed):
                super(RefusedUnsubscribeAsksAgain, self).unsubscribe(unsubscribed)
            else:
                unsubscribed(result)

        super().unsubscribe(ended)
