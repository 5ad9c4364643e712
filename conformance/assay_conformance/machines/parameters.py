"""What holds for a whole life: the world it is in, and how its client is set up."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from assay_conformance.machines.environment import TOPIC, Around
from assay_conformance.machines.policies import PLAIN, Rules
from assay_conformance.model.case import ClientConfig, Config, Topic, Topology
from assay_conformance.model.needs import changed
from assay_conformance.model.policy import BrokerSettings
from assay_conformance.model.topic_names import partition_name

AUTH_REFRESH_MS = 1_000

EPOCHS_SINCE = 17
"""An older broker names no epoch of a topic: a producer that lost it waits again, for as long as another one has it."""

CHUNKING_LIMIT_BYTES = 1_000
"""The broker's message limit where the producer chunks: small enough that a few kilobytes are several chunks."""

SMALL_QUEUE: Config = {"max_pending_messages": 2, "block_if_queue_full": True}
"""A producer's queue that holds less than a batch does."""

SIZES = (2, 10, 16, 300, 1_500, 2_500, 0)
"""Without an identity, with nothing else, of one chunk, and of several; and nothing at all."""

BATCHES: Config = {"batch_receive_max_messages": 3, "batch_receive_timeout_ms": 200}
"""Limits of batches: fewer messages than are received at once, and less time than an answer takes."""

LARGE = (2, 16, 300, 64 * 1024, 64 * 1024, 64 * 1024)
"""Of which a few are more than a broker reads ahead."""

LARGEST = LARGE[-1:]
"""Of which all are."""

ACK_TIMEOUT_TICK_MS = 100
"""The shortest that Java takes, whose consumers open with no shorter one, whether they have a time-out or not."""

PARTITIONS_UPDATE_MS = 200

SEND_TIMEOUT_MS = 1_000
OPERATION_TIMEOUT_MS = 1_000
"""An opening that is refused goes on for so long, and most lives wait for one thing in vain; with the thirty seconds of
most clients that would outlast its Case."""

LONGEST_WAIT_MS = 2_000
"""What one life in ten sets one of them to."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What holds for a whole life; empty words say nothing.

    `spread`: some of the topic is the second broker's from the start. `backlog`, one of BACKLOGS, is stored before
    anybody comes. `claims`: some producers want the topic for themselves. `varied`: producers differ.
    `own_client`: consumers have one. `listens_out`: in the end consumers wait for whatever is owed to them. `receives`:
    by handler calls (`listener`), in batches (`batch`), or by single receives."""

    deduplication: bool = False
    partitions: int = 0
    brokers: int = 1
    spread: bool = False
    proxied: bool = False
    protocol_version: int = Topology().protocol_version
    max_message_bytes: int = Topology().max_message_bytes
    tokens: str = ""
    operation_timeout_ms: int = OPERATION_TIMEOUT_MS
    keep_alive_ms: int = Topology().keep_alive_ms
    clients: int = 1
    own_client: bool = False
    persistent: bool = True
    rates: Rules = PLAIN
    settings: Rules = PLAIN
    delays: Rules = PLAIN
    backlog: str = ""
    sizes: tuple[int, ...] = SIZES
    claims: bool = False
    listens_out: bool = False
    receives: str = ""
    batching: bool = False
    batching_type: str = "default"
    batching_max_messages: int = 3
    batching_max_bytes: int = 131_072
    batching_max_publish_delay_ms: int = 10
    batching_partition_switch_frequency: int = 10
    send_timeout_ms: int = SEND_TIMEOUT_MS
    small_queue: bool = False
    varied: bool = False
    routing: str = "round_robin"
    router: str = ""
    interceptor: str = ""
    hashing_scheme: str = "java_string"
    chunking: bool = False
    named: bool = True
    compression: str = "NONE"
    subscription_type: str = "exclusive"
    receiver_queue_size: int = 1_000
    ack_group_ms: int = 100
    ack_group_max: int = 1_000
    ack_receipt: bool = False
    batch_index_ack: bool = False
    max_pending_messages: int = 1_000
    nack_delay_ms: int = 100
    ack_timeout_ms: int = 0
    around: Around = field(default_factory=Around)

    @property
    def rules(self) -> Rules:
        """All that is set of brokers, namespace and topic."""
        return self.rates | self.settings | self.delays

    @property
    def apart(self) -> bool:
        """Whether consumers have a client of their own: what a broker does not read of a producer's connection for a
        while are acknowledgements, too, if they share it; and so is memory."""
        return self.own_client or self.rules.stops_reading

    @property
    def supplies(self) -> str:
        """What a supplier of credentials does, "" where there is none."""
        return str(self.around.chosen.get("client.credentials") or "")

    @property
    def logs(self) -> tuple[str, ...]:
        """The topics that keep what is sent: the topic, or its partitions."""
        if not self.persistent:
            return ()
        return tuple(partition_name(TOPIC, number) for number in range(self.partitions)) or (TOPIC,)

    @property
    def patience_ms(self) -> int:
        """How long its client tries one thing."""
        return max(self.send_timeout_ms, self.operation_timeout_ms)

    def for_client(self, able: Collection[str] | None) -> Parameters:
        """Return the parameters that can be asked of a client that is `able` to do so much (None: everything)."""
        lacking = () if able is None else WITHOUT.keys() - set(able)
        plain = [WITHOUT[capability] for capability in lacking]
        if able is not None and RECEIVING.get(self.receives, "") not in {"", *able}:
            plain.append("receives")
        if not self.persistent:
            plain += NOT_PERSISTENT
        if self.protocol_version < EPOCHS_SINCE:
            plain.append("claims")
        if self.rules.stops_reading:
            plain += SLOWLY_READ
        if self.small_queue:
            plain += SLOWLY_FILLED
        terms = replace(self, **{name: getattr(_PLAIN, name) for name in plain})
        return replace(terms, clients=max(2, terms.clients)) if terms.apart else terms


