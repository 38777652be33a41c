"""What held at a moment: out of intervals, entries and the log, never out of what a head says now."""
