"""What a consumer shows."""

from __future__ import annotations

import sys
from typing import Any

from assay_reports.export.runtime.calls import CALLS, HANDLES, is_ok, took_s
from assay_reports.export.runtime.watching import ask, frames, until


def _short() -> str:
    for one in CALLS:
        if one.what == "receive" and not one.error and one.result is not None and one.result < one.details["count"]:
            return f"a receive of {one.details['count']} messages ended with {one.result}"
    return ""


def batching_batch_of_one_is_unpacked__not_delivered() -> str:
    return _short()


def chunking_restarts_at_first_chunk__not_delivered() -> str:
    return _short()


def chunking_restarts_at_first_chunk__old_not_acked() -> str:
    chunks = [one for one in frames("MESSAGE", "b2c") if "chunk_id" in one["meta"]]
    restarted = [one for one in chunks if one["meta"]["chunk_id"] == 0][1]
    acked = [id[:2] for one in frames("ACK") for id in one.get("ids", ())]
    old = [one["ids"][0][:2] for one in chunks if one["seq"] < restarted["seq"]]
    kept = [id for id in old if id not in acked]
    return f"the message started again at {restarted['ids'][0][:2]}, and no ACK of the older {kept}" if kept else ""


def chunking_assembles_by_uuid__not_delivered() -> str:
    return _short()


def chunking_repeated_chunk_dropped__not_delivered() -> str:
    return _short()


def chunking_delivers_whole_only__not_delivered() -> str:
    return _short()


def chunking_survives_reconnect__not_delivered() -> str:
    return _short()


def seek_starts_at_target__nothing_delivered() -> str:
    return _short()


def _reported(error: str) -> bool:
    return any(one.get("fields", {}).get("validation_error") == error for one in frames("ACK"))


def compression_decompression_error_reported__garbled_delivered() -> str:
    came = frames("MESSAGE", "b2c")
    garbled = {tuple(one["ids"][0][:2]) for one in came if one.get("meta", {}).get("unpacked_bytes") is not None}
    taken = [message.message_id() for handle in HANDLES for message in handle.messages]
    wrong = [(id.ledger_id(), id.entry_id()) for id in taken if (id.ledger_id(), id.entry_id()) in garbled]
    return f"what came as {wrong[0]} was delivered, and cannot be decompressed to its size" if wrong else ""


def compression_decompression_error_reported__not_reported() -> str:
    return "" if _reported("DecompressionError") else "no ACK with DecompressionError"


def robustness_corrupt_batch_reported__not_reported() -> str:
    return "" if _reported("BatchDeSerializeError") else "no ACK with BatchDeSerializeError"


def robustness_corrupt_metadata_discarded__not_reported() -> str:
    spoilt = next(one for one in frames("MESSAGE", "b2c") if not one.get("meta"))

    def acked() -> bool:
        return any(id[:2] == spoilt["ids"][0][:2] for one in frames("ACK") for id in one.get("ids", ()))

    until(acked, 5.0)
    return "" if acked() else f"no ACK of {spoilt['ids'][0][:2]}, whose metadata cannot be decoded"


def flow_permits_within_queue__more_than_the_queue() -> str:
    last = max(one["conn"] for one in frames("FLOW"))
    granted = [one["permits"] for one in frames("FLOW") if one["conn"] == last]
    return f"FLOW of {granted} on a connection where one message had come" if granted[1:2] and granted[1] > 5 else ""


def flow_no_permit_for_ack_set_filtered__permits_for_filtered() -> str:
    return flow_permits_within_queue__more_than_the_queue()


def flow_dropped_message_returns_permit__permits_lost() -> str:
    return _short()


def nack_requests_all_chunks__chunk_left_out() -> str:
    asked = frames("REDELIVER_UNACKNOWLEDGED_MESSAGES")
    before = [one for one in frames("MESSAGE", "b2c") if asked and one["seq"] < asked[0]["seq"]]
    chunks = [one for one in before if one["meta"].get("chunk_id") is not None]
    ids = asked[0].get("ids", []) if asked else []
    left_out = 0 < len(ids) < len(chunks)
    return f"a message in {len(chunks)} chunks was refused, and asked for again by {ids}" if left_out else ""


