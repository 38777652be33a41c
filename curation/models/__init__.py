from curation.models.alarm import Alarm, AlarmEnd, AlarmKind
from curation.models.containment import Containment
from curation.models.flag import Flag, FlagReason

__all__ = ["Alarm", "AlarmEnd", "AlarmKind", "Containment", "Flag", "FlagReason"]
