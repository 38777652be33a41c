from __future__ import annotations

from django.urls import path, re_path

from episodes.api.views.docs import DocsView, SchemaView
from episodes.api.views.episodes import EpisodeRecallsView, EpisodeView
from episodes.api.views.erasures import ErasuresView, ErasureView, UserView
from episodes.api.views.export import ExportView
from episodes.api.views.feedback import FeedbackView
from episodes.api.views.missing import MissingView
from episodes.api.views.outcomes import OutcomesView
from episodes.api.views.search import SearchView
from episodes.api.views.sessions import BatchView, SessionStatusView, SessionsView
from episodes.api.views.stats import StatsView
from episodes.api.views.toolsets import RetireToolsetView, ToolsetsView

app_name = "api"
urlpatterns = [
    path("search", SearchView.as_view(), name="search"),
    path("sessions", SessionsView.as_view(), name="sessions"),
    path("sessions/batch", BatchView.as_view(), name="sessions-batch"),
    path("sessions/status", SessionStatusView.as_view(), name="sessions-status"),
    path("feedback", FeedbackView.as_view(), name="feedback"),
    path("outcomes", OutcomesView.as_view(), name="outcomes"),
    path("toolsets", ToolsetsView.as_view(), name="toolsets"),
    # a version may be the caller's own name for it, slashes included
    path("toolsets/<path:version>/retire", RetireToolsetView.as_view(), name="toolset-retire"),
    path("erasures", ErasuresView.as_view(), name="erasures"),
    path("erasures/<uuid:erasure_id>", ErasureView.as_view(), name="erasure"),
    # an id may have slashes
    path("users/<path:user_id>", UserView.as_view(), name="user"),
    path("episodes/<uuid:episode_id>", EpisodeView.as_view(), name="episode"),
    path(
        "episodes/<uuid:episode_id>/recalls", EpisodeRecallsView.as_view(), name="episode-recalls"
    ),
    path("export", ExportView.as_view(), name="export"),
    path("stats", StatsView.as_view(), name="stats"),
    path("schema/", SchemaView.as_view(), name="schema"),
    path("docs/", DocsView.as_view(), name="docs"),
    re_path(r"", MissingView.as_view(), name="missing"),
]
