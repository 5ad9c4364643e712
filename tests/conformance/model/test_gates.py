"""Who is not asked what: a capability excuses a client from what it is meant for, and from nothing else."""

from __future__ import annotations

import pytest

from assay_conformance import catalogue
from assay_conformance.model.requirement import Requirement
from assay_conformance.pulsar.cases import all_cases

FLAGS: dict[tuple[str, ...], frozenset[str]] = {
    ("resend_pending",): frozenset(
        {
            "chunking.survives-reconnect",
            "dedup.effectively-once",
            "resend.keeps-queue-order",
            "resend.identical-bytes",
            "resend.pending-sends-resent",
        }
    ),
    ("send_timeout",): frozenset({"resend.send-timeout", "resend.sends-after-timeout"}),
    ("dedup_resume",): frozenset({"dedup.resumes-after-last-sequence-id"}),
    ("explicit_sequence_id",): frozenset(
        {"dedup.old-and-new-ids-in-separate-batches", "dedup.reconnect-keeps-numbering"}
    ),
    ("chunking_producer", "chunking_consumer"): frozenset(
        {
            "chunking.acks-every-chunk",
            "chunking.assembles-by-uuid",
            "chunking.incomplete-messages-bounded",
            "chunking.chunks-fit-max-message-size",
            "chunking.chunks-count-as-pending",
            "chunking.delivers-whole-only",
            "chunking.excludes-batching",
            "chunking.expires-incomplete",
            "chunking.repeated-chunk-dropped",
            "chunking.missing-chunk-discards-message",
            "chunking.message-id-spans-chunks",
            "chunking.releases-queue-and-memory",
            "chunking.disabled-rejects-oversize",
            "chunking.restarts-at-first-chunk",
            "chunking.chunk-max-message-size",
            "chunking.splits-large-message",
            "chunking.survives-reconnect",
            "chunking.uuid-identifies-message",
        }
    ),
    ("batching",): frozenset(
        {
            "batching.batch-of-one-is-unpacked",
            "batching.closes-at-first-limit",
            "batching.compressed-as-one",
            "batching.delayed-not-batched",
            "batching.succeeds-or-fails-as-one",
            "batching.flush-closes-batch",
            "batching.lowest-sequence-id",
            "batching.key-based-order",
            "batching.key-based-highest-sequence-id",
            "batching.highest-sequence-id",
            "batching.key-based-one-key-per-batch",
            "batching.oversize-batch-fails-alone",
            "batching.small-queue-does-not-stall",
            "routing.round-robin-batching-window",
        }
    ),
    ("batch_index_ack",): frozenset(
        {"ack.batch-index-ack-set", "ack.ack-set-filters-delivery", "flow.no-permit-for-ack-set-filtered"}
    ),
    ("ack_grouping",): frozenset(
        {
            "ack.cumulative-keeps-greatest",
            "ack.cumulative-has-one-message-id",
            "ack.flushed-in-time",
            "ack.flushed-on-close",
            "ack.full-group-flushed-at-once",
            "ack.zero-group-time-is-immediate",
            "ack.kept-while-disconnected",
            "ack.flush-sends-one-command",
        }
    ),
    ("ack_receipt",): frozenset(
        {"ack.no-response-from-old-broker", "ack.call-waits-for-response", "ack.error-response-is-no-success"}
    ),
    ("nack_delay", "nack_backoff"): frozenset(
        {
            "nack.backoff-grows",
            "nack.minimum-delay",
            "nack.redelivery-requested-in-time",
            "nack.short-delay-not-behind-long",
            "nack.later-nacks-do-not-postpone",
        }
    ),
    ("ack_timeout",): frozenset(
        {
            "ack-timeout.request-fits-subscription-type",
            "ack-timeout.redelivery-requested-in-time",
            "ack-timeout.ended-by-ack",
            "ack-timeout.minimum-enforced",
            "ack-timeout.not-for-prefetched",
            "ack-timeout.tick-within-timeout",
        }
    ),
    ("consumer_epoch",): frozenset({"ordering.old-consumer-epoch-dropped"}),
    ("access_modes",): frozenset(
        {
            "producer.access-modes",
            "producer.echoes-topic-epoch",
            "producer.fenced-is-final",
            "producer.waits-for-exclusive-access",
        }
    ),
    ("retry_letter", "dead_letter"): frozenset(
        {
            "dead-letter.initial-subscription",
            "dead-letter.acked-stays-out",
            "dead-letter.closes-with-consumer",
            "dead-letter.not-batched",
            "dead-letter.original-acked-after-receipt",
            "dead-letter.max-redeliver-count",
            "dead-letter.copy-is-complete",
            "dead-letter.large-message-chunked",
            "retry-letter.original-acked-after-receipt",
            "retry-letter.copy-is-complete",
        }
    ),
    ("key_based_batcher",): frozenset(
        {"batching.key-based-order", "batching.key-based-highest-sequence-id", "batching.key-based-one-key-per-batch"}
    ),
    ("memory_limit",): frozenset({"flow.memory-limit"}),
    ("zero_queue",): frozenset({"flow.zero-queue-permit-per-receive", "flow.zero-queue-renews-after-reconnect"}),
    ("topic_watcher",): frozenset(
        {
            "subscription.acks-on-source-topic",
            "subscription.topic-list-watcher",
            "subscription.no-topic-starves",
            "subscription.pattern-finds-new-topics",
        }
    ),
}
"""Capabilities that stand for one flag of the design, and the requirements that a client without it is not asked."""

