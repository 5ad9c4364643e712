"""What is known of the client under test before the first Case: declared, not observed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from enum import StrEnum
from typing import Final

import msgspec

from assay_conformance.model.case import SUITE_DEFAULTS, Case, ClientConfig, Config, ConfigValue, Step, Who
from assay_conformance.model.requirement import Requirement


class Lack(StrEnum):
    """What nearly every client has, so that nothing is said of it, and this one has not."""

    FLUSH = "flush"
    """A call that waits for the producer's sends, and closes an open batch."""
    FLUSH_WITHOUT_BATCHING = "flush_without_batching"
    """The same call of a producer that does not batch."""
    SEVERAL_IDS_ACK = "several_ids_ack"
    """ACKs that name more than one message."""
    OVERLAPPING_SEEKS = "overlapping_seeks"
    """Calls of seek while another one of the same consumer goes on: the application cannot make them."""
    OVERLAPPING_SENDS = "overlapping_sends"
    """Calls of send while another one of the same producer goes on: each blocks until its message has a receipt."""
    SEND_CALLBACKS = "send_callbacks"
    """Sends whose ends the client reports, in an order of its own; others resolve futures of the application."""
    TOPIC_MIGRATION = "topic_migration"
    """Protocol version 20, from which on brokers report that a topic goes to another cluster."""
    ASSIGNED_BROKER = "assigned_broker"
    """The fields of CLOSE_PRODUCER and CLOSE_CONSUMER that name the new owner of a topic."""
    BATCH_INDEX = "batch_index"
    """The place in its batch in the id of a message."""
    REDELIVERY_COUNT = "redelivery_count"
    """How often a message was redelivered, shown to the application."""
    KEY = "key"
    """The key of a message that is received."""
    PROPERTIES = "properties"
    """The properties of a message that is received."""
    EVENT_TIME = "event_time_ms"
    """The event time of a message that is received."""
    SENT_KEY = "sent_key"
    """A key for a message that is sent: the application cannot give one."""
    SENT_ORDERING_KEY = "sent_ordering_key"
    """An ordering key for a message that is sent."""
    SENT_PROPERTIES = "sent_properties"
    """Properties for a message that is sent."""
    SENT_EVENT_TIME = "sent_event_time_ms"
    """An event time for a message that is sent."""


OVERLAPPING: Final[Mapping[str, Lack]] = {"seek": Lack.OVERLAPPING_SEEKS, "send": Lack.OVERLAPPING_SENDS}
"""The verbs of which most clients let several calls of one handle go on together."""

SENT: Final[Mapping[str, Lack]] = {
    "key": Lack.SENT_KEY,
    "ordering_key": Lack.SENT_ORDERING_KEY,
    "properties": Lack.SENT_PROPERTIES,
    "event_time_ms": Lack.SENT_EVENT_TIME,
}
"""The fields of a message that nearly every application can send."""

NEEDED: Final = frozenset(
    {"batch_receive_max_messages", "credentials", "durable", "retry_letters", "tls_trust_certs", "tokens"}
)
"""Keys without which nothing is left of a Case that sets them: brokers that demand credentials, letters to retry,
readers, batches of a number of messages."""


