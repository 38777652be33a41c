"""Evidence as one HTML file: to be read by people, and checked by machines, without this server."""

from __future__ import annotations

from django.template.loader import render_to_string

from curation.evidence.package import Package, canonical


def render_document(package: Package) -> str:
    """Return the document. What people read is drawn from the very items that are hashed, which
    stand at its end as text."""
    [incident] = package.of("incident")
    [reach] = package.of("reach")
    [ancestry] = package.of("ancestry")
    return render_to_string(
        "curation/evidence.html",
        {
            "package": package,
            "manifest": canonical(package.manifest),
            "incident": incident,
            "events": package.of("event"),
            "recalls": package.of("recall"),
            "revisions": package.of("revision"),
            "episodes": package.of("episode"),
            "ancestry": ancestry,
            "reach": reach,
            "compared": package.of("as_of"),
        },
    )