WIDER: dict[tuple[str, str], str] = {
    (
        "resend.reconnect-retries-temporary-error",
        "resend_pending",
    ): "what must not fail is what is kept over a reconnect",
    ("resend.quota-exceeded-fails-pending", "resend_pending"): "what fails is what is kept over a reconnect",
    ("resend.waits-for-schema", "resend_pending"): "it is about a resend",
    ("dedup.effectively-once", "dedup_resume"): "it holds for producers that end and begin again",
    ("dedup.sequence-gaps-accepted", "explicit_sequence_id"): "numbers leave gaps where applications choose them",
    ("chunking.encrypts-each-chunk", "chunking_producer"): "it is about chunks",
    ("dead-letter.acked-stays-out", "batch_index_ack"): "without, a batch is acknowledged as a whole",
    ("ack.repeated-ack-accepted", "ack_receipt"): "only who asks for the answer hears of it",
    ("nack.requests-all-chunks", "chunking_consumer"): "what is refused comes in chunks",
    ("dedup.checks-last-chunk-only", "chunking_producer"): "it is about chunks",
    ("dead-letter.large-message-chunked", "chunking_consumer"): "what is to be buried comes in chunks",
    ("dead-letter.large-message-chunked", "chunking_producer"): "what is to be buried leaves in chunks",
    ("chunking.excludes-batching", "batching"): "who does not batch has nothing to exclude",
    ("dedup.old-and-new-ids-in-separate-batches", "batching"): "it is about what stands in one batch",
    ("resend.checks-highest-sequence-id", "batching"): "only the receipt of a batch has a highest id",
    ("routing.partition-switch-frequency-minimum", "batching"): "the window is counted in publish delays",
    ("routing.short-batching-window-stalls-less", "batching"): "the window is counted in publish delays",
    ("seek.into-batch-carries-ack-set", "batching"): "the place is inside of a batch",
    ("batching.fills-while-previous-pending", "batching"): "it is about batches",
    ("batching.burst-fills-batches", "batching"): "it is about batches",
    ("batching.larger-batches-save-bytes", "batching"): "it is about batches",
    ("batching.wider-limits-fill-batches", "batching"): "it is about batches",
    ("batching.partial-batch-needs-reason", "batching"): "it is about batches",
    ("ack.grouped-ack-filters-redelivery", "ack_grouping"): "who sends each at once holds none back",
    ("ack.grouped-ack-filters-batch-member", "ack_grouping"): "who sends each at once holds none back",
    ("ack.grouped-ack-filters-batch-member", "batch_index_ack"): "without, nothing is sent for a part of a batch",
    ("ack.properties-or-transaction-not-grouped", "ack_grouping"): "it is an exception from groups",
    ("nack.requests-merged", "nack_delay"): "who asks at once has nothing that is due together",
    ("nack.redelivery-count", "nack_delay"): "the broker's duty; it takes refusals that come back one by one",
    ("nack.ends-ack-timeout", "nack_delay"): "who asks at once leaves nothing to time out",
    ("nack.ends-ack-timeout", "ack_timeout"): "it is about time-outs",
    ("nack.dropped-on-close", "nack_delay"): "who asks at once has nothing to drop",
    ("ordering.old-consumer-epoch-dropped", "nack_delay"): "others are on their way while a refusal waits",
    ("throttling.redelivery-is-charged", "nack_delay"): "the broker's duty; refusals come at a pace that is set",
    ("throttling.replay-overshoots-once", "nack_delay"): "the broker's duty; refusals come at a pace that is set",
}
"""A requirement and a capability it is gated by beyond those of the flag, and why."""

