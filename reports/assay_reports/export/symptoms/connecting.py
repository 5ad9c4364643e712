"""What connections and openings show."""

from __future__ import annotations

from typing import Any

from assay_reports.export.runtime.calls import CALLS
from assay_reports.export.runtime.watching import ask, frames, until


def closed_by_client() -> list[Any]:
    return [one for one in ask("events") if one["kind"] == "closed" and one["by"] == "client"]


def _closed() -> str:
    closed = closed_by_client()
    return f"the client closed connection {closed[0]['conn']}" if closed else ""


def compression_decompression_error_reported__connection_closed() -> str:
    return _closed()


def robustness_corrupt_metadata_discarded__connection_closed() -> str:
    return _closed()


def robustness_unknown_command_ignored__connection_closed() -> str:
    return _closed()


def robustness_malformed_frame_closes_connection__kept_open() -> str:
    return "" if _closed() else "the connection is still open"


def robustness_malformed_frame_closes_connection__not_back() -> str:
    closed = closed_by_client()[0]

    def back() -> bool:
        return any(one["kind"] == "opened" and one["seq"] > closed["seq"] for one in ask("events"))

    until(back, 5.0)
    return "" if back() else f"the client closed connection {closed['conn']}, and opened none after that"


def connection_max_message_size_per_connection__sent_too_large() -> str:
    large = [one["members"][0]["size"] for one in frames("SEND") if one["conn"] == 0 and one.get("members")]
    return f"a message of {max(large)} bytes left to the broker that takes 2000" if max(large, default=0) > 2000 else ""


def robustness_checksum_mismatch_reported__connection_closed() -> str:
    return _closed()


def _gave_up() -> str:
    failed = [one for one in CALLS if one.what in {"create_producer", "subscribe"} and one.error]
    return str(failed[0]) if failed else ""


def connection_retries_lookups__gave_up() -> str:
    return _gave_up()


def producer_waits_for_exclusive_access__gave_up() -> str:
    return _gave_up()


def connection_retries_service_not_ready__waited_in_vain() -> str:
    tried = len(frames("SUBSCRIBE"))
    return f"{_gave_up()}, and SUBSCRIBE was sent {tried} time" if _gave_up() and tried == 1 else ""


def resend_reconnects_after_close_producer__not_back() -> str:
    closed = frames("CLOSE_PRODUCER", "b2c")[0]

    def back() -> bool:
        return any(one["seq"] > closed["seq"] for one in frames("PRODUCER"))

    until(back, 5.0)
    return "" if back() else "the broker closed the producer, and no PRODUCER came after that"


def resend_reconnect_retries_temporary_error__stayed_away() -> str:
    refused = next(one for one in frames("ERROR", "b2c") if one["fields"]["error"] == "ServiceNotReady")

    def tried() -> bool:
        return any(one["seq"] > refused["seq"] for one in frames("PRODUCER"))

    until(tried, 5.0)
    return "" if tried() else "the broker said ServiceNotReady to PRODUCER, which passes, and no other came after that"


def connection_answers_ping__no_pong() -> str:
    ping = frames("PING", "b2c")[0]

    def answered() -> bool:
        return any(one["conn"] == ping["conn"] and one["seq"] > ping["seq"] for one in frames("PONG"))

    until(answered, 5.0)
    return "" if answered() else f"no PONG to the PING on connection {ping['conn']}"


def topics_follows_migration__never_came() -> str:
    def missing() -> list[str]:
        broker = {one["conn"]: one.get("broker", 0) for one in ask("events") if one["kind"] == "opened"}
        assigned = {
            (one["fields"]["resource_type"], one["fields"]["resource_id"]): broker[one["conn"]]
            for one in frames("TOPIC_MIGRATED", "b2c")
        }
        came = {("Producer", one["producer_id"]): broker[one["conn"]] for one in frames("PRODUCER")}
        came |= {("Consumer", one["consumer_id"]): broker[one["conn"]] for one in frames("SUBSCRIBE")}
        return [f"{kind.lower()} id {id}" for (kind, id), old in assigned.items() if came[kind, id] == old]

    until(lambda: not missing(), 5.0)
    return f"redirected to another cluster, and never connected there: {', '.join(missing())}" if missing() else ""
