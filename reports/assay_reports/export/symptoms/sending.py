"""What a producer shows."""

from __future__ import annotations

import zlib
from itertools import pairwise
from typing import Any

import pulsar

from assay_reports.export.runtime.calls import CALLS, HANDLES, Call, is_ok, is_open_at, took_s
from assay_reports.export.runtime.watching import ask, frames
from assay_reports.export.symptoms.connecting import closed_by_client
from assay_reports.export.symptoms.ends import robustness_calls_do_not_hang__operation_never_ended


def batching_highest_sequence_id__no_highest_id() -> str:
    for one in frames("SEND"):
        if one.get("num_messages", 1) > 1 and not one.get("highest_sequence_id"):
            return f"SEND of {one['num_messages']} messages, sequence_id {one['sequence_id']}, no highest_sequence_id"
    return ""


def batching_flush_closes_batch__stayed_open() -> str:
    for at, one in enumerate(CALLS):
        flushes = [other for other in CALLS[at:] if other.what == "flush" and other.handle is one.handle]
        delay_s = one.handle.options.get("batching_max_publish_delay_ms", 0) / 1000
        if (one.what == "send" or (one.what == "send_async" and flushes)) and 0 < delay_s <= (took_s(one) or 0):
            return f"{one}: it waited for the publish delay of {delay_s} s"
    return ""


def batching_delayed_not_batched__overtakes_batch() -> str:
    ids = [one["sequence_id"] for one in frames("SEND")]
    return f"SEND in the order of sequence ids {ids}: the delayed message left first" if ids != sorted(ids) else ""


def ordering_callbacks_in_send_order__callback_out_of_order() -> str:
    sends = [one for one in CALLS if one.what.startswith("send") and one.over is not None]
    numbers = [one.details["number"] for one in sorted(sends, key=lambda one: one.over or 0)]
    return f"sends completed in the order {numbers}" if numbers != sorted(numbers) else ""


def ordering_sequence_ids_increase_by_one__id_reused() -> str:
    sent: dict[object, object] = {}
    for one in frames("SEND"):
        if sent.setdefault(one["sequence_id"], one.get("unit")) != one.get("unit"):
            return f"two messages left with sequence_id {one['sequence_id']}"
    return ""


def _as_they_left() -> list[Any]:
    """Return the SENDs of the client, each where it left first."""
    left = [one for one in frames("SEND") if one.get("sides") != "receiver"]
    return list({one.get("unit"): one for one in reversed(left)}.values())[::-1]


def ordering_sequence_ids_increase_by_one__id_skipped() -> str:
    for before, one in pairwise(_as_they_left()):
        expected = before["sequence_id"] + len(before.get("members", ()))
        if one["sequence_id"] > expected:
            return f"SEND with sequence_id {one['sequence_id']}, and the one before it makes {expected} the next"
    return ""


def dedup_reconnect_keeps_numbering__took_the_brokers() -> str:
    return ordering_sequence_ids_increase_by_one__id_reused()


def dedup_old_and_new_ids_in_separate_batches__mixed() -> str:
    last = -1
    for one in _as_they_left():
        seen = [inside.get("sequence_id") for inside in one.get("members", ())]
        ids = [one["sequence_id"], *(id for id in seen if id is not None)]
        if min(ids) <= last < max(ids):
            return f"sequence ids up to {last} had left; a batch then holds {min(ids)} to {max(ids)}, old beside new"
        last = max(last, *ids)
    return ""


def dedup_resumes_after_last_sequence_id__starts_elsewhere() -> str:
    first = frames("SEND")[0]["sequence_id"]
    return f"the first SEND has sequence_id {first}, expected one after initial_sequence_id" if first == 0 else ""


def resend_terminated_fails_all__left_pending() -> str:
    late = [one for one in CALLS if one.what == "send_async" and one.error == str(pulsar.Result.Timeout)]
    return (
        f"a send waited for its time-out: {late[0]}" if late else robustness_calls_do_not_hang__operation_never_ended()
    )


def resend_terminated_fails_all__comes_back() -> str:
    again = len(frames("PRODUCER")) - 2
    return f"PRODUCER was sent again after the topic was said to be terminated, {again} times" if again > 0 else ""


def resend_terminated_fails_all__wrong_error() -> str:
    seen = {one["fields"].get("error") for one in frames("SEND_ERROR", "b2c")}
    terminated = str(pulsar.Result.TopicTerminated)
    other = [one for one in CALLS if one.what == "send_async" and one.error and one.error != terminated]
    return f"the topic was said to be terminated, and {other[0]}" if "TopicTerminatedError" in seen and other else ""


