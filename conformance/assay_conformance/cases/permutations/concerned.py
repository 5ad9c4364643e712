"""What Cases are not indifferent to, beyond what can be read off them."""

from __future__ import annotations

from collections.abc import Mapping

CONCERNED: Mapping[str, Mapping[str, str]] = {
    "subscription": {
        "delivery.resumes-after-fault": "one that hands over later begins later",
        "throttling.rate-per-partition": "one that hands over later gets fewer in its time",
        "delayed.ignored-on-exclusive-and-failover": "it is about exclusive ones",
        "delivery/outage-while-sending": "one that hands over later gets fewer in its time",
        "ordering.delivers-in-message-id-order": "shared subscriptions promise no order",
        "seek.starts-at-target": "shared subscriptions promise no order",
        "subscription.exclusive-one-consumer": "it is about exclusive ones",
        "subscription.retains-until-acked": "what is expired is looked for behind one consumer's position",
        "subscription.resumes-at-first-unacked": "one that hands over later gets fewer in its time",
        "throttling.batch-counts-once": "one that hands over later gets fewer in its time",
        "topics.ownership-change-loses-nothing": "the order it looks at is one consumer's",
        "flow/compacted-batch": "one that hands over later gets fewer in its time",
        "flow/last-chunks-without-first": "a chunk waits for its first one where consumers share messages",
    },
    "entries": {
        "routing.partitions-are-independent": "batches of messages turn, not messages",
        "routing.round-robin-cycle": "batches of messages turn, not messages",
        "routing.avoids-full-partition": "batches of messages turn, not messages",
        "routing.lazy-start-opens-on-use": "batches of messages turn, not messages",
        "routing.lazy-start-failure-ends-send": "batches of messages turn, not messages",
        "dedup.sequence-gaps-accepted": "a batch shows one id of several",
        "compression.uncompressed-size-exact": "it is about single messages",
        "connection.max-message-size-per-connection": "what is too large is so alone",
        "delivery.statistics-per-fault": "what is lost with a batch is more than one message",
        "dead-letter.original-acked-after-receipt": "an entry is acknowledged when the last of its letters is posted",
        "ordering/message-ids-across-full-ledgers": "with fewer entries no ledger is full",
    },
    "batched-by-key": {
        "dedup.effectively-once": "ids of one flush need not grow",
        "dedup.resumes-after-last-sequence-id": "ids of one flush need not grow",
        "ordering.keeps-send-order": "only what has the same key keeps its order",
        "throttling.publish-rate-holds": "only what has the same key keeps its order",
    },
    "compression": {
        "batching.oversize-batch-fails-alone": "what is too large is so as it was given",
        "chunking.disabled-rejects-oversize": "what is too large is so as it was given",
        "connection.max-message-size-per-connection": "what is too large is so as it was given",
    },
    "partitions": {
        "batching.key-based-order": "keys are spread over partitions",
        "dedup.old-and-new-ids-in-separate-batches": "each partition has numbers of its own",
        "dedup.reconnect-keeps-numbering": "each partition has numbers of its own",
        "dedup.sequence-gaps-accepted": "each partition has numbers of its own",
        "delivery.failed-send-is-not-stored": "each partition has a queue of its own",
        "flow.dropped-message-returns-permit": "what is dropped is stored on the one topic",
        "flow.zero-queue-permit-per-receive": "without a queue the C++ client takes no partitions",
        "flow.initial-permits-equal-queue-size": "partitions share a consumer's queue",
        "flow.permits-reset-on-reconnect": "partitions share a consumer's queue",
        "flow.permits-within-queue": "partitions share a consumer's queue",
        "dead-letter": "each partition has producers of dead letters, which nothing on the wire tells apart",
        "retry-letter": "each partition has producers of retry letters, which nothing on the wire tells apart",
        "schema.incompatible-is-final": "the producers of other partitions need not know",
        "seek": "a consumer of partitions seeks in each",
        "subscription.retains-until-acked": "what is expired is looked for on the one topic",
        "throttling": "each partition has a rate of its own",
    },
    "messages": {
        "routing.round-robin-batching-window": "a key chooses its partition",
        "routing.partitions-are-independent": "a key chooses its partition",
        "routing.round-robin-cycle": "a key chooses its partition",
        "routing.short-batching-window-stalls-less": "a key chooses its partition",
        "routing.avoids-full-partition": "a key chooses its partition",
        "routing.single-partition-stays": "a key chooses its partition",
        "routing.lazy-start-opens-on-use": "a key chooses its partition",
        "routing.lazy-start-failure-ends-send": "a key chooses its partition",
    },
    "20-kib": {
        "robustness/byte-by-byte": "a segment for each byte keeps a machine too busy to tell times",
        "batching/queue-of-half-a-batch": "batches of such messages close by their bytes",
        "batching.fills-while-previous-pending": "batches of such messages close by their bytes",
        "batching.larger-batches-save-bytes": "batches of such messages close by their bytes",
    },
    "named": {
        "producer.keeps-assigned-name": "it is about names",
    },
    "prefetch": {
        "ack.kept-while-disconnected": "a small queue asks for more before the connection is lost",
        "ack/rest-of-batch-redelivered": "what members left out earn with a small queue is flow/partly-acked-batch's",
        "ack/ack-sets-combine": "what members left out earn with a small queue is flow/partly-acked-batch's",
        "throttling": "few permits are used up before the rate is",
    },
    "protocol-19": {
        "subscription.topic-list-watcher": "older brokers keep no watch",
        "subscription/pattern-while-watcher-is-away": "older brokers keep no watch",
        "subscription/pattern-while-watcher-is-late": "older brokers keep no watch",
        "topics.follows-migration": "older brokers do not say where a topic went",
    },
    "protocol-13": {
        "subscription.topic-list-watcher": "older brokers keep no watch",
        "subscription/pattern-while-watcher-is-away": "older brokers keep no watch",
        "subscription/pattern-while-watcher-is-late": "older brokers keep no watch",
        "connection.answers-auth-challenge": "older brokers ask for no fresh credentials",
        "topics.follows-migration": "older brokers do not say where a topic went",
    },
    "blocks": {
        "batching.closes-at-first-limit": "a send that may have waited was not in the batch in time",
        "batching.flush-closes-batch": "a send that may have waited was not in the batch in time",
        "resend.send-timeout": "the time counts from where a send may have waited",
        "routing.partitions-are-independent": "a send that waits has its partition already, and others behind it",
    },
    "receipted": {
        "ack.full-group-flushed-at-once": "the Go client sends each at once whose answer is waited for: no group fills",
        "ack.grouped-ack-filters-redelivery": "what waits for a receipt is not settled yet",
    },
    "short-ledgers": {
        "ack.cumulative-inside-batch": "the entry before is in the ledger before",
    },
}
"""Axis, or word of a value -> Case, requirement or chapter -> why it is not asked."""
