"""What a PRODUCER or SUBSCRIBE states of the settings that only the broker uses."""

from __future__ import annotations

from assay_conformance.client.settings import ConsumerSettings, ProducerSettings, pairs_of, ranges_of
from assay_conformance.wire import pulsar_pb2 as pb


def state_producer(registration: pb.CommandProducer, settings: ProducerSettings) -> None:
    """Fill a PRODUCER in."""
    for name, value in pairs_of(settings.properties):
        registration.metadata.add(key=name, value=value)


def state_consumer(registration: pb.CommandSubscribe, settings: ConsumerSettings) -> None:
    """Fill a SUBSCRIBE in."""
    if settings.read_compacted:
        registration.read_compacted = True
    if settings.consumer_name is not None:
        registration.consumer_name = settings.consumer_name
    for name, value in pairs_of(settings.properties):
        registration.metadata.add(key=name, value=value)
    if settings.key_shared_ranges or settings.key_shared_out_of_order:
        ranges = [pb.IntRange(start=first, end=last) for first, last in ranges_of(settings.key_shared_ranges)]
        registration.keySharedMeta.CopyFrom(
            pb.KeySharedMeta(
                keySharedMode=pb.STICKY if ranges else pb.AUTO_SPLIT,
                hashRanges=ranges,
                allowOutOfOrderDelivery=settings.key_shared_out_of_order,
            )
        )
