"""The reference client: Pulsar's producer and consumer without sockets or clocks."""

from __future__ import annotations

from assay_conformance.client.core import ClientCore
from assay_conformance.client.hooks import Hooks
from assay_conformance.client.settings import ClientSettings, ConsumerSettings, ProducerSettings, settings
from assay_conformance.client.values import ClientSink, Delivery, Done, Failed, Outgoing, Result

__all__ = [
    "ClientCore",
    "ClientSettings",
    "ClientSink",
    "ConsumerSettings",
    "Delivery",
    "Done",
    "Failed",
    "Hooks",
    "Outgoing",
    "ProducerSettings",
    "Result",
    "settings",
]
