"""Agent protocol v1: the JSON lines between the bench and an agent. These types are its single source.

The bench writes one command a line on the agent's stdin; the agent writes one event a line on stdout and logs on
stderr. A line is at most 1 MiB; binary is base64. Commands for one handle are issued to the client in command order,
without waiting for earlier completions, but for that of what opens it: a `send` may be written right behind the
`open_producer` of its producer, a `receive` right behind `open_consumer`, and the agent calls the client when that is
open. What names a client (`open_producer`, `open_consumer`) the bench holds back until its `open_client` has been
answered, or should have been. A blocking call never stops other handles. Every operation ends in exactly one `ok` /
`fail` / `unknown` (or `unsupported`), written in callback order. `fail` promises that the operation surely did not
happen; when in doubt, `unknown`. End of stdin means finish and exit.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import msgspec

from assay_conformance.model.case import Config
from assay_conformance.model.errors import UsageError
from assay_conformance.model.event import ErrorClass, MessageId
from assay_conformance.model.schema import parse_version

PROTOCOL = "1.1"
OLDEST = "1.0"
"""What an agent may still speak: what came since is asked only of one that declares the capability for it."""
SINCE: Mapping[str, str] = dict.fromkeys(
    ("message_listener", "batch_receive", "state_listener", "table_view", "send_callback"), "1.1"
)
"""Capabilities that need more than the oldest protocol, and the version that they came with."""
MAX_LINE_BYTES = 1 << 20

Unsigned = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]


Stamp = Annotated[int, msgspec.Meta(ge=-(1 << 62), le=1 << 62)]
"""Nanoseconds of an agent's clock; what is reckoned from them still fits 64 bits."""


