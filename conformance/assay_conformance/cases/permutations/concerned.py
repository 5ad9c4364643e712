"""What Cases are not indifferent to, beyond what can be read off them."""

from __future__ import annotations

from collections.abc import Mapping

CONCERNED: Mapping[str, Mapping[str, str]] = {
    "subscription": {
        "delivery.flows-after-heal": "one that hands over later begins later",
        "throttling.each-partition": "one that hands over later gets fewer in its time",
        "delayed.active-consumers-ignore-it": "it is about exclusive ones",
        "delivery/through-an-outage": "one that hands over later gets fewer in its time",
        "ordering.delivers-in-id-order": "shared subscriptions promise no order",
        "seek.starts-at-target": "shared subscriptions promise no order",
        "subscription.exclusive-has-one": "it is about exclusive ones",
        "subscription.keeps-what-is-unacked": "what is expired is looked for behind one consumer's position",
        "subscription.resumes-after-acked": "one that hands over later gets fewer in its time",
        "throttling.batch-counts-once": "one that hands over later gets fewer in its time",
        "topics.moves-lose-nothing": "the order it looks at is one consumer's",
        "flow/compacted-batch": "one that hands over later gets fewer in its time",
        "flow/last-chunks-alone": "a chunk whose first one went to nobody waits, where consumers share messages",
    },
    "entries": {
        "routing.partitions-are-independent": "batches of messages turn, not messages",
        "routing.round-robin-turns": "batches of messages turn, not messages",
        "routing.steers-around-full": "batches of messages turn, not messages",
        "dedup.stores-over-gaps": "a batch shows one id of several",
        "compression.exact-size": "it is about single messages",
        "connection.limit-of-each": "what is too large is so alone",
        "delivery.fault-windows": "what is lost with a batch is more than one message",
        "letters.buried-then-acked": "an entry is acknowledged when the last of its letters is posted",
        "ordering/ids-across-full-ledgers": "with fewer entries no ledger is full",
    },
    "batched-by-key": {
        "dedup.effectively-once": "ids of one flush need not grow",
        "dedup.resumes-after-last-id": "ids of one flush need not grow",
        "ordering.keeps-send-order": "only what has the same key keeps its order",
        "throttling.publish-rate-holds": "only what has the same key keeps its order",
    },
    "compression": {
        "batching.oversize-batch-fails-alone": "what is too large is so as it was given",
        "chunking.refuses-oversize": "what is too large is so as it was given",
        "connection.limit-of-each": "what is too large is so as it was given",
    },
    "partitions": {
        "batching.keyed-entries-in-order": "keys are spread over partitions",
        "dedup.keeps-old-ids-apart": "each partition has numbers of its own",
        "dedup.keeps-own-numbering": "each partition has numbers of its own",
        "dedup.stores-over-gaps": "each partition has numbers of its own",
        "delivery.failed-is-not-stored": "each partition has a queue of its own",
        "flow.dropped-return-permits": "what is dropped is stored on the one topic",
        "flow.permit-for-receive": "without a queue the C++ client takes no partitions",
        "flow.first-permits-fill-the-queue": "partitions share a consumer's queue",
        "flow.restarts-after-reconnect": "partitions share a consumer's queue",
        "flow.permits-within-queue": "partitions share a consumer's queue",
        "letters": "each partition has producers of letters, which nothing on the wire tells apart",
        "seek": "a consumer of partitions seeks in each",
        "subscription.keeps-what-is-unacked": "what is expired is looked for on the one topic",
        "throttling": "each partition has a rate of its own",
    },
    "messages": {
        "routing.batches-fill-in-windows": "a key chooses its partition",
        "routing.partitions-are-independent": "a key chooses its partition",
        "routing.round-robin-turns": "a key chooses its partition",
        "routing.short-windows-stall-less": "a key chooses its partition",
        "routing.steers-around-full": "a key chooses its partition",
        "routing.single-partition-stays": "a key chooses its partition",
    },
    "20-kib": {
        "robustness/byte-by-byte": "a segment for each byte keeps a machine too busy to tell times",
        "batching/queue-of-half-a-batch": "batches of such messages close by their bytes",
        "batching.half-builds-while-half-waits": "batches of such messages close by their bytes",
        "batching.larger-batches-cost-less": "batches of such messages close by their bytes",
    },
    "named": {
        "producer.keeps-given-name": "it is about names",
    },
    "prefetch": {
        "ack.kept-while-away": "a small queue asks for more before the connection is lost",
        "ack/rest-of-batch-redelivered": "what members left out earn with a small queue is flow/partly-acked-batch's",
        "ack/sets-that-join": "what members left out earn with a small queue is flow/partly-acked-batch's",
        "throttling": "few permits are used up before the rate is",
    },
    "protocol-19": {
        "subscription.hears-of-topics": "older brokers keep no watch",
        "topics.follows-migration": "older brokers do not say where a topic went",
    },
    "protocol-13": {
        "subscription.hears-of-topics": "older brokers keep no watch",
        "connection.answers-challenge": "older brokers ask for no fresh credentials",
        "topics.follows-migration": "older brokers do not say where a topic went",
    },
    "blocks": {
        "batching.closes-at-first-limit": "a send that may have waited was not in the batch in time",
        "batching.flush-closes-batch": "a send that may have waited was not in the batch in time",
        "resend.send-timeout": "the time counts from where a send may have waited",
        "routing.partitions-are-independent": "a send that waits has its partition already, and others behind it",
    },
    "receipted": {
        "ack.held-not-delivered": "what waits for a receipt is not settled yet",
    },
    "short-ledgers": {
        "ack.cumulative-inside-batch": "the entry before is in the ledger before",
    },
}
"""Axis, or word of a value -> Case, requirement or chapter -> why it is not asked."""
