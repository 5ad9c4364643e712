"""Brokers that admit the wrong producers."""

from __future__ import annotations

from assay_conformance.broker.admission import Admission
from assay_conformance.broker.liveness import Liveness
from assay_conformance.broker.producer import Producer
from assay_conformance.broker.topics import Topics
from assay_conformance.wire.pulsar_pb2 import ProducerAccessMode


class AssignsSameName(Topics):
    """Every producer without a name is assigned the same name."""

    breaks = "producer.assigned-names-unique"
    stands_for = "a generator of names that restarts with each connection"

    def new_producer_name(self, broker: int) -> str:
        return f"assay-{broker}-0"


class ExclusiveAdmitsSecondProducer(Admission):
    """An Exclusive producer is admitted although another producer is connected."""

    breaks = "producer.access-modes"
    stands_for = "the access mode not checked against the connected producers"

    def _is_occupied(self, producer: Producer) -> bool:
        return producer.access_mode != ProducerAccessMode.Exclusive and super()._is_occupied(producer)


class ForgetsWaitingProducer(Admission):
    """A WaitForExclusive producer is not admitted when the topic becomes free."""

    breaks = "producer.access-modes"
    stands_for = "the queue of waiting producers not checked when the topic becomes free"

    def _promote(self, producer: Producer) -> None:
        pass


class AdmitsDuplicateProducerName(Admission):
    """A second producer with a name in use is admitted."""

    breaks = "producer.name-unique-on-topic"
    stands_for = "the map of producers overwritten by the second producer"

    def _takes_over(self, producer: Producer, holder: Producer) -> bool:
        return True


class DeadProducerConnectionKept(Liveness):
    """A connection that does not answer the PING sent for a second producer of its name counts as alive."""

    breaks = "producer.name-unique-on-topic"
    stands_for = "a liveness check whose time-out is taken for an answer"

    def _unanswered(self) -> None:
        self._answer(alive=True)