def nack_later_nacks_do_not_postpone__postponed() -> str:
    asked = frames("REDELIVER_UNACKNOWLEDGED_MESSAGES")
    refused = [one for one in CALLS if one.what == "negative_acknowledge"]
    if asked and asked[0]["t_ns"] / 1e9 - frames("MESSAGE", "b2c")[0]["t_ns"] / 1e9 < 0.5:
        return ""
    return f"{len(refused)} refusals 50 ms apart, and the first was asked for again only when they had ended"


def ack_kept_while_disconnected__lost_while_away() -> str:
    acked = {tuple(id[:2]) for one in frames("ACK") for id in one.get("ids", ())}
    taken = {(m.message_id().ledger_id(), m.message_id().entry_id()) for h in HANDLES for m in h.messages}
    return f"no ACK of {sorted(taken - acked)}, which the application acknowledged" if taken - acked else ""


def ack_timeout_ended_by_ack__chunk_left_out() -> str:
    asked = frames("REDELIVER_UNACKNOWLEDGED_MESSAGES")
    ids = asked[0].get("ids", []) if asked else []
    return f"a message in three chunks was asked for again by {ids}" if len(ids) == 1 else ""


def seek_discards_prefetched__acked_behind_seek() -> str:
    behind = [one for one in frames("ACK") if one["seq"] > frames("SEEK")[0]["seq"]]
    return f"ACK of {behind[0].get('ids')} was sent after the SEEK" if behind else ""


def delivery_resumes_after_fault__stalled() -> str:
    return _short()


def compression_interoperable_format__not_delivered() -> str:
    return _short()


def compression_absurd_size_not_trusted__stuck() -> str:
    return _short()


def robustness_edge_case_payloads_round_trip__not_delivered() -> str:
    return _short()


def subscription_pattern_finds_new_topics__not_followed() -> str:
    return _short()


def _stored() -> list[Any]:
    return [one for one in ask("events") if one["kind"] == "stored"]


def flow_initial_permits_equal_queue_size__before_success() -> str:
    answers = {(one["conn"], one.get("request_id")): one["seq"] for one in frames("SUCCESS", "b2c")}
    for asked in frames("SUBSCRIBE"):
        answered = answers.get((asked["conn"], asked["request_id"]), sys.maxsize)
        for one in frames("FLOW"):
            same = (one["conn"], one["consumer_id"]) == (asked["conn"], asked["consumer_id"])
            if same and asked["seq"] < one["seq"] < answered:
                return f"FLOW of {one['permits']} permits left before SUBSCRIBE was answered"
    return ""


def flow_zero_queue_permit_per_receive__more_than_one() -> str:
    granted: dict[tuple[int, int], int] = {}
    events = [*frames("SUBSCRIBE"), *frames("FLOW"), *frames("MESSAGE", "b2c")]
    for one in sorted(events, key=lambda one: one["seq"]):
        consumer = one["conn"], one["consumer_id"]
        if one["command"] == "SUBSCRIBE":
            granted[consumer] = 0
        else:
            granted[consumer] += one["permits"] if one["command"] == "FLOW" else -1
        if granted[consumer] > 1:
            return f"a consumer without a queue granted {granted[consumer]} permits for one receive"
    return ""


def seek_starts_at_target__wrong_start() -> str:
    sought = {one.handle: one.result for one in CALLS if one.what == "seek" and one.result}
    for handle, (had, target) in sought.items():
        if isinstance(target, int):
            ids = [one["id"][:2] for one in _stored() if one["meta"].get("publish_time_ms", 0) >= target]
        else:
            ids = [one["id"][:2] for one in _stored() if one["id"][:2] > target]
        came = [message.message_id() for message in handle.messages[had:]]
        if came and ids and [came[0].ledger_id(), came[0].entry_id()] != ids[0]:
            return f"behind a seek came {came[0]} first, expected {ids[0]}"
    return ""


