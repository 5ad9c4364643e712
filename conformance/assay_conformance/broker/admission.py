"""The producers of one topic: which are admitted, which wait, and how they are closed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay_conformance.broker.access import Access, Entrance
from assay_conformance.broker.publishing import TERMINATED
from assay_conformance.broker.rules import RefusalError
from assay_conformance.wire.pulsar_pb2 import ServerError

if TYPE_CHECKING:
    from assay_conformance.broker.producer import Producer
    from assay_conformance.broker.topic import Topic

GONE = RefusalError(ServerError.TopicNotFound, "The topic was deleted")
UNLOADED = RefusalError(ServerError.ServiceNotReady, "The topic was unloaded: redo the lookup")
ENDED = RefusalError(ServerError.TopicTerminatedError, TERMINATED)
_FENCED = RefusalError(ServerError.ProducerFenced, "Fenced out")


class Admission:
    """`producers` are those that were admitted, by name."""

    def __init__(self, topic: Topic) -> None:
        self.producers: dict[str, Producer] = {}
        self.access = Access()
        self._topic = topic

    def admit(self, producer: Producer) -> None:
        """Take a producer in, refuse it, or let it wait until the topic is its own."""
        try:
            self._check_usable()
            entrance = self.access.ask(producer, occupied=self._is_occupied(producer))
            if entrance is Entrance.QUEUED:
                producer.queued()
                return
            if entrance is Entrance.FENCES:
                self._throw_out()
                self.access.hold(producer)
            self._register(producer)
        except RefusalError as refusal:
            self._refuse(producer, refusal)

    def forget(self, producer: Producer) -> None:
        """Remove a producer that was closed, or no longer waits; the next one may be admitted."""
        if self.producers.get(producer.name) is producer:
            del self.producers[producer.name]
            if self._topic.publishing.dedup is not None:
                self._topic.publishing.dedup.left(producer.name)
        following = self.access.left(producer, occupied=bool(self.producers))
        if following is not None:
            self._promote(following)

    def evict(self, url: str | None, refusal: RefusalError) -> None:
        """Close all producers, which go to the broker at `url` where that is known; those that wait are refused."""
        self._refuse_waiting(refusal)
        # Closing one may end its connection, and take others with it.
        while self.producers:
            next(iter(self.producers.values())).evict(url)

    def evict_unencrypted(self) -> None:
        """Send away those that do not encrypt."""
        # Closing one may end its connection, and take others with it.
        while plain := next((producer for producer in self.producers.values() if not producer.encrypted), None):
            plain.evict(None)

    def _is_occupied(self, producer: Producer) -> bool:
        """Return whether the topic has producers beside which this one may not be."""
        del producer
        return bool(self.producers)

    def _takes_over(self, producer: Producer, holder: Producer) -> bool:
        """Return whether the producer takes over the name of another at once."""
        return producer.succeeds(holder)

    def _promote(self, producer: Producer) -> None:
        try:
            self._check_usable()
            self._register(producer)
        except RefusalError as refusal:
            self._refuse(producer, refusal)

    def _refuse(self, producer: Producer, refusal: RefusalError) -> None:
        producer.refused(refusal)
        self.forget(producer)

    def _check_usable(self) -> None:
        if self._topic.gone:
            raise GONE
        if self._topic.publishing.terminated:
            raise ENDED
        refusal = self._topic.housekeeping.refusal()
        if refusal is not None:
            raise refusal

    def _throw_out(self) -> None:
        """Make room for one that fences."""
        self._refuse_waiting(_FENCED)
        while self.producers:
            next(iter(self.producers.values())).fence()

    def _refuse_waiting(self, refusal: RefusalError) -> None:
        """Refuse the waiting producers before those go for which they wait, so that none of them gets its turn."""
        while self.access.waiting:
            self.access.waiting.popleft().refused(refusal)

    def _register(self, producer: Producer) -> None:
        """Give a producer its name. One that is taken on another connection is asked for there first."""
        holder = self.producers.get(producer.name)
        if holder is None and 0 < (self._topic.policies.max_producers or 0) <= len(self.producers):
            text = f"Topic '{self._topic.name.full}' reached max producers limit"
            raise RefusalError(ServerError.ProducerBusy, text)
        if holder is None or self._takes_over(producer, holder):
            self.producers[producer.name] = producer
            if self._topic.publishing.dedup is not None:
                self._topic.publishing.dedup.joined(producer.name)
            producer.admitted()
        elif holder.session is producer.session:
            raise self._busy(producer)
        else:
            holder.session.liveness.ask(lambda alive: self._holder_answered(producer, alive))

    def _holder_answered(self, producer: Producer, alive: bool) -> None:
        if producer.gone:
            return
        if alive:
            self._refuse(producer, self._busy(producer))
        else:
            self.admit(producer)

    def _busy(self, producer: Producer) -> RefusalError:
        text = f"Producer with name '{producer.name}' is already connected to topic '{self._topic.name.full}'"
        return RefusalError(ServerError.ProducerBusy, text)
