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
from assay_reports.export.values import Text, called, option_value

NAMESPACE = "persistent://public/default/"
DEFAULT_BYTES = 64
NEVER_SET = {"durable", "max_redeliver_count", "dead_letter_subscription"}
"""What is not told as it is: a reader is none, and the two others make one policy."""
NO_FORM = {"router": "an application's own router", "tls_trust_certs": "TLS"}

MESSAGE_OPTIONS = {
    "key": "partition_key",
    "ordering_key": "ordering_key",
    "properties": "properties",
    "sequence_id": "sequence_id",
    "event_time_ms": "event_timestamp",
    "deliver_at_ms": "deliver_at",
}


def planned(case: Case) -> list[int]:
    """The faults of the plan: the others begin at a time or behind a step, and the script says when that is."""
    return [index for index, fault in enumerate(case.faults) if isinstance(fault.trigger, OnFrame)]


def stand_alone(fault: Fault) -> Fault:
    """Without the step that it ends with, which the script tells."""
    return msgspec.structs.replace(fault, until=msgspec.structs.replace(fault.until, step=None))


class Calls:
    """`asked` is the configuration of clients, producers and consumers; `options` what the client calls its keys."""

    def __init__(self, case: Case, asked: Mapping[str, Config], options: Mapping[str, Mapping[str, str]]) -> None:
        self._case = case
        self._asked = asked
        self._options = options

    def lines(self, number: int, step: Step) -> Iterator[str]:
        """The lines of one step, and of the faults that begin with it. UsageError for what no script can do."""
        write = VERBS.get((step.who, step.verb))
        if write is None:
            raise UsageError(f"step {number}, {step.verb!r}, has no stand-alone form")
        try:
            yield from self._lines(number, step, write)
        except UsageError as error:
            raise UsageError(f"step {number}, {step.verb}: {error}") from error

    def _lines(self, number: int, step: Step, write: Write) -> Iterator[str]:
        if number == 0:
            for place, index in enumerate(planned(self._case)):
                yield f"FAULTS[{index}] = {place}"
            for index, fault in enumerate(self._case.faults):
                if isinstance(fault.trigger, AtTime):
                    yield called("fault", index, msgspec.to_builtins(stand_alone(fault)))
        yield from write(self, step)
        for index, fault in enumerate(self._case.faults):
            if isinstance(fault.trigger, AfterStep) and fault.trigger.step == number:
                now = msgspec.structs.replace(stand_alone(fault), trigger=AtTime(at_ms=0))
                yield called("fault", index, msgspec.to_builtins(now))
            if fault.until.step == number:
                yield called("heal", index)

    # --- the client's calls ---

    def open_client(self, step: Step) -> Iterator[str]:
        yield called("open_client", step.saves, **self._chosen("client", step))

    def open_producer(self, step: Step) -> Iterator[str]:
        topic = NAMESPACE + str(step.args.get("topic", self._case.topology.topics[0].name))
        yield called("open_producer", step.saves, step.args["client"], topic, **self._chosen("producer", step))

    def open_consumer(self, step: Step) -> Iterator[str]:
        topics = [NAMESPACE + name for name in named_topics(step.args, self._case.topology.topics[0].name)]
        verb, named = "open_consumer", topics[0] if len(topics) == 1 else topics
        if "pattern" in step.args:
            verb, named = "open_pattern", NAMESPACE + str(step.args["pattern"])
        chosen = self._chosen("consumer", step)
        yield called(verb, step.saves, step.args["client"], named, step.args.get("subscription", "s"), **chosen)

    def send(self, step: Step) -> Iterator[str]:
        sync = {"sync": True} if step.args.get("mode") == "sync" else {}
        wanted = step.args.get("messages") or [{}]
        count = 1 if "messages" in step.args else int(step.args.get("count", 1))
        indent = ""
        if count > 1:
            yield f"for _ in range({count}):"
            indent = "    "
        for message in wanted:
            fields = {**step.args, **message}
            told = {MESSAGE_OPTIONS[key]: fields[key] for key in MESSAGE_OPTIONS if key in fields}
            if "deliver_after_ms" in fields:
                told["deliver_after_ms"] = fields["deliver_after_ms"]
            size = fields.get("size", DEFAULT_BYTES)
            yield indent + called("send", step.saves, step.args["producer"], size, **sync, **told)

    def flush(self, step: Step) -> Iterator[str]:
        yield called("flush", step.saves, step.args["producer"])

    def close(self, step: Step) -> Iterator[str]:
        yield called("close", step.saves, step.args["handle"])

    def receive(self, step: Step) -> Iterator[str]:
        timeout_ms = step.args.get("timeout_ms", self._case.limits.operation_ms * 8 // 10)
        yield called("receive", step.saves, step.args["consumer"], step.args.get("count", 1), timeout_ms)

    def ack(self, step: Step) -> Iterator[str]:
        if "of" in step.args:
            raise UsageError("an acknowledgment of what another consumer got has no stand-alone form")
        cumulative = {"cumulative": True} if step.args.get("cumulative") else {}
        yield called("settle", "acknowledge", *self._named(step), **cumulative)

    def nack(self, step: Step) -> Iterator[str]:
        yield called("settle", "negative_acknowledge", *self._named(step))

    def seek(self, step: Step) -> Iterator[str]:
        verb, place = ("seek", "delivery") if "delivery" in step.args else ("seek_time", "publish_time_ms")
        yield called(verb, step.saves, step.args["consumer"], step.args[place])

    def _named(self, step: Step) -> tuple[Any, ...]:
        return step.saves, step.args["consumer"], step.args.get("messages"), step.args.get("numbers")

    def _chosen(self, role: str, step: Step) -> dict[str, Any]:
        config = {**self._asked[role], **step.args.get("config", {})}
        if config.get("durable") is False:
            raise UsageError("a reader has no stand-alone form")
        if unknown := [words for key, words in NO_FORM.items() if key in config]:
            raise UsageError(f"{unknown[0]} has no stand-alone form; expected a Case that reduces without it")
        known = self._options[role]
        told = {
            known[key]: option_value(key, known[key], config[key])
            for key in config
            if key in known and key not in NEVER_SET
        }
        if count := config.get("max_redeliver_count"):
            named = {"initial_subscription_name": config.get("dead_letter_subscription")}
            policy = called("pulsar.ConsumerDeadLetterPolicy", count, **{k: v for k, v in named.items() if v})
            told[known["max_redeliver_count"]] = Text(policy)
        return told

    # --- broker and waits ---

    def broker(self, step: Step) -> Iterator[str]:
        # It knows its arguments by name, and takes no others.
        read_step(step.verb, step.args)
        args = {key: NAMESPACE + value if key == "topic" and value else value for key, value in step.args.items()}
        yield called("broker", step.verb, **args)

    def heal(self, step: Step) -> Iterator[str]:
        yield called("heal", *([step.args["fault"]] if "fault" in step.args else []))

    def wait_ops(self, step: Step) -> Iterator[str]:
        yield called("wait", *step.args.get("ops", ()), timeout_s=self._deadline_s(step))

    def wait_frame(self, step: Step) -> Iterator[str]:
        args = step.args
        where = args.get("where", {})
        yield called(
            "wait_frame", args["command"], args["direction"], args.get("count", 1), where, self._deadline_s(step)
        )

    def wait_fired(self, step: Step) -> Iterator[str]:
        yield called("wait_fired", step.args["fault"], self._deadline_s(step))

    def wait_received(self, step: Step) -> Iterator[str]:
        yield called("wait_received", step.args["consumer"], step.args["count"], self._deadline_s(step))

    def wait_ms(self, step: Step) -> Iterator[str]:
        yield called("pause", step.args["ms"])

    def _deadline_s(self, step: Step) -> float:
        return float(step.args.get("deadline_ms", self._case.limits.operation_ms)) / 1_000


Write = Callable[[Calls, Step], Iterator[str]]

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
    (Who.AGENT, "seek"): Calls.seek,
    **{(Who.BROKER, verb): Calls.broker for verb in STEPS},
    (Who.BENCH, "heal"): Calls.heal,
    (Who.WAIT, "ops"): Calls.wait_ops,
    (Who.WAIT, "frame"): Calls.wait_frame,
    (Who.WAIT, "fired"): Calls.wait_fired,
    (Who.WAIT, "received"): Calls.wait_received,
    (Who.WAIT, "ms"): Calls.wait_ms,
}
