"""Clients of other protocol versions, and of older protocol files."""

from __future__ import annotations

from typing import ClassVar

from assay_conformance.client.connection import Connection
from assay_conformance.client.consumer import Consumer
from assay_conformance.client.producer import Producer
from assay_conformance.model.facts import Lack


class SpeaksProtocolVersion12(Connection):
    """CONNECT announces protocol version 12."""

    as_in = "pulsar-rs, connection.rs: protocol_version: Some(12)"
    within = ("topics.follows-migration", "connection.negotiated-version", "subscription.topic-list-watcher")

    lacks = ("ack_receipt", "auth_refresh", "topic_watcher")
    declares: ClassVar = {"lacks": frozenset({Lack.TOPIC_MIGRATION})}
    protocol_version = 12


class _ConsumerThatLooksUp(Consumer):
    def closed_by_broker(self, assigned_url: str | None) -> None:
        del assigned_url
        super().closed_by_broker(None)


class KnowsNoAssignedBroker(Producer):
    """A producer or consumer that its broker closes looks its topic up, whatever broker the command names."""

    as_in = "pulsar-rs 6.9.1 and Go client 0.12.1, PulsarApi.proto: CommandCloseProducer ends with request_id"
    within = ("topics.ownership-change-loses-nothing", "connection.registers-once")
    also = (_ConsumerThatLooksUp,)

    declares: ClassVar = {"lacks": frozenset({Lack.ASSIGNED_BROKER})}

    def closed_by_broker(self, assigned_url: str | None) -> None:
        del assigned_url
        super().closed_by_broker(None)
