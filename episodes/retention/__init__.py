"""Retention: which episodes are due (due.py), what would go (preview.py), and the sweep (sweep.py)."""
