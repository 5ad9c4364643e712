"""Every verb of the agent protocol: what it does on the wire and on the broker, and with which right it may end.

A call that reports success owes its effect: each request that it made was answered well, and what it asked for is so at
the broker (`effect`). Where that is not owed, `without_answer` says why. A call that reports a failure owes a cause:
an error, an answer that did not come, something lost, or one of its own (`local`), which no broker sees.

`success_by` and `failure_by` name the requirement that judges it; none: it cannot be seen from outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from assay_conformance.model.event import ErrorClass

SUCCESS: Final = "robustness.success-needs-answer"
FAILURE: Final = "robustness.failure-needs-cause"

_CONFIG: Final = ErrorClass.INVALID_CONFIG
_JAVA: Final = "Java client, "
_CPP: Final = "C++ client, "


@dataclass(frozen=True, slots=True)
class VerbOutcome:
    """`requests`: the commands whose answers a call waits for. `local`: how it may fail although every broker did its
    part. `sources`: where clients do so."""

    verb: str
    requests: tuple[str, ...]
    effect: str
    without_answer: str
    local: tuple[ErrorClass, ...]
    local_because: str
    success_by: str
    failure_by: str
    sources: tuple[str, ...]


VERBS: Final = (
    VerbOutcome(
        "open_client",
        (),
        "none: connections are made when they are needed",
        "nothing is asked for",
        (_CONFIG, ErrorClass.AUTH),
        "a setting, or credentials that cannot be loaded",
        "",
        "",
        (_JAVA + "PulsarClientImpl: constructor", _CPP + "ClientImpl: constructor"),
    ),
    VerbOutcome(
        "open_producer",
        ("PARTITIONED_METADATA", "LOOKUP", "PRODUCER"),
        "the producer is registered on the topic, or on each partition",
        "of several partitions only one need be open where they are opened when first used",
        (_CONFIG, ErrorClass.OTHER, ErrorClass.SERIALIZATION),
        "settings that exclude each other, or a schema, before anything is asked for",
        SUCCESS,
        FAILURE,
        (
            _JAVA + "ProducerImpl: connectionOpened; PartitionedProducerImpl: start (lazyStartPartitionedProducers)",
            _CPP + "ProducerImpl: handleCreateProducer",
        ),
    ),
    VerbOutcome(
        "open_consumer",
        ("PARTITIONED_METADATA", "GET_TOPICS_OF_NAMESPACE", "LOOKUP", "SUBSCRIBE"),
        "the consumer is attached to the subscription of each topic and partition",
        "a pattern that matches nothing",
        (_CONFIG, ErrorClass.OTHER, ErrorClass.SERIALIZATION),
        "settings that exclude each other, or a schema, before anything is asked for",
        SUCCESS,
        FAILURE,
        (_JAVA + "ConsumerImpl: connectionOpened", _CPP + "ConsumerImpl: handleCreateConsumer"),
    ),
    VerbOutcome(
        "send",
        ("SEND",),
        "the message is stored; or, as a duplicate, one of its id is (the receipt names -1:-1)",
        "never",
        (ErrorClass.QUEUE_FULL, ErrorClass.TOO_LARGE, ErrorClass.SERIALIZATION, _CONFIG),
        "the queue or the memory is full, the message does not fit a frame, or it cannot be encoded",
        SUCCESS,
        FAILURE,
        (_JAVA + "ProducerImpl: ackReceived, canEnqueueRequest", _CPP + "ProducerImpl: ackReceived"),
    ),
    VerbOutcome(
        "burst",
        (),
        "as of its sends",
        "it counts how its sends ended",
        (),
        "as of its sends",
        "",
        "",
        ("agent protocol",),
    ),
    VerbOutcome(
        "produce",
        (),
        "as of its sends",
        "it counts how its sends ended",
        (),
        "as of its sends",
        "",
        "",
        ("agent protocol",),
    ),
    VerbOutcome("halt", (), "none", "nothing is asked for", (), "", "", "", ("agent protocol",)),
    VerbOutcome(
        "flush",
        ("SEND",),
        "every earlier send has ended",
        "a send that ended in an error has ended, too",
        (),
        "an earlier send has failed",
        "producer.flush-waits",
        FAILURE,
        (_JAVA + "ProducerImpl: flushAsync", _CPP + "ProducerImpl: flushAsync"),
    ),
    VerbOutcome(
        "close",
        ("CLOSE_PRODUCER", "CLOSE_CONSUMER"),
        "the broker has no such producer or consumer any more",
        "on a connection that is gone, or ends meanwhile: with it the broker forgets it; one that was not registered; "
        "and where the client's call returns nothing, as that of Go does",
        (ErrorClass.CLOSED,),
        "it is closed already",
        SUCCESS,
        FAILURE,
        (
            _JAVA + "ConsumerImpl: closeAsync, cleanupAtClose; ProducerImpl: closeAsync",
            _CPP + "ConsumerImpl: closeAsync",
        ),
    ),
    VerbOutcome(
        "receive",
        (),
        "none: what has arrived is delivered",
        "nothing is asked for; its time is up",
        (ErrorClass.TIMEOUT, ErrorClass.CORRUPT, ErrorClass.SERIALIZATION),
        "its time is up, or a message cannot be read, where the client reports that as an error",
        "",
        FAILURE,
        (_JAVA + "ConsumerImpl: internalReceive", _CPP + "ConsumerImpl: receiveHelper"),
    ),
    VerbOutcome(
        "batch_receive",
        (),
        "none: what has arrived is delivered",
        "nothing is asked for; its time is up",
        (ErrorClass.TIMEOUT, ErrorClass.CORRUPT, ErrorClass.SERIALIZATION),
        "its time is up, or a message cannot be read, where the client reports that as an error",
        "",
        FAILURE,
        (_JAVA + "ConsumerImpl: internalBatchReceiveAsync", _CPP + "ConsumerImplBase: batchReceiveAsync"),
    ),
    VerbOutcome(
        "value",
        ("GET_SCHEMA",),
        "none: the value is read by its schema",
        "the schema is known already",
        (ErrorClass.SERIALIZATION, ErrorClass.OTHER),
        "the bytes are no value of the schema",
        "",
        "",
        (_JAVA + "MessageImpl: getValue",),
    ),
    VerbOutcome("let_return", (), "none", "nothing is asked for", (), "", "", "", ("agent protocol",)),
    VerbOutcome("end_callback", (), "none", "nothing is asked for", (), "", "", "", ("agent protocol",)),
    VerbOutcome("consume", (), "as of its receives", "it counts what it received", (), "", "", "", ("agent protocol",)),
    VerbOutcome(
        "ack",
        ("ACK",),
        "the message is acknowledged",
        "without ack_receipt the client only has to remember it",
        (ErrorClass.OTHER, _CONFIG),
        "cumulative on a shared subscription, of a message of another topic or consumer",
        "ack.error-response-is-no-success",
        FAILURE,
        (
            _JAVA + "PersistentAcknowledgmentsGroupingTracker: addAcknowledgment (isAckReceiptEnabled)",
            _CPP + "ConsumerImpl: acknowledgeCumulativeAsync",
        ),
    ),
    VerbOutcome(
        "nack",
        (),
        "the message is asked for again when its delay is over",
        "the call only marks it",
        (),
        "",
        "nack.redelivery-requested-in-time",
        FAILURE,
        (_JAVA + "NegativeAcksTracker: add",),
    ),
    VerbOutcome(
        "reconsume_later",
        ("SEND",),
        "a copy is stored in the retry letter topic, and the original is acknowledged",
        "never",
        (_CONFIG,),
        "the consumer has no retry letters; whose the producer of the copies is, only the client knows",
        "retry-letter.original-acked-after-receipt",
        "",
        (_JAVA + "ConsumerImpl: doReconsumeLater",),
    ),
    VerbOutcome(
        "redeliver_all",
        (),
        "none: what is not acknowledged is delivered again",
        "no answer is expected; not connected, the broker delivers everything again by itself",
        (_CONFIG,),
        "a reader has nothing to acknowledge",
        "nack.redeliver-all-requested",
        FAILURE,
        (
            _JAVA + "ConsumerImpl: redeliverUnacknowledgedMessages",
            _CPP + "ConsumerImpl: redeliverUnacknowledgedMessages",
        ),
    ),
    VerbOutcome(
        "seek",
        ("SEEK",),
        "the subscription begins at the target",
        "never",
        (_CONFIG, ErrorClass.OTHER),
        "another seek goes on, or a consumer of several topics cannot seek to a message of one of them",
        SUCCESS,
        FAILURE,
        (_JAVA + "ConsumerImpl: seekAsyncInternal", _CPP + "ConsumerImpl: seekAsyncInternal"),
    ),
    VerbOutcome(
        "has_message_available",
        ("GET_LAST_MESSAGE_ID",),
        "none: what the broker answered is compared with what was read",
        "yes, where a message waits in the client, or the last id that it knows is after what was read",
        (_CONFIG,),
        "only a reader can be asked",
        SUCCESS,
        FAILURE,
        (_JAVA + "ConsumerImpl: hasMessageAvailableAsync", _CPP + "ConsumerImpl: hasMessageAvailableAsync"),
    ),
    VerbOutcome(
        "last_message_id",
        ("GET_LAST_MESSAGE_ID",),
        "none: what the broker answered is returned",
        "never",
        (_CONFIG,),
        "a consumer of several topics has no last message",
        SUCCESS,
        FAILURE,
        (_JAVA + "ConsumerImpl: getLastMessageIdAsync", _CPP + "ConsumerImpl: getLastMessageIdAsync"),
    ),
    VerbOutcome(
        "open_table_view",
        ("PARTITIONED_METADATA", "LOOKUP", "SUBSCRIBE", "GET_LAST_MESSAGE_ID"),
        "a reader of each partition has read what was there",
        "never",
        (_CONFIG,),
        "settings that exclude each other, before anything is asked for",
        "table-view.holds-what-was-stored",
        "",
        (_JAVA + "TableViewImpl: start, readAllExistingMessages", _CPP + "TableViewImpl: readAllExistingMessages"),
    ),
    VerbOutcome(
        "read_table_view",
        (),
        "none: what was read is delivered",
        "nothing is asked for",
        (),
        "",
        "table-view.holds-what-was-stored",
        "",
        (_JAVA + "TableViewImpl: forEach, get", _CPP + "TableViewImpl: forEach, getValue"),
    ),
    VerbOutcome(
        "unsubscribe",
        ("UNSUBSCRIBE",),
        "the subscription is gone from each topic",
        "never",
        (_CONFIG,),
        "a reader has no subscription to end",
        "subscription.unsubscribe-ends-subscription",
        "subscription.unsubscribe-ends-subscription",
        (_JAVA + "ConsumerImpl: unsubscribeAsync", _CPP + "ConsumerImpl: unsubscribeAsync"),
    ),
    VerbOutcome(
        "pause",
        (),
        "none: no more permits",
        "nothing is asked for",
        (),
        "",
        "",
        FAILURE,
        (_JAVA + "ConsumerImpl: pause",),
    ),
    VerbOutcome(
        "resume",
        (),
        "none: permits again",
        "nothing is asked for",
        (),
        "",
        "",
        FAILURE,
        (_JAVA + "ConsumerImpl: resume",),
    ),
    VerbOutcome(
        "stats", (), "none", "nothing is asked for", (), "", "", FAILURE, (_JAVA + "ProducerImpl: getLastSequenceId",)
    ),
)
"""In the order of the agent protocol; those that it reserves, and those that end the agent, have nothing to judge."""

OF_VERB: Final = {one.verb: one for one in VERBS}
