"""Clients that come back to their topic wrongly, or not at all."""

from __future__ import annotations

from typing import Any

from assay_conformance.client.connection import Connection
from assay_conformance.client.handler import Handler
from assay_conformance.client.producer import Producer
from assay_conformance.client.refusal import Cause, Refusal
from assay_conformance.wire import BaseCommand, Frame
from assay_conformance.wire import pulsar_pb2 as pb


class IgnoresCloseProducer(Connection):
    """The broker's CLOSE_PRODUCER is ignored."""

    breaks = "resend.reconnects-after-close-producer"
    stands_for = "pulsar-rs: the command is taken for the answer to an unknown request; the next send hangs"

    def _close_producer(self, frame: Frame) -> None:
        pass


class DisconnectsOnCloseProducer(Connection):
    """The broker's CLOSE_PRODUCER closes the whole connection."""

    breaks = "resend.reconnects-after-close-producer"
    stands_for = "a producer and its connection taken for one"

    def _close_producer(self, frame: Frame) -> None:
        self.close(Cause.LOST, "the broker closed a producer")


class FirstEpochNotZero(Producer):
    """The first PRODUCER carries epoch 7."""

    breaks = "resend.producer-epoch-increases"
    stands_for = "a counter that all producers of a client share"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._epoch = 7


class EpochNeverIncreases(Producer):
    """Every PRODUCER carries epoch 0."""

    breaks = "resend.producer-epoch-increases"
    stands_for = "pulsar-rs and DotPulsar: the epoch is never sent"

    def _registration(self, request_id: int) -> BaseCommand:
        built = super()._registration(request_id)
        built.producer.epoch = 0
        return built


PASSING = (pb.ProducerBusy, pb.ServiceNotReady, pb.ProducerBlockedQuotaExceededError)
"""Refusals of a registration that do not last."""


class RejectedReconnectIsFinal(Handler):
    """A producer whose reconnect gets a temporary error ends, and its sends with it."""

    breaks = "resend.reconnect-retries-temporary-error"
    stands_for = "errors of the first registration and of a reconnect looked up in one table"

    def _is_final(self, refusal: Refusal) -> bool:
        return (not self._opening and refusal.code in PASSING) or super()._is_final(refusal)


class RejectedReconnectNeverRetried(Handler):
    """A producer whose reconnect gets a temporary error never tries again."""

    breaks = "resend.reconnect-retries-temporary-error"
    stands_for = "a retry that is started only by the end of a connection"

    def _wait(self, refusal: Refusal, delay_ns: int) -> None:
        if self._opening or refusal.code not in PASSING:
            super()._wait(refusal, delay_ns)


class BackoffNeverGrows(Handler):
    """The backoff between attempts does not grow."""

    breaks = "resend.reconnect-backoff"
    stands_for = "pulsar-client-go#1197: the backoff starts over each time"

    def _delay_ns(self) -> int:
        self._backoff.reset()
        return super()._delay_ns()


class BackoffBeginsLong(Handler):
    """All waits between attempts are five seconds long."""

    breaks = "resend.reconnect-backoff"
    stands_for = "pulsar-rs, retry_op (read in its source): one delay between all attempts"

    def _delay_ns(self) -> int:
        return 5_000_000_000


class BackoffNeverResets(Handler):
    """The backoff between attempts stays long after a success."""

    breaks = "resend.reconnect-backoff"
    stands_for = "a backoff kept from one outage to the next"

    def _reset_backoff(self) -> None:
        pass
