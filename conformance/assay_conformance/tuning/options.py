"""What each setting is called by the clients. None: the client has no such option."""

from __future__ import annotations

from enum import StrEnum


class Language(StrEnum):
    JAVA = "java"
    PYTHON = "python"
    GO = "go"
    CPP = "cpp"


OPTIONS: dict[str, dict[Language, str | None]] = {
    "max_pending_messages": {
        Language.JAVA: "ProducerBuilder.maxPendingMessages",
        Language.PYTHON: "create_producer(max_pending_messages)",
        Language.GO: "ProducerOptions.MaxPendingMessages",
        Language.CPP: "ProducerConfiguration::setMaxPendingMessages",
    },
    "max_pending_messages_across_partitions": {
        Language.JAVA: "ProducerBuilder.maxPendingMessagesAcrossPartitions",
        Language.PYTHON: "create_producer(max_pending_messages_across_partitions)",
        Language.GO: None,
        Language.CPP: "ProducerConfiguration::setMaxPendingMessagesAcrossPartitions",
    },
    "memory_limit_bytes": {
        Language.JAVA: "ClientBuilder.memoryLimit",
        Language.PYTHON: None,
        Language.GO: "ClientOptions.MemoryLimitBytes",
        Language.CPP: "ClientConfiguration::setMemoryLimit",
    },
    "batching": {
        Language.JAVA: "ProducerBuilder.enableBatching",
        Language.PYTHON: "create_producer(batching_enabled)",
        Language.GO: "ProducerOptions.DisableBatching, the opposite",
        Language.CPP: "ProducerConfiguration::setBatchingEnabled",
    },
    "batching_max_messages": {
        Language.JAVA: "ProducerBuilder.batchingMaxMessages",
        Language.PYTHON: "create_producer(batching_max_messages)",
        Language.GO: "ProducerOptions.BatchingMaxMessages",
        Language.CPP: "ProducerConfiguration::setBatchingMaxMessages",
    },
    "batching_max_bytes": {
        Language.JAVA: "ProducerBuilder.batchingMaxBytes",
        Language.PYTHON: "create_producer(batching_max_allowed_size_in_bytes)",
        Language.GO: "ProducerOptions.BatchingMaxSize",
        Language.CPP: "ProducerConfiguration::setBatchingMaxAllowedSizeInBytes",
    },
    "batching_max_publish_delay_ms": {
        Language.JAVA: "ProducerBuilder.batchingMaxPublishDelay",
        Language.PYTHON: "create_producer(batching_max_publish_delay_ms)",
        Language.GO: "ProducerOptions.BatchingMaxPublishDelay",
        Language.CPP: "ProducerConfiguration::setBatchingMaxPublishDelayMs",
    },
    "partition_switch_frequency": {
        Language.JAVA: "ProducerBuilder.roundRobinRouterBatchingPartitionSwitchFrequency",
        Language.PYTHON: None,
        Language.GO: None,
        Language.CPP: None,
    },
}

TITLES = {Language.JAVA: "Java", Language.PYTHON: "Python", Language.GO: "Go", Language.CPP: "C++"}

JAVA_DEFAULTS = {"batching_max_messages": 1_000, "batching_max_bytes": 131_072, "batching_max_publish_delay_ms": 1}
"""When the Java client closes a batch by default."""
