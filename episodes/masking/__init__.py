"""What a text must not hold: personal data and secrets are masked (redact.py), and what reads like an
instruction to a model waits for a person (screen.py). Pure, like everything in here.
"""
