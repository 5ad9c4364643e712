"""The cheats: each changes one rule of the honest client at one place, and one requirement must notice.

Each stands for a way real clients have failed, or could: a check that lets one pass proves nothing. With a mutation the
client still carries a plain exchange of messages; being dead is not being caught. `lateness_ms` belongs to the
mutations of a time bound: how far they miss it unless told otherwise, twice what the suite tolerates.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Mutation(StrEnum):
    SWAPS_SENDS_WHILE_AWAY = "swaps-sends-while-away"
    OVERTAKES_RESEND = "overtakes-resend"
    SKIPS_SEQUENCE_ID = "skips-sequence-id"
    REVERSES_BATCH = "reverses-batch"
    KEY_LAST_FIRST = "key-last-first"
    KEEPS_OLD_EPOCH = "keeps-old-epoch"
    COMPLETES_OUT_OF_ORDER = "completes-out-of-order"
    FAILS_PENDING_ON_LOSS = "fails-pending-on-loss"
    RESENDS_RECEIPTED = "resends-receipted"
    RESTAMPS_RESEND = "restamps-resend"
    SENDS_BEFORE_SUCCESS = "sends-before-success"
    LATE_RECEIPT_COMPLETES_HEAD = "late-receipt-completes-head"
    IGNORES_HIGHER_RECEIPT = "ignores-higher-receipt"
    IGNORES_CLOSE_PRODUCER = "ignores-close-producer"
    LEAVES_ON_CLOSE_PRODUCER = "leaves-on-close-producer"
    EPOCH_BEGINS_ANYWHERE = "epoch-begins-anywhere"
    TERMINATED_IS_VAGUE = "terminated-is-vague"
    FENCED_IS_VAGUE = "fenced-is-vague"
    EPOCH_STAYS = "epoch-stays"
    FAILS_SPOILT_ON_THE_WAY = "fails-spoilt-on-the-way"
    SURFACES_TRANSIENT_ERROR = "surfaces-transient-error"
    RESENDS_NOT_ALLOWED = "resends-not-allowed"
    DEAF_AFTER_NOT_ALLOWED = "deaf-after-not-allowed"
    RETRIES_TERMINATED = "retries-terminated"
    REFUSED_RETURN_IS_FINAL = "refused-return-is-final"
    REFUSED_RETURN_WAITS = "refused-return-waits"
    QUOTA_KEEPS_PENDING = "quota-keeps-pending"
    OPENS_FOR_EVER = "opens-for-ever"
    RETURNS_AFTER_CLOSE = "returns-after-close"
    LEAVES_PRODUCER_BEHIND = "leaves-producer-behind"
    CONSUMER_RETURNS_AFTER_CLOSE = "consumer-returns-after-close"
    LEAVES_CONSUMER_BEHIND = "leaves-consumer-behind"
    BACKOFF_STAYS = "backoff-stays"
    BACKOFF_NEVER_RESETS = "backoff-never-resets"
    CLAIMS_GIVEN_NAME = "claims-given-name"
    CLOSE_FAILS_PENDING = "close-fails-pending"
    PENDING_OUTLIVES_CLOSE = "pending-outlives-close"
    FLUSH_RETURNS_AT_ONCE = "flush-returns-at-once"
    FLUSH_WAITS_FOR_OPEN_BATCH = "flush-waits-for-open-batch"
    NEVER_TIMES_OUT = "never-times-out"
    IDLE_BATCH_TIMES_OUT = "idle-batch-times-out"
    SEND_TIMEOUT_LATE = "send-timeout-late"
    IGNORES_LAST_SEQUENCE_ID = "ignores-last-sequence-id"
    SKIPS_AFTER_LAST_SEQUENCE_ID = "skips-after-last-sequence-id"
    RENUMBERS_ON_RECONNECT = "renumbers-on-reconnect"
    FAILS_DUPLICATE_RECEIPT = "fails-duplicate-receipt"
    PUBLISHES_AGAIN_AFTER_RESEND = "publishes-again-after-resend"
    RECONNECTS_NAMELESS = "reconnects-nameless"
    MIXES_OLD_AND_NEW = "mixes-old-and-new"
    OMITS_CHUNK_FLAG = "omits-chunk-flag"
    OTHER_UUID = "other-uuid"
    CHUNKS_IGNORE_METADATA = "chunks-ignore-metadata"
    CHUNKS_IGNORE_SETTING = "chunks-ignore-setting"
    BATCHING_DROPS_CHUNKING = "batching-drops-chunking"
    SENDS_OVERSIZE = "sends-oversize"
    CHUNKS_HOLD_ONE_PERMIT = "chunks-hold-one-permit"
    CHUNKS_LEAK_PERMITS = "chunks-leak-permits"
    REFUSED_CHUNKS_KEEP_PERMITS = "refused-chunks-keep-permits"
    CHUNKED_MEMORY_UNDERFLOWS = "chunked-memory-underflows"
    CHUNKED_MEMORY_DRIFTS = "chunked-memory-drifts"
    DELIVERS_FRAGMENTS = "delivers-fragments"
    JOINS_OVER_CHUNK_GAP = "joins-over-chunk-gap"
    DROPS_MESSAGE_ON_REPEATED_CHUNK = "drops-message-on-repeated-chunk"
    APPENDS_REPEATED_CHUNK = "appends-repeated-chunk"
    LEAVES_REPEATED_CHUNK = "leaves-repeated-chunk"
    ACK_FLUSH_LATE = "ack-flush-late"
    ACK_TIMER_REARMED = "ack-timer-rearmed"
    FULL_GROUP_WAITS = "full-group-waits"
    ZERO_INTERVAL_WAITS = "zero-interval-waits"
    ACKS_ONE_BY_ONE = "acks-one-by-one"
    RECEIPT_NOT_AWAITED = "receipt-not-awaited"
    REFUSED_RECEIPT_SUCCEEDS = "refused-receipt-succeeds"
    LOST_RECEIPT_SUCCEEDS = "lost-receipt-succeeds"
    COVERED_ACK_ENDS_AT_ONCE = "covered-ack-ends-at-once"
    RECEIPT_ENDS_ONE_CALL = "receipt-ends-one-call"
    AWAITS_OLD_BROKER = "awaits-old-broker"
    CUMULATIVE_KEEPS_LAST = "cumulative-keeps-last"
    CUMULATIVE_CLEARS_ONE_BIT = "cumulative-clears-one-bit"
    FOREIGN_ACK_TAKEN = "foreign-ack-taken"
    FOREIGN_CUMULATIVE_NEVER_ENDS = "foreign-cumulative-never-ends"
    CUMULATIVE_TAKES_OTHERS_ALONG = "cumulative-takes-others-along"
    REQUEST_IDS_COME_AGAIN = "request-ids-come-again"
    SENDS_SMALLER_CUMULATIVE = "sends-smaller-cumulative"
    CLOSE_DROPS_ACKS = "close-drops-acks"
    CLEARS_ACKS_WHILE_AWAY = "clears-acks-while-away"
    HANDS_OVER_ACKED = "hands-over-acked"
    ACKED_AGAIN_KEEPS_PERMIT = "acked-again-keeps-permit"
    ACKS_ENTRY_ON_FIRST_MEMBER = "acks-entry-on-first-member"
    ACK_SET_INVERTED = "ack-set-inverted"
    IGNORES_ACK_SET = "ignores-ack-set"
    CUMULATIVE_TAKES_WHOLE_BATCH = "cumulative-takes-whole-batch"
    CUMULATIVE_SKIPS_BATCH = "cumulative-skips-batch"
    SENDS_CUMULATIVE_ON_SHARED = "sends-cumulative-on-shared"
    NACK_LATE = "nack-late"
    NACK_EARLY = "nack-early"
    NACK_DEFAULT_IS_NONE = "nack-default-is-none"
    NACK_DELAY_UNCLAMPED = "nack-delay-unclamped"
    NACKS_ONE_BY_ONE = "nacks-one-by-one"
    NACKS_LAST_CHUNK = "nacks-last-chunk"
    NACK_KEEPS_BATCH_INDEX = "nack-keeps-batch-index"
    DROPS_WHAT_IT_HANDED_OVER = "drops-what-it-handed-over"
    NACK_TIMER_REARMED = "nack-timer-rearmed"
    NACK_BACKOFF_STAYS = "nack-backoff-stays"
    NACK_BACKOFF_UNBOUNDED = "nack-backoff-unbounded"
    SHORT_NACK_WAITS_FOR_LONG = "short-nack-waits-for-long"
    NACK_REQUEUES_LOCALLY = "nack-requeues-locally"
    NACK_LEAVES_TIMEOUT = "nack-leaves-timeout"
    CLOSE_WAITS_FOR_NACKS = "close-waits-for-nacks"
    ACK_TIMEOUT_LATE = "ack-timeout-late"
    ACK_TIMEOUT_EARLY = "ack-timeout-early"
    TIMES_OUT_PREFETCHED = "times-out-prefetched"
    ACK_LEAVES_TIMEOUT = "ack-leaves-timeout"
    ASKS_FOR_LAST_CHUNK = "asks-for-last-chunk"
    TIMEOUT_ASKS_FOR_ALL = "timeout-asks-for-all"
    TIMEOUT_NAMES_ALWAYS = "timeout-names-always"
    BATCH_OVERFILLS = "batch-overfills"
    BATCH_IGNORES_BYTES = "batch-ignores-bytes"
    BATCH_DELAY_LATE = "batch-delay-late"
    BATCH_WAITS_FOR_RECEIPT = "batch-waits-for-receipt"
    BATCH_LEAVES_HALF_FULL = "batch-leaves-half-full"
    FIRST_BATCH_HURRIES = "first-batch-hurries"
    BATCH_DELAY_UNREAD = "batch-delay-unread"
    LARGE_BATCH_UNCOMPRESSED = "large-batch-uncompressed"
    SYNC_SEND_LEAVES_BATCH = "sync-send-leaves-batch"
    SYNC_SEND_RETURNS_AT_ONCE = "sync-send-returns-at-once"
    FLUSH_LEAVES_BATCH = "flush-leaves-batch"
    BATCH_SIZE_OF_PAYLOADS = "batch-size-of-payloads"
    COMPRESSES_MEMBERS_TOO = "compresses-members-too"
    DELAYED_OVERTAKES_BATCH = "delayed-overtakes-batch"
    DELAYED_JOINS_BATCH = "delayed-joins-batch"
    BATCH_INDEX_FROM_ONE = "batch-index-from-one"
    BATCH_FAILS_FIRST_ONLY = "batch-fails-first-only"
    FULL_QUEUE_STOPS_BATCH_TIMER = "full-queue-stops-batch-timer"
    FULL_QUEUE_CLOSES_BATCH = "full-queue-closes-batch"
    OMITS_HIGHEST_SEQUENCE_ID = "omits-highest-sequence-id"
    BATCH_GOES_BY_HIGHEST_ID = "batch-goes-by-highest-id"
    OMITS_SINGLE_SEQUENCE_IDS = "omits-single-sequence-ids"
    KEYS_SHARE_A_BATCH = "keys-share-a-batch"
    KEYED_BATCH_WITHOUT_KEY = "keyed-batch-without-key"
    KEYED_BATCH_TELLS_RANGE = "keyed-batch-tells-range"
    KEYED_BATCH_TELLS_LOWEST = "keyed-batch-tells-lowest"
    KEYED_BATCHES_UNSORTED = "keyed-batches-unsorted"
    NEW_KEY_RESTARTS_DELAY = "new-key-restarts-delay"
    BATCH_OF_ONE_UNOPENED = "batch-of-one-unopened"
    OVERSIZE_BATCH_FAILS_PENDING = "oversize-batch-fails-pending"
    DEFAULT_HASH_IS_MURMUR3 = "default-hash-is-murmur3"
    IGNORES_ACROSS_PARTITIONS = "ignores-across-partitions"
    ACROSS_PARTITIONS_UNDIVIDED = "across-partitions-undivided"
    TAKES_ANY_HIGHEST_ID = "takes-any-highest-id"
    SEEKS_LAST_CHUNK = "seeks-last-chunk"
    SENT_ID_OF_FIRST_CHUNK = "sent-id-of-first-chunk"
    SINGLE_IGNORES_KEYS = "single-ignores-keys"
    JAVA_HASH_OF_BYTES = "java-hash-of-bytes"
    MURMUR3_KEEPS_SIGN = "murmur3-keeps-sign"
    SINGLE_TAKES_TURNS = "single-takes-turns"
    TURNS_LAST_TWO_MESSAGES = "turns-last-two-messages"
    BATCHED_TURNS_BY_MESSAGE = "batched-turns-by-message"
    WINDOW_OF_ONE_DELAY = "window-of-one-delay"
    WINDOW_OVERSTAYS = "window-overstays"
    WINDOW_NEVER_ENDS = "window-never-ends"
    SWITCH_FREQUENCY_UNCHECKED = "switch-frequency-unchecked"
    SICK_PARTITION_HOLDS_SENDS = "sick-partition-holds-sends"
    SNAPPY_FRAMED = "snappy-framed"
    OMITS_UNCOMPRESSED_SIZE = "omits-uncompressed-size"
    BAD_BODY_UNREPORTED = "bad-body-unreported"
    BAD_BODY_KEEPS_PERMIT = "bad-body-keeps-permit"
    BAD_BODY_DELIVERED = "bad-body-delivered"
    FIRST_FLOW_TOO_LARGE = "first-flow-too-large"
    FLOW_BEFORE_SUBSCRIBED = "flow-before-subscribed"
    REQUESTS_BEFORE_CONNECTED = "requests-before-connected"
    PONG_LATE = "pong-late"
    STAYS_WITH_SILENT_PEER = "stays-with-silent-peer"
    DELIVERS_CORRUPT = "delivers-corrupt"
    CORRUPT_CLOSES_CONNECTION = "corrupt-closes-connection"
    CORRUPT_KEEPS_PERMIT = "corrupt-keeps-permit"
    LOSES_SPLIT_LENGTH = "loses-split-length"
    LOSES_THIRD_SEND = "loses-third-send"
    FLUSH_FORGETS_EARLIER = "flush-forgets-earlier"
    SEEK_REPEATS_TARGET = "seek-repeats-target"
    SEEK_IGNORES_INCLUSIVE = "seek-ignores-inclusive"
    IGNORES_AGREED_VERSION = "ignores-agreed-version"
    SUMS_FOR_THE_OLD = "sums-for-the-old"
    LIMIT_OF_LAST_CONNECTION = "limit-of-last-connection"
    UNBOUNDED_REDIRECTS = "unbounded-redirects"
    DROPS_AUTHORITY = "drops-authority"
    GIVES_UP_OPENING = "gives-up-opening"
    REGISTERS_AGAIN_UNCLOSED = "registers-again-unclosed"
    UNKNOWN_RECEIPT_CLOSES = "unknown-receipt-closes"
    IGNORES_CLOSE_CONSUMER = "ignores-close-consumer"
    IGNORES_ASSIGNED_BROKER = "ignores-assigned-broker"
    PAUSES_BEFORE_ASSIGNED_BROKER = "pauses-before-assigned-broker"
    BAD_BATCH_UNREPORTED = "bad-batch-unreported"
    KEEPS_AFTER_UNDECODABLE = "keeps-after-undecodable"
    UNKNOWN_COMMAND_CLOSES = "unknown-command-closes"
    BAD_METADATA_CLOSES = "bad-metadata-closes"
    EMPTY_PAYLOAD_DROPPED = "empty-payload-dropped"
    LARGE_PROPERTIES_LOST = "large-properties-lost"
    ONE_CHUNK_BUFFER = "one-chunk-buffer"
    ACKS_LAST_CHUNK_ONLY = "acks-last-chunk-only"
    NEVER_EVICTS_CHUNKS = "never-evicts-chunks"
    RESTART_LEAVES_CHUNKS = "restart-leaves-chunks"
    ACKS_AT_CHUNK_GAP = "acks-at-chunk-gap"
    INCOMPLETE_NEVER_EXPIRES = "incomplete-never-expires"
    SEEK_KEEPS_PREFETCH = "seek-keeps-prefetch"
    SEEK_KEEPS_ACKS = "seek-keeps-acks"
    SEEK_ENDS_ON_ANSWER = "seek-ends-on-answer"
    SEEKS_BESIDE_ANOTHER = "seeks-beside-another"
    SEEKS_WHOLE_BATCH = "seeks-whole-batch"
    PATTERN_TAKES_ALL = "pattern-takes-all"
    PATTERN_IS_READ_ONCE = "pattern-is-read-once"
    IGNORES_TOPIC_UPDATES = "ignores-topic-updates"
    FIRST_TOPIC_FIRST = "first-topic-first"
    ACKS_ON_FIRST_TOPIC = "acks-on-first-topic"
    WINDOW_OF_ONE_NEVER_ENDS = "window-of-one-never-ends"
    STEERS_AROUND_FULL = "steers-around-full"
    ASKS_ROUTER_TWICE = "asks-router-twice"
    OUT_OF_RANGE_WRAPS = "out-of-range-wraps"
    INTERCEPTS_BEHIND_ROUTER = "intercepts-behind-router"
    INTERCEPTOR_HEARS_LAST = "interceptor-hears-last"
    TIME_SOUGHT_HAS_MORE = "time-sought-has-more"
    INCLUSIVE_TIME_HAS_MORE = "inclusive-time-has-more"
    EMPTY_TOPIC_HAS_MORE = "empty-topic-has-more"
    TAKES_ANY_ACK_TIMEOUT = "takes-any-ack-timeout"
    TICK_LONGER_THAN_TIMEOUT = "tick-longer-than-timeout"
    TICKS_ROUNDED_DOWN = "ticks-rounded-down"
    FLOW_AFTER_WHOLE_QUEUE = "flow-after-whole-queue"
    PERMITS_FOR_FILTERED = "permits-for-filtered"
    PERMITS_TWICE = "permits-twice"
    EARLY_CHUNK_KEEPS_PERMIT = "early-chunk-keeps-permit"
    COMPACTED_KEEPS_PERMIT = "compacted-keeps-permit"
    READER_STARTS_OVER = "reader-starts-over"
    READER_FORGETS_INDEX = "reader-forgets-index"
    BEFORE_START_KEEPS_PERMIT = "before-start-keeps-permit"
    BURIED_UNSEEN_KEEPS_PERMIT = "buried-unseen-keeps-permit"
    LONE_LAST_CHUNK_KEEPS_PERMIT = "lone-last-chunk-keeps-permit"
    OLD_EPOCH_KEEPS_PERMIT = "old-epoch-keeps-permit"
    ZERO_QUEUE_PREFETCHES = "zero-queue-prefetches"
    ZERO_QUEUE_FORGETS_WAITING = "zero-queue-forgets-waiting"
    LESS_PERMITS_AFTER_RECONNECT = "less-permits-after-reconnect"
    IGNORES_PENDING_LIMIT = "ignores-pending-limit"
    MEMORY_PER_PRODUCER = "memory-per-producer"
    TOO_LARGE_KEEPS_PLACE = "too-large-keeps-place"
    MEMORY_NEVER_FREED = "memory-never-freed"
    TIMED_OUT_KEEPS_MEMORY = "timed-out-keeps-memory"
    CLOSED_KEEPS_MEMORY = "closed-keeps-memory"
    LOSES_BEHIND_RECONNECT = "loses-behind-reconnect"
    BLANKS_RESEND = "blanks-resend"
    RETURN_NAMES_NO_TOPIC = "return-names-no-topic"
    SENDS_WHAT_IT_REFUSED = "sends-what-it-refused"
    HANDS_OUT_ACKED_AGAIN = "hands-out-acked-again"
    HANDS_OVER_OLD_BYTES = "hands-over-old-bytes"
    SILENT_AFTER_RECONNECT = "silent-after-reconnect"
    TIME_OUT_ENDS_RETURN = "time-out-ends-return"
    RETRY_LETTER_LOSES_KEYS = "retry-letter-loses-keys"
    RETRY_LETTER_UNDELAYED = "retry-letter-undelayed"
    RETRIES_UNRECEIPTED = "retries-unreceipted"
    DEAD_LETTER_LOSES_ORIGIN = "dead-letter-loses-origin"
    BURIES_UNRECEIPTED = "buries-unreceipted"
    FAILED_LETTER_FORGOTTEN = "failed-letter-forgotten"
    DEAD_LETTER_PRODUCERS_SHARE_NAME = "dead-letter-producers-share-name"
    BURIES_TOO_SOON = "buries-too-soon"
    HANDS_OVER_BEYOND_MAXIMUM = "hands-over-beyond-maximum"
    DEAD_LETTERS_BATCHED = "dead-letters-batched"
    DEAD_LETTERS_UNCHUNKED = "dead-letters-unchunked"
    DEAD_LETTERS_UNKEPT = "dead-letters-unkept"
    WAITS_NO_LONGER_THAN_OTHERS = "waits-no-longer-than-others"
    FORGETS_TOPIC_EPOCH = "forgets-topic-epoch"
    RETRIES_FENCED = "retries-fenced"
    RETRIES_DELETED = "retries-deleted"
    CONSUMER_RETRIES_DELETED = "consumer-retries-deleted"
    OPENS_WHAT_IS_NOT_THERE = "opens-what-is-not-there"
    GIVES_UP_ON_FIRST_LOOKUP = "gives-up-on-first-lookup"
    IGNORES_MIGRATION = "ignores-migration"
    DELIVER_AT_IN_SECONDS = "deliver-at-in-seconds"
    ABSURD_SIZE_CLOSES = "absurd-size-closes"
    NEVER_LOOKS_FOR_PARTITIONS = "never-looks-for-partitions"
    ADDED_PARTITIONS_UNUSED = "added-partitions-unused"
    SINGLE_IS_THE_FIRST = "single-is-the-first"
    TURNS_START_AT_THE_FIRST = "turns-start-at-the-first"
    KEYS_KEEP_OLD_NUMBER = "keys-keep-old-number"
    IGNORES_CHALLENGE = "ignores-challenge"
    IGNORES_PROXY = "ignores-proxy"
    REPEATS_CREDENTIALS = "repeats-credentials"
    ANSWERS_WITHOUT_CREDENTIALS = "answers-without-credentials"


@dataclass(frozen=True, slots=True)
class Broken:
    """The requirement row a mutation breaks, the rule it changes, and the bug it stands for."""

    row: str
    rule: str
    stands_for: str
    lateness_ms: int | None = None


MUTATIONS: dict[Mutation, Broken] = {
    Mutation.SWAPS_SENDS_WHILE_AWAY: Broken(
        "ORD-001",
        "the payloads of the last two sends made during an outage change places",
        "pulsar-client-go#1394: a buffer goes back to its pool while a send still needs it",
    ),
    Mutation.OVERTAKES_RESEND: Broken(
        "ORD-001",
        "sends made during an outage are written before the older pending ones (RSD-002 notices too)",
        "apache/pulsar#12779: a new send runs into the resend of older ones",
    ),
    Mutation.SKIPS_SEQUENCE_ID: Broken(
        "ORD-003", "each reconnect uses up one sequence id", "a counter advanced by the registration, not by the send"
    ),
    Mutation.REVERSES_BATCH: Broken(
        "ORD-005", "the messages of a batch are handed over last first", "a stack where a queue was meant"
    ),
    Mutation.KEY_LAST_FIRST: Broken(
        "ORD-006",
        "a Key_Shared consumer hands the messages of a batch over last first",
        "work of one key that several threads take off one queue",
    ),
    Mutation.COMPLETES_OUT_OF_ORDER: Broken(
        "ORD-004",
        "every other completion of several in flight waits a moment and the next one passes it",
        "callbacks handed to a pool of threads that keeps no order",
    ),
    Mutation.FAILS_PENDING_ON_LOSS: Broken(
        "RSD-001",
        "what was written and not receipted fails when the connection ends",
        "pulsar-rs: outstanding sends end as disconnected, nothing is sent again",
    ),
    Mutation.RESENDS_RECEIPTED: Broken(
        "RSD-002",
        "a resend begins one send too early, with the last one receipted",
        "an operation taken off the queue only after the resend had begun",
    ),
    Mutation.RESTAMPS_RESEND: Broken(
        "RSD-003", "a resend carries a new publish time", "metadata built when written, not when sent"
    ),
    Mutation.SENDS_BEFORE_SUCCESS: Broken(
        "RSD-004",
        "on a reconnect the resend follows PRODUCER at once, not its answer",
        "a producer taken for ready once its connection is",
    ),
    Mutation.LATE_RECEIPT_COMPLETES_HEAD: Broken(
        "RSD-007",
        "a receipt for an older send completes the oldest pending one",
        "pulsar-client-go#774: receipt comparison the wrong way round",
    ),
    Mutation.IGNORES_HIGHER_RECEIPT: Broken(
        "RSD-008",
        "a receipt beyond the oldest pending send is ignored",
        "pulsar-client-go#774: receipt comparison the wrong way round, the producer is stuck",
    ),
    Mutation.IGNORES_CLOSE_PRODUCER: Broken(
        "RSD-005",
        "the broker's CLOSE_PRODUCER is ignored",
        "pulsar-rs: the command is filed under a request id nobody asked with; the next send hangs",
    ),
    Mutation.LEAVES_ON_CLOSE_PRODUCER: Broken(
        "RSD-005",
        "the broker's CLOSE_PRODUCER closes the whole connection",
        "a producer and its connection taken for one",
    ),
    Mutation.EPOCH_BEGINS_ANYWHERE: Broken(
        "RSD-006", "the first PRODUCER carries epoch 7", "a counter that all producers of a client share"
    ),
    Mutation.TERMINATED_IS_VAGUE: Broken(
        "RSD-013",
        "what is pending on a terminated topic fails with an error that does not say so",
        "an error code without an exception of its own",
    ),
    Mutation.FENCED_IS_VAGUE: Broken(
        "PRD-003",
        "what is pending with a producer that is fenced fails with an error that does not say so",
        "an error code without an exception of its own",
    ),
    Mutation.EPOCH_STAYS: Broken(
        "RSD-006", "every PRODUCER carries epoch 0", "pulsar-rs and DotPulsar: the epoch is never sent"
    ),
    Mutation.FAILS_SPOILT_ON_THE_WAY: Broken(
        "RSD-010",
        "a send answered ChecksumError fails without a look at its own bytes",
        "C++ client (read in its source): removeCorruptMessage takes the head off the queue",
    ),
    Mutation.SURFACES_TRANSIENT_ERROR: Broken(
        "RSD-011",
        "a send answered PersistenceError fails",
        "pulsar-rs: every SEND_ERROR ends its send; DotPulsar: it ends the producer",
    ),
    Mutation.RESENDS_NOT_ALLOWED: Broken(
        "RSD-012",
        "a send answered NotAllowedError is sent again",
        "C++ client: reconnects and sends it again until the time-out, in front of all others",
    ),
    Mutation.DEAF_AFTER_NOT_ALLOWED: Broken(
        "RSD-012",
        "a send answered NotAllowedError fails, and no receipt behind it is heard",
        "Go client: the connection forgets the producer over that error, and drops its receipts",
    ),
    Mutation.RETRIES_TERMINATED: Broken(
        "RSD-013",
        "a terminated topic is asked for again and again",
        "pulsar-client-cpp#567, pulsar-client-go#1128: retried until the time-out",
    ),
    Mutation.REFUSED_RETURN_IS_FINAL: Broken(
        "RSD-017",
        "a producer that comes back and is refused for now ends, and its sends with it",
        "errors of the first registration and of a return looked up in one table",
    ),
    Mutation.REFUSED_RETURN_WAITS: Broken(
        "RSD-017",
        "a producer that comes back and is refused for now never asks again",
        "a retry that is armed by the end of a connection alone",
    ),
    Mutation.QUOTA_KEEPS_PENDING: Broken(
        "RSD-018",
        "what is pending waits on when the broker says that the backlog is over its quota",
        "the two quota errors taken for one",
    ),
    Mutation.OPENS_FOR_EVER: Broken(
        "CON-011",
        "an opening that is refused for now goes on beyond its time-out",
        "a deadline kept for requests, and for what they are part of nobody's",
    ),
    Mutation.RETURNS_AFTER_CLOSE: Broken(
        "RSD-015",
        "close while waiting to reconnect leaves the retry running",
        "pulsar-client-cpp#518 (for consumers): what was closed while it reconnected registers again",
    ),
    Mutation.LEAVES_PRODUCER_BEHIND: Broken(
        "RSD-015",
        "close while PRODUCER has no answer yet does not tell the broker",
        "pulsar-client-cpp#131, apache/pulsar#23853: an orphan producer stays at the broker",
    ),
    Mutation.CONSUMER_RETURNS_AFTER_CLOSE: Broken(
        "SUB-009",
        "close while waiting to reconnect leaves the retry of a consumer running",
        "apache/pulsar#22958: what was closed while it reconnected subscribes again",
    ),
    Mutation.LEAVES_CONSUMER_BEHIND: Broken(
        "SUB-009",
        "close while SUBSCRIBE has no answer yet does not tell the broker",
        "pulsar-client-cpp#518: an orphan consumer stays at the broker, with permits",
    ),
    Mutation.BACKOFF_STAYS: Broken(
        "RSD-016", "the wait between attempts does not grow", "pulsar-client-go#1197: the backoff starts anew each time"
    ),
    Mutation.BACKOFF_NEVER_RESETS: Broken(
        "RSD-016", "the wait between attempts stays long after a success", "a backoff kept from one outage to the next"
    ),
    Mutation.CLAIMS_GIVEN_NAME: Broken(
        "PRD-004",
        "a producer named by the broker says that its user chose the name",
        "pulsar-rs and DotPulsar: the flag is left at its default",
    ),
    Mutation.CLOSE_FAILS_PENDING: Broken(
        "PRD-005",
        "close fails what is pending before it asks the broker",
        "pulsar-client-cpp#303, and C++ 4.2 (read in its source): messages that were stored are reported as failed",
    ),
    Mutation.PENDING_OUTLIVES_CLOSE: Broken(
        "PRD-005",
        "close leaves what has no receipt pending for ever",
        "pulsar-client-go#1059: callbacks of pending messages are lost",
    ),
    Mutation.FLUSH_RETURNS_AT_ONCE: Broken(
        "PRD-006",
        "flush does not wait for receipts",
        "pulsar-client-cpp#98: flush does nothing where batching is off",
    ),
    Mutation.FLUSH_WAITS_FOR_OPEN_BATCH: Broken(
        "PRD-006",
        "flush with batching on and no batch open does not wait for receipts",
        "pulsar-client-cpp#303: flush returns at once although receipts are outstanding",
    ),
    Mutation.NEVER_TIMES_OUT: Broken("RSD-014", "no send ever times out", "DotPulsar: sends have no time-out"),
    Mutation.IDLE_BATCH_TIMES_OUT: Broken(
        "RSD-014",
        "the time-out of a batch runs from the last batch before it",
        "apache/pulsar#21889: a message batched after an idle time times out at once",
    ),
    Mutation.SEND_TIMEOUT_LATE: Broken("RSD-014", "the send time-out fires late", "a timer that ticks coarsely", 600),
    Mutation.IGNORES_LAST_SEQUENCE_ID: Broken(
        "DDP-006",
        "a new producer starts at 0 whatever the broker last saw of its name",
        "pulsar-rs and DotPulsar: restarted producers are silently swallowed as duplicates",
    ),
    Mutation.SKIPS_AFTER_LAST_SEQUENCE_ID: Broken(
        "DDP-006", "a new producer starts one beyond the next sequence id", "last taken for next"
    ),
    Mutation.RENUMBERS_ON_RECONNECT: Broken(
        "DDP-007",
        "every PRODUCER_SUCCESS sets the numbering to the broker's last id",
        "C++ client: until its first receipt a producer takes each PRODUCER_SUCCESS for its first (measured on 3.13.0)",
    ),
    Mutation.FAILS_DUPLICATE_RECEIPT: Broken(
        "DDP-009", "a receipt without a position fails the send", "-1 taken for an error"
    ),
    Mutation.MIXES_OLD_AND_NEW: Broken(
        "DDP-008",
        "a message that is sent again joins the batch of new ones",
        "C++ and Go clients (read in their source): with deduplication the new ones are dropped and reported as sent",
    ),
    Mutation.PUBLISHES_AGAIN_AFTER_RESEND: Broken(
        "DDP-010",
        "after a resend the newest pending message is published once more under a new sequence id",
        "a retry of the application's kind inside the client, on top of the resend",
    ),
    Mutation.RECONNECTS_NAMELESS: Broken(
        "DDP-010",
        "a reconnect asks for a producer without the name it had",
        "a name kept in the configuration and lost by the reconnect: the broker knows none of the resent ids",
    ),
    Mutation.OMITS_CHUNK_FLAG: Broken("CHK-001", "SENDs of chunks lack is_chunk", "metadata and command built apart"),
    Mutation.OTHER_UUID: Broken(
        "CHK-002", "the uuid of a chunked message has a format of its own", "an identifier taken for anybody's choice"
    ),
    Mutation.CHUNKS_IGNORE_METADATA: Broken(
        "CHK-003",
        "chunks are cut at the limit, whatever their metadata take",
        "apache/pulsar#16196: a chunk with long properties exceeds the limit",
    ),
    Mutation.CHUNKS_IGNORE_SETTING: Broken(
        "CHK-003",
        "chunks are as large as the broker takes, whatever the application has set",
        "a bound that is read, and forgotten where sizes are compared",
    ),
    Mutation.BATCHING_DROPS_CHUNKING: Broken(
        "CHK-004",
        "with batching on, chunking is dropped in silence",
        "C++ client (read in its source): the core takes both and never chunks",
    ),
    Mutation.SENDS_OVERSIZE: Broken(
        "CHK-005",
        "a message beyond the limit is sent as it is",
        "DotPulsar 3.1.2: the broker closes the connection, and the message is sent again without end",
    ),
    Mutation.DELIVERS_FRAGMENTS: Broken(
        "CHK-007",
        "each chunk is delivered as a message of its own",
        "pulsar-rs and DotPulsar: no chunk support, fragments reach the application",
    ),
    Mutation.JOINS_OVER_CHUNK_GAP: Broken(
        "CHK-007", "a chunk behind a gap is appended as if it were the next", "the last chunk taken for completeness"
    ),
    Mutation.DROPS_MESSAGE_ON_REPEATED_CHUNK: Broken(
        "CHK-012",
        "a repeated chunk discards the message it belongs to",
        "pulsar-client-go#1464, apache/pulsar#21070: a message with a resent chunk is never delivered",
    ),
    Mutation.APPENDS_REPEATED_CHUNK: Broken(
        "CHK-012", "a repeated chunk is appended once more", "chunks counted, not compared"
    ),
    Mutation.LEAVES_REPEATED_CHUNK: Broken(
        "CHK-012",
        "a chunk the producer sent again is ignored and never acknowledged",
        "a filter that forgets what it filtered: the entry stays in the backlog for ever",
    ),
    Mutation.CHUNKS_HOLD_ONE_PERMIT: Broken(
        "CHK-006",
        "a message holds one place in the queue, however many chunks it has",
        "a limit of messages taken for one of what is in flight",
    ),
    Mutation.CHUNKS_LEAK_PERMITS: Broken(
        "CHK-006",
        "of the places of a chunked message only the last chunk's becomes free again",
        "a permit taken for each chunk, and returned for each message",
    ),
    Mutation.REFUSED_CHUNKS_KEEP_PERMITS: Broken(
        "CHK-006",
        "a chunked message that is refused half-way keeps the places it had found",
        "C++ client (read in its source): permits are taken chunk by chunk, and one is returned",
    ),
    Mutation.CHUNKED_MEMORY_UNDERFLOWS: Broken(
        "CHK-006",
        "the memory of a chunked message is returned once for each chunk, to a counter without a sign",
        "C++ client (read in its source): every later send finds the memory full",
    ),
    Mutation.CHUNKED_MEMORY_DRIFTS: Broken(
        "FLW-011",
        "the memory of a chunked message is returned once for each chunk",
        "Java client (read in its source): the limit drifts open",
    ),
    Mutation.ACK_FLUSH_LATE: Broken(
        "ACK-001", "grouped acknowledgments leave late", "a timer that ticks coarsely", 200
    ),
    Mutation.ACK_TIMER_REARMED: Broken(
        "ACK-001",
        "each acknowledgment starts the group's interval anew",
        "C++ client (read in its source, for redelivery): a timer re-armed by every addition",
    ),
    Mutation.FULL_GROUP_WAITS: Broken(
        "ACK-002", "a full group waits for its interval", "a size limit read and never used"
    ),
    Mutation.ZERO_INTERVAL_WAITS: Broken(
        "ACK-003", "a group interval of 0 is taken for the default", "0 taken for not set"
    ),
    Mutation.RECEIPT_NOT_AWAITED: Broken(
        "ACK-015",
        "an acknowledgment ends when it is grouped, although the broker's answer was asked for",
        "an option that is read and not handed on",
    ),
    Mutation.REFUSED_RECEIPT_SUCCEEDS: Broken(
        "ACK-015",
        "an answer with an error and no text ends the acknowledgment well",
        "Go client (read in its source): an ack response without a message is a success",
    ),
    Mutation.LOST_RECEIPT_SUCCEEDS: Broken(
        "ACK-015",
        "acknowledgments whose answers are lost with the connection end well",
        "futures completed by a clean-up that does not know how they ended",
    ),
    Mutation.COVERED_ACK_ENDS_AT_ONCE: Broken(
        "ACK-015",
        "an acknowledgment that one under way covers ends well before that one is answered",
        "what needs no command of its own taken for done",
    ),
    Mutation.RECEIPT_ENDS_ONE_CALL: Broken(
        "ACK-015",
        "of the calls that left in one command only the first ends with its answer",
        "one callback kept for a command, where several calls wait",
    ),
    Mutation.AWAITS_OLD_BROKER: Broken(
        "ACK-015",
        "the answer is awaited of a broker too old to give one",
        "a version checked where the command is built, and not where it is awaited",
    ),
    Mutation.CUMULATIVE_CLEARS_ONE_BIT: Broken(
        "ACK-010",
        "the ack_set of a cumulative acknowledgment leaves the messages before the one it names open",
        "the bits of an individual acknowledgment in a cumulative one",
    ),
    Mutation.FOREIGN_ACK_TAKEN: Broken(
        "ACK-017",
        "a message of another topic is acknowledged on the first of the consumer's own",
        "ids compared without their topics",
    ),
    Mutation.FOREIGN_CUMULATIVE_NEVER_ENDS: Broken(
        "ROB-009",
        "a cumulative acknowledgment of another topic's message never ends",
        "pulsar-client-cpp#492: where the topic is not found nobody calls back",
    ),
    Mutation.CUMULATIVE_TAKES_OTHERS_ALONG: Broken(
        "ACK-005", "a cumulative acknowledgment names the individual ones beside it", "one command for all that waits"
    ),
    Mutation.REQUEST_IDS_COME_AGAIN: Broken(
        "CON-009", "request ids begin anew while their connection goes on", "a counter too small, that wraps around"
    ),
    Mutation.CUMULATIVE_KEEPS_LAST: Broken(
        "ACK-005", "the last cumulative acknowledgment replaces a greater one", "assignment in place of a maximum"
    ),
    Mutation.SENDS_SMALLER_CUMULATIVE: Broken(
        "ACK-005", "a cumulative acknowledgment behind a greater one is sent all the same", "no comparison at all"
    ),
    Mutation.CLOSE_DROPS_ACKS: Broken(
        "ACK-006",
        "close leaves grouped acknowledgments unsent",
        "C++ client (read in its source): a flush without connection clears the set",
    ),
    Mutation.CLEARS_ACKS_WHILE_AWAY: Broken(
        "ACK-007",
        "a flush without connection forgets what it should have sent",
        "C++ client (read in its source): the set is cleared whether it was sent or not",
    ),
    Mutation.HANDS_OVER_ACKED: Broken(
        "ACK-008",
        "a message whose acknowledgment is still held is handed over when it comes again",
        "pulsar-rs and DotPulsar: no filter for it",
    ),
    Mutation.ACKED_AGAIN_KEEPS_PERMIT: Broken(
        "ACK-008", "a message dropped so keeps its permit", "an early return past the accounting"
    ),
    Mutation.ACKS_ENTRY_ON_FIRST_MEMBER: Broken(
        "ACK-009",
        "acknowledging one message of a batch acknowledges its entry",
        "pulsar-rs#345: the rest of the batch is lost in a crash",
    ),
    Mutation.ACK_SET_INVERTED: Broken(
        "ACK-010", "an ack_set names what was acknowledged", "PIP-54 read the wrong way round"
    ),
    Mutation.IGNORES_ACK_SET: Broken(
        "ACK-011",
        "messages that an ack_set leaves out are handed over",
        "pulsar-rs and DotPulsar: the field is not read",
    ),
    Mutation.CUMULATIVE_TAKES_WHOLE_BATCH: Broken(
        "ACK-013",
        "a cumulative acknowledgment inside a batch takes the whole entry",
        "a batch index dropped from the id: the rest of the batch is lost in a crash",
    ),
    Mutation.CUMULATIVE_SKIPS_BATCH: Broken(
        "ACK-013",
        "a cumulative acknowledgment inside a batch sends nothing",
        "DotPulsar (read in its source): only a complete batch counts",
    ),
    Mutation.SENDS_CUMULATIVE_ON_SHARED: Broken(
        "ACK-014", "a cumulative acknowledgment on a shared subscription is sent", "pulsar-rs: no check of the type"
    ),
    Mutation.NACK_LATE: Broken("NCK-001", "redelivery is asked for late", "a timer that ticks coarsely", 300),
    Mutation.NACK_EARLY: Broken("NCK-001", "redelivery is asked for early", "a due time rounded down too far", 20),
    Mutation.NACK_DEFAULT_IS_NONE: Broken(
        "NCK-001",
        "where no delay is configured redelivery is asked for at once",
        "pulsar-rs, DotPulsar: no delay unless one is set, whatever is declared",
    ),
    Mutation.NACK_DELAY_UNCLAMPED: Broken(
        "NCK-002", "a redelivery delay below 100 ms is taken as it is", "Go client (read in its source): no minimum"
    ),
    Mutation.NACKS_ONE_BY_ONE: Broken(
        "NCK-003", "each refused message is asked for by a command of its own", "pulsar-rs: one command a refusal"
    ),
    Mutation.NACKS_LAST_CHUNK: Broken(
        "NCK-004",
        "of a refused message in chunks only the last chunk is asked for again",
        "apache/pulsar-client-cpp#604: a refusal keeps one id of a message that has several",
    ),
    Mutation.NACK_KEEPS_BATCH_INDEX: Broken(
        "NCK-004",
        "a redelivery request names the message inside its batch",
        "an id passed on as the application gave it",
    ),
    Mutation.DROPS_WHAT_IT_HANDED_OVER: Broken(
        "NCK-005",
        "what comes again with a refused message is dropped when it was handed over before",
        "a filter for duplicates that takes redelivery for one",
    ),
    Mutation.NACK_BACKOFF_STAYS: Broken(
        "NCK-006",
        "every refusal waits for as long as the first",
        "Go client (read in its source): a refusal by id knows no redelivery count",
    ),
    Mutation.NACK_BACKOFF_UNBOUNDED: Broken(
        "NCK-006", "the backoff of refusals grows beyond its maximum", "a bound read and never used"
    ),
    Mutation.SHORT_NACK_WAITS_FOR_LONG: Broken(
        "NCK-008",
        "a refusal does not move the timer of one that is due later",
        "Java client since PIP-393 (read in its source): the timer is armed only where none runs",
    ),
    Mutation.NACK_TIMER_REARMED: Broken(
        "NCK-007",
        "each refusal starts the redelivery timer anew",
        "C++ client (read in its source): a steady stream of refusals starves all of them",
    ),
    Mutation.NACK_REQUEUES_LOCALLY: Broken(
        "NCK-009",
        "a due negative acknowledgment also hands out the client's own copy again",
        "a retry inside the client that no later acknowledgment stops",
    ),
    Mutation.NACK_LEAVES_TIMEOUT: Broken(
        "NCK-010", "a refused message still runs into its acknowledgment time-out", "two trackers that know no other"
    ),
    Mutation.CLOSE_WAITS_FOR_NACKS: Broken(
        "NCK-012", "close waits until refused messages were asked for", "an orderly end taken too far"
    ),
    Mutation.ACK_TIMEOUT_LATE: Broken(
        "UAT-001", "held messages are asked for late", "a timer that ticks coarsely", 300
    ),
    Mutation.ACK_TIMEOUT_EARLY: Broken(
        "UAT-001", "held messages are asked for after half the time", "buckets counted in other ticks than they pass in"
    ),
    Mutation.TIMES_OUT_PREFETCHED: Broken(
        "UAT-004",
        "the time-out runs from a message's arrival",
        "a slow application loses what it never had in hand to others",
    ),
    Mutation.ACK_LEAVES_TIMEOUT: Broken(
        "UAT-005",
        "an acknowledgment does not stop the time-out",
        "pulsar-rs (read in its source): a cumulative one clears nothing",
    ),
    Mutation.TIMEOUT_ASKS_FOR_ALL: Broken(
        "UAT-001",
        "a time-out asks for everything on a shared subscription",
        "one request for every type: what is still at work comes again",
    ),
    Mutation.TIMEOUT_NAMES_ALWAYS: Broken(
        "UAT-001",
        "a time-out names its messages on an exclusive subscription",
        "pulsar-rs (read in its source): ids whatever the type is",
    ),
    Mutation.ASKS_FOR_LAST_CHUNK: Broken(
        "UAT-005",
        "of a chunked message only the last chunk is asked for again",
        "a chunked message known by one id: the rest of it never comes back",
    ),
    Mutation.BATCH_OVERFILLS: Broken("BAT-001", "a batch takes one message more than its maximum", "off by one"),
    Mutation.BATCH_IGNORES_BYTES: Broken("BAT-001", "a batch does not close by size", "a limit read and never used"),
    Mutation.BATCH_DELAY_LATE: Broken("BAT-001", "a batch closes late", "a timer that ticks coarsely", 200),
    Mutation.BATCH_WAITS_FOR_RECEIPT: Broken(
        "V-2",
        "a full batch waits until the one before it has its receipt",
        "one request in flight: the queue is half empty for a round trip each time",
    ),
    Mutation.BATCH_LEAVES_HALF_FULL: Broken(
        "V-7",
        "a batch leaves when it holds half of its messages",
        "a limit taken for the size of a buffer that is swapped when it is half full",
    ),
    Mutation.FIRST_BATCH_HURRIES: Broken(
        "V-10",
        "the first batch of a producer leaves a millisecond after its first message",
        "a delay that is counted from the batch before, and there was none",
    ),
    Mutation.BATCH_DELAY_UNREAD: Broken(
        "V-10",
        "a batch leaves a millisecond after its first message, whatever its delay",
        "a timer that ticks by a constant, and a setting that is never read",
    ),
    Mutation.LARGE_BATCH_UNCOMPRESSED: Broken(
        "V-8",
        "a batch of eight messages or more is not compressed",
        "a buffer sized for what is common: what does not fit goes as it is",
    ),
    Mutation.SYNC_SEND_LEAVES_BATCH: Broken(
        "BAT-002",
        "a synchronous send waits in the open batch for its delay",
        "a blocking send that is an asynchronous one and a wait, and slow for it",
    ),
    Mutation.SYNC_SEND_RETURNS_AT_ONCE: Broken(
        "BAT-002",
        "a synchronous send returns without its receipt",
        "success reported for what is only in the client's memory",
    ),
    Mutation.FLUSH_LEAVES_BATCH: Broken(
        "BAT-002",
        "flush waits for the open batch and does not close it",
        "a flush that waits for completions and asks for nothing",
    ),
    Mutation.BATCH_SIZE_OF_PAYLOADS: Broken(
        "BAT-003",
        "a batch's uncompressed size counts payloads without the headers of its messages",
        "sizes added up while messages are added, not taken of what is compressed",
    ),
    Mutation.COMPRESSES_MEMBERS_TOO: Broken(
        "BAT-003",
        "each message of a batch is compressed, and the batch as well",
        "kafka-python issue 718: a batch compressed twice",
    ),
    Mutation.DELAYED_OVERTAKES_BATCH: Broken(
        "BAT-004",
        "a delayed message leaves before the open batch that is older",
        "pulsar-client-dotnet#367, C++ and Go clients: with deduplication the batch is dropped as a duplicate",
    ),
    Mutation.DELAYED_JOINS_BATCH: Broken(
        "BAT-004",
        "a delayed message is batched and its time is lost",
        "pulsar-rs: the batched path drops deliver_at_time",
    ),
    Mutation.BATCH_INDEX_FROM_ONE: Broken(
        "BAT-005",
        "a batch's receipt numbers its messages from 1",
        "off by one",
    ),
    Mutation.BATCH_FAILS_FIRST_ONLY: Broken(
        "BAT-005",
        "of a batch that times out the first message fails and the others are reported as sent",
        "one callback kept for a batch of several",
    ),
    Mutation.FULL_QUEUE_STOPS_BATCH_TIMER: Broken(
        "BAT-008",
        "a producer that blocks when its queue is full closes batches by count and bytes alone",
        "a batch larger than the queue waits for messages that wait for it",
    ),
    Mutation.FULL_QUEUE_CLOSES_BATCH: Broken(
        "BAT-008",
        "a producer that blocks when its queue is full closes its batch as soon as it is",
        "what a client does that does not block, done by one that does: the queue takes the part of the batch's limit",
    ),
    Mutation.OMITS_HIGHEST_SEQUENCE_ID: Broken(
        "BAT-009",
        "a batch carries its lowest sequence id alone",
        "C++ and Go clients: the broker takes the lowest id of a batch for the last",
    ),
    Mutation.BATCH_GOES_BY_HIGHEST_ID: Broken(
        "BAT-009",
        "a batch carries its highest sequence id as its own",
        "pulsar-client-cpp#546: batches went by their last id, and what was counted from it was too high",
    ),
    Mutation.OMITS_SINGLE_SEQUENCE_IDS: Broken(
        "BAT-009",
        "messages inside a batch carry no sequence ids",
        "pulsar-rs: one id for a batch, none for a message",
    ),
    Mutation.KEYS_SHARE_A_BATCH: Broken(
        "BAT-006",
        "the key-based batcher batches whatever comes",
        "an option taken and without effect: Key_Shared consumers get messages of others' keys",
    ),
    Mutation.KEYED_BATCH_WITHOUT_KEY: Broken(
        "BAT-006",
        "the entry of a key-based batch carries no key",
        "pulsar-rs: the metadata of a batch have no partition_key",
    ),
    Mutation.KEYED_BATCH_TELLS_RANGE: Broken(
        "BAT-006",
        "key-based batches tell their lowest and highest id, as others do",
        "Java client before its key-based batches went by their highest id alone: deduplication drops one of two",
    ),
    Mutation.KEYED_BATCH_TELLS_LOWEST: Broken(
        "BAT-006",
        "key-based batches go by their lowest id, sorted by it",
        "C++ and Go clients (read in their source): the broker takes the lowest id for the last",
    ),
    Mutation.KEYED_BATCHES_UNSORTED: Broken(
        "BAT-006",
        "key-based batches leave in the order in which their keys came first",
        "a map of batches, written as it is iterated",
    ),
    Mutation.NEW_KEY_RESTARTS_DELAY: Broken(
        "BAT-001",
        "under the key-based batcher the first message of each key starts the delay anew",
        "C++ client (read in its source): one timer for the batches of all keys, started where one of them is begun",
    ),
    Mutation.BATCH_OF_ONE_UNOPENED: Broken(
        "BAT-007",
        "a batch of one message is handed over as it is, header included",
        "a number of messages looked at where the presence of the field decides",
    ),
    Mutation.OVERSIZE_BATCH_FAILS_PENDING: Broken(
        "BAT-010",
        "a batch that is too large fails everything pending with it",
        "an error of one batch handled as one of its producer",
    ),
    Mutation.DEFAULT_HASH_IS_MURMUR3: Broken(
        "RTE-004",
        "keys are hashed by Murmur3 unless told otherwise",
        "pulsar-rs and DotPulsar: a default of their own",
    ),
    Mutation.IGNORES_ACROSS_PARTITIONS: Broken(
        "FLW-010", "the limit across partitions is not looked at", "a limit read and never used"
    ),
    Mutation.ACROSS_PARTITIONS_UNDIVIDED: Broken(
        "FLW-010", "each partition has the limit across partitions for itself", "a limit handed down as it is"
    ),
    Mutation.TAKES_ANY_HIGHEST_ID: Broken(
        "RSD-009",
        "a receipt for another batch's highest id completes the oldest one",
        "all clients but the Java one: the highest id of a receipt is not looked at",
    ),
    Mutation.SEEKS_LAST_CHUNK: Broken(
        "CHK-009",
        "a seek to a chunked message names its last chunk",
        "a chunked message known by one id: what is sought cannot be put together again",
    ),
    Mutation.SENT_ID_OF_FIRST_CHUNK: Broken(
        "CHK-009",
        "a chunked message is reported under the id of its first chunk",
        "the first receipt taken for the message's",
    ),
    Mutation.SINGLE_IGNORES_KEYS: Broken(
        "RTE-001",
        "routing to a single partition takes messages with keys there, too",
        "pulsar-rs: keys count under one routing policy only",
    ),
    Mutation.JAVA_HASH_OF_BYTES: Broken(
        "RTE-002",
        "JavaStringHash runs over bytes and keeps its sign bit",
        "Go client: the hash is not masked, and other letters than ASCII count by bytes",
    ),
    Mutation.MURMUR3_KEEPS_SIGN: Broken(
        "RTE-003",
        "Murmur3_32Hash keeps its sign bit",
        "pulsar-rs and DotPulsar: the hash is not masked",
    ),
    Mutation.SINGLE_TAKES_TURNS: Broken(
        "RTE-005",
        "routing to a single partition takes turns",
        "the default taken whatever was configured",
    ),
    Mutation.TURNS_LAST_TWO_MESSAGES: Broken(
        "RTE-006",
        "two messages go to a partition before it is the next one's turn",
        "thresholds of batching in force without batching",
    ),
    Mutation.BATCHED_TURNS_BY_MESSAGE: Broken(
        "RTE-007",
        "with batching each message goes to the next partition",
        "turns that do not know of batching: entries of one message each",
    ),
    Mutation.WINDOW_OF_ONE_DELAY: Broken(
        "RTE-007",
        "with batching the partition changes after one publish delay, however many are configured",
        "an option nobody reads",
    ),
    Mutation.WINDOW_OVERSTAYS: Broken(
        "RTE-007",
        "with batching the partition changes two publish delays late",
        "a window that is looked at only when a batch leaves, and counted from there",
    ),
    Mutation.WINDOW_NEVER_ENDS: Broken(
        "RTE-007", "with batching the partition never changes", "a clock read once: one partition gets everything"
    ),
    Mutation.SWITCH_FREQUENCY_UNCHECKED: Broken(
        "RTE-008", "windows of no publish delay are taken", "a number handed on as it is"
    ),
    Mutation.SICK_PARTITION_HOLDS_SENDS: Broken(
        "RTE-010",
        "while one partition is not connected no message is taken to any",
        "one state kept for the producers of all partitions",
    ),
    Mutation.SNAPPY_FRAMED: Broken(
        "CMP-001",
        "SNAPPY is written and read in the framing of streams",
        "pulsar-rs: nobody else can read it",
    ),
    Mutation.OMITS_UNCOMPRESSED_SIZE: Broken(
        "CMP-002",
        "compressed messages do not tell their uncompressed size",
        "pulsar-rs#220: other clients cannot read them",
    ),
    Mutation.BAD_BODY_UNREPORTED: Broken(
        "CMP-003",
        "a message that cannot be decompressed is dropped without a word",
        "pulsar-rs: an error to the application, nothing to the broker",
    ),
    Mutation.BAD_BODY_KEEPS_PERMIT: Broken(
        "CMP-003",
        "the permit of a message that cannot be decompressed is not returned",
        "an early return past the accounting",
    ),
    Mutation.BAD_BODY_DELIVERED: Broken(
        "CMP-003",
        "a message that cannot be decompressed is delivered as it came",
        "a fallback that means well",
    ),
    Mutation.FIRST_FLOW_TOO_LARGE: Broken(
        "FLW-001", "the first FLOW grants one permit more than the queue holds", "off by one"
    ),
    Mutation.FLOW_BEFORE_SUBSCRIBED: Broken(
        "FLW-001", "the first FLOW leaves with SUBSCRIBE, before its answer", "an answer taken for granted"
    ),
    Mutation.REQUESTS_BEFORE_CONNECTED: Broken(
        "CON-001", "requests follow CONNECT without waiting for CONNECTED", "a handshake taken for granted"
    ),
    Mutation.PONG_LATE: Broken("CON-004", "PING is answered late", "an event loop blocked by callbacks", 1_000),
    Mutation.STAYS_WITH_SILENT_PEER: Broken(
        "CON-004", "a connection is kept although its PING stays unanswered", "only the network's own errors count"
    ),
    Mutation.DELIVERS_CORRUPT: Broken("ROB-001", "message checksums are not verified", "trust in the network's own"),
    Mutation.CORRUPT_CLOSES_CONNECTION: Broken(
        "ROB-001",
        "a checksum mismatch closes the connection",
        "pulsar-rs: the same entry comes back for ever",
    ),
    Mutation.CORRUPT_KEEPS_PERMIT: Broken(
        "ROB-001", "a corrupt message's permit is not returned", "an early return past the accounting"
    ),
    Mutation.LOSES_SPLIT_LENGTH: Broken(
        "ROB-003",
        "a piece too short for a frame's length, with nothing pending, is thrown away",
        "DotPulsar 1.0.1: protocol bytes misread in some segmentations",
    ),
    Mutation.LOSES_THIRD_SEND: Broken(
        "RSD-001",
        "after a connection that ended between its second and third receipt the oldest pending send is not resent",
        "planted: it needs three sends and one cut inside a window of one frame",
    ),
    Mutation.FLUSH_FORGETS_EARLIER: Broken(
        "ROB-009",
        "a flush takes the place of an earlier one that waits, which then never ends",
        "pulsar-client-go#1409: of two flushes that wait for the same pending item only the last is completed",
    ),
    Mutation.FLOW_AFTER_WHOLE_QUEUE: Broken(
        "FLW-002",
        "permits are renewed only when the whole queue was taken",
        "DotPulsar (read in its source): FLOW(n) follows the n-th message, the pipeline runs dry",
    ),
    Mutation.PERMITS_TWICE: Broken(
        "FLW-003",
        "the permit of a message is returned twice when it is handed over",
        "two queues, of a consumer and of its parent, that each return it",
    ),
    Mutation.EARLY_CHUNK_KEEPS_PERMIT: Broken(
        "FLW-006",
        "a chunk that is not the last returns no permit",
        "Java and Go clients (read in their source), for some chunks: an early return past the accounting",
    ),
    Mutation.BEFORE_START_KEEPS_PERMIT: Broken(
        "FLW-006",
        "a message in front of the place from which a consumer goes on returns no permit",
        "C++ 4.2 (read in its source): the message sought is left out when it comes, and that is all",
    ),
    Mutation.BURIED_UNSEEN_KEEPS_PERMIT: Broken(
        "FLW-006",
        "a message that comes once too often, and goes to the dead letter topic unseen, returns no permit",
        "a second way out of the receiver queue, without what the first one does",
    ),
    Mutation.LONE_LAST_CHUNK_KEEPS_PERMIT: Broken(
        "FLW-006",
        "a last chunk whose first is missing returns no permit",
        "permits returned with chunks that are not the last, and with messages that are handed over: this is neither",
    ),
    Mutation.OLD_EPOCH_KEEPS_PERMIT: Broken(
        "FLW-006",
        "a message of an older epoch is dropped, and returns no permit",
        "a message that is sent away at the door, before anybody counts it",
    ),
    Mutation.READER_STARTS_OVER: Broken(
        "SUB-006",
        "a reader that comes back begins where it began at first",
        "a start that is kept as it was configured, and told with every SUBSCRIBE",
    ),
    Mutation.READER_FORGETS_INDEX: Broken(
        "SUB-006",
        "a reader remembers of the last message its entry alone, and comes back to the whole batch",
        "Go client (read in its source): the id of a batch's message, told without its index",
    ),
    Mutation.COMPACTED_KEEPS_PERMIT: Broken(
        "FLW-006",
        "a batch returns permits for the members that are left of it",
        "DotPulsar (read in its source): what is dropped of an entry counts as one",
    ),
    Mutation.ZERO_QUEUE_PREFETCHES: Broken(
        "FLW-007",
        "a consumer without a queue asks for the next message when one was handed over",
        "a queue of one taken for none",
    ),
    Mutation.ZERO_QUEUE_FORGETS_WAITING: Broken(
        "FLW-007",
        "a consumer without a queue asks for nothing behind a reconnect, although a receive waits",
        "a permit that is granted where receive is called, and nowhere else",
    ),
    Mutation.PERMITS_FOR_FILTERED: Broken(
        "ACK-012",
        "permits are returned for messages that an ack_set had taken out of a batch",
        "Go and C++ clients (read in their source): skipped messages count as used, the prefetch grows",
    ),
    Mutation.LESS_PERMITS_AFTER_RECONNECT: Broken(
        "FLW-005",
        "a reconnect grants only what had been used since the last grant",
        "permits kept in the client over a reconnect, as if the broker kept them too",
    ),
    Mutation.IGNORES_PENDING_LIMIT: Broken("FLW-009", "a full pending queue takes more", "a limit read and never used"),
    Mutation.MEMORY_PER_PRODUCER: Broken(
        "FLW-011", "each producer has the client's whole memory limit for itself", "one limiter a producer"
    ),
    Mutation.TOO_LARGE_KEEPS_PLACE: Broken(
        "FLW-012",
        "a message refused as too large keeps its place in the pending queue",
        "pulsar-client-go#762: a send that fails before it leaves leaks its permit, and in the end all sends block",
    ),
    Mutation.MEMORY_NEVER_FREED: Broken(
        "FLW-012", "what a message took of the memory limit is never given back", "a counter that only counts up"
    ),
    Mutation.TIMED_OUT_KEEPS_MEMORY: Broken(
        "FLW-012",
        "a message that times out keeps its part of the memory limit",
        "memory given back where a receipt comes, and not on the other ways out",
    ),
    Mutation.CLOSED_KEEPS_MEMORY: Broken(
        "FLW-012",
        "messages that end with their producer keep their part of the memory limit",
        "a limit of the client, and a producer that forgets its own counter alone",
    ),
    Mutation.SEEK_IGNORES_INCLUSIVE: Broken(
        "SEK-001",
        "a consumer that is to begin with the message it seeks begins behind it",
        "an option that is looked at where a consumer opens, and not where it seeks",
    ),
    Mutation.SEEK_REPEATS_TARGET: Broken(
        "SEK-001",
        "a seek to a message hands that message out once more",
        "the broker's place taken for the application's: it starts with the message sought, or with its batch",
    ),
    Mutation.SEEK_KEEPS_PREFETCH: Broken(
        "SEK-002",
        "what was prefetched before a seek is handed out behind it",
        "DotPulsar (read in its source): a seek clears its batch handling, and not the queue",
    ),
    Mutation.SEEK_KEEPS_ACKS: Broken(
        "SEK-002",
        "grouped acknowledgments from before a seek leave behind it",
        "an acknowledgment group that knows nothing of seeks: it acknowledges what is to be read again",
    ),
    Mutation.SEEK_ENDS_ON_ANSWER: Broken(
        "SEK-003",
        "a seek ends with the broker's answer, while the consumer is away",
        "an answer taken for the whole: what is received next may still be from before",
    ),
    Mutation.ACKS_ONE_BY_ONE: Broken(
        "ACK-004",
        "a flush sends a command for each acknowledgment",
        "pulsar-rs and DotPulsar (read in their source): every acknowledgment by itself",
    ),
    Mutation.KEEPS_OLD_EPOCH: Broken(
        "ORD-007",
        "what was on its way when everything was asked for again is handed over",
        "C++, Go, pulsar-rs and DotPulsar (read in their source): no epochs, so nothing tells the two apart",
    ),
    Mutation.SEEKS_BESIDE_ANOTHER: Broken(
        "SEK-004",
        "a seek that is called while another is under way is forgotten, and ends well with it",
        "one future for every seek that is under way",
    ),
    Mutation.PATTERN_TAKES_ALL: Broken(
        "SUB-008",
        "a consumer of a pattern subscribes to every topic of the namespace",
        "a broker's answer taken for filtered, whatever it says of that",
    ),
    Mutation.PATTERN_IS_READ_ONCE: Broken(
        "SUB-008",
        "topics that match a pattern are looked for when the consumer opens, and never again",
        "DotPulsar (read in its source): a pattern is resolved once",
    ),
    Mutation.IGNORES_TOPIC_UPDATES: Broken(
        "SUB-008",
        "nobody watches for topics that come to be",
        "C++, Go and pulsar-rs (read in their source): they ask once in a while",
    ),
    Mutation.FIRST_TOPIC_FIRST: Broken(
        "SUB-008",
        "of several topics the one named first is read to its end first",
        "queues looked at in one order, always from the first",
    ),
    Mutation.ACKS_ON_FIRST_TOPIC: Broken(
        "SUB-008",
        "whatever topic a message came from, it is acknowledged on the consumer's first one",
        "one tracker of acknowledgments for all topics, and ids without theirs",
    ),
    Mutation.WINDOW_OF_ONE_NEVER_ENDS: Broken(
        "V-3",
        "with windows of one publish delay a producer stays on its partition for good",
        "a window counted in whole further delays: of one there are none",
    ),
    Mutation.STEERS_AROUND_FULL: Broken(
        "RTE-011",
        "a message whose turn is at a full partition goes to the next one with room",
        "vivo's fork of the Java client",
    ),
    Mutation.ASKS_ROUTER_TWICE: Broken(
        "RTE-009",
        "a router of the application is asked twice for each message",
        "the choice made once to find a queue and once more to send: a router that counts leaves partitions out",
    ),
    Mutation.OUT_OF_RANGE_WRAPS: Broken(
        "RTE-009",
        "a partition that there is not is taken as a remainder",
        "a router's mistake hidden: messages go where nobody sent them",
    ),
    Mutation.INTERCEPTS_BEHIND_ROUTER: Broken(
        "PRD-007",
        "the partition is chosen before interceptors run",
        "a message that is changed where it does not count",
    ),
    Mutation.INTERCEPTOR_HEARS_LAST: Broken(
        "PRD-007",
        "the application hears of a send's end before its interceptors do",
        "what an interceptor measures or frees is asked for before it is there",
    ),
    Mutation.SEEKS_WHOLE_BATCH: Broken(
        "SEK-005",
        "a seek into a batch names the batch alone",
        "C++ (read in its source): what is before the message sought is taken from the whole batch by the client",
    ),
    Mutation.TIME_SOUGHT_HAS_MORE: Broken(
        "SEK-005",
        "behind a seek to a time a reader looks at the broker's cursor for good",
        "pulsar-client-cpp#498: read to the end, it still says that there is more",
    ),
    Mutation.INCLUSIVE_TIME_HAS_MORE: Broken(
        "SEK-005",
        "a reader that is to begin with the message it names says that there is more, where its cursor is at the end",
        "pulsar-client-cpp#556, apache/pulsar#23501: the option is heeded behind a seek to a time, too",
    ),
    Mutation.EMPTY_TOPIC_HAS_MORE: Broken(
        "SEK-005", "a reader takes -1, the last id of an empty topic, for a message", "-1 read without its sign"
    ),
    Mutation.TAKES_ANY_ACK_TIMEOUT: Broken(
        "UAT-003", "any acknowledgment time-out is taken, however short", "a minimum documented and never checked"
    ),
    Mutation.TICK_LONGER_THAN_TIMEOUT: Broken(
        "UAT-002",
        "a tick longer than the acknowledgment time-out stays as it is",
        "ticks of a second for a time-out of half a second",
    ),
    Mutation.TICKS_ROUNDED_DOWN: Broken(
        "UAT-002",
        "the number of ticks in an acknowledgment time-out is rounded down",
        "an integer division: the last part of the time-out is lost",
    ),
    Mutation.ONE_CHUNK_BUFFER: Broken(
        "CHK-008", "a first chunk discards every other message that is incomplete", "one buffer where one a uuid is due"
    ),
    Mutation.ACKS_LAST_CHUNK_ONLY: Broken(
        "CHK-010",
        "acknowledging a chunked message acknowledges its last chunk alone",
        "apache/pulsar#25220 (for negative acknowledgments): only the last chunk is named, the message never completes",
    ),
    Mutation.NEVER_EVICTS_CHUNKS: Broken(
        "CHK-011",
        "any number of incomplete messages are kept",
        "Go client (read in its source): an evicted message stays in its queue, the limit works once",
    ),
    Mutation.RESTART_LEAVES_CHUNKS: Broken(
        "CHK-013",
        "chunks of a message that began anew are dropped and never acknowledged",
        "an assignment over a buffer",
    ),
    Mutation.ACKS_AT_CHUNK_GAP: Broken(
        "CHK-014", "a chunk behind a gap is acknowledged", "what cannot be used taken for done: the message is lost"
    ),
    Mutation.INCOMPLETE_NEVER_EXPIRES: Broken(
        "CHK-015", "incomplete messages are kept for ever", "an expiry checked only when another chunk comes"
    ),
    Mutation.BAD_BATCH_UNREPORTED: Broken(
        "ROB-002",
        "a batch that cannot be taken apart is dropped without a word",
        "C++ client (read in its source): the result of parsing a batch member is not looked at",
    ),
    Mutation.KEEPS_AFTER_UNDECODABLE: Broken(
        "ROB-004",
        "a command that cannot be decoded is skipped",
        "a decoder that trusts the length of the unreadable",
    ),
    Mutation.UNKNOWN_COMMAND_CLOSES: Broken(
        "ROB-005",
        "a command of an unknown type closes the connection",
        "Go and C++ clients (read in their source): an unknown type is an invalid state",
    ),
    Mutation.BAD_METADATA_CLOSES: Broken(
        "ROB-006",
        "metadata that cannot be decoded closes the connection",
        "C++ client (read in its source): the same entry comes back for ever",
    ),
    Mutation.EMPTY_PAYLOAD_DROPPED: Broken(
        "ROB-008", "a message without payload is acknowledged and not handed over", "nothing taken for no message"
    ),
    Mutation.LARGE_PROPERTIES_LOST: Broken(
        "ROB-008",
        "a message whose metadata are larger than 64 KiB leaves without its properties",
        "pulsar-client-cpp#443: a buffer for metadata that has room for 64 KiB",
    ),
    Mutation.IGNORES_AGREED_VERSION: Broken(
        "CON-002", "acknowledgments leave together whatever the broker's version", "a version read and never used"
    ),
    Mutation.SUMS_FOR_THE_OLD: Broken(
        "CON-002", "messages carry a checksum whatever the broker's version", "a version read for acknowledgments alone"
    ),
    Mutation.LIMIT_OF_LAST_CONNECTION: Broken(
        "CON-003",
        "the message limit of whoever connected last holds for every connection",
        "C++ client (read in its source): one limit for the whole process",
    ),
    Mutation.UNBOUNDED_REDIRECTS: Broken(
        "CON-005", "a lookup is redirected any number of times", "pulsar-rs (read in its source): no bound on redirects"
    ),
    Mutation.DROPS_AUTHORITY: Broken(
        "CON-005", "a redirected lookup is asked again without authority", "a flag that is read and not handed on"
    ),
    Mutation.GIVES_UP_OPENING: Broken(
        "CON-011",
        "what fails for now while a producer or consumer is opened ends the opening",
        "pulsar-client-cpp#293, pulsar-client-cpp#396: passing errors at creation are not retried",
    ),
    Mutation.REGISTERS_AGAIN_UNCLOSED: Broken(
        "CON-008",
        "a registration that timed out is made again without closing the first",
        "a time-out taken for a refusal: the broker may hold both",
    ),
    Mutation.UNKNOWN_RECEIPT_CLOSES: Broken(
        "CON-009", "a receipt for a producer that is not there closes the connection", "what cannot be, must not be"
    ),
    Mutation.IGNORES_CLOSE_CONSUMER: Broken(
        "TOP-001",
        "a consumer that the broker sends away does not come back",
        "pulsar-rs (read in its source, for producers): the broker's CLOSE is ignored",
    ),
    Mutation.IGNORES_ASSIGNED_BROKER: Broken(
        "TOP-002",
        "a topic's new broker is looked up although the broker named it",
        "pulsar-rs and DotPulsar (read in their source): the assigned broker is not looked at",
    ),
    Mutation.PAUSES_BEFORE_ASSIGNED_BROKER: Broken(
        "TOP-002",
        "whoever is told which broker its topic went to waits for three seconds before it goes there",
        "DotPulsar's fixed pause before every attempt, at a place where none is due",
    ),
    Mutation.LOSES_BEHIND_RECONNECT: Broken(
        "DLV-001",
        "behind a reconnect every other entry is acknowledged and not handed over",
        "what waits in a queue that a reconnect clears, settled with it",
    ),
    Mutation.BLANKS_RESEND: Broken(
        "DLV-002",
        "what is sent again, neither compressed nor in chunks, has lost its payload",
        "pulsar-client-go#1394: a buffer goes back to its pool while a send still needs it",
    ),
    Mutation.RETURN_NAMES_NO_TOPIC: Broken(
        "DLV-002",
        "behind a reconnect messages are handed over under the name of a topic that does not exist",
        "a topic's name that is read from where a connection was, which is gone",
    ),
    Mutation.SENDS_WHAT_IT_REFUSED: Broken(
        "DLV-003",
        "a message that is refused because the queue is full is sent all the same",
        "an error raised behind the place where the message was taken in",
    ),
    Mutation.HANDS_OVER_OLD_BYTES: Broken(
        "DLV-005",
        "once everything came again, unbatched messages are handed over with another last byte",
        "a buffer that is read into again while the application has what was in it",
    ),
    Mutation.HANDS_OUT_ACKED_AGAIN: Broken(
        "DLV-006",
        "what is acknowledged is put back into the queue, and handed out a second time",
        "a message taken off the queue by a reader of it that does not know of the other",
    ),
    Mutation.TIME_OUT_ENDS_RETURN: Broken(
        "DLV-007",
        "what waits to reconnect when the time for its opening would be over gives up",
        "pulsar-client-cpp#438: the timer of the creation cancels the one of the reconnect",
    ),
    Mutation.SILENT_AFTER_RECONNECT: Broken(
        "DLV-007",
        "a consumer that came back grants no permits",
        "pulsar-client-go#1128 and others: connected, subscribed, and silent",
    ),
    Mutation.RETRY_LETTER_LOSES_KEYS: Broken(
        "RDL-001",
        "a retry letter has no keys",
        "pulsar-client-go#1400: keys of the original are not copied",
    ),
    Mutation.RETRY_LETTER_UNDELAYED: Broken(
        "RDL-001", "a retry letter comes at once, whatever delay was asked for", "a delay that is written down only"
    ),
    Mutation.RETRIES_UNRECEIPTED: Broken(
        "RDL-001",
        "the original is acknowledged when its retry letter leaves",
        "two calls one after the other, where the second belongs into the first one's callback",
    ),
    Mutation.DEAD_LETTER_LOSES_ORIGIN: Broken(
        "RDL-002",
        "a dead letter does not tell what it is a copy of",
        "pulsar-client-go#1392: REAL_TOPIC and ORIGIN_MESSAGE_ID are lost on the way to the dead letter topic",
    ),
    Mutation.BURIES_UNRECEIPTED: Broken(
        "RDL-002",
        "the original is acknowledged when its dead letter leaves",
        "two calls one after the other, where the second belongs into the first one's callback",
    ),
    Mutation.FAILED_LETTER_FORGOTTEN: Broken(
        "RDL-002",
        "a message whose dead letter could not be sent is not asked for again",
        "C++ client (read in its source): nobody hears of a dead letter producer that is refused",
    ),
    Mutation.DEAD_LETTER_PRODUCERS_SHARE_NAME: Broken(
        "RDL-002",
        "the dead letter producers of a subscription's consumers have one name",
        "pulsar-client-go#1156: the second one is refused as busy, and retries for ever",
    ),
    Mutation.BURIES_TOO_SOON: Broken("RDL-003", "a message is buried one redelivery too early", "off by one"),
    Mutation.HANDS_OVER_BEYOND_MAXIMUM: Broken(
        "RDL-003", "a message is handed over once more than the maximum allows", "off by one"
    ),
    Mutation.DEAD_LETTERS_BATCHED: Broken(
        "RDL-004", "dead letters are batched", "a producer opened with the application's defaults"
    ),
    Mutation.DEAD_LETTERS_UNCHUNKED: Broken(
        "RDL-004",
        "a dead letter that is too large for one frame is not sent",
        "apache/pulsar#21048: a chunked message cannot become a dead letter, and is redelivered for ever",
    ),
    Mutation.DEAD_LETTERS_UNKEPT: Broken(
        "RDL-004",
        "the dead letter topic is not given its first subscription",
        "an option of the policy that never reaches the producer",
    ),
    Mutation.WAITS_NO_LONGER_THAN_OTHERS: Broken(
        "PRD-002",
        "a producer that waits for its turn gives up after the operation time-out",
        "one time-out for every request, whatever the broker said of this one",
    ),
    Mutation.FORGETS_TOPIC_EPOCH: Broken(
        "PRD-003",
        "a producer comes back without the epoch of its topic",
        "pulsar-rs (read in its source): topic_epoch is never sent",
    ),
    Mutation.RETRIES_FENCED: Broken(
        "PRD-003", "a producer that was fenced out keeps coming back", "every refusal taken for a passing one"
    ),
    Mutation.RETRIES_DELETED: Broken(
        "TOP-005",
        "a producer whose topic was deleted keeps coming back",
        "C++ client (read in its source): once it was open, a producer retries whatever it is told",
    ),
    Mutation.CONSUMER_RETRIES_DELETED: Broken(
        "TOP-005",
        "a consumer whose topic was deleted keeps coming back",
        "C++ client (read in its source): once it was open, a consumer retries whatever it is told",
    ),
    Mutation.OPENS_WHAT_IS_NOT_THERE: Broken(
        "TOP-005",
        "who opens on a topic that is not there asks again until its time is over",
        "every refusal of an opening taken for a passing one",
    ),
    Mutation.GIVES_UP_ON_FIRST_LOOKUP: Broken(
        "CON-007",
        "opening fails with the first look-up that does",
        "pulsar-client-cpp#396: a failure on the way to the broker is not retried at creation",
    ),
    Mutation.IGNORES_MIGRATION: Broken(
        "TOP-003", "a topic that went to another cluster is looked up in the old one", "a command nobody listens to"
    ),
    Mutation.DELIVER_AT_IN_SECONDS: Broken(
        "DLY-003", "deliver_at_time is written in seconds", "a unit that is in nobody's name"
    ),
    Mutation.ABSURD_SIZE_CLOSES: Broken(
        "CMP-004",
        "a message of an absurd size closes the connection",
        "a limit that is enforced by leaving: the same entry comes back for ever",
    ),
    Mutation.NEVER_LOOKS_FOR_PARTITIONS: Broken(
        "TOP-004",
        "partitions that are added are never looked for",
        "pulsar-rs (read in its source): a producer keeps the partitions it began with",
    ),
    Mutation.SINGLE_IS_THE_FIRST: Broken(
        "RTE-005",
        "the partition of every producer under single-partition routing is the first",
        "a choice that was never made: the number begins as 0",
    ),
    Mutation.TURNS_START_AT_THE_FIRST: Broken(
        "RTE-006",
        "the turns of every producer begin at the first partition",
        "a counter that begins at 0",
    ),
    Mutation.ADDED_PARTITIONS_UNUSED: Broken(
        "TOP-004",
        "partitions that are added are registered with, and nothing is sent to them",
        "a number of partitions read when the producer opened, and kept by whoever chooses among them",
    ),
    Mutation.KEYS_KEEP_OLD_NUMBER: Broken(
        "TOP-004",
        "keys are hashed by the number of partitions there were at first",
        "a hash that is handed the number once, beside turns that ask for it",
    ),
    Mutation.IGNORES_CHALLENGE: Broken(
        "CON-010", "a broker that asks for fresh credentials gets no answer", "a command nobody listens to"
    ),
    Mutation.REPEATS_CREDENTIALS: Broken(
        "CON-010",
        "a broker that asks for fresh credentials gets those it has",
        "credentials that are read once, when the client is made",
    ),
    Mutation.ANSWERS_WITHOUT_CREDENTIALS: Broken(
        "CON-010",
        "the answer to a broker that asks for fresh credentials carries none",
        "pulsar-client-go#1062: absent auth data, and the broker drops the connection at each refresh",
    ),
    Mutation.IGNORES_PROXY: Broken(
        "CON-006", "a broker behind a proxy is connected to without it", "a flag of the look-up that is not read"
    ),
}
