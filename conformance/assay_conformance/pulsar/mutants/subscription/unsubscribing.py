"""Clients that do not end subscriptions as they are asked to."""

from __future__ import annotations

from collections.abc import Callable

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.subscription import Subscription
from assay_conformance.client.values import Done, Failed, Result
from assay_conformance.model.event import ErrorClass
from assay_conformance.wire import BaseCommand, CommandType, command

_CLOSED = Failed(ErrorClass.CLOSED, "already closed", certain=True)


class UnsubscribesOneTopic(Subscription):
    """A consumer of several topics unsubscribes from the first one, and reports success."""

    breaks = "subscription.unsubscribe-ends-subscription"
    stands_for = "the first of several answers taken for all of them"

    def unsubscribe(self, unsubscribed: Callable[[Result], None]) -> None:
        self._leave()
        self.consumers[0].unsubscribe(unsubscribed)


class UnsubscribeIsOnlyClosing(Subscription):
    """Unsubscribe only closes the consumer, and the subscription remains."""

    breaks = "subscription.unsubscribe-ends-subscription"
    stands_for = "success reported for a request that was never made"

    def unsubscribe(self, unsubscribed: Callable[[Result], None]) -> None:
        self.close(lambda _result: unsubscribed(Done()))


class CloseFailsAfterUnsubscribe(Subscription):
    """Close of a consumer that has unsubscribed fails because it is already closed."""

    breaks = "subscription.closes-after-unsubscribe"
    stands_for = "apache/pulsar-client-cpp#338: ResultAlreadyClosed of close after unsubscribe"

    _unsubscribed = False

    def unsubscribe(self, unsubscribed: Callable[[Result], None]) -> None:
        self._unsubscribed = True
        super().unsubscribe(unsubscribed)

    def close(self, closed: Callable[[Result], None]) -> None:
        super().close(lambda result: closed(_CLOSED if self._unsubscribed else result))


class CloseUnsubscribes(Consumer):
    """Closing a consumer removes its durable subscription."""

    breaks = "subscription.unsubscribes-on-request"
    stands_for = "pulsar-rs#278: a consumer that is closed, or dropped, unsubscribes"

    def close(self, closed: Callable[[Result], None]) -> None:
        if self.ready and self._settings.durable:
            self.ask(self._unsubscription, lambda _answer: None)
        super().close(closed)

    def _unsubscription(self, request_id: int) -> BaseCommand:
        return command(CommandType.UNSUBSCRIBE, consumer_id=self.consumer_id, request_id=request_id, force=False)
