"""The reference client: Pulsar's producer and consumer without sockets or clocks, and the cheats made of it."""

from __future__ import annotations

from assay_conformance.client.core import ClientCore
from assay_conformance.client.hooks import Hooks
from assay_conformance.client.mutations import MUTATIONS, Broken, Mutation
from assay_conformance.client.settings import ClientSettings, ConsumerSettings, ProducerSettings, settings
from assay_conformance.client.values import ClientSink, Delivery, Done, Failed, Outgoing, Result

__all__ = [
    "MUTATIONS",
    "Broken",
    "ClientCore",
    "ClientSettings",
    "ClientSink",
    "ConsumerSettings",
    "Delivery",
    "Done",
    "Failed",
    "Hooks",
    "Mutation",
    "Outgoing",
    "ProducerSettings",
    "Result",
    "settings",
]
