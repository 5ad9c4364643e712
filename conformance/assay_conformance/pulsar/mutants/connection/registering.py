"""Clients that register again with less than was configured. `_opened` is None once they have registered."""

from __future__ import annotations

from assay_conformance.client.consumer import Consumer
from assay_conformance.client.producer import Producer
from assay_conformance.wire import BaseCommand
from assay_conformance.wire import pulsar_pb2 as pb


class ProducerReturnsWithoutProperties(Producer):
    """A producer that comes back states no properties."""

    breaks = "connection.registers-as-configured"
    stands_for = "the first registration is built from all settings, and later ones from some of them"

    def _registration(self, request_id: int) -> BaseCommand:
        built = super()._registration(request_id)
        if self._opened is None:
            del built.producer.metadata[:]
        return built


class AccessModeIsNeverStated(Producer):
    """Every producer asks for shared access."""

    breaks = "connection.registers-as-configured"
    stands_for = "apache/pulsar-client-cpp#95: a client from before there were access modes"

    def _registration(self, request_id: int) -> BaseCommand:
        built = super()._registration(request_id)
        built.producer.producer_access_mode = pb.Shared
        return built


class ConsumerReturnsWithoutProperties(Consumer):
    """A consumer that comes back states no properties."""

    breaks = "connection.registers-as-configured"
    stands_for = "a sibling of a producer that does so"

    def _registration(self, request_id: int) -> BaseCommand:
        built = super()._registration(request_id)
        if self._opened is None:
            del built.subscribe.metadata[:]
        return built


class RangesAreForgotten(Consumer):
    """A Key_Shared consumer that comes back leaves the division of the keys to the broker."""

    breaks = "connection.registers-as-configured"
    stands_for = "apache/pulsar#23272: consumers of one subscription with different policies take it from each other"

    def _registration(self, request_id: int) -> BaseCommand:
        built = super()._registration(request_id)
        if self._opened is None:
            built.subscribe.ClearField("keySharedMeta")
        return built


class CompactionIsNotAskedFor(Consumer):
    """A consumer never says that it reads what was compacted."""

    breaks = "connection.registers-as-configured"
    stands_for = "apache/pulsar-client-node#72: a setting that the client takes and does not hand on"

    def _registration(self, request_id: int) -> BaseCommand:
        built = super()._registration(request_id)
        built.subscribe.ClearField("read_compacted")
        return built


class AlwaysExclusive(Consumer):
    """A consumer that comes back asks for an Exclusive subscription."""

    breaks = "connection.registers-as-configured"
    stands_for = "the first registration is built from all settings, and later ones from some of them"

    def _registration(self, request_id: int) -> BaseCommand:
        built = super()._registration(request_id)
        if self._opened is None:
            built.subscribe.subType = pb.CommandSubscribe.Exclusive
        return built
