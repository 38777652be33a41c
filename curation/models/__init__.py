from curation.models.alarm import Alarm, AlarmEnd, AlarmKind
from curation.models.containment import Containment, Extent
from curation.models.flag import Flag, FlagReason, FoundIn
from curation.models.incident import Incident, IncidentState, Severity, SourceKind
from curation.models.incident_event import EventKind, IncidentEvent
from curation.models.incident_link import IncidentLink, LinkKind
from curation.models.incident_notice import IncidentHook, IncidentNotice
from curation.models.incident_person import IncidentPerson

__all__ = [
    "Alarm",
    "AlarmEnd",
    "AlarmKind",
    "Containment",
    "EventKind",
    "Extent",
    "Flag",
    "FlagReason",
    "FoundIn",
    "Incident",
    "IncidentEvent",
    "IncidentHook",
    "IncidentLink",
    "IncidentNotice",
    "IncidentPerson",
    "IncidentState",
    "LinkKind",
    "Severity",
    "SourceKind",
]
