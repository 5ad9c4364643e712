"""Brokers that break one rule: what a broker-side check must be able to catch.

Each value changes exactly one rule at exactly one place of the core, and leaves everything else as it is.
"""

from __future__ import annotations

from enum import StrEnum


class BrokerMutation(StrEnum):
    """Which rule is broken."""

    REORDERS_APPENDS = "reorders-appends"
    """Of two consecutive SENDs of a producer the second is stored first; their receipts keep the order of the SENDs."""
    RECEIPTS_OUT_OF_ORDER = "receipts-out-of-order"
    """Receipts of appends that become durable together leave in reverse."""
    DEDUP_STORES_DUPLICATES = "dedup-stores-duplicates"
    """What deduplication finds to be persisted already is stored once more."""
    DEDUP_RECEIPTS_UNDECIDED = "dedup-receipts-undecided"
    """A copy of what is not stored yet gets the receipt of a duplicate."""
    DEDUP_TELLS_NEXT_ID = "dedup-tells-next-id"
    """PRODUCER_SUCCESS carries the next sequence id for the last one."""
    LOSES_RECEIPTED_APPEND = "loses-receipted-append"
    """Every third append gets its receipt and is not stored."""
    LOSES_CHUNK = "loses-chunk"
    """The second chunk of every chunked message gets its receipt and is not stored."""
    REDELIVERS_ACKED = "redelivers-acked"
    """A cursor that is rewound forgets what was acknowledged."""
    DISPATCH_IGNORES_RATE = "dispatch-ignores-rate"
    """Dispatch rates are not looked at."""
    DISPATCH_FORGIVES_OVERSHOOT = "dispatch-forgives-overshoot"
    """What was dispatched beyond the rate is not taken from the next periods."""
    PUBLISH_THROTTLE_ANSWERS_ERROR = "publish-throttle-answers-error"
    """A SEND beyond the publish rate is answered by SEND_ERROR instead of being read later."""
    PUBLISH_THROTTLE_DROPS = "publish-throttle-drops"
    """A SEND beyond the publish rate gets its receipt and is not stored."""
    EXCLUSIVE_ADMITS_SECOND = "exclusive-admits-second"
    """A second consumer of an Exclusive subscription is let in."""
    FAILOVER_READS_ON = "failover-reads-on"
    """The next active consumer begins where the former had got to, acknowledged or not."""
    FORGETS_OF_LEAVER = "forgets-of-leaver"
    """What was out at a consumer of a Shared subscription that leaves goes to nobody else."""
    KEY_SHARED_IGNORES_KEYS = "key-shared-ignores-keys"
    """Entries of a Key_Shared subscription go to any consumer with permits."""
    RESUBSCRIBE_STARTS_OVER = "resubscribe-starts-over"
    """A durable subscription whose consumers were all gone begins again at the position the next one asks for."""
    REDELIVERY_UNCOUNTED = "redelivery-uncounted"
    """Redeliveries are not counted."""
    FLOW_COUNTS_ENTRIES = "flow-counts-entries"
    """An entry costs one permit, however many messages it holds."""
    DISPATCH_IGNORES_BYTES = "dispatch-ignores-bytes"
    """Dispatch rates in bytes are not looked at."""
    DISPATCH_LIMITS_ARE_ALTERNATIVES = "dispatch-limits-are-alternatives"
    """Of a rate in messages and in bytes only both together stop dispatch."""
    REDELIVERY_IS_FREE = "redelivery-is-free"
    """What is dispatched again waits for no dispatch rate, and is not charged to any."""
    READS_BEYOND_QUOTA = "reads-beyond-quota"
    """A read takes as many entries as there are permits for, however few tokens are left."""
