"""Who has a producer name on a topic."""

from __future__ import annotations

from dataclasses import dataclass

from assay_conformance.checks.base import Check, ms, on
from assay_conformance.checks.tolerance import MS
from assay_conformance.model.direction import Direction
from assay_conformance.model.event import FORGED_OR_DOUBLED, Closed, Fired, Frame
from assay_conformance.model.fault import Cut, CutHow, Fault
from assay_conformance.model.requirement import RequirementId

_BUSY = "ProducerBusy"
Place = tuple[int, int]
"""Connection and producer id."""
Name = tuple[str, str]
"""Topic and producer name."""


@dataclass(slots=True)
class _Holder:
    """A producer that was let in. `closed`: the answer to its CLOSE_PRODUCER. `silent`: what lets nothing of it through
    any more, though its connection is there; `doubted_ns`: when somebody else wanted the name since."""

    place: Place
    admitted: Frame
    gone: bool = False
    closed: Frame | None = None
    silent: Fired | None = None
    doubted_ns: int | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A PRODUCER without an answer. `closed`: the answer to the CLOSE_PRODUCER of who had the name, where that came
    first: one that crossed the PRODUCER says nothing of what the broker knew when it decided."""

    place: Place
    topic: str
    name: str
    closed: Frame | None


class NameUniqueOnTopic(Check):
    """Gone is a producer that either side closed, or whose connection ended or was cut by a fault, half-open or not.

    A name is certainly free when the broker had answered its holder's CLOSE_PRODUCER before it was asked for, and when
    a connection of which nothing comes any more had its time to answer since somebody else wanted the name. Topics that
    somebody wants for himself have rules of their own, and are not judged.
    """

    requirement = RequirementId("producer.name-unique-on-topic")
    skips_plain = True

    def start(self) -> None:
        self._holders: dict[Name, _Holder] = {}
        self._held: dict[Place, Name] = {}
        self._asked: dict[tuple[int, int], _Asked] = {}
        self._closing: dict[tuple[int, int], _Holder] = {}
        self._withdrawn: dict[Place, Frame] = {}
        """CLOSE_PRODUCERs that came before the PRODUCER they are about had its answer."""
        self._on: dict[int, set[Place]] = {}
        self._exclusive: set[str] = set()
        faults = enumerate(self.view.case.faults)
        self._silencing = {number for number, fault in faults if _silences(fault)}
        self._answers_ns = self.view.case.topology.settings.liveness_check_ms * MS

    @on(Frame, "PRODUCER")
    def asked(self, event: Frame) -> None:
        if not event.to_receiver or event.fate in FORGED_OR_DOUBLED:
            return
        topic = self.tracker.local_topic(str(event.fields.get("topic", "")))
        if event.fields.get("producer_access_mode", "Shared") != "Shared":
            self._exclusive.add(topic)
        place = (event.conn, event.producer_id or 0)
        name = str(event.fields.get("producer_name", ""))
        holder = self._holders.get((topic, name))
        closed = None if holder is None else holder.closed
        self._asked[event.conn, event.request_id or 0] = _Asked(place, topic, name, closed)
        self._withdrawn.pop(place, None)
        if holder is not None and holder.silent is not None and holder.doubted_ns is None:
            holder.doubted_ns = event.t_ns

    @on(Frame, "PRODUCER_SUCCESS")
    def admitted(self, event: Frame) -> None:
        asked = self._asked.pop((event.conn, event.request_id or 0), None)
        if asked is None or not event.from_sender or event.fate in FORGED_OR_DOUBLED:
            return
        place, topic = asked.place, asked.topic
        name = (topic, str(event.fields.get("producer_name")))
        holder = self._holders.get(name)
        if holder is not None and not holder.gone and holder.place != place and topic not in self._exclusive:
            self.breach(
                "two-of-a-name",
                f"producer {place[1]} of connection {place[0]} was let in as {name[1]} on topic {topic} at "
                f"{ms(event.t_ns)} while producer {holder.place[1]} of connection {holder.place[0]} had that name, "
                f"since {ms(holder.admitted.t_ns)}; expected ProducerBusy",
                holder.admitted,
                event,
            )
        if holder is not None and holder.doubted_ns is not None:
            self.exercise(event)
        self._holders[name] = _Holder(place, event)
        self._held[place] = name
        self._on.setdefault(event.conn, set()).add(place)
        if (close := self._withdrawn.pop(place, None)) is not None:
            self._ends(place, close)

    @on(Frame, "ERROR")
    def refused(self, event: Frame) -> None:
        asked = self._asked.pop((event.conn, event.request_id or 0), None)
        if asked is None or not event.from_sender or event.fields.get("error") != _BUSY:
            return
        holder = self._holders.get((asked.topic, asked.name))
        if holder is None or asked.topic in self._exclusive:
            return
        if not holder.gone and holder.place != asked.place:
            self.exercise(event)
        elif asked.closed is not None:
            self.breach(
                "busy-though-free",
                f"producer {asked.place[1]} of connection {asked.place[0]} was refused the name {asked.name} on topic "
                f"{asked.topic} at {ms(event.t_ns)}; who had it was closed, as the broker said at "
                f"{ms(asked.closed.t_ns)}, before it was asked for",
                asked.closed,
                event,
            )
        elif holder.silent is not None and holder.doubted_ns is not None:
            self._busy_in_doubt(holder.silent, holder.doubted_ns, event)

    def _busy_in_doubt(self, silent: Fired, doubted_ns: int, refusal: Frame) -> None:
        if refusal.t_ns - doubted_ns < self._answers_ns:
            self.exercise(refusal)
            return
        self.breach(
            "busy-though-dead",
            f"ProducerBusy at {ms(refusal.t_ns)}, though nothing came of the connection that has the name since "
            f"{ms(silent.t_ns)}, and it had {ms(self._answers_ns)} to answer since somebody else wanted the name at "
            f"{ms(doubted_ns)}",
            silent,
            refusal,
        )

    @on(Frame, "CLOSE_PRODUCER")
    def closed(self, event: Frame) -> None:
        if not event.at_broker:
            return
        place = (event.conn, event.producer_id or 0)
        asking = any(place == asked.place for asked in self._asked.values())
        if asking and event.dir is Direction.TO_BROKER:
            self._withdrawn[place] = event
        self._ends(place, event)

    @on(Frame, "SUCCESS")
    def close_answered(self, event: Frame) -> None:
        holder = self._closing.pop((event.conn, event.request_id or 0), None)
        if holder is not None and event.from_sender and event.fate not in FORGED_OR_DOUBLED:
            holder.closed = event

    @on(Closed)
    @on(Fired)
    def connection_lost(self, event: Closed | Fired) -> None:
        if event.conn is None or not (isinstance(event, Closed) or event.action == "cut"):
            return
        for place in self._on.pop(event.conn, set()):
            holder = self._leaves(place)
            if holder is not None and isinstance(event, Fired) and event.fault in self._silencing:
                holder.silent = event

    def _ends(self, place: Place, close: Frame) -> None:
        holder = self._leaves(place)
        if holder is not None and close.to_receiver and close.request_id is not None:
            self._closing[close.conn, close.request_id] = holder

    def _leaves(self, place: Place) -> _Holder | None:
        holder = self._holders.get(self._held.pop(place, ("", "")))
        if holder is None or holder.place != place:
            return None
        holder.gone = True
        return holder


def _silences(fault: Fault) -> bool:
    """Whether nothing comes to the broker any more, and no end of the connection either."""
    cut = fault.action
    return isinstance(cut, Cut) and cut.how is CutHow.BLACKHOLE and cut.direction is not Direction.TO_CLIENT
