"""The timeline: what happened in an attempt, as relations that any check can query once the history is complete.

`Timeline` holds them; `check` makes a check of a function that reads them. Each relation is derived once, in a module
of its own, and only if it is used. This module names what checks need besides the events of `model.event`.
"""

from assay_conformance.judging.certainty import (
    Breach,
    Exercised,
    Judged,
    NotJudged,
    Says,
    TooBusyError,
    UnknownError,
    breach,
    each,
    either,
    every,
)
from assay_conformance.judging.patterns import agreement, precedence
from assay_conformance.judging.tolerance import MS, TOLERANCES, ms
from assay_conformance.pulsar.outcomes.errors import FINAL_ERRORS, PASSING_ERRORS
from assay_conformance.pulsar.timeline.acks import AckCall, WrittenAcks, session_for
from assay_conformance.pulsar.timeline.answers import Answer, Fit
from assay_conformance.pulsar.timeline.asking import TimelineCheck, check
from assay_conformance.pulsar.timeline.batch_entries import BatchAck, BatchEntry, open_places
from assay_conformance.pulsar.timeline.batches import Batch, batches
from assay_conformance.pulsar.timeline.closing import closed_by_application, how_closed, may_register
from assay_conformance.pulsar.timeline.connections import Connection, Why
from assay_conformance.pulsar.timeline.consumers import (
    Call,
    Consumer,
    ConsumerSession,
    Entry,
    known_consumer,
    known_owner,
)
from assay_conformance.pulsar.timeline.deliveries import CUMULATIVE, REDELIVER, Delivery
from assay_conformance.pulsar.timeline.handlers import HandlerCall, called_ns, client_of, listens
from assay_conformance.pulsar.timeline.handshakes import Handshake
from assay_conformance.pulsar.timeline.in_flight import FirstSend, InFlight
from assay_conformance.pulsar.timeline.incoming import IncomingMessage, incoming_messages, not_delivered
from assay_conformance.pulsar.timeline.interruptions import Interruption
from assay_conformance.pulsar.timeline.limiters import Limiter, levels_of, unchanged_topics
from assay_conformance.pulsar.timeline.migrations import Migration, clusters
from assay_conformance.pulsar.timeline.pauses import Pause
from assay_conformance.pulsar.timeline.permits import AvailablePermits, Balance, Grant, PermitAccount, charged
from assay_conformance.pulsar.timeline.producers import (
    HandleEnd,
    Producer,
    ProducerSession,
    Resent,
    Send,
    Unit,
)
from assay_conformance.pulsar.timeline.publishes import Publish, Publishes, takes_for_copy
from assay_conformance.pulsar.timeline.registering import Owner, Registration, by_owner, whose
from assay_conformance.pulsar.timeline.request_turns import Turn, named_registrations, topics_of
from assay_conformance.pulsar.timeline.requests import Request
from assay_conformance.pulsar.timeline.routing import PartitionedProducer, Routed, is_keyless
from assay_conformance.pulsar.timeline.sends import (
    DEFAULT_SEND_TIMEOUT_MS,
    IN_FLIGHT_NS,
    LOST_CONNECTION,
    OWN_ENDS,
    RESENDS,
    ended_ns,
    is_vague,
    may_wait_for_partition,
)
from assay_conformance.pulsar.timeline.served import SHARED, ServedProducer
from assay_conformance.pulsar.timeline.subscriptions import Member, Subscription, name_of
from assay_conformance.pulsar.timeline.timeline import Timeline
from assay_conformance.pulsar.timeline.troubles import Trouble, Troubles
from assay_conformance.pulsar.timeline.turns import at_once, is_plain, is_synchronous, turns
from assay_conformance.pulsar.timeline.waiting import left_waiting, looked_ns, queued_messages

__all__ = [
    "CUMULATIVE",
    "DEFAULT_SEND_TIMEOUT_MS",
    "FINAL_ERRORS",
    "IN_FLIGHT_NS",
    "LOST_CONNECTION",
    "MS",
    "OWN_ENDS",
    "PASSING_ERRORS",
    "REDELIVER",
    "RESENDS",
    "SHARED",
    "TOLERANCES",
    "AckCall",
    "Answer",
    "AvailablePermits",
    "Balance",
    "Batch",
    "BatchAck",
    "BatchEntry",
    "Breach",
    "Call",
    "Connection",
    "Consumer",
    "ConsumerSession",
    "Delivery",
    "Entry",
    "Exercised",
    "FirstSend",
    "Fit",
    "Grant",
    "HandleEnd",
    "HandlerCall",
    "Handshake",
    "InFlight",
    "IncomingMessage",
    "Interruption",
    "Judged",
    "Limiter",
    "Member",
    "Migration",
    "NotJudged",
    "Owner",
    "PartitionedProducer",
    "Pause",
    "PermitAccount",
    "Producer",
    "ProducerSession",
    "Publish",
    "Publishes",
    "Registration",
    "Request",
    "Resent",
    "Routed",
    "Says",
    "Send",
    "ServedProducer",
    "Subscription",
    "Timeline",
    "TimelineCheck",
    "TooBusyError",
    "Trouble",
    "Troubles",
    "Turn",
    "Unit",
    "UnknownError",
    "Why",
    "WrittenAcks",
    "agreement",
    "at_once",
    "batches",
    "breach",
    "by_owner",
    "called_ns",
    "charged",
    "check",
    "client_of",
    "closed_by_application",
    "clusters",
    "each",
    "either",
    "ended_ns",
    "every",
    "how_closed",
    "incoming_messages",
    "is_keyless",
    "is_plain",
    "is_synchronous",
    "is_vague",
    "known_consumer",
    "known_owner",
    "left_waiting",
    "levels_of",
    "listens",
    "looked_ns",
    "may_register",
    "may_wait_for_partition",
    "ms",
    "name_of",
    "named_registrations",
    "not_delivered",
    "open_places",
    "precedence",
    "queued_messages",
    "session_for",
    "takes_for_copy",
    "topics_of",
    "turns",
    "unchanged_topics",
    "whose",
]