def batching_closes_at_first_limit__too_late() -> str:
    for one in CALLS:
        delay_s = float(one.handle.options.get("batching_max_publish_delay_ms", 10)) / 1000
        if one.what == "send_async" and (took_s(one) or 0) > delay_s + 0.2:
            return f"a message waited for longer than {delay_s} s in its batch: {one}"
    return ""


def resend_send_timeout__late() -> str:
    late = [one for one in CALLS if one.what == "send_async" and (took_s(one) or 99) > 1.4]
    return f"send {late[0].details['number']} ended as late as this: {late[0]}" if late else ""


def resend_not_allowed_fails_one__sent_again() -> str:
    again = frames("SEND")[len(CALLS) :]
    return f"what was refused was sent again: {len(again)} SENDs too many" if again else ""


def resend_checksum_error_resent__failed() -> str:
    failed = [one for one in CALLS if one.what == "send_async" and one.error]
    return f"a send failed: {failed[0]}" if failed else ""


def producer_close_ends_pending_sends__failed_though_stored() -> str:
    receipts = len(frames("SEND_RECEIPT", "b2c"))
    failed = [one for one in CALLS if one.what == "send_async" and one.error == str(pulsar.Result.AlreadyClosed)]
    return f"{receipts} receipts came, and {len(failed)} sends failed" if receipts and failed else ""


def batching_key_based_highest_sequence_id__other_highest() -> str:
    for one in frames("SEND"):
        highest = max((member.get("sequence_id") or 0 for member in one.get("members", ())), default=0)
        if highest > max(one["sequence_id"], one.get("highest_sequence_id") or 0):
            return f"SEND by sequence_id {one['sequence_id']} with sequence id {highest} inside, which it does not tell"
    return ""


def batching_key_based_order__id_told_before() -> str:
    seen = -1
    for one in _as_they_left():
        if one["sequence_id"] <= seen:
            return f"SEND by sequence_id {one['sequence_id']}, and {seen} was sent before"
        seen = max(one["sequence_id"], one.get("highest_sequence_id") or 0)
    return ""


def batching_key_based_order__key_out_of_order() -> str:
    last: dict[object, int] = {}
    for one in _as_they_left():
        key = one["meta"].get("ordering_key") or one["meta"].get("key") or ""
        if one["sequence_id"] < last.get(key, -1):
            return f"SEND with sequence_id {one['sequence_id']} of key {key!r} left behind {last[key]} of that key"
        last[key] = one["sequence_id"]
    return ""


def batching_succeeds_or_fails_as_one__wrong_entry() -> str:
    stored = [one for one in ask("events") if one["kind"] == "stored"]
    at = {member["digest"]: one["id"][:2] for one in stored for member in one.get("members", ())}
    for one in [one for handle in HANDLES for one in handle.sends if is_ok(one)]:
        seen, place = [one.result.ledger_id(), one.result.entry_id()], at.get(zlib.crc32(one.data))
        if place and seen != place:
            return f"{one}, as {seen}; its message is stored as {place}"
    return ""


def _lost() -> str:
    stored = {member["digest"] for one in ask("events") if one["kind"] == "stored" for member in one["members"]}
    lost = [one for handle in HANDLES for one in handle.sends if is_ok(one) and zlib.crc32(one.data) not in stored]
    return f"{lost[0]}, and its message is not stored" if lost else ""


def dedup_effectively_once__lost() -> str:
    return _lost()


def delivery_successful_send_is_stored__not_stored() -> str:
    return _lost()


def ordering_keeps_send_order__acked_but_missing() -> str:
    return _lost()


def _errors(result: object) -> list[Call]:
    return [one for one in CALLS if one.what.startswith("send") and one.error == str(result)]


