"""A Case's steps as lines of a stand-alone Python script: what each verb of agent, broker and bench becomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from assay_conformance.broker.steps import STEPS, read_step
from assay_conformance.model.case import Case, Config, Step, Who
from assay_conformance.model.errors import UsageError
from assay_conformance.model.fault import AfterStep, AtTime, Fault, OnFrame
from assay_conformance.model.topic_names import named_topics
from assay_reports.bounds import SCRIPT_WAITS_S
from assay_reports.export.names import ROLES, Handles, Longs
from assay_reports.export.schedule import Line, Made, Wait, written
from assay_reports.export.values import Text, called, chosen_options, reader_options

NAMESPACE = "persistent://public/default/"
DEFAULT_BYTES = 64

MESSAGE_OPTIONS = {
    "key": "partition_key",
    "ordering_key": "ordering_key",
    "properties": "properties",
    "sequence_id": "sequence_id",
    "event_time_ms": "event_timestamp",
    "deliver_at_ms": "deliver_at",
}


def planned(case: Case) -> list[int]:
    """Return the faults of the plan: the others begin at a time or after a step, and the script says when that is."""
    return [index for index, fault in enumerate(case.faults) if isinstance(fault.trigger, OnFrame)]


def plan_of(case: Case) -> dict[str, Any]:
    """Return what the broker is started with, as it tells it itself, but for the faults."""
    # What the values leave out is their default; topics are named even so, or no step could speak of them.
    topology = {**msgspec.to_builtins(case.topology), "topics": msgspec.to_builtins(case.topology.topics)}
    return {"topology": topology, "faults": len(planned(case))}


def stand_alone(fault: Fault) -> Fault:
    """Return the fault without the step that ends it: the script ends it by itself."""
    return msgspec.structs.replace(fault, until=msgspec.structs.replace(fault.until, step=None))


class Calls:
    """`asked` is the configuration of clients, producers and consumers; `options` what the client calls its keys.

    `handles` names what is opened, `faults` has the broker's number of each fault of the Case that begins, and `longs`
    the long texts, which stand behind everything else.
    """

    def __init__(self, case: Case, asked: Mapping[str, Config], options: Mapping[str, Mapping[str, str]]) -> None:
        self._case = case
        self._asked = asked
        self._options = options
        self._saved: dict[int, Made] = {}
        self.handles = Handles(case)
        self.longs = Longs()
        self.faults = {index: number for number, index in enumerate(planned(case))}

    def lines(self) -> list[str]:
        """Return the lines of all steps. Raises UsageError for what no script can do, and for a fault that never
        begins."""
        lines = [line for number, step in enumerate(self._case.steps) for line in self._of(number, step)]
        if late := [index for index, fault in enumerate(self._case.faults) if index not in self.faults]:
            raise UsageError(f"fault {late[0]} never begins; expected one that does")
        return written(lines, self.handles.asked_for)

    def _of(self, number: int, step: Step) -> Iterator[Line]:
        """Yield the lines of one step, and of the faults that begin with it."""
        write = VERBS.get((step.who, step.verb))
        if write is None:
            raise UsageError(f"step {number}, {step.verb!r}, has no stand-alone form")
        try:
            if number == 0:
                yield from self._begun(lambda trigger: isinstance(trigger, AtTime))
            for line in write(self, step):
                if isinstance(line, Made) and step.saves is not None:
                    self._saved[step.saves] = line
                yield line
            yield from self._begun(lambda trigger: isinstance(trigger, AfterStep) and trigger.step == number)
            for index, fault in enumerate(self._case.faults):
                if fault.until.step == number:
                    yield called("end_fault", self._fault(index))
        except UsageError as error:
            raise UsageError(f"step {number}, {step.verb}: {error}") from error

    def _begun(self, now: Callable[[Any], bool]) -> Iterator[Line]:
        for index, fault in enumerate(self._case.faults):
            if now(fault.trigger):
                self.faults[index] = len(self.faults)
                at_once = AtTime(at_ms=0) if isinstance(fault.trigger, AfterStep) else fault.trigger
                arguments = msgspec.to_builtins(msgspec.structs.replace(stand_alone(fault), trigger=at_once))
                yield called("begin_fault", self.faults[index], arguments)

    def _fault(self, index: int) -> int:
        if index not in self.faults:
            raise UsageError(f"expected a fault that has begun, came number {index}")
        return self.faults[index]

    # --- the client's calls ---

    def open_client(self, step: Step) -> Iterator[Line]:
        yield self._opening(step, called("open_client", **self._chosen("client", step)))

    def open_producer(self, step: Step) -> Iterator[Line]:
        topic = NAMESPACE + str(step.args.get("topic", self._case.topology.topics[0].name))
        yield self._opening(
            step, called("open_producer", self._handle(step, "client"), topic, **self._chosen("producer", step))
        )

    def open_consumer(self, step: Step) -> Iterator[Line]:
        if step.args.get("listener") or step.args.get("state_listener"):
            raise UsageError("a listener has no stand-alone form")
        if "start_of" in step.args:
            raise UsageError("a reader that begins at a message has no stand-alone form")
        topics = [NAMESPACE + name for name in named_topics(step.args, self._case.topology.topics[0].name)]
        config = {**self._asked["consumer"], **step.args.get("config", {})}
        client = self._handle(step, "client")
        if config.get("durable") is False:
            if len(topics) != 1 or "pattern" in step.args:
                raise UsageError("expected a reader of one topic")
            yield self._opening(step, called("open_reader", client, topics[0], **reader_options(config)))
            return
        verb = "open_consumer_without_queue" if config.get("receiver_queue_size") == 0 else "open_consumer"
        named: Any = topics[0] if len(topics) == 1 else topics
        if "pattern" in step.args:
            named = Text(called("re.compile", NAMESPACE + str(step.args["pattern"])))
        subscription = str(step.args.get("subscription", "s"))
        chosen = self._chosen("consumer", step)
        yield self._opening(step, called(verb, client, named, subscription=subscription, **chosen))

    def send(self, step: Step) -> Iterator[Line]:
        verb = "send" if step.args.get("mode") == "sync" else "send_async"
        producer = self._handle(step, "producer")
        times = 1 if "messages" in step.args else int(step.args.get("count", 1))
        calls = []
        for message in step.args.get("messages") or [{}]:
            fields = {**step.args, **message}
            arguments = {
                option: self.longs.out_of(fields[key]) for key, option in MESSAGE_OPTIONS.items() if key in fields
            }
            if after_ms := fields.get("deliver_after_ms"):
                arguments["deliver_after"] = Text(called("timedelta", milliseconds=after_ms))
            calls.append(called(verb, producer, size=fields.get("size", DEFAULT_BYTES), **arguments))
        yield Made(tuple(calls), "sending", times)

    def flush(self, step: Step) -> Iterator[Line]:
        yield Made((called("flush", self._handle(step, "producer")),), "flushing")

    def close(self, step: Step) -> Iterator[Line]:
        yield Made((called("close", self._handle(step, "handle")),), "closing")

    def receive(self, step: Step) -> Iterator[Line]:
        timeout_ms = step.args.get("timeout_ms", self._case.limits.operation_ms * 8 // 10)
        arguments = {"count": step.args.get("count", 1), "timeout_ms": timeout_ms}
        yield Made((called("receive", self._handle(step, "consumer"), **arguments),), "receiving")

    def ack(self, step: Step) -> Iterator[Line]:
        if "of" in step.args:
            raise UsageError("an acknowledgment of what another consumer got has no stand-alone form")
        verb = "acknowledge_cumulative" if step.args.get("cumulative") else "acknowledge"
        yield Made((called(verb, self._handle(step, "consumer"), _choice(step)),), "acknowledging")

    def nack(self, step: Step) -> Iterator[Line]:
        yield Made((called("negative_acknowledge", self._handle(step, "consumer"), _choice(step)),), "refusing")

    def seek(self, step: Step) -> Iterator[Line]:
        verb, place = ("message", "delivery") if "delivery" in step.args else ("time", "publish_time_ms")
        yield Made((called(f"seek_to_{verb}", self._handle(step, "consumer"), step.args[place]),), "seeking")

    def redeliver_all(self, step: Step) -> Iterator[Line]:
        yield Made((called("redeliver_everything", self._handle(step, "consumer")),), "redelivering")

    def has_message_available(self, step: Step) -> Iterator[Line]:
        yield Made((called("has_message_available", self._handle(step, "consumer")),), "asking")

    def last_message_id(self, step: Step) -> Iterator[Line]:
        yield Made((called("last_message_id", self._handle(step, "consumer")),), "asking")

    def _handle(self, step: Step, role: str) -> Text:
        return Text(self.handles.asked(step.args[role]))

    def _opening(self, step: Step, call: str) -> Made:
        role = ROLES[step.verb]
        return Made((call,), role, name=self.handles.opened(step.saves, role))

    def _chosen(self, role: str, step: Step) -> dict[str, Any]:
        return chosen_options({**self._asked[role], **step.args.get("config", {})}, self._options[role])

    # --- broker and waits ---

    def broker(self, step: Step) -> Iterator[Line]:
        # It knows its arguments by name, and takes no others.
        read_step(step.verb, step.args)
        args = {key: NAMESPACE + value if key == "topic" and value else value for key, value in step.args.items()}
        yield called("broker", step.verb, **self.longs.out_of(args))

    def heal(self, step: Step) -> Iterator[Line]:
        yield called("end_fault", self._fault(step.args["fault"])) if "fault" in step.args else "end_every_fault()"

    def wait_ops(self, step: Step) -> Iterator[Line]:
        timeout = self._timeout(step)
        if not step.args.get("ops"):
            yield called("wait_for", Text("*CALLS"), **timeout)
        # What a step refers to need not be there: steps were taken away.
        elif ended := [self._saved[number] for number in step.args["ops"] if number in self._saved]:
            yield Wait(tuple(ended), tuple(f"{key}={value}" for key, value in timeout.items()))

    def wait_frame(self, step: Step) -> Iterator[Line]:
        verb, fields = "wait_for_frame", step.args.get("where")
        arguments = [step.args["command"], step.args["direction"]]
        if fields:
            verb, arguments = "wait_for_frame_with", [fields, *arguments]
        yield called(verb, *arguments, count=step.args.get("count", 1), **self._timeout(step))

    def wait_fired(self, step: Step) -> Iterator[Line]:
        yield called("wait_for_fault", self._fault(step.args["fault"]), **self._timeout(step))

    def wait_received(self, step: Step) -> Iterator[Line]:
        consumer = self._handle(step, "consumer")
        yield called("wait_for_received", consumer, count=step.args["count"], **self._timeout(step))

    def wait_ms(self, step: Step) -> Iterator[Line]:
        yield called("time.sleep", step.args["ms"] / 1_000)

    def _timeout(self, step: Step) -> dict[str, float]:
        seconds = float(step.args.get("deadline_ms", self._case.limits.operation_ms)) / 1_000
        return {} if seconds == SCRIPT_WAITS_S else {"timeout_s": seconds}


def _choice(step: Step) -> Text:
    """Which messages: by their places, by their numbers, or all that are left."""
    for key, choice in (("messages", "received"), ("numbers", "numbered")):
        if (arguments := step.args.get(key)) is not None:
            return Text(called(choice, *arguments))
    return Text("unacknowledged()")


Write = Callable[[Calls, Step], Iterator[Line]]

VERBS: Mapping[tuple[Who, str], Write] = {
    (Who.AGENT, "open_client"): Calls.open_client,
    (Who.AGENT, "open_producer"): Calls.open_producer,
    (Who.AGENT, "open_consumer"): Calls.open_consumer,
    (Who.AGENT, "send"): Calls.send,
    (Who.AGENT, "flush"): Calls.flush,
    (Who.AGENT, "close"): Calls.close,
    (Who.AGENT, "receive"): Calls.receive,
    (Who.AGENT, "ack"): Calls.ack,
    (Who.AGENT, "nack"): Calls.nack,
    (Who.AGENT, "redeliver_all"): Calls.redeliver_all,
    (Who.AGENT, "seek"): Calls.seek,
    (Who.AGENT, "has_message_available"): Calls.has_message_available,
    (Who.AGENT, "last_message_id"): Calls.last_message_id,
    **{(Who.BROKER, verb): Calls.broker for verb in STEPS},
    (Who.BENCH, "heal"): Calls.heal,
    (Who.WAIT, "ops"): Calls.wait_ops,
    (Who.WAIT, "frame"): Calls.wait_frame,
    (Who.WAIT, "fired"): Calls.wait_fired,
    (Who.WAIT, "received"): Calls.wait_received,
    (Who.WAIT, "ms"): Calls.wait_ms,
}