def seek_into_batch_carries_ack_set__wrong_bits() -> str:
    bare = [one for one in frames("SEEK") if not one.get("ack_sets")]
    return f"SEEK to {bare[0].get('ids')}, which is in a batch, has no ack_set" if bare else ""


def _letters() -> list[Any]:
    return [one for one in frames("SEND") if one.get("meta", {}).get("letter")]


def dead_letter_copy_is_complete__payload_changed() -> str:
    originals = {member["digest"] for one in _stored() if not one["meta"].get("letter") for member in one["members"]}
    for one in _letters():
        if changed := [member for member in one["members"] if member["digest"] not in originals]:
            return f"a dead letter of {changed[0]['size']} bytes left that no message was a copy of"
    return ""


def dead_letter_original_acked_after_receipt__not_redelivered() -> str:
    def again() -> list[Any]:
        asked = frames("REDELIVER_UNACKNOWLEDGED_MESSAGES")
        return [one for one in (*_letters(), *asked) if one["seq"] > refused["seq"]]

    refused = frames("ERROR", "b2c")[0]
    until(lambda: bool(again()), 5.0)
    return "" if again() else "after its dead letter could not be sent, a message was neither asked for nor sent again"


def dead_letter_large_message_chunked__never_again() -> str:
    for call in [one for one in CALLS if one.what == "negative_acknowledge"]:
        for at in call.result or ():
            message, *later = call.handle.messages[at:]
            again = any(one.data() == message.data() for one in later)
            if not again and message.redelivery_count() == 0:
                return f"a message of {len(message.data())} bytes was refused, and did not come again"
    return ""


def dead_letter_large_message_chunked__asked_again() -> str:
    asked = frames("REDELIVER_UNACKNOWLEDGED_MESSAGES")
    for came in frames("MESSAGE", "b2c"):
        again = [one for one in asked if one["seq"] > came["seq"] and came["ids"][0] in one.get("ids", ())]
        if came["meta"].get("chunk_id") and came.get("redelivery_count") and again:
            return f"{came['ids'][0]}, redelivered as often as it may be and refused, was asked for once more"
    return ""


def delivery_successful_send_is_delivered__lost() -> str:
    messages = [message for handle in HANDLES for message in handle.messages]
    places = [[id.ledger_id(), id.entry_id()] for id in (message.message_id() for message in messages)]
    if lost := [one["id"][:2] for one in _stored() if one.get("members") and one["id"][:2] not in places]:
        return f"what is stored at {lost[0]} was acknowledged, and never came"
    came = [message.data() for message in messages]
    unheard = [one for handle in HANDLES for one in handle.sends if is_ok(one) and one.data not in came]
    return f"{unheard[0]}, and its message never came" if unheard else ""


def seek_completes_after_resubscribe__ended_while_away() -> str:
    at_client = [one for kind in ("SUCCESS", "CLOSE_CONSUMER") for one in frames(kind, "b2c")]
    at_client = [one for one in at_client if one.get("sides") != "sender"]
    for asked, sought in zip(frames("SEEK"), [one for one in CALLS if one.what == "seek"], strict=False):
        over = asked["t_ns"] + (took_s(sought) or 0) * 1e9
        closed = [one for one in at_client if one["command"] == "CLOSE_CONSUMER" and one["t_ns"] < over]
        if not closed or closed[-1]["t_ns"] < asked["t_ns"]:
            continue
        again = {one["request_id"] for one in frames("SUBSCRIBE") if one["seq"] > closed[-1]["seq"]}
        if not any(one.get("request_id") in again and one["t_ns"] < over + 2e7 for one in at_client):
            return f"{sought}, with the consumer sent away and not yet subscribed again"
    return ""
