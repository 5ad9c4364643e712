"""Ordering: what one producer sends to one partition stays in the order of its send calls, from end to end.

There are four links. The client numbers its messages in call order (`sequence-ids-increase-by-one`) and completes them
in call order (`callbacks-in-send-order`). The broker stores and answers them in order of arrival
(`receipts-in-send-order`). And from end to end a topic holds a producer's messages, and an ordered subscription gets
them, in that order, however often the connection was lost in between (`keeps-send-order`).
"""
