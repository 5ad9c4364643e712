"""Clients that try longer to open a producer or consumer, or go on opening after that."""

from __future__ import annotations

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.refusal import Refusal
from assay_conformance.client.shared import MS
from assay_conformance.client.topic_patterns import TopicPattern
from assay_conformance.wire import pulsar_pb2 as pb

WATCH_DELAY_MS = 20


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


class WatchesBehindOpening(TopicPattern):
    """A consumer of a pattern asks to watch topics a moment after it is open."""

    as_in = "Java client, PatternMultiTopicsConsumerImpl: makes its TopicListWatcher when it has subscribed"
    within = ("subscription.topic-list-watcher", "robustness.calls-do-not-hang")

    _is_open = False

    def _keep_watch(self) -> None:
        if self._is_open:
            super()._keep_watch()
        else:
            self._is_open = True
            self._watch_timer = self._shared.after(WATCH_DELAY_MS * MS, super()._keep_watch)
