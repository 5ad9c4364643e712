"""ordering.key-delivered-in-order"""

from __future__ import annotations

from dataclasses import dataclass, field

from assay_conformance.checks.base import CAME, Check, ms, on
from assay_conformance.checks.dispatches import sticky_key
from assay_conformance.checks.occasions import Subscribed
from assay_conformance.checks.tracker import ConsumerSession
from assay_conformance.model.event import FORGED, Frame, Position, Received
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.ordering._handed_over import Progress, describe, is_again


@dataclass(slots=True)
class _OfKey(Progress):
    """What was received of one key. `furthest`: the last entry that came on a session; `spent`: how many of the
    consumer's restarts it has used to go back."""

    furthest: dict[int, Position] = field(default_factory=dict)
    spent: int = 0


@dataclass(slots=True)
class _Keyed:
    """One consumer and one topic or partition. `restarts`: how often everything may come again."""

    keys: dict[str | bytes, _OfKey] = field(default_factory=dict)
    of: dict[Position, str | bytes] = field(default_factory=dict)
    restarts: int = 0


class KeyDeliveredInOrder(Check):
    """Ids increase from message to message of a key. The key is that of the entry, by which the broker chose the
    consumer.

    They may go back once for each MESSAGE of the key that was sent again or after a later one, and each time that the
    consumer starts over: a new registration, a seek, a request for redelivery of everything. Which consumer gets a key,
    and in which order, is judged by `ordering.key-shared-keeps-order`. Non-persistent topics have no ids to compare.
    """

    requirement = RequirementId("ordering.key-delivered-in-order")
    needs = (Subscribed("Key_Shared"),)

    def start(self) -> None:
        self._keyed: dict[tuple[int, str], _Keyed] = {}
        self._persistent = {topic.name for topic in self.view.case.topology.topics if topic.persistent}

    @on(Frame, "SUBSCRIBE", "SEEK", "REDELIVER_UNACKNOWLEDGED_MESSAGES")
    def starts_over(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        keyed = self._of(session)
        if session is None or keyed is None or not event.from_sender:
            return
        if event.command == "SUBSCRIBE":
            keyed.restarts += is_again(session)
        elif event.command == "SEEK" or not event.ids:
            keyed.restarts += 1

    @on(Frame, "MESSAGE", seen=CAME)
    def message(self, event: Frame) -> None:
        session = self.tracker.consumer_of(event)
        keyed, key = self._of(session), None if event.meta is None else sticky_key(event.meta)
        if session is None or keyed is None or key is None or not event.ids:
            return
        position, progress = event.ids[0].position, keyed.keys.setdefault(key, _OfKey())
        keyed.of[position] = key
        furthest = progress.furthest.get(session.request.seq)
        if furthest is None or position > furthest:
            progress.furthest[session.request.seq] = position
            progress.returns += event.fate in FORGED
        else:
            progress.returns += 1

    @on(Received)
    def received(self, event: Received) -> None:
        entry, id = self.tracker.entries.get(event.seq), event.message_id
        keyed = None if entry is None else self._keyed.get((event.handle, entry.topic))
        key = None if keyed is None else keyed.of.get(id.position)
        if keyed is None or key is None:
            return
        progress = keyed.keys[key]
        before, progress.last = progress.last, event
        furthest, progress.place = progress.place, (id.ledger, id.entry, id.batch_index)
        if before is None:
            return
        if progress.place > furthest:
            self.exercise(event)
        elif progress.returns:
            progress.returns -= 1
        elif progress.spent < keyed.restarts:
            progress.spent += 1
        else:
            self.breach(
                "key-handed-over-out-of-order",
                f"consumer {event.handle} received {describe(id)} of key {key!r} at {ms(event.t_ns)}, after "
                f"{describe(before.message_id)} of that key at {ms(before.t_ns)}; expected increasing ids, since no "
                "entry of the key had been sent again",
                before,
                event,
            )

    def _of(self, session: ConsumerSession | None) -> _Keyed | None:
        if session is None or session.consumer is None or session.request.fields.get("subType") != "Key_Shared":
            return None
        if base_topic(session.topic) not in self._persistent:
            return None
        return self._keyed.setdefault((session.consumer.handle, session.topic), _Keyed())
