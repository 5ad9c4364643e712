"""How keys are hashed: under the schemes that are the same in every language, and where none was configured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from assay_conformance.pulsar.timeline import Exercised, Routed, Says, Timeline, breach, ms
from assay_conformance.wire import java_string_hash, murmur3_32, sign_safe_mod

HASHES: Mapping[str, Callable[[str], int]] = {
    "java_string": java_string_hash,
    "murmur3_32": lambda key: murmur3_32(key.encode()),
}
"""What hashes a key, by the word for its scheme."""


def keyed_under(timeline: Timeline, scheme: str) -> Iterator[Routed]:
    """Yield messages with a key, of producers of one hashing scheme."""
    keyed = (message for message in timeline.routed if message.key is not None)
    return (message for message in keyed if message.producer.setting("hashing_scheme") == scheme)


def keyed_by_default(timeline: Timeline) -> Iterator[Routed]:
    """Yield messages with a key, of producers for which no hashing scheme was configured."""
    for message in timeline.routed:
        configured = {**timeline.view.case.config.producer, **(message.producer.opening.args.get("config") or {})}
        if message.key is not None and "hashing_scheme" not in configured:
            yield message


def goes_by(message: Routed, scheme: str, code: str, why: str) -> Says:
    """Judge whether a message goes to the partition that a scheme makes of its key; `why` it is expected to."""
    yield Exercised(message.frame)
    partitions = message.producer.partitions
    expected = sign_safe_mod(HASHES[scheme](message.key or ""), partitions)
    if message.partition != expected:
        yield breach(
            code,
            f"{message} went to partition {message.partition} at {ms(message.frame.t_ns)}; {why} makes partition "
            f"{expected} of {partitions}",
            *(message.send.invoke, message.frame),
        )
