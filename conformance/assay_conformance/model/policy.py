"""What can be set for topics, at three levels: the topic, its namespace, the broker."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Rate(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """A rate limit; 0 = not set, -1 = unlimited whatever the levels below say. `period_s` is ratePeriodInSecond.

    `relative_to_publish`, of dispatch rates: what was published in a period is added to the next one's tokens.
    """

    messages: int = 0
    bytes: int = 0
    period_s: int = 1
    relative_to_publish: bool = False

    @property
    def is_set(self) -> bool:
        return bool(self.messages or self.bytes)

    @property
    def limits(self) -> bool:
        return self.messages > 0 or self.bytes > 0


class BacklogAction(StrEnum):
    """What happens to producers, or to the slowest subscription, once a backlog is over its quota."""

    PRODUCER_REQUEST_HOLD = "producer_request_hold"
    PRODUCER_EXCEPTION = "producer_exception"
    CONSUMER_BACKLOG_EVICTION = "consumer_backlog_eviction"


class BacklogQuota(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """How large a topic's largest backlog may be; 0 or less = without limit. `limit_s`: age of its first entry.

    Pulsar has one quota of each type, with an action of its own: `age_action` is that of the age where it is another.
    """

    limit_bytes: int = -1
    limit_s: int = -1
    action: BacklogAction = BacklogAction.PRODUCER_REQUEST_HOLD
    age_action: BacklogAction | None = None

    @property
    def of_age(self) -> BacklogAction:
        """What happens where a backlog is too old."""
        return self.age_action or self.action


class Retention(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """How long, and up to how many bytes, acknowledged entries are kept; -1 = without limit."""

    minutes: int = 0
    bytes: int = 0


class DelayedDelivery(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """Whether `deliver_at_time` counts, and delayedDeliveryTickTimeMillis. A message to be delivered later than
    `max_delay_ms` after it was published is refused; 0: none is."""

    active: bool = True
    tick_ms: int = 1_000
    max_delay_ms: int = 0


class SubscriptionKind(StrEnum):
    """The types a subscription can have, as Pulsar spells them in its policies."""

    EXCLUSIVE = "Exclusive"
    SHARED = "Shared"
    FAILOVER = "Failover"
    KEY_SHARED = "Key_Shared"


class SubscribeRate(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """How often a consumer, known by its name and id, may subscribe in a period; 0 or less = without limit."""

    per_consumer: int = -1
    period_s: int = 30


class AutoCreation(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """Whether a topic is created when it is first used, and with how many partitions (0 = none)."""

    enabled: bool = True
    partitions: int = 0


class SchemaCompatibility(StrEnum):
    """Which schema may follow another: one whose data old readers read (forward), one that reads old data (backward),
    or only one that does both."""

    ALWAYS_INCOMPATIBLE = "ALWAYS_INCOMPATIBLE"
    ALWAYS_COMPATIBLE = "ALWAYS_COMPATIBLE"
    BACKWARD = "BACKWARD"
    FORWARD = "FORWARD"
    FULL = "FULL"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"


class Policies(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """What one level sets; None = nothing, the next level counts."""

    deduplication: bool | None = None
    publish_rate: Rate | None = None
    dispatch_rate: Rate | None = None
    subscription_rate: Rate | None = None
    message_ttl_s: int | None = None
    retention: Retention | None = None
    backlog_quota: BacklogQuota | None = None
    delayed_delivery: DelayedDelivery | None = None
    max_unacked_per_consumer: int | None = None
    max_unacked_per_subscription: int | None = None
    max_producers: int | None = None
    max_consumers: int | None = None
    """maxConsumersPerTopic; here and in the limits below 0 is without limit."""
    max_consumers_per_subscription: int | None = None
    max_subscriptions: int | None = None
    """maxSubscriptionsPerTopic."""
    max_topics: int | None = None
    """maxTopicsPerNamespace: partitions count one by one."""
    compaction_threshold: int | None = None
    """compactionThreshold: bytes after the last compaction that begin another one; 0: none does."""
    subscription_expiry_minutes: int | None = None
    """subscriptionExpirationTime: how long a subscription without consumers is kept; 0: for ever."""
    subscription_kinds: tuple[SubscriptionKind, ...] | None = None
    """subscriptionTypesEnabled; those that are not named are refused."""
    subscribe_rate: SubscribeRate | None = None
    auto_subscription: bool | None = None
    """allowAutoSubscriptionCreation: whether SUBSCRIBE makes a subscription that is not there."""
    encryption_required: bool | None = None
    """Producers that do not encrypt are refused, and so is every message without an encryption key."""
    max_message_bytes: int | None = None
    """maxMessageSize of a topic: larger SENDs that are no chunks are refused, one by one."""
    auto_creation: AutoCreation | None = None
    schema_compatibility: SchemaCompatibility | None = None
    schema_auto_update: bool | None = None
    """isAllowAutoUpdateSchema: whether producers and consumers may add versions."""
    schema_required: bool | None = None
    """schemaValidationEnforced: a topic with a schema takes no producer without one."""


class BrokerSettings(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """What Pulsar's broker.conf sets. `policies` hold for topics that nothing nearer says otherwise of; `publish_rate`
    and `dispatch_rate` are one broker's for all its topics together."""

    policies: Policies = Policies()
    publish_rate: Rate = Rate()
    dispatch_rate: Rate = Rate()
    batch_index_acks: bool = True
    """acknowledgmentAtBatchIndexLevelEnabled."""
    precise_flow_control: bool = False
    """preciseDispatcherFlowControl: reads are sized by the messages an entry has on average."""
    rate_counts_entries: bool = False
    """dispatchThrottlingOnBatchMessageEnabled: a batch is charged to a message rate as one."""
    throttles_caught_up: bool = True
    """dispatchThrottlingOnNonBacklogConsumerEnabled: rates hold for subscriptions without a backlog too."""
    delayed_strict: bool = False
    """isDelayedDeliveryDeliverAtTimeStrict: nothing comes early, not even by a tick."""
    expiry_check_ms: int = 300_000
    """messageExpiryCheckIntervalInMinutes."""
    retention_check_ms: int = 120_000
    """retentionCheckIntervalInSeconds."""
    backlog_check_ms: int = 60_000
    """backlogQuotaCheckIntervalInSeconds."""
    max_pending_sends: int = 1_000
    """maxPendingPublishRequestsPerConnection: unwritten SENDs that stop the reading of their connection."""
    max_pending_mb: int = 0
    """maxMessagePublishBufferSizeInMB: unwritten SENDs of a broker that stop the reading of all its connections; 0:
    however many there are (half of the direct memory)."""
    liveness_check_ms: int = 5_000
    """connectionLivenessCheckTimeoutMillis: how long a connection has to answer the PING that asks whether who holds a
    name, or a subscription, is alive."""
    failover_delay_ms: int = 1_000
    """activeConsumerFailoverDelayTimeMillis: from choosing another active consumer to its first message."""
    ledger_entries: int = 0
    """managedLedgerMaxEntriesPerLedger, without managedLedgerMinLedgerRolloverTimeMinutes: after so many entries a
    ledger ends, and the next begins; 0: it lasts as long as its topic is loaded (50,000 entries and 10 minutes)."""
    cursor_persist_ms: int = 1_000
    """managedLedgerDefaultMarkDeleteRateLimit, as a period: acknowledgements of a subscription are written no more
    often; earlier ones are written with the first one after it."""
    cursor_flush_s: int = 60
    """managedLedgerCursorPositionFlushSeconds: how often what was not written so is written anyhow."""
    tokens: tuple[str, ...] = ()
    """What a CONNECT has to carry one of, an empty one for who comes with a certificate; none: there is no
    authentication."""
    auth_refresh_ms: int = 60_000
    """authenticationRefreshCheckSeconds: how long an AUTH_CHALLENGE may go without its answer."""
    proxied: bool = False
    """Whether clients reach brokers through the service url only, and name the one they mean."""
    dedup_snapshot_entries: int = 1_000
    """brokerDeduplicationEntriesInterval: persisted ids from one snapshot to the next."""
    dedup_snapshot_s: int = 120
    """brokerDeduplicationSnapshotIntervalSeconds: the same in time."""
    dedup_idle_minutes: int = 360
    """brokerDeduplicationProducerInactivityTimeoutMinutes: how long a name without a producer is remembered."""
    compaction_check_ms: int = 60_000
    """brokerServiceCompactionMonitorIntervalInSeconds."""
    subscription_expiry_check_ms: int = 300_000
    """subscriptionExpiryCheckIntervalInMinutes."""
    dedup_max_producers: int = 10_000
    """brokerDeduplicationMaxNumberOfProducers: names in a snapshot."""


