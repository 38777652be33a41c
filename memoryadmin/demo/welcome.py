"""What the person at the terminal is told about the demo."""

from __future__ import annotations

import json
import shlex

from episodes.enums import Role
from memoryadmin.demo import story
from memoryadmin.demo.access import Access
from memoryadmin.demo.releases import BILLING_TOOLSET


def welcome(access: Access | None, *, address: str) -> str:
    if access is None:
        return (
            "This is a demo. Its sign-ins were made with another data folder; "
            "`manage.py changepassword admin` makes a new password."
        )
    return "\n".join(
        [
            f"This is a demo. Sign in at {address}/ as",
            *(f"    {role:<12} {access.password}" for role in Role.values),
            "and ask for precedent as the billing agent would:",
            "",
            search_command(access, address=address),
            "",
        ]
    )


def search_command(access: Access, *, address: str) -> str:
    """Return a shell command that finds the refund story, A before B."""
    body = {
        "user_id": story.SUBJECT,
        "query": story.QUERY,
        "toolset_version": BILLING_TOOLSET,
        "explain": True,
    }
    return (
        f"curl -s {address}/api/v1/search -H 'Authorization: Bearer {access.key}' \\\n"
        f"  -H 'Content-Type: application/json' -d {shlex.quote(json.dumps(body))}"
    )
