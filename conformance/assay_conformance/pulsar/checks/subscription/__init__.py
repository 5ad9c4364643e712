"""Subscriptions: who may join, who gets what, and what becomes of it when a consumer goes."""
