"""Producers that send again in other ways."""

from __future__ import annotations

from assay_conformance.client.ops import Op
from assay_conformance.client.producer import Producer
from assay_conformance.wire import decode, encode


class ResendStampsPublishTime(Producer):
    """The publish time of a message is that of its last transmission: a resend carries a new one."""

    as_in = "pulsar-rs, connection.rs: publish_time is set as the message is written"
    within = ("resend.identical-bytes",)

    def _units_to_resend(self) -> list[Op]:
        units = super()._units_to_resend()
        for op in units:
            if op.session is not None:
                _restamp(op, self.shared.unix_ms())
        return units


def _restamp(op: Op, unix_ms: int) -> None:
    frame = decode(op.frame)
    assert frame.payload is not None
    metadata = frame.payload.metadata
    metadata.publish_time = unix_ms
    op.frame = encode(frame.command, metadata=metadata, data=frame.payload.data)
