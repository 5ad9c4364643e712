"""Clients of other protocol versions."""

from __future__ import annotations

from typing import ClassVar

from assay_conformance.client.connection import Connection
from assay_conformance.model.facts import Lack


class SpeaksProtocolVersion12(Connection):
    """CONNECT announces protocol version 12."""

    as_in = "pulsar-rs, connection.rs: protocol_version: Some(12)"
    within = ("topics.follows-migration", "connection.negotiated-version", "subscription.topic-list-watcher")

    lacks = ("ack_receipt", "auth_refresh", "topic_watcher")
    declares: ClassVar = {"lacks": frozenset({Lack.TOPIC_MIGRATION})}
    protocol_version = 12
