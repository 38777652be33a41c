"""Retention: when an episode expires, which are due, and how they go.

expiry.py is the condition that every read asks by, policies.py puts it in force, due.py finds what is
due, preview.py tells what would go, and sweep.py deletes it.
"""
