"""Clients whose commands have other optional fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay_conformance.client.connection import Connection
from assay_conformance.wire import BaseCommand

_JAVA: Mapping[str, Mapping[str, Any]] = {
    "connect": {"auth_method_name": "none", "auth_data": b""},
    "producer": {"encrypted": False, "txn_enabled": False},
    "subscribe": {"consumer_name": "a1b2c", "priority_level": 0, "read_compacted": False, "force_topic_creation": True},
    "partitionMetadata": {"metadata_auto_creation_enabled": True},
}
_CPP: Mapping[str, Mapping[str, Any]] = {
    "connect": {"auth_method_name": "none"},
    "producer": {"encrypted": False},
    "subscribe": {
        "consumer_name": "d4e5f",
        "priority_level": 0,
        "read_compacted": False,
        "replicate_subscription_state": False,
    },
    "lookupTopic": {"advertised_listener_name": ""},
}
_GO: Mapping[str, Mapping[str, Any]] = {
    "connect": {"auth_method_name": "", "auth_data": b""},
    "producer": {"initial_subscription_name": ""},
    "subscribe": {"consumer_name": "g7h8i", "read_compacted": False, "replicate_subscription_state": False},
    "lookupTopic": {"advertised_listener_name": ""},
}


def _filled_in(command: BaseCommand, more: Mapping[str, Mapping[str, Any]]) -> BaseCommand:
    """Return the command with these fields, where it does not have them."""
    for name, fields in more.items():
        if command.HasField(name):
            body = getattr(command, name)
            for field, value in fields.items():
                if not body.HasField(field):
                    setattr(body, field, value)
    return command


_WITHIN = (
    "connection.handshake-first",
    "connection.follows-redirects",
    "producer.keeps-assigned-name",
    "producer.access-modes",
    "subscription.resumes-at-first-unacked",
    "subscription.key-shared-same-consumer",
)


class FieldsAsInJava(Connection):
    """Connects, opens producers and subscribes with the optional fields that the Java client sets."""

    as_in = "Java client 4.2.4, Commands.java"
    within = _WITHIN

    def send(self, built: BaseCommand) -> None:
        super().send(_filled_in(built, _JAVA))


class FieldsAsInCpp(Connection):
    """Connects, looks up, opens producers and subscribes with the optional fields that the C++ client sets."""

    as_in = "C++ client 4.2.0, Commands.cc"
    within = _WITHIN

    def send(self, built: BaseCommand) -> None:
        super().send(_filled_in(built, _CPP))


class FieldsAsInGo(Connection):
    """Connects, looks up, opens producers and subscribes with the optional fields that the Go client sets."""

    as_in = "Go client 0.21.0, consumer_partition.go, producer_partition.go and internal/connection.go"
    within = _WITHIN

    def send(self, built: BaseCommand) -> None:
        super().send(_filled_in(built, _GO))
