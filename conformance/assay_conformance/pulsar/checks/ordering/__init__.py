"""Ordering: what one producer sends to one partition stays in call order, all the way.

The chain has four links. The client numbers its messages in call order (`sequence-ids-step-by-one`) and completes
them in call order (`callbacks-in-send-order`). The broker appends and answers in order of arrival
(`receipts-in-send-order`). And from end to end a topic holds a producer's messages, and an ordered subscription gets
them, in that order, however often the connection died in between (`keeps-send-order`).
"""
