"""Clients that do something else when their application calls for redelivery of everything."""

from __future__ import annotations

from typing import Any

from assay_conformance.client.redelivery import Redelivery
from assay_conformance.client.subscription import Subscription
from assay_conformance.client.values import Done


class RedeliverAllIgnored(Redelivery[Any]):
    """A call for redelivery of everything succeeds, and nothing is requested."""

    breaks = "nack.redeliver-all-requested"
    stands_for = "a method of an interface that was left empty"

    def everything(self) -> None:
        self._held.clear()


class RedeliverAllOfFirstTopic(Subscription):
    """A call for redelivery of everything reaches the first topic or partition of a consumer only."""

    breaks = "nack.redeliver-all-requested"
    stands_for = "a consumer of several topics that passes a call on to one of them"

    def redeliver_all(self, op: int) -> None:
        self.consumers[0].redeliver_all()
        self._shared.sink.completed(op, Done())
