"""The broker's constants and answers, each named once.

Sources: Pulsar's protocol file, broker.conf of 4.0, and recorded traffic of a real 4.0.8 broker where both are silent.
"""

from __future__ import annotations

from typing import Final

from assay_conformance.wire import CommandType
from assay_conformance.wire.pulsar_pb2 import ServerError

SERVER_VERSION: Final = "assay reference broker"

RATE_RETRY_MS: Final = 1_000
"""How long a dispatcher without tokens waits before it looks again."""
READ_BATCH_ENTRIES: Final = 100
"""dispatcherMaxReadBatchSize: entries in one read."""
ROUND_ROBIN_ENTRIES: Final = 20
"""dispatcherMaxRoundRobinBatchSize: entries a Shared consumer gets before it is the next one's turn."""
BACKLOGGED_ENTRIES: Final = 1_000
"""managedLedgerCursorBackloggedThreshold: so many unread entries make a subscription one that catches up."""
RING_POINTS: Final = 100
"""subscriptionKeySharedConsistentHashingReplicaPoints: points of one consumer on the ring."""
LOOK_AHEAD_PER_CONSUMER: Final = 2_000
LOOK_AHEAD_PER_SUBSCRIPTION: Final = 20_000
"""keySharedLookAheadMsgInReplayThreshold...: entries of a Key_Shared subscription that may wait while it reads on."""
MAX_UNACKED_PER_CONSUMER: Final = 50_000
MAX_UNACKED_PER_SUBSCRIPTION: Final = 200_000
"""maxUnackedMessagesPer...: where no policy says otherwise; 0 is without limit."""

PATTERN_LENGTH: Final = 50
"""subscriptionPatternMaxLength: a broker evaluates no longer patterns of topic names."""

TOKEN_METHOD: Final = "token"
TLS_METHOD: Final = "tls"
REFRESH: Final = b"PulsarAuthRefresh"
"""What an AUTH_CHALLENGE says that asks for the same kind of credentials again."""
CHALLENGE_VERSION: Final = 14
"""Older clients know no AUTH_CHALLENGE."""
CHECKSUM_VERSION: Final = 11
"""Older clients get no checksum with a MESSAGE (PulsarCommandSenderImpl)."""
CLOSE_VERSION: Final = 5
"""Older clients take no CLOSE_PRODUCER / CLOSE_CONSUMER from the broker: their connection is closed instead."""
SINCE_VERSION: Final[dict[CommandType, int]] = {
    CommandType.REACHED_END_OF_TOPIC: 9,
    CommandType.ACTIVE_CONSUMER_CHANGE: 12,
    CommandType.TOPIC_MIGRATED: 20,
}
"""Notifications that clients of an older protocol version do not get."""


class RefusalError(Exception):
    """A request the broker answers with an error; the connection goes on."""

    def __init__(self, error: ServerError, message: str) -> None:
        super().__init__(message)
        self.error = error
        self.message = message


class MigratedError(RefusalError):
    """A topic that is in another cluster now, whose service url this is."""

    def __init__(self, url: str) -> None:
        super().__init__(ServerError.ServiceNotReady, "Topic was already migrated")
        self.url = url


class ViolationError(Exception):
    """Something the broker answers by closing the connection."""
