"""Clients of other protocol versions."""

from __future__ import annotations

from assay_conformance.client.connection import Connection


class SpeaksProtocolVersion12(Connection):
    """CONNECT announces protocol version 12."""

    as_in = "pulsar-rs, connection.rs: protocol_version: Some(12)"
    within = ("topics.follows-migration", "connection.negotiated-version", "subscription.topic-list-watcher")

    lacks = ("ack_receipt", "auth_refresh", "topic_watcher", "topic_migration")
    protocol_version = 12
