from curation.models.alarm import Alarm, AlarmEnd, AlarmKind
from curation.models.consolidation import Consolidation, ConsolidationSource, ConsolidationStatus
from curation.models.containment import Containment, Extent
from curation.models.contribution import Contribution
from curation.models.flag import Flag, FlagReason, FoundIn
from curation.models.incident import Incident, IncidentState, Severity, SourceKind
from curation.models.incident_event import EventKind, IncidentEvent
from curation.models.incident_link import IncidentLink, LinkKind
from curation.models.incident_notice import IncidentHook, IncidentNotice
from curation.models.incident_person import IncidentPerson
from curation.models.precedent import Precedent, PrecedentStatus

__all__ = [
    "Alarm",
    "AlarmEnd",
    "AlarmKind",
    "Consolidation",
    "ConsolidationSource",
    "ConsolidationStatus",
    "Containment",
    "Contribution",
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
    "Precedent",
    "PrecedentStatus",
    "Severity",
    "SourceKind",
]
