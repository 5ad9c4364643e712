"""A Case: everything one execution needs, as plain data that survives JSON and outlives the code that wrote it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from assay_conformance.model.errors import UsageError
from assay_conformance.model.fault import Fault
from assay_conformance.model.policy import BrokerSettings, Policies, nearest
from assay_conformance.model.policy import Rate as Rate
from assay_conformance.model.requirement import RequirementId

ConfigValue = int | float | str | bool
Config = dict[str, ConfigValue]

SUITE_DEFAULTS: Mapping[str, Config] = {
    "client": {},
    "producer": {"batching": False, "block_if_queue_full": False, "compression_min_bytes": 0},
    "consumer": {"initial_position": "earliest"},
}
"""Set for every client that has the option, unless a Case says otherwise, since clients differ in their defaults."""


class Who(StrEnum):
    AGENT = "agent"
    BROKER = "broker"
    BENCH = "bench"
    WAIT = "wait"


class Isolation(StrEnum):
    SHARED_PROCESS = "shared-process"
    OWN_PROCESS = "own-process"
    EXCLUSIVE = "exclusive"


class Destructive(StrEnum):
    """What a Case may break beyond its own world; an external cluster refuses all but NONE and CLIENT."""

    NONE = "none"
    CLIENT = "client"
    BROKER = "broker"
    DATA = "data"


class Tier(StrEnum):
    FAST = "fast"
    FULL = "full"


class Topic(Policies, frozen=True, omit_defaults=True, kw_only=True):
    """A topic of the Case's world, with its own policies; `name` is local, the bench makes it unique per Case."""

    name: str
    partitions: int = 0
    persistent: bool = True
    deduplication: bool = False
    publish_rate: Rate = Rate()
    dispatch_rate: Rate = Rate()
    subscription_rate: Rate = Rate()

    @property
    def own_policies(self) -> Policies:
        """What it sets itself. Deduplication that is off is what it says when it says nothing."""
        given = {name: getattr(self, name) for name in Policies.__struct_fields__}
        return Policies(**given | {"deduplication": self.deduplication or None})


class Topology(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """Brokers and topics. A broker's constants are Pulsar's own; a Case lowers them where it must wait. `namespace` are
    the policies of the namespace all topics are in."""

    topics: tuple[Topic, ...] = (Topic(name="t"),)
    brokers: int = 1
    max_message_bytes: int = 5 * 1024 * 1024
    keep_alive_ms: int = 30_000
    protocol_version: int = 21
    settings: BrokerSettings = BrokerSettings()
    namespace: Policies = Policies()

    def named(self, name: str) -> Topic | None:
        """Return the topic of this local name."""
        return next((topic for topic in self.topics if topic.name == name), None)

    def policies_of(self, topic: Topic | None) -> Policies:
        """Return the policies of a topic as the Case begins; None: for a topic that is not in the topology."""
        own = Policies() if topic is None else topic.own_policies
        return nearest(own, self.namespace, self.settings.policies)


class ClientConfig(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """Defaults for the open_client / open_producer / open_consumer steps, in the suite's configuration keys."""

    client: Config = {}
    producer: Config = {}
    consumer: Config = {}


class Step(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One action. Agent steps are issued and not awaited: `wait` steps await.

    `saves` numbers the result (a handle, or an operation); later steps refer to that number in their arguments
    (`client`, `producer`, `consumer`, `ops`). A dangling reference makes a step a recorded no-op.
    `at_ms`: not before that many milliseconds after the Case began.
    """

    who: Who
    verb: str
    args: dict[str, Any] = {}
    saves: int | None = None
    at_ms: int | None = None


class Limits(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """Deadlines. `least_wall_ms`: a Case that cannot end sooner says so, and the pool starts it early."""

    operation_ms: int = 10_000
    case_ms: int = 30_000
    quiet_ms: int = 60
    least_wall_ms: int = 0


class Case(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """One schedule and what it is meant to exercise. `id` is `<chapter>/<words>`, and `<chapter>/<words>@<words>+…` for
    a permutation: the same under other circumstances. A client that lacks any of what it `assumes` (`Lack`) is not
    asked."""

    id: str
    title: str
    requirements: tuple[RequirementId, ...]
    steps: tuple[Step, ...]
    faults: tuple[Fault, ...] = ()
    topology: Topology = Topology()
    config: ClientConfig = ClientConfig()
    capabilities: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    limits: Limits = Limits()
    isolation: Isolation = Isolation.SHARED_PROCESS
    destructive: Destructive = Destructive.CLIENT
    tier: Tier = Tier.FAST
    generated: bool = False

    def step(self, number: int) -> Step | None:
        """Return the step of this number; None where the Case has none: a history may be of an older Case."""
        return self.steps[number] if number < len(self.steps) else None


PERMUTED = "@"
"""Between the id of a Case and the words for the circumstances of a permutation of it."""

LONGEST_ID = 200
"""Letters, `/` twice: with what follows, it has to be a file's name."""

_ID = re.compile(rf"[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*({PERMUTED}[a-z0-9-]+(\+[a-z0-9-]+)*)?")


def base_of(case_id: str) -> str:
    """Return the Case that a permutation is one of; any other id unchanged."""
    return case_id.partition(PERMUTED)[0]


def words_of(case_id: str) -> frozenset[str]:
    """Return the words of a permutation's circumstances; none for a Case as it stands."""
    return frozenset(filter(None, case_id.partition(PERMUTED)[2].split("+")))


def check_case_id(case_id: str, where: str) -> None:
    """Raise UsageError, which names `where`, for an id that is no relative path of plain words.

    A Case's id names its history and replay file: one that comes from a file must not lead out of the run folder.
    """
    if (length := len(case_id) + case_id.count("/")) > LONGEST_ID:
        raise UsageError(f"{where}: Case id {case_id[:40]!r}…: expected at most {LONGEST_ID} letters, came {length}")
    if not _ID.fullmatch(case_id):
        raise UsageError(f"{where}: Case id {case_id!r}, expected words such as resend/queue-order")
