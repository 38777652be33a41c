"""Whether a new episode may be served before a person has seen it: shadow recall and bursts.

shadow.py judges one newcomer and burst.py many alike; rules.py has the thresholds of an app.
"""
