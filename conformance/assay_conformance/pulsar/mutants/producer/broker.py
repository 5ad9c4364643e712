"""Brokers that admit the wrong producers."""

from __future__ import annotations

from assay_conformance.broker.admission import Admission
from assay_conformance.broker.liveness import Liveness
from assay_conformance.broker.producer import Producer
from assay_conformance.broker.topics import Topics
from assay_conformance.wire.pulsar_pb2 import ProducerAccessMode


class AssignsSameName(Topics):
    """Every producer without a name gets the same one."""

    breaks = "producer.assigned-names-unique"
    stands_for = "a generator of names that restarts with each connection"

    def new_producer_name(self, broker: int) -> str:
        return f"assay-{broker}-0"


class ExclusiveAdmitsSecondProducer(Admission):
    """An Exclusive producer is admitted beside others."""

    breaks = "producer.access-modes"
    stands_for = "the access mode is checked when a producer is created, and not against those who are there"

    def _is_occupied(self, producer: Producer) -> bool:
        return producer.access_mode != ProducerAccessMode.Exclusive and super()._is_occupied(producer)


class ForgetsWaitingProducer(Admission):
    """A producer that waits for a topic does not get it when it is free."""

    breaks = "producer.access-modes"
    stands_for = "a queue of waiting producers that is not looked at when the topic becomes free"

    def _promote(self, producer: Producer) -> None:
        pass


class AdmitsDuplicateProducerName(Admission):
    """A producer whose name is taken is admitted beside the one that has it."""

    breaks = "producer.name-unique-on-topic"
    stands_for = "the map of producers overwritten by the second one of a name"

    def _takes_over(self, producer: Producer, holder: Producer) -> bool:
        return True


class DeadProducerConnectionKept(Liveness):
    """A connection that does not answer the PING sent when its name is asked for is taken for one that lives."""

    breaks = "producer.name-unique-on-topic"
    stands_for = "a liveness check whose time-out counts as an answer"

    def _unanswered(self) -> None:
        self._answer(alive=True)
