"""Consumers without a queue, on one topic that is not partitioned."""

from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.model.topic_names import is_partition
from assay_conformance.pulsar.timeline import PermitAccount, Timeline, listens


def zero_queue_accounts(timeline: Timeline, *, listening: bool = False) -> Iterator[PermitAccount]:
    """Yield the permits of each of their sessions, as clients keep them.

    `listening`: of those with a message handler. Such a consumer asks for a message whenever its handler is free, and
    the application for none.
    """
    for account in timeline.client_accounts:
        session, consumer = account.session, account.consumer
        alone = consumer is not None and len(consumer.topics) == 1 and not is_partition(session.topic)
        alone = alone and listens(consumer) is listening  # type: ignore[arg-type]
        if alone and timeline.setting(consumer, "receiver_queue_size") == 0:  # type: ignore[arg-type]
            yield account
