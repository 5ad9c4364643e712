"""What may differ between a recorded broker and this one, and why: three tables.

Everything else has to be equal: which frames come on which connection, their fields, their payload bytes, and the order
of the frames of one request, one producer and one consumer. What no broker need do alike is the table of the live
comparison (assay_fixtures.differential.normal); here stands what comes of recording.
"""

from __future__ import annotations

from typing import NamedTuple

from assay_conformance.model.case import Rate, Topic
from assay_fixtures.differential.normal import ERASED as ERASED_ALWAYS
from assay_fixtures.differential.normal import Erased

ERASED: tuple[Erased, ...] = (
    *ERASED_ALWAYS,
    Erased("GET_TOPICS_OF_NAMESPACE_RESPONSE", "topics", "the recorded broker held topics of other scenarios"),
    Erased("GET_TOPICS_OF_NAMESPACE_RESPONSE", "topics_hash", "a hash of those"),
)

RULES: dict[str, str] = {
    "Replay._learn": "ledger ids, and the names a broker makes up for producers, are the recorded broker's: each is "
    "replaced by the one that stood in its place here, consistently, also in what the client sends",
    "stream_of": "frames of different requests, producers and consumers are independent: their order is not compared",
    "Replay._expect": "frames may come at another time: the real broker needs time, this one none",
    "normal": "highest_sequence_id 0 in the receipt of a SEND without one: the real broker writes 2^64-1, and 0 at "
    "times when it re-uses an object",
    "Replay._compare_rest": "answers written in the last millisecond before the client left are not in a recording",
    "_opening": "an answer that was cut inside its command is compared by its type and request: it lists hundreds of "
    "topics of other scenarios",
    "_filled": "the data of frames that were not recorded whole counts as zeros on both sides",
}
"""Differences that are not a field's, by the function that erases each."""

NAMESPACES: dict[str, Topic] = {
    "public/dd": Topic(name="", deduplication=True),
    "public/dr2": Topic(name="", dispatch_rate=Rate(messages=5)),
    "public/pr2": Topic(name="", publish_rate=Rate(messages=10)),
}
"""Policies the recorded broker was told out of band, by namespace."""


class Told(NamedTuple):
    """Something the recorded broker was told out of band: a broker step on the scenario's only topic."""

    us: int
    verb: str


TOLD: dict[str, Told] = {
    "pulsar-python-3.13.0/batch_index": Told(540_000, "unload"),
    "pulsar-python-3.13.0/dedup_batched": Told(33_500, "unload"),
    "pulsar-python-3.13.0/terminate": Told(36_000, "terminate"),
    "pulsar-python-3.13.0/unload": Told(44_000, "unload"),
    "raw/unload": Told(3_073_500, "unload"),
}

TURNS: dict[str, str] = {
    "pulsar-python-3.13.0/subscriptions": "the turn changes with every read, and how many entries a read finds is a "
    "matter of microseconds",
}
"""Recordings in which it is not compared which of several Shared consumers on a connection gets an entry, and why."""

CHOSEN: dict[str, str] = {
    "retention": "where no retention is set, everything a topic ever held stays readable from its beginning: what was "
    "stored is the evidence of a Case. Pulsar deletes ledgers then that every durable subscription has acknowledged "
    "(ManagedLedgerImpl.internalTrimConsumedLedgers, defaultRetentionTimeInMinutes=0), as is done here for a topic "
    "that is told to retain nothing",
    "delayed delivery, timer": "an entry that nothing else takes along is sent at its very time; the recorded broker "
    "keeps times to 512 ms and is up to a tick late (InMemoryDelayedDeliveryTracker, delayedDeliveryTickTimeMillis). "
    "When its ticks fall follows from no frame",
    "dispatch rates, redelivery": "a read that waits at the end of a topic is served with what it was allowed, however "
    "much a redelivery has used since, as in Pulsar; of reads that find something one follows the other here, where "
    "Pulsar may have both under way (PersistentDispatcherMultipleConsumers: havePendingRead and "
    "havePendingReplayRead). Which of them ends first is a matter of its threads; here there is one",
    "backlogs, where only they are throttled": "a subscription counts as behind as soon as a thousand entries "
    "(managedLedgerCursorBackloggedThreshold) wait for it, and no longer; Pulsar looks when the topic is loaded, and "
    "every minute (PersistentTopic.checkBackloggedCursors), which is longer than Cases about rates last",
    "Key_Shared, entries without a key": "all go to the consumer of `NONE_KEY`, as documented; newer brokers spread "
    "them by producer and sequence id (Commands.peekStickyKey). Whoever follows one differs from the other",
    "WaitForExclusive behind Shared producers": "it gets the topic when no producer is left (PIP-68); Pulsar promotes "
    "only after an exclusive producer (AbstractTopic.handleProducerRemoved looks at hasExclusiveProducer), so that it "
    "waits for ever",
    "chunks whose first one went to a Shared consumer that is gone": "they go to another, like whole messages; "
    "Pulsar's SharedConsumerAssignor still has the one that is gone, and nobody gets them, which no clause allows",
    "ACKs of several ids, one of them still to come": "what stands before it is acknowledged; in Pulsar too, but the "
    "mark-delete position moves with the next ACK only (ManagedCursorImpl.asyncDelete gives up in between); here the "
    "position is what is acknowledged, and has no life of its own",
    "topics without a lookup": "they are served; a broker of Pulsar serves no namespace that it does not own, and "
    "owns it from the first lookup on (BrokerService.checkTopicNsOwnershipAsync). Here a Case says which broker has a "
    "topic before anybody asks",
    "receipts of a producer the broker closed with SENDs unwritten": "they do not come; from Pulsar they may "
    "(Producer.MessagePublishContext answers when BookKeeper has written, whoever is still there): a race, of which "
    "one end was chosen",
    "a reader that starts at an id of another topic": "its mark-delete position in GET_LAST_MESSAGE_ID_RESPONSE names "
    "the topic's own ledger; Pulsar's keeps the foreign one (NonDurableCursorImpl takes the position as it is given)",
    "patterns of topic names": "Python's expressions, with Java's quoting; Pulsar has Java's or RE2's "
    "(topicsPatternRegexImplementation), and neither is to be had in Python's library",
}
"""What no recording shows and is known to differ: what is done here, and why, beside the class or the setting of
Pulsar's that does otherwise."""
