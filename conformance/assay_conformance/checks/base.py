"""How a check is written: one class a requirement, fed the events of one attempt in one pass.

    class KeepsOrder(Check):
        requirement = RequirementId("resend.keeps-order")

        @on(Frame, "SEND", seen=LEFT)
        def send(self, event: Frame) -> None: ...

        def finish(self) -> None: ...

Handlers are routed by event type, and frames by command and by the sides that carried them (`routes`), so a check costs
nothing on events it does not name. A check says three things: `breach` (two or three events that contradict each
other), `exercise` (the precondition of the clause occurred; without one there is no pass), and `undecided` (the
evidence allows no verdict). It is pure: same events, same answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, TypeVar

from assay_conformance.checks.routes import CAME as CAME
from assay_conformance.checks.routes import LEFT as LEFT
from assay_conformance.checks.routes import on as on
from assay_conformance.checks.tracker import Tracker
from assay_conformance.judging.tolerance import ms as ms
from assay_conformance.model.case import Case, ConfigValue
from assay_conformance.model.event import WITNESS_OF, Event, Invoke, Witness
from assay_conformance.model.facts import ClientFacts
from assay_conformance.model.fault import Direction, Inject, LinkAction
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.model.requirement import RequirementId
from assay_conformance.model.topic_names import base_topic
from assay_conformance.model.verdict import Finding, Grade

MAX_FINDINGS = 20
"""Findings kept per check and attempt; one cause repeats itself, and a person reads the first."""

MAX_EXAMPLES = 5


_NONE: Final[Counter[str]] = Counter()

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class View:
    """What a check may know besides the events: the Case, the client's declared facts, the shared tracker."""

    case: Case
    facts: ClientFacts
    tracker: Tracker
    _producers: dict[tuple[int, str], tuple[Invoke | None, ConfigValue | None]] = field(default_factory=dict)
    """(handle, key) -> the value in force, and the opening that set it."""
    _kept: dict[Callable[[View], Any], Any] = field(default_factory=dict)

    def once(self, asks: Callable[[View], T]) -> T:
        """Return what a question about Case and client comes to; it is answered once."""
        if asks not in self._kept:
            self._kept[asks] = asks(self)
        return self._kept[asks]  # type: ignore[no-any-return]

    def setting(self, part: str, key: str, own: Mapping[str, ConfigValue] | None = None) -> ConfigValue | None:
        """Return a configuration value as it was in force in this Case. A value that the client has no option for was
        not set, whatever a Case says."""
        return self.facts.in_force(self.case.config, part, key, own)

    def producer_setting(self, handle: int, key: str) -> ConfigValue | None:
        """Return the value in force for one producer, whose open_producer step may override the Case's."""
        if key in self.facts.same_as:
            return self.client_setting(handle, self.facts.same_as[key])
        opening = self.tracker.lines.openings.get(handle)
        known = self._producers.get((handle, key))
        if known is None or known[0] is not opening:
            own = opening.args.get("config") if opening else None
            known = self._producers[handle, key] = (opening, self.setting("producer", key, own))
        return known[1]

    def client_of(self, handle: int | None) -> Invoke | None:
        """Return the open_client of one producer or consumer."""
        opening = None if handle is None else self.tracker.lines.openings.get(handle)
        if opening is None and (consumer := self.tracker.opened_consumers.get(-1 if handle is None else handle)):
            opening = consumer.invoke
        return None if opening is None else self.tracker.foresight.clients.get(int(opening.args.get("client", -1)))

    def client_setting(self, handle: int | None, key: str) -> ConfigValue | None:
        """Return the value in force for the client of a handle, whose open_client step may override the Case's."""
        client = self.client_of(handle)
        return self.setting("client", key, None if client is None else client.args.get("config"))

    @property
    def spares_brokers(self) -> bool:
        """Whether whatever goes wrong goes wrong on the way, frame by frame: what a broker receives of it, and does
        then, the wire shows on its side."""
        return all(
            isinstance(one, LinkAction)
            and not (isinstance(one, Inject) and one.raw and one.direction is Direction.TO_BROKER)
            for one in (fault.action for fault in self.case.faults)
        )

    def is_read_at_once(self) -> bool:
        """Return whether brokers read what is written to them as it comes.

        A publish rate of any topic, or a small number of sends that may wait to be stored, stops them now and then, and
        later frames on the same connection, of whatever topic, may only be seen late.
        """
        topology = self.case.topology
        settings = topology.settings
        few = settings.max_pending_sends < BrokerSettings().max_pending_sends or settings.max_pending_mb
        if few or settings.publish_rate.is_set:
            return False
        rates = [topology.policies_of(topic).publish_rate for topic in (*topology.topics, None)]
        changes = any(step.verb == "set_policy" and "publish_rate" in step.args for step in self.case.steps)
        return not changes and not any(rate is not None and rate.is_set for rate in rates)

    def shares_slow_connection(self) -> bool:
        """Return whether brokers may read late what a producer writes.

        With it they read late what others write that have its client, and so its connection.
        """
        opened = [step for step in self.case.steps if "client" in step.args and step.verb.startswith("open_")]
        having = Counter(step.args["client"] for step in opened)
        producing = {step.args["client"] for step in opened if step.verb == "open_producer"}
        return not self.is_read_at_once() and any(having[client] > 1 for client in producing)

    def is_dispatched_at_once(self, topic: str) -> bool:
        """Return whether no rate of dispatch, of any level, keeps back what this topic has for its consumers."""
        topology = self.case.topology
        held = topology.policies_of(topology.named(base_topic(topic)))
        rates = (held.dispatch_rate, held.subscription_rate, topology.settings.dispatch_rate)
        return not any(rate is not None and rate.is_set for rate in rates)


