"""Clients that send acknowledgments late, not at all, or the wrong ones."""

from __future__ import annotations

from collections.abc import Sequence

from assay_conformance.client.acks import AckGroup, Ids
from assay_conformance.client.arrivals import Arrivals
from assay_conformance.client.consumer import Consumer
from assay_conformance.client.entries import Position
from assay_conformance.client.handed import Handed
from assay_conformance.client.subscription import Subscription
from assay_conformance.client.values import Done
from assay_conformance.pulsar.mutants._late import late_ns
from assay_conformance.wire import BaseCommand, MessageMetadata
from assay_conformance.wire import pulsar_pb2 as pb


class AckFlushLate(AckGroup):
    """Grouped acknowledgments are sent late."""

    breaks = "ack.flushed-in-time"
    stands_for = "a timer that ticks coarsely"
    lateness_ms = 200

    def _interval_ns(self) -> int:
        return super()._interval_ns() + late_ns(self._shared, AckFlushLate)


class AckTimerRearmed(AckGroup):
    """Each acknowledgment restarts the group interval."""

    breaks = "ack.flushed-in-time"
    stands_for = "C++ client (read in its source, for redelivery): a timer re-armed by every addition"

    def _gather(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        super()._gather()


class FullAckGroupWaits(AckGroup):
    """A full acknowledgment group waits for its interval."""

    breaks = "ack.full-group-flushed-at-once"
    stands_for = "a size limit read and never used"

    def _is_due_at_once(self) -> bool:
        return self._settings.ack_group_ms == 0 and super()._is_due_at_once()


class PartsFillGroupsOfTheirOwn(AckGroup):
    """A group is full with as many entries, or with as many parts of batches, and not with both together."""

    breaks = "ack.full-group-flushed-at-once"
    stands_for = "apache/pulsar#26594: acknowledgments of entries and of parts kept apart, and counted apart"

    def _is_due_at_once(self) -> bool:
        parts = sum(bits is not None for bits in self._individual.values())
        most = max(parts, len(self._individual) - parts)
        return self._settings.ack_group_ms == 0 or most >= self._settings.ack_group_max


class ZeroGroupTimeWaits(AckGroup):
    """A group interval of 0 is replaced by the default."""

    breaks = "ack.zero-group-time-is-immediate"
    stands_for = "0 taken for not set"

    def _is_due_at_once(self) -> bool:
        return self._settings.ack_group_ms != 0 and super()._is_due_at_once()


class AcksOneByOne(AckGroup):
    """A flush sends a command for each acknowledgment."""

    breaks = "ack.flush-sends-one-command"
    stands_for = "pulsar-rs and DotPulsar (read in their source): one command for each acknowledgment"

    def _most_ids(self) -> int:
        return 1


class CumulativeKeepsLast(AckGroup):
    """The last cumulative acknowledgment replaces a greater one."""

    breaks = "ack.cumulative-keeps-greatest"
    stands_for = "assignment in place of a maximum"

    def _is_reached(self, reach: tuple[Position, int]) -> bool:
        return False


class OtherTopicAckAccepted(Subscription):
    """A message of another topic is acknowledged on the consumer's first topic."""

    breaks = "ack.other-topic-rejected"
    stands_for = "ids compared without their topics"

    def _consumers_for(self, handed: Sequence[Handed]) -> dict[str, Consumer]:
        return dict.fromkeys((each.consumer.topic for each in handed), self.consumers[0])


class CumulativeIncludesIndividualAcks(AckGroup):
    """A cumulative ACK also names the individually acknowledged messages of its group."""

    breaks = "ack.cumulative-has-one-message-id"
    stands_for = "one command for everything that waits"

    def _cumulative_ack(self, cumulative: tuple[Position, int | None], individual: Ids) -> BaseCommand:
        return self._ack(pb.CommandAck.Cumulative, [cumulative, *individual])


class SendsSmallerCumulative(AckGroup):
    """A cumulative acknowledgment of an earlier message is sent after that of a later one."""

    breaks = "ack.cumulative-keeps-greatest"
    stands_for = "no comparison of ids at all"

    def _pass_over(self, position: Position, bits: int | None) -> None:
        self._outlet.post(self._ack(pb.CommandAck.Cumulative, [(position, bits)]))
        super()._pass_over(position, bits)


class CloseDropsAcks(Consumer):
    """Close does not send grouped acknowledgments."""

    breaks = "ack.flushed-on-close"
    stands_for = "C++ client (read in its source): a flush without connection clears the set"

    def _flush_before_close(self) -> None:
        pass


class DropsAcksWhileDisconnected(AckGroup):
    """A flush of acknowledgments without a connection drops them."""

    breaks = "ack.kept-while-disconnected"
    stands_for = "C++ client (read in its source): the set is cleared whether it was sent or not"

    def flush(self) -> None:
        if not self._outlet.ready:
            self._individual.clear()
            self._cumulative = None
        super().flush()


class DeliversMessageWithPendingAck(AckGroup):
    """A redelivered message whose acknowledgment is still grouped is delivered."""

    breaks = "ack.grouped-ack-filters-redelivery"
    stands_for = "pulsar-rs and DotPulsar: no filter for it"

    def covers(self, position: Position) -> bool:
        return False

    def open_of(self, position: Position) -> int:
        return -1


class FilteredRedeliveryKeepsPermit(Arrivals):
    """A redelivered message that is dropped because its acknowledgment is pending does not return its permit."""

    breaks = "ack.grouped-ack-filters-redelivery"
    stands_for = "an early return that skips the permit accounting"

    def _drop_acked(self, metadata: MessageMetadata, body: pb.CommandMessage) -> None:
        pass


class SendsCumulativeOnShared(Subscription):
    """A cumulative acknowledgment on a shared subscription is sent."""

    breaks = "ack.no-cumulative-on-shared"
    stands_for = "pulsar-rs: no check of the type"

    @property
    def _takes_cumulative(self) -> bool:
        return True


class AckListLost(Subscription):
    """With a group interval of 0, an acknowledgment of several messages sends nothing."""

    breaks = "ack.zero-group-time-is-immediate"
    stands_for = "pulsar-client-cpp#128: a list of ids is given to a tracker that has no group for it"

    def _ack_on(self, consumers: Sequence[Consumer], op: int, handed: Sequence[Handed], *, cumulative: bool) -> None:
        if len(handed) > 1 and not cumulative and not self._settings.ack_group_ms:
            self._shared.sink.completed(op, Done())
        else:
            super()._ack_on(consumers, op, handed, cumulative=cumulative)
