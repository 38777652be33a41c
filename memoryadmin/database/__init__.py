"""The database as a thing that is run: an embedded server or one of your own, who connects as what,
and how it is made, checked, backed up, restored and scrubbed. What is in it is the apps'.
"""
