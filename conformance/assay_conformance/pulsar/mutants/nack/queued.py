"""Clients that ask again for what waits in their queue."""

from __future__ import annotations

from collections.abc import Collection

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.entries import Position
from assay_conformance.client.handed import Inbound
from assay_conformance.client.subscription import Subscription
from assay_conformance.wire import BaseCommand, message_id


class GivesUpMessages(Subscription):
    def give_up_first(self, consumer: Consumer, kept: Collection[Position]) -> Inbound | None:
        """Take out the first message of a consumer that is of none of the entries `kept`."""
        own = (one for one in self._queue if one.consumer is consumer and one.entry.position not in kept)
        first = next(own, None)
        if first is not None:
            self._queue.remove(first)
        return first


class NackTakesNextAlong(Consumer):
    """A redelivery request also names the next entry in the queue, and drops that from the queue."""

    breaks = "nack.asks-for-what-was-given"
    stands_for = "apache/pulsar#23943: a queue cleared of requested messages loses one message more"
    also = (GivesUpMessages,)

    def post(self, built: BaseCommand) -> None:
        ids = built.redeliverUnacknowledgedMessages.message_ids
        if ids:
            assert isinstance(self._queue, GivesUpMessages)
            following = self._queue.give_up_first(self, {(id.ledgerId, id.entryId) for id in ids})
            if following is not None:
                ids.extend(message_id(*position) for position in following.entry.positions)
                self._permits.give_back(1)
        super().post(built)
