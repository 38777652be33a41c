"""API keys: issued and revoked (issuing.py), known again by a request (lookup.py), changed while they
live, and what they called. A subject token says whom a request acts for.
"""
