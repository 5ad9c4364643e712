"""Delayed delivery: not before its time on Shared and Key_Shared subscriptions, at once on all others."""
