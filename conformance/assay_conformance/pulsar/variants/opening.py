"""Clients that try longer to open a producer or consumer."""

from __future__ import annotations

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.refusal import Refusal
from assay_conformance.wire import pulsar_pb2 as pb


class BusyIsNotFinal(Consumer):
    """A consumer that gets ConsumerBusy as it opens tries again until the operation time-out."""

    as_in = "Rust client, retry_op.rs: handle_retry_error tries again over ConsumerBusy"
    within = (
        "subscription.exclusive-one-consumer",
        "subscription.topic-named-twice",
        "connection.reconnects-while-opening",
        "robustness.calls-do-not-hang",
    )

    def _is_final(self, refusal: Refusal) -> bool:
        return refusal.code != pb.ConsumerBusy and super()._is_final(refusal)