NARROWER: dict[str, str] = {
    "dedup.reconnect-keeps-numbering": "whoever numbers has numbers of its own to keep",
    "chunking.disabled-rejects-oversize": "it is asked of clients that do not chunk, above all",
    "batching.batch-of-one-is-unpacked": "it is about who receives, and others send batches",
    "ack.zero-group-time-is-immediate": "`immediate_ack` gates it: who has no groups sends at once all the more",
    "ack.cumulative-has-one-message-id": "a cumulative command names one, grouped or not",
    "subscription.pattern-finds-new-topics": "who has no watcher asks from time to time",
    "subscription.no-topic-starves": "it takes no watcher",
    "subscription.acks-on-source-topic": "it takes no watcher",
}
"""A requirement of a flag that no capability of the flag gates, and why."""

OWN: dict[str, str] = {
    "producer": "who sends nothing owes nothing for sending",
    "consumer": "who receives nothing owes nothing for receiving",
    "reader": "a kind of consumer that not every client has",
    "immediate_ack": "a setting that not every client has",
    "cumulative_ack": "a call that not every client has",
    "compression": "a feature that not every client has",
    "delayed_delivery": "a feature that not every client has",
    "seek": "a call that not every client has",
    "has_message_available": "a call that not every client has",
    "start_message_id": "an argument that not every client has",
    "last_message_id": "a call that not every client has",
    "redeliver_all": "a call that not every client has",
    "chunk_expiry": "a setting that not every client has",
    "partitioned_topics": "a feature that not every client has",
    "across_partitions_limit": "a setting that not every client has",
    "chunk_size_setting": "a setting that not every client has",
    "partition_switch_frequency": "a setting that not every client has",
    "java_string_hash": "a setting that not every client has",
    "murmur3_hash": "a setting that not every client has",
    "custom_router": "a setting that not every client has",
    "interceptors": "a feature that not every client has",
    "unsubscribe": "a call that not every client has",
    "send_callback": "a client whose sends are futures has no callback to call it in",
    "message_listener": "a feature that not every client has",
    "listener_pause": "a call that not every client has",
    "state_listener": "a feature that not every client has",
    "table_view": "a feature that not every client has",
    "batch_receive": "a call that not every client has",
    "schema": "a feature that not every client has",
    "lazy_start": "a setting that not every client has",
    "topic_patterns": "a feature that not every client has",
    "auth_refresh": "a broker asks for fresh credentials only of who announces that it can give them",
    "keep_alive": "the bound is the interval that a client declares: without one there is nothing to hold it to",
}
"""Capabilities without a flag in the design, and why they excuse."""

STATED = catalogue.load().requirements


def gates(requirement: Requirement, flag: tuple[str, ...]) -> set[str]:
    return set(requirement.capabilities) & set(flag)


@pytest.mark.parametrize("flag", FLAGS, ids="+".join)
def test_a_capability_excuses_from_no_more_than_its_requirements(flag: tuple[str, ...]) -> None:
    wider = {
        (id, capability) for id, stated in STATED.items() if id not in FLAGS[flag] for capability in gates(stated, flag)
    }
    assert wider == {place for place in WIDER if place[1] in flag}


def test_what_a_flag_excuses_from_says_so() -> None:
    narrower = {
        id for flag, own in FLAGS.items() for id, stated in STATED.items() if id in own and not gates(stated, flag)
    }
    assert narrower == set(NARROWER)


def test_no_other_capability_excuses_from_anything() -> None:
    flagged = {capability for flag in FLAGS for capability in flag}
    gating = {capability for stated in STATED.values() for capability in stated.capabilities}
    assert gating - flagged == set(OWN)


def test_what_everybody_is_asked_needs_no_word_in_a_case_either() -> None:
    excused = {capability for case in all_cases() for capability in case.capabilities}
    assert excused & {"checksum", "assigned_broker", "keep_alive"} == set()
