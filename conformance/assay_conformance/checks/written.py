"""What a client wrote for its consumers: checks that hear of its acknowledgments.

A consumer whose wire session is not certain is left out, as everywhere.
"""

from __future__ import annotations

from typing import NamedTuple

from assay_conformance.checks.base import on
from assay_conformance.checks.consumption import ConsumerCheck, from_client, plain_acks
from assay_conformance.checks.tracker import ConsumerSession, OpenedConsumer
from assay_conformance.model.event import Frame


class Written(NamedTuple):
    """A frame that a client wrote for one of its consumers, and that we know which."""

    consumer: OpenedConsumer
    session: ConsumerSession
    frame: Frame


class AckCheck(ConsumerCheck):
    """A check of every ACK of messages that a client wrote for a known consumer."""

    def acked(self, ack: Written) -> None: ...

    @on(Frame, "ACK")
    def _ack_written(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        if session is not None and session.consumer is not None and from_client(event) and plain_acks(event):
            self.acked(Written(session.consumer, session, event))