class Said:
    """What checks of one requirement said, each of a part of the attempt."""

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.examples: list[int] = []
        self.exercised = 0
        self.undecided_because = ""
        self.not_judged: Counter[str] = _NONE
        """Why so many subjects could not be judged: what was not known of them."""
        self.crashed: Exception | None = None

    @property
    def says_something(self) -> bool:
        """Whether it was exercised, broken or in doubt at all: most checks have nothing to say of most histories."""
        certain = self.exercised or self.findings or self.examples
        return bool(certain or self.not_judged or self.undecided_because or self.crashed)

    def leave_unjudged(self, reason: str) -> None:
        """Count a subject that could not be judged."""
        self.not_judged = self.not_judged or Counter()
        self.not_judged[reason] += 1

    def add(self, other: Said) -> None:
        """Add another part's result. What concerns all is found in every part, and reported once."""
        if other.not_judged:
            self.not_judged = self.not_judged + other.not_judged
        room = MAX_FINDINGS - len(self.findings)
        self.findings += [finding for finding in other.findings if finding not in self.findings][:room]
        self.examples = [*self.examples, *other.examples][:MAX_EXAMPLES]
        self.exercised += other.exercised
        self.undecided_because = self.undecided_because or other.undecided_because
        self.crashed = self.crashed or other.crashed


class Check(Said):
    """Base of all checks. Subclasses set `requirement`; a fresh instance judges one attempt."""

    requirement: ClassVar[RequirementId]

    def __init__(self, view: View) -> None:
        super().__init__()
        self.view = view
        self.tracker = view.tracker
        self.start()

    def start(self) -> None:
        """Set up state."""

    def concerned(self) -> bool:
        """Return whether Case and client leave something to judge; if not, the check gets no events."""
        return True

    def finish(self) -> None:
        """Report what only the whole history shows: all events have been seen."""

    def exercise(self, event: Event) -> None:
        self.exercised += 1
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(event.seq)

    def breach(self, code: str, sentence: str, *events: Event) -> None:
        """Add a finding.

        `sentence` is read by a person: who did what, what was expected, what came, with times in ms.
        """
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(
                Finding(
                    requirement=self.requirement,
                    code=code,
                    case=self.view.case.id,
                    sentence=sentence,
                    events=tuple(sorted({event.seq for event in events})),
                    grade=grade(events),
                )
            )

    def undecided(self, reason: str) -> None:
        self.undecided_because = self.undecided_because or reason


def grade(events: tuple[Event, ...]) -> Grade:
    """Return the evidence grade of these events together."""
    return grade_of({WITNESS_OF[type(event)] for event in events})


def grade_of(witnesses: Set[Witness]) -> Grade:
    """Return the evidence grade of these witnesses.

    It is A when the client's word and the wire or broker both speak, B when wire, broker or bench alone, C for the
    client's word alone.
    """
    if witnesses == {Witness.BENCH}:
        return Grade.B
    if not witnesses & {Witness.WIRE, Witness.BROKER}:
        return Grade.C
    return Grade.A if Witness.AGENT in witnesses else Grade.B


def blame(method: Callable[..., None], error: Exception) -> None:
    """Note that a check raised, which is our bug or a pack's.

    Its requirement gets harness-error, every other is judged.
    """
    check: Check = method.__self__  # type: ignore[attr-defined]
    check.crashed = check.crashed or error