def _refused_with_room() -> str:
    """Return the symptom; a message takes one place of the queue, and one in chunks as many as it has."""
    largest = frames("CONNECTED", "b2c")[0]["fields"]["max_message_size"]
    for handle in HANDLES:
        limit = handle.options.get("max_pending_messages", 0)
        for one in handle.sends:
            held = [other for other in handle.sends if other.called < one.called and is_open_at(other, one.called)]
            places = sum(-(-len(other.data) // largest) for other in held)
            full = one.error == str(pulsar.Result.ProducerQueueIsFull)
            if full and len(one.data) <= largest and places < limit:
                return f"{one}, with {places} of {limit} places taken"
    return ""


def flow_full_queue_blocks_or_fails__refused_with_room() -> str:
    return _refused_with_room()


def flow_max_pending_across_partitions__refused_with_room() -> str:
    return _refused_with_room()


def chunking_releases_queue_and_memory__refused_with_room() -> str:
    return _refused_with_room()


def connection_max_message_size_per_connection__refused_though_it_fits() -> str:
    refused = _errors(pulsar.Result.MessageTooBig)
    return f"{refused[0]}, on a connection that takes 5 MiB" if refused else ""


def chunking_survives_reconnect__chunk_skipped() -> str:
    left = [one for one in frames("SEND") if one.get("sides") != "receiver"]
    sent = [one for one in left if "uuid" in one.get("meta", {})]
    answers = sorted(frames("SEND_RECEIPT", "b2c") + frames("SEND_ERROR", "b2c"), key=lambda answer: answer["seq"])
    for at, (before, one) in enumerate(pairwise(sent), start=1):
        seen = [answer["command"] for answer in answers if answer["seq"] < one["seq"]]
        once = sum(not other["meta"].get("chunk_id") for other in sent[:at]) == 1
        refused = once and seen[:1] == ["SEND_ERROR"]
        if one["conn"] != before["conn"] and one["meta"].get("chunk_id") and (refused or "SEND_RECEIPT" not in seen):
            return f"SEND goes on with chunk {one['meta']['chunk_id']} on another connection; the first had no receipt"
    return ""


def resend_receipt_ahead_closes_connection__stayed() -> str:
    receipts = [one for one in frames("SEND_RECEIPT", "b2c") if one.get("sides") != "sender"]
    left_by_client = {one["conn"] for one in closed_by_client()}
    waiting: list[int] = []
    for one in sorted([*_as_they_left(), *receipts], key=lambda one: one["seq"]):
        if one["command"] == "SEND":
            waiting.append(one["sequence_id"])
        elif one["sequence_id"] in waiting[1:] and one["conn"] not in left_by_client:
            ahead = f"a receipt for sequence_id {one['sequence_id']} came while {waiting[0]} was waited for"
            return f"{ahead}, and the client did not close connection {one['conn']}"
        elif one["sequence_id"] in waiting:
            waiting.remove(one["sequence_id"])
    return ""


def resend_closed_stays_closed__left_pending() -> str:
    closes = [one for one in CALLS if one.what == "close" and is_ok(one)]
    for one in CALLS:
        if one.what.startswith("send") and one.over is None and any(one.called < close.called for close in closes):
            return f"{closes[0]}; a send asked for before: {one}"
    return ""


def producer_flush_waits__flushed_early() -> str:
    for at, one in enumerate(CALLS):
        if one.what != "flush" or one.over is None or one.error:
            continue
        done = one.over + 0.05
        if open := [other for other in CALLS[:at] if other.what == "send_async" and is_open_at(other, done)]:
            return f"{one}; a send asked for before it had not ended: {open[0]}"
    return ""


def resend_not_allowed_fails_one__not_failed() -> str:
    errors = [one for one in frames("SEND_ERROR", "b2c") if one["fields"]["error"] == "NotAllowedError"]
    refused = {one["sequence_id"] for one in errors}
    for one in CALLS:
        if one.details.get("number") in refused and one.error != str(pulsar.Result.NotAllowedError):
            return f"the send that was refused did not fail of it: {one}"
    return ""


def batching_small_queue_does_not_stall__stuck() -> str:
    stuck = [one for one in CALLS if one.what == "send_async" and one.over is None]
    return f"{len(stuck)} sends have not ended, and nothing is in flight: {stuck[0]}" if stuck else ""


def producer_fenced_is_final__left_pending() -> str:
    return resend_terminated_fails_all__left_pending()


def topics_topic_not_found_is_final__left_pending() -> str:
    return resend_terminated_fails_all__left_pending()


def topics_topic_not_found_is_final__kept_trying() -> str:
    refused = [one["seq"] for one in frames("ERROR", "b2c") if one["fields"]["error"] == "TopicNotFound"]
    for command in ("PRODUCER", "SUBSCRIBE"):
        if again := [one for one in frames(command) if refused and one["seq"] > refused[0]]:
            return f"{command} was sent again after the topic was said not to be there, {len(again)} times"
    return ""


def _java_hash(key: str) -> int:
    units = key.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFFFFFF
    return value & 0x7FFFFFFF


def routing_default_hash__other_default() -> str:
    partitions = max(one["fields"]["partitions"] for one in frames("PARTITIONED_METADATA_RESPONSE", "b2c"))
    for one in CALLS:
        key = str(one.details.get("key", ""))
        went = None if not key or one.result is None else one.result.partition()
        if went is not None and went != _java_hash(key) % partitions:
            return f"key {key!r} went to partition {went}; JavaStringHash makes {_java_hash(key) % partitions}"
    return ""


def routing_round_robin_random_start__all_at_one() -> str:
    keyless = [[one for one in handle.sends if "key" not in one.details] for handle in HANDLES if handle.sends]
    began = [sends[0].result.partition() for sends in keyless if sends and is_ok(sends[0])]
    return f"all {len(began)} producers began at partition {began[0]}" if len(began) > 9 and len({*began}) == 1 else ""
