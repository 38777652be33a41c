"""The names of the database roles. memoryadmin/database/roles.py makes them, grants.py arms them."""

from __future__ import annotations

OWNER = "memoryadmin_owner"  # migrations; only on the embedded server, elsewhere the given login
APP = "memoryadmin_app"  # web and workers
API = "memoryadmin_api"  # taken on for a request of the API, behind row-level security
ERASE = "memoryadmin_erase"  # taken on inside a running erasure