_PLAIN = Parameters()

WITHOUT: Mapping[str, str] = {
    "batching": "batching",
    "key_based_batcher": "batching_type",
    "chunking_producer": "chunking",
    "chunking_consumer": "chunking",
    "partitioned_topics": "partitions",
    "compression": "compression",
    "batch_index_ack": "batch_index_ack",
    "access_modes": "claims",
    "short_ack_timeout": "ack_timeout_ms",
    "auth_refresh": "tokens",
    "custom_router": "router",
    "interceptors": "interceptor",
    "partition_switch_frequency": "batching_partition_switch_frequency",
}
"""Capability -> the term that a client without it leaves alone."""

RECEIVING: Mapping[str, str] = {"listener": "message_listener", "batch": "batch_receive"}
"""Word of `receives` -> the capability that it needs."""

NOT_PERSISTENT = ("deduplication", "chunking")
"""Parameters that a topic that keeps nothing leaves alone: all its messages have the same id, chunks too."""

SLOWLY_FILLED = ("batching_max_publish_delay_ms",)
"""Settings a producer leaves alone whose queue holds less than a batch: each pair of messages would wait for it."""

SLOWLY_READ = ("keep_alive_ms",)
"""Parameters that a client leaves alone whose broker does not always read: its answers to a PING wait as well."""


def topology_of(terms: Parameters) -> Topology:
    return Topology(
        topics=(_topic(terms),),
        brokers=terms.brokers,
        protocol_version=terms.protocol_version,
        max_message_bytes=CHUNKING_LIMIT_BYTES if terms.chunking else terms.max_message_bytes,
        settings=_settings(terms),
        namespace=terms.rules.namespace,
    )


def _settings(terms: Parameters) -> BrokerSettings:
    tokens = tuple(filter(None, terms.tokens.split(",")))
    refresh_ms = AUTH_REFRESH_MS if tokens else BrokerSettings().auth_refresh_ms
    return msgspec.structs.replace(terms.rules.broker, tokens=tokens, proxied=terms.proxied, auth_refresh_ms=refresh_ms)


def _topic(terms: Parameters) -> Topic:
    policies = terms.rules.topic
    return Topic(
        name=TOPIC,
        partitions=terms.partitions,
        persistent=terms.persistent,
        deduplication=terms.deduplication,
        **{name: getattr(policies, name) for name in changed(policies)},
    )


def config_of(terms: Parameters) -> ClientConfig:
    return ClientConfig(
        client=_client_config(terms),
        producer=_producer_config(terms),
        consumer=_consumer_config(terms),
    )


def _client_config(terms: Parameters) -> Config:
    return {
        "operation_timeout_ms": terms.operation_timeout_ms,
        **({"keep_alive_ms": terms.keep_alive_ms} if terms.keep_alive_ms != Topology().keep_alive_ms else {}),
        **({} if terms.supplies else _said(tokens=terms.tokens)),
    }


def _said(**words: str) -> Config:
    return {key: word for key, word in words.items() if word}


def _producer_config(terms: Parameters) -> Config:
    return {
        "send_timeout_ms": terms.send_timeout_ms,
        "batching": terms.batching,
        "batching_max_messages": terms.batching_max_messages,
        "batching_max_bytes": terms.batching_max_bytes,
        "batching_max_publish_delay_ms": terms.batching_max_publish_delay_ms,
        "batching_type": terms.batching_type,
        "batching_partition_switch_frequency": terms.batching_partition_switch_frequency,
        "routing": terms.routing,
        **_said(hashing_scheme=terms.hashing_scheme, router=terms.router, interceptor=terms.interceptor),
        "partitions_update_ms": PARTITIONS_UPDATE_MS,
        "chunking": terms.chunking and not terms.batching,
        "compression": terms.compression,
        "max_pending_messages": terms.max_pending_messages,
        **(SMALL_QUEUE if terms.small_queue else {}),
    }


def _consumer_config(terms: Parameters) -> Config:
    return {
        "subscription_type": terms.subscription_type,
        "receiver_queue_size": terms.receiver_queue_size,
        "ack_group_ms": terms.ack_group_ms,
        "ack_group_max": terms.ack_group_max,
        "ack_receipt": terms.ack_receipt,
        "batch_index_ack": terms.batch_index_ack,
        "nack_delay_ms": terms.nack_delay_ms,
        "ack_timeout_ms": terms.ack_timeout_ms,
        **({"ack_timeout_tick_ms": ACK_TIMEOUT_TICK_MS} if terms.ack_timeout_ms else {}),
        "partitions_update_ms": PARTITIONS_UPDATE_MS,
        **(BATCHES if terms.receives == "batch" else {}),
    }
