"""Deleting every trace of a subject, and showing that it was done (product.md §5, "Erasure").

request.py hides the subject at once; run.py deletes and looks again; certificate.py signs.
"""