class ClientFacts(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """From agent.toml. `fixed` are the constants the client's interface does not let us set: checks use them as bounds.

    `settable` are the suite's configuration keys the agent passes on; `defaults` the client's values where neither a
    Case nor the agent sets one. `words` are those that the client has of a key that takes one, where it has not all.
    `required`: by part and key, the keys beside which the client must be given this one too; none: always.
    `lacks` is what is taken for granted of others. `not_of_readers` are keys of consumers that readers do not have.
    `same_as`: keys of producers and consumers behind which no option of their own stands, but that of this client key.
    """

    agent: str
    client: str
    client_version: str
    capabilities: frozenset[str]
    fixed: dict[str, ConfigValue] = {}
    settable: frozenset[str] = frozenset()
    defaults: dict[str, ConfigValue] = {}
    words: dict[str, tuple[str, ...]] = {}
    required: dict[str, dict[str, tuple[str, ...]]] = {}
    lacks: frozenset[Lack] = frozenset()
    not_of_readers: frozenset[str] = frozenset()
    same_as: dict[str, str] = {}

    def with_required(self, part: str, config: Mapping[str, ConfigValue], known: Mapping[str, ConfigValue]) -> Config:
        """Return the keys that a client requires beside this configuration, as `known` has them or by its defaults."""
        values = {**self.defaults, **known}
        wanted = self.required.get(part, {}).items()
        asked = [key for key, beside in wanted if not beside or any(config.get(other) for other in beside)]
        return {key: values[key] for key in asked if key not in config and key in values}

    def missing_for(self, requirement: Requirement) -> frozenset[str]:
        """Return what the requirement needs and the client lacks, in the words of agent.toml."""
        lacking = set(requirement.capabilities) - self.capabilities
        if requirement.assumes and self.lacks.issuperset(requirement.assumes):
            lacking.update(requirement.assumes)
        return frozenset(lacking)

    def missing_assumed(self, case: Case) -> frozenset[str]:
        """Return what the Case, or one of its steps, assumes and the client lacks."""
        if not self.lacks:
            return frozenset()
        return self.lacks & {*case.assumes, *_asked_by_flushes(case), *_asked_by_sends(case)}

    def can_send(self, fields: Iterable[str]) -> bool:
        """Return whether the application can give a message that it sends each of these fields."""
        return self.lacks.isdisjoint(SENT[field] for field in fields if field in SENT)

    def kept_apart(self, case: Case) -> tuple[str, ...]:
        """Return which calls this client makes one after the other that the Case makes while another is under way."""
        asked = {OVERLAPPING[verb] for verb in _overlapping(case)} if self.lacks else set[Lack]()
        return tuple(sorted(self.lacks & asked))

    def missing_of_readers(self, case: Case) -> frozenset[str]:
        """Return the keys that the Case sets for a reader and that readers of this client do not have."""
        opened = (step.args.get("config", {}) for step in case.steps if step.verb == "open_consumer")
        configs = [{**case.config.consumer, **own} for own in opened if isinstance(own, dict)]
        return self.not_of_readers & frozenset().union(*filter(_is_reader, configs))

    def settable_by(self, part: str, config: Mapping[str, ConfigValue]) -> frozenset[str]:
        """Return the keys that the agent passes on to what is opened with this configuration."""
        return self.settable - self.not_of_readers if part == "consumer" and _is_reader(config) else self.settable

    def unsettable(self, case: Case) -> tuple[str, ...]:
        """Return the keys that the Case sets and the client does not let be set, its own value being another."""
        own = {**self.defaults, **self.fixed}
        config = (pair for config in _configs(case) for pair in config.items())
        return tuple(sorted({key for key, value in config if key not in self.settable and own.get(key) != value}))

    def missing_keys(self, case: Case) -> tuple[str, ...]:
        """Return those unsettable keys without which nothing is left of the Case."""
        return tuple(key for key in self.unsettable(case) if key in NEEDED)

    def has_words(self, config: Config) -> bool:
        """Return whether the client has every word that this configuration sets."""
        return not any(True for _ in self._unknown(config))

    def unknown_words(self, case: Case) -> tuple[str, ...]:
        """Return the settings of the Case or its steps to a word that the client does not have, as "key word"."""
        return tuple(sorted({f"{key} {value}" for config in _configs(case) for key, value in self._unknown(config)}))

    def with_known_words(self, case: Case) -> Case:
        """Return the Case without the settings to words that the client does not have: their keys are left out."""
        if not self.unknown_words(case):
            return case
        steps = tuple(
            msgspec.structs.replace(step, args={**step.args, "config": self._known(step.args["config"])})
            if isinstance(step.args.get("config"), dict)
            else step
            for step in case.steps
        )
        parts = {part: self._known(getattr(case.config, part)) for part in case.config.__struct_fields__}
        return msgspec.structs.replace(case, steps=steps, config=ClientConfig(**parts))

    def with_sendable_fields(self, case: Case) -> Case:
        """Return the Case without those fields of the messages it sends that the application cannot give them."""
        lacking = {field for field, lack in SENT.items() if lack in self.lacks}
        if not lacking:
            return case
        return msgspec.structs.replace(case, steps=tuple(_without_sent(step, lacking) for step in case.steps))

    def _unknown(self, config: Config) -> Iterator[tuple[str, ConfigValue]]:
        return ((key, value) for key, value in config.items() if value not in self.words.get(key, (value,)))

    def _known(self, config: Config) -> Config:
        unknown = {key for key, _ in self._unknown(config)}
        return {key: value for key, value in config.items() if key not in unknown}

    def in_force(
        self, config: ClientConfig, part: str, key: str, own: Mapping[str, ConfigValue] | None = None
    ) -> ConfigValue | None:
        """Return a configuration value as it was in force.

        It is fixed by the client, else the step's `own`, else the Case's `config`, else the suite's or the client's
        default. `part` is `client`, `producer` or `consumer`.
        """
        if key in self.same_as:
            return self.in_force(config, "client", self.same_as[key])
        if key in self.fixed:
            return self.fixed[key]
        configured: dict[str, ConfigValue] = getattr(config, part)
        if key in self.settable_by(part, {**configured, **(own or {})}):
            for values in (own or {}, configured, SUITE_DEFAULTS[part]):
                if key in values:
                    return values[key]
        return self.defaults.get(key)


def _is_reader(config: Mapping[str, ConfigValue]) -> bool:
    return config.get("durable", True) is False


def _asked_by_flushes(case: Case) -> Iterator[Lack]:
    batching: dict[object, bool] = {}
    for step in case.steps if any(step.verb == "flush" for step in case.steps) else ():
        if step.verb == "open_producer":
            batching[step.saves] = bool({**case.config.producer, **step.args.get("config", {})}.get("batching"))
        elif step.verb == "flush":
            yield Lack.FLUSH
            if not batching.get(step.args.get("producer")):
                yield Lack.FLUSH_WITHOUT_BATCHING


def _asked_by_sends(case: Case) -> Iterator[Lack]:
    for step in case.steps:
        if step.who is Who.AGENT and step.verb == "send":
            messages = step.args.get("messages")
            told = (step.args, *(messages if isinstance(messages, list | tuple) else ()))
            yield from (lack for field, lack in SENT.items() if any(one.get(field) is not None for one in told))


def _without_sent(step: Step, fields: Set[str]) -> Step:
    if step.who is not Who.AGENT or step.verb != "send":
        return step
    args = {name: value for name, value in step.args.items() if name not in fields}
    if isinstance(messages := args.get("messages"), list | tuple):
        args["messages"] = [{name: one[name] for name in one if name not in fields} for one in messages]
    return msgspec.structs.replace(step, args=args)


def _overlapping(case: Case) -> Iterator[str]:
    """Yield the verbs that the Case calls again on a handle before it waits for the call before."""
    open_calls: dict[tuple[str, object], int | None] = {}
    for step in case.steps:
        if step.who is Who.WAIT and step.verb == "ops":
            waited = step.args.get("ops")
            open_calls = {key: op for key, op in open_calls.items() if waited and op not in waited}
        elif step.who is Who.AGENT and step.verb in OVERLAPPING:
            called = step.verb, step.args.get("producer", step.args.get("consumer"))
            if called in open_calls or _calls_of(step) > 1:
                yield step.verb
            open_calls[called] = step.saves


def _calls_of(step: Step) -> int:
    """Return how often a step calls the client."""
    messages = step.args.get("messages")
    return len(messages) if isinstance(messages, list) else int(step.args.get("count", 1))


def _configs(case: Case) -> Iterator[Config]:
    yield from (getattr(case.config, part) for part in case.config.__struct_fields__)
    # A plan that is read again may hold anything there.
    yield from (config for step in case.steps if isinstance(config := step.args.get("config"), dict))