class Generated(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A payload the agent generates itself: `model.payload` states the generator, its vectors are in the docs."""

    size: Unsigned
    seed: Unsigned = 0
    case: Unsigned = 0
    handle: Unsigned = 0
    number: Unsigned = 0


class OutMessage(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One message to send. Exactly one of `payload` and `data` (base64) is set; no Case asks for a message without a
    value (null).

    `sequence_id` is an explicit one; left out, the client numbers. `key` is the partition key. `deliver_at_ms` and
    `event_time_ms` are milliseconds since 1970.
    """

    payload: Generated | None = None
    data: bytes | None = None
    key: str | None = None
    ordering_key: str | None = None
    properties: dict[str, str] = {}
    sequence_id: Unsigned | None = None
    event_time_ms: Unsigned | None = None
    deliver_after_ms: Unsigned | None = None
    deliver_at_ms: Unsigned | None = None


class SendMode(StrEnum):
    ASYNC = "async"
    SYNC = "sync"


class _Command(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag_field="verb"):
    id: Unsigned


class Hello(_Command, frozen=True, tag="hello"):
    """First command. The suite speaks every version from `min` to `max`; the agent picks the latest of these that it
    speaks, and answers `hello`."""

    min: str = OLDEST
    max: str = OLDEST


def is_spoken(version: str) -> bool:
    """Return whether the suite speaks this version of the protocol; False for what is no version."""
    try:
        return parse_version(OLDEST, "") <= parse_version(version, "") <= parse_version(PROTOCOL, "")
    except UsageError:
        return False


class Clock(_Command, frozen=True, tag="clock"):
    """Answered at once with `ok`; its `t_ns` is the agent's monotonic clock."""


class OpenClient(_Command, frozen=True, tag="open_client"):
    """Answered when the client exists; no connection need be there yet."""

    handle: Unsigned
    service_url: str
    config: Config = {}


class OpenProducer(_Command, frozen=True, tag="open_producer"):
    """`ok` when the client says it is open, with `producer_name` and `last_sequence_id` where it reports them."""

    handle: Unsigned
    client: Unsigned
    topic: str
    config: Config = {}


class CallbackAct(StrEnum):
    """What the callback of a send does once its answer is written."""

    RETURN = "return"
    WAIT = "wait"


class Send(_Command, frozen=True, tag="send"):
    """Message i of the list is operation `id + i`: each has its own completion, and `id` itself is the first one's.

    `async`: all are handed to the client at once, in order. `sync`: by its blocking call, each when the one before has
    ended. No message belongs to a transaction.

    With `callback` = `wait` (capability `send_callback`, since 1.1; `async` only) the client's callback of each writes
    the answer and does not return: it waits, on whatever thread the client calls it, until `end_callback` or until its
    producer or client is closed. With `in_callback` the client is called in the callback of that send, on its thread,
    and by the blocking call where it has no other; the callback waits, and goes on waiting after it.
    """

    producer: Unsigned
    messages: tuple[OutMessage, ...]
    mode: SendMode = SendMode.ASYNC
    callback: CallbackAct = CallbackAct.RETURN
    in_callback: Unsigned | None = None


class EndCallback(_Command, frozen=True, tag="end_callback"):
    """Let the callback of operation `send`, which waits, return; one that has not begun returns at once when it does.
    `ok` when it was told to; `fail` with `other` where it was asked before, or no such callback is to wait. (Capability
    `send_callback`, since 1.1.)"""

    send: Unsigned


class Burst(_Command, frozen=True, tag="burst"):
    """`count` generated messages, numbered from `payload.number`, sent as fast as the client takes them.

    One completion when all have ended: `ok` with `values = {ok, fail, unknown}` counts. With `segment`, each call and
    each outcome becomes a row of that file, as `produce` says.
    """

    producer: Unsigned
    count: Positive
    payload: Generated
    segment: str = ""


class Produce(_Command, frozen=True, tag="produce"):
    """Send generated messages, numbered from `payload.number`, at a steady rate until `halt`.

    After a wait (a full queue, a blocked call) it catches up, at twice the rate at most. Message n has key `k<n mod
    keys>`, or none where `keys` is 0. Each call and each outcome becomes a row of the file `segment` (docs/ledger.md),
    with the payload's handle as its stream and n as its seq; without a file nothing is written. Answered when it was
    halted and every send has ended: `ok` with `values = {asked, sent, ok, fail, unknown}`, `asked` being what the rate
    was worth in that time.
    """

    producer: Unsigned
    rate_per_s: Positive
    payload: Generated
    keys: Unsigned = 0
    segment: str = ""


class Halt(_Command, frozen=True, tag="halt"):
    """End what `produce` or `consume` does on this handle; answered after that."""

    handle: Unsigned


class Flush(_Command, frozen=True, tag="flush"):
    """`ok` when the client says that all sends of before have ended. `in_callback` as in `send`."""

    producer: Unsigned
    in_callback: Unsigned | None = None


class Close(_Command, frozen=True, tag="close"):
    """Closes a producer, a consumer or a client. With `inside` a consumer, in the handler call of this delivery: see
    `ack`. With `in_callback` a producer or consumer, in the callback of that send: see `send`."""

    handle: Unsigned
    inside: Positive | None = None
    in_callback: Unsigned | None = None


class OpenConsumer(_Command, frozen=True, tag="open_consumer"):
    """Of `topics`; or, where there is a `pattern` (of full topic names of one namespace), of all that match it.

    With `durable` false in its configuration it is a reader of the one topic: the client's reader where it has one,
    else a consumer of a subscription that is not durable. It begins at `initial_position`, and `receive`, `seek`,
    `has_message_available` and `close` are all that is asked of it; what its client acknowledges by itself is the
    client's affair. A client whose reader has fewer options than its consumer says so in `[config.reader]` of
    agent.toml.

    A reader with a `start_message_id` (capability `start_message_id`, since 1.1) begins after that message, or with it
    where `start_inclusive` says so, in place of `initial_position`.

    With `listener` (capability `message_listener`, since 1.1) the client gets a message handler of the agent's, and
    hands messages over by calling it. A handler call does nothing, and does not return, before a `receive` asks for it:
    see there. One at a time of those that nobody has asked for reports that it began; others report nothing. What a
    handler call is to do (`receive`, `let_return`, and what says `inside`) is taken at once, also while the consumer
    opens: a client may call the handler by then.

    With `state_listener` (capability `state_listener`, since 1.1) the client gets a listener of the agent's for whether
    the consumer is the active one of its Failover subscription; each call of it is a `note` `state`: see *Code of the
    application*.
    """

    handle: Unsigned
    client: Unsigned
    topics: tuple[str, ...]
    subscription: str
    config: Config = {}
    pattern: str = ""
    listener: bool = False
    state_listener: bool = False
    start_message_id: MessageId | None = None


class HandlerAct(StrEnum):
    """What a call of a message handler does once it is asked for."""

    RETURN = "return"
    RAISE = "raise"
    WAIT = "wait"


class Receive(_Command, frozen=True, tag="receive"):
    """Hand over up to `count` messages as `received` events; `ok` with their `count`, `timeout_ms` later at most.

    Of a consumer with a listener it asks for `count` calls of its handler, the oldest that wait first: each is reported
    by `received`, with `called_ns` for its beginning, unless it was before; does what `does` says (returns, raises an
    exception, or waits until `let_return`); and is reported by `handled` when it returns. After the end of its
    consumer's close no call has to be asked for: those that waited return; up to ten that begin are reported; and all
    return at once.
    """

    consumer: Unsigned
    count: Positive
    timeout_ms: Unsigned
    want_bytes: bool = False
    does: HandlerAct = HandlerAct.RETURN


class LetReturn(_Command, frozen=True, tag="let_return"):
    """End the handler call of a `delivery` that waits: it returns or, with `raises`, raises an exception. `ok` after
    its `handled`."""

    consumer: Unsigned
    delivery: Positive
    raises: bool = False


class BatchReceive(_Command, frozen=True, tag="batch_receive"):
    """One call of the client's batch receive, under the consumer's limits: `batch_receive_max_messages`,
    `batch_receive_max_bytes` and `batch_receive_timeout_ms`. Its messages as `received` events, with no others of this
    consumer between; then `ok` with their `count`. (Capability `batch_receive`, since 1.1.)"""

    consumer: Unsigned


class OpenTableView(_Command, frozen=True, tag="open_table_view"):
    """`ok` when the client says that the view holds what the topic held. With `listener` each value that it holds then,
    and each that it takes over later, is a `note` `value` with its `key`, `size` and `digest`. (Capability
    `table_view`, since 1.1; `close` closes it.)"""

    handle: Unsigned
    client: Unsigned
    topic: str
    subscription: str
    listener: bool = False


class ReadTableView(_Command, frozen=True, tag="read_table_view"):
    """`ok` with `values = {entries}`: by key, `[size, digest]` of the value that the view holds."""

    handle: Unsigned


class AckMode(StrEnum):
    """What `consume` says of the messages it takes."""

    INDIVIDUAL = "individual"
    CUMULATIVE = "cumulative"
    NONE = "none"


class Consume(_Command, frozen=True, tag="consume"):
    """Receive generated messages and say something of each at once, until `halt`.

    A message that comes for the first time (redelivery count 0) is refused instead where `number * 2654435761 mod
    2^32 < nack_share * 2^32`; `cumulative` acknowledges every `every`-th message of each topic and takes no
    `nack_share`. Each delivery, acknowledgment and refusal becomes a row of the file `segment` (docs/ledger.md). `ok`
    with `values = {received, acked, nacked}` when it was halted.
    """

    consumer: Unsigned
    acks: AckMode = AckMode.INDIVIDUAL
    every: Positive = 1
    nack_share: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.0
    segment: str = ""


class Ack(_Command, frozen=True, tag="ack"):
    """Acknowledge deliveries of this consumer (counted from 1) in list order, each as `cumulative` where set.

    With `of` they are those of another consumer: applications keep ids, and mix them up. With `inside` the client is
    called in the handler call of this delivery, on its thread, on the consumer that the handler was called with and by
    the blocking call, where it has these; the handler call waits (`does`), and goes on waiting after it.
    `in_callback` as in `send`.
    """

    consumer: Unsigned
    messages: tuple[Positive, ...]
    cumulative: bool = False
    of: Unsigned | None = None
    inside: Positive | None = None
    in_callback: Unsigned | None = None


class Nack(_Command, frozen=True, tag="nack"):
    """Refuse deliveries of this consumer, in list order: by the message where the client takes one, else by its id.
    `inside` as in `ack`."""

    consumer: Unsigned
    messages: tuple[Positive, ...]
    inside: Positive | None = None


class RedeliverAll(_Command, frozen=True, tag="redeliver_all"):
    """Have every delivery of this consumer that is not acknowledged delivered again: Java's and C++'s
    `redeliverUnacknowledgedMessages`. `ok` when the client has taken the call. (Capability `redeliver_all`, since
    1.1.)"""

    consumer: Unsigned


class ReconsumeLater(_Command, frozen=True, tag="reconsume_later"):
    """Have deliveries of this consumer come again after a delay, by way of its retry letter topic."""

    consumer: Unsigned
    messages: tuple[Positive, ...]
    delay_ms: Unsigned = 0


class Value(_Command, frozen=True, tag="value"):
    """Read the values of deliveries of this consumer, in list order, through its `schema`; since 1.1.

    `ok` when all could be read, else as the client says of the first that could not. Nothing else of the agent reads a
    value: what a client asks its broker for only then, it asks for now.
    """

    consumer: Unsigned
    messages: tuple[Positive, ...]


class Seek(_Command, frozen=True, tag="seek"):
    """To a message id, or to a publish time. `in_callback` as in `send`."""

    consumer: Unsigned
    message_id: MessageId | None = None
    publish_time_ms: Unsigned | None = None
    in_callback: Unsigned | None = None


class HasMessageAvailable(_Command, frozen=True, tag="has_message_available"):
    """Whether a reader has more to read; `ok` with `values = {available}`."""

    consumer: Unsigned


class LastMessageId(_Command, frozen=True, tag="last_message_id"):
    """The id of the last message of a consumer's or reader's topic, as the broker knows it: `ok` with `message_id`.
    (Capability `last_message_id`, since 1.1.)"""

    consumer: Unsigned


class Unsubscribe(_Command, frozen=True, tag="unsubscribe"):
    """Delete the consumer's subscription."""

    consumer: Unsigned


class Pause(_Command, frozen=True, tag="pause"):
    """The client asks the broker for no more messages of this consumer; those that have come can be received.

    Of a consumer with a listener (capability `listener_pause`) it is whatever the client has for that: it may also
    begin no more handler calls."""

    consumer: Unsigned


class Resume(_Command, frozen=True, tag="resume"):
    """The end of `pause`."""

    consumer: Unsigned


class Stats(_Command, frozen=True, tag="stats"):
    """Whatever the client reports of a handle; `ok` with `values`, `last_sequence_id` for a producer that has one."""

    handle: Unsigned


class BeginTxn(_Command, frozen=True, tag="begin_txn"):
    """Reserved, as are the two that end it: no send or acknowledgment can name a transaction, and no Case has one. An
    agent answers `unsupported`."""

    handle: Unsigned
    client: Unsigned
    timeout_ms: Unsigned = 60_000


class CommitTxn(_Command, frozen=True, tag="commit_txn"):
    handle: Unsigned


class AbortTxn(_Command, frozen=True, tag="abort_txn"):
    handle: Unsigned


class Hook(_Command, frozen=True, tag="hook"):
    """Reserved: code of the application is named by the keys `router` and `interceptor`, and no Case has this command.
    An agent answers `unsupported`."""

    handle: Unsigned
    name: str
    args: dict[str, Any] = {}


class Crash(_Command, frozen=True, tag="crash"):
    """Die at once, without closing anything."""


class Exit(_Command, frozen=True, tag="exit"):
    """Close everything and exit; the exit status is recorded, not judged."""


Command = (
    Hello
    | Clock
    | OpenClient
    | OpenProducer
    | Send
    | EndCallback
    | Burst
    | Produce
    | Halt
    | Flush
    | Close
    | OpenConsumer
    | Receive
    | LetReturn
    | BatchReceive
    | OpenTableView
    | ReadTableView
    | Consume
    | Ack
    | Nack
    | RedeliverAll
    | ReconsumeLater
    | Value
    | Seek
    | HasMessageAvailable
    | LastMessageId
    | Unsubscribe
    | Pause
    | Resume
    | Stats
    | BeginTxn
    | CommitTxn
    | AbortTxn
    | Hook
    | Crash
    | Exit
)


class _Answer(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag_field="event"):
    """`t_ns` is the agent's monotonic clock."""

    t_ns: Stamp


class HelloAnswer(_Answer, frozen=True, tag="hello"):
    """The agent's word about itself and its client. `client_version` is what the library itself reports."""

    id: Unsigned
    schema: str
    agent: str
    client: str
    client_version: str
    language: str
    capabilities: tuple[str, ...] = ()
    pid: int | None = None


class Ok(_Answer, frozen=True, tag="ok"):
    """The operation succeeded. `called_ns` is when the client was called; only the fields that apply are set."""

    id: Unsigned
    called_ns: Stamp | None = None
    message_id: MessageId | None = None
    sequence_id: int | None = None
    producer_name: str | None = None
    last_sequence_id: int | None = None
    count: int | None = None
    values: dict[str, Any] = {}


class Fail(_Answer, frozen=True, tag="fail"):
    """The operation surely did not happen."""

    id: Unsigned
    error: ErrorClass
    text: str = ""
    called_ns: Stamp | None = None


class Unknown(_Answer, frozen=True, tag="unknown"):
    """The operation may have happened."""

    id: Unsigned
    error: ErrorClass
    text: str = ""
    called_ns: Stamp | None = None


class Unsupported(_Answer, frozen=True, tag="unsupported"):
    """The agent does not know this verb, or this argument of it."""

    id: Unsigned
    text: str = ""


class ReceivedMessage(_Answer, frozen=True, tag="received"):
    """A message reached the application. `delivery` counts this consumer's deliveries from 1.

    `identity` is (case, handle, number) of a generated payload of 16 bytes or more; `data` only when asked for. What
    the client does not show is left out, and agent.toml says so (`lacks`): else a count that is left out is 0.
    `called_ns` is when a handler was called with it; left out for a message that was received.
    """

    consumer: Unsigned
    delivery: Positive
    message_id: MessageId
    size: Unsigned
    digest: Unsigned
    identity: tuple[int, int, int] | None = None
    key: str | None = None
    topic: str | None = None
    producer_name: str | None = None
    sequence_id: int | None = None
    redelivery_count: int = 0
    publish_time_ms: int | None = None
    event_time_ms: int | None = None
    properties: dict[str, str] = {}
    data: bytes | None = None
    called_ns: Stamp | None = None


class HandledMessage(_Answer, frozen=True, tag="handled"):
    """The handler call of a `delivery` returned or, where it `raised`, ended in an exception of its own."""

    consumer: Unsigned
    delivery: Positive
    raised: bool = False


class Noted(_Answer, frozen=True, tag="note"):
    """Something worth a line in the history; what code of the application saw inside the client."""

    text: str
    handle: Unsigned | None = None
    values: dict[str, Any] = {}


Answer = HelloAnswer | Ok | Fail | Unknown | Unsupported | ReceivedMessage | HandledMessage | Noted