def nearest(*levels: Policies) -> Policies:
    """Return per policy what the first level that sets it says.

    A rate of 0 sets nothing; the quotas of size and of age are two policies.
    """
    found: dict[str, object] = {}
    for level in levels:
        if level == _SILENT:
            continue
        for name in Policies.__struct_fields__:
            value = getattr(level, name)
            if name not in found and _says_something(value):
                found[name] = value
            elif isinstance(value, BacklogQuota):
                found[name] = _completed(found[name], value)
    return msgspec.structs.replace(_SILENT, **found) if found else _SILENT


_SILENT = Policies()


def _completed(quota: object, below: BacklogQuota) -> BacklogQuota:
    """Return a quota with the parts that it lacks taken from the next level."""
    assert isinstance(quota, BacklogQuota)
    if quota.limit_bytes <= 0 < below.limit_bytes:
        own = msgspec.structs.replace(quota, age_action=quota.of_age)
        return msgspec.structs.replace(own, limit_bytes=below.limit_bytes, action=below.action)
    if quota.limit_s <= 0 < below.limit_s:
        return msgspec.structs.replace(quota, limit_s=below.limit_s, age_action=below.of_age)
    return quota


def _says_something(value: object) -> bool:
    return value.is_set if isinstance(value, Rate) else value is not None
