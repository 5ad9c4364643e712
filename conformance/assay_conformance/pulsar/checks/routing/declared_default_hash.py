from __future__ import annotations

from assay_conformance.pulsar.checks.routing._firsts import beside_first, judge_alike
from assay_conformance.pulsar.checks.routing._hashes import HASHES, goes_by, keyed_by_default
from assay_conformance.pulsar.timeline import Routed, Says, Timeline, check, each


@check("routing.declared-default-hash")
def declared_default_hash(timeline: Timeline) -> Says:
    """routing.declared-default-hash: where none is configured, keys are hashed as the client declares. Where it is not
    known how that hashes, all its producers do it alike."""
    keyed = list(keyed_by_default(timeline))
    yield from each(keyed, _goes_as_declared)
    unknown = (message for message in keyed if str(message.producer.setting("hashing_scheme")) not in HASHES)
    yield from each(beside_first(unknown, lambda one: (one.producer.topic, one.key)), _goes_alike)


def _goes_as_declared(message: Routed) -> Says:
    scheme = str(message.producer.setting("hashing_scheme"))
    if scheme in HASHES:
        why = f"no hashing scheme was configured, and {scheme}, which the client declares,"
        yield from goes_by(message, scheme, "not-as-declared", why)


def _goes_alike(messages: tuple[Routed, Routed]) -> Says:
    first, message = messages
    if first.producer is not message.producer:
        why = "no hashing scheme was configured for either producer"
        yield from judge_alike(messages, "defaults-differ", why)
