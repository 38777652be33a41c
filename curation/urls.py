"""The addresses of the console. What belongs to an app carries its name."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from curation.views import (
    accounts,
    api_key,
    api_keys,
    arguments,
    audit,
    episode,
    episodes,
    erasures,
    export,
    flags,
    holds,
    home,
    incident_acts,
    incident_exports,
    incident_hook,
    incident_parts,
    incidents,
    installation,
    invitation,
    members,
    overview,
    poison,
    precedent,
    preferences,
    promotion,
    proposals,
    queue,
    ranking,
    recalls,
    retention,
    reviews,
    second_factor,
    sign_in,
    single_sign_on,
    toolsets,
    trust,
    trust_settings,
)

app_name = "curation"

_of_an_episode: list[URLPattern | URLResolver] = [
    path("", episode.show_trace, name="episode"),
    path("recalls/", episode.list_recalls, name="episode-recalls"),
    path("revisions/", episode.compare_revisions, name="episode-revisions"),
    path("history/", episode.list_history, name="episode-history"),
    path("flag/", flags.raise_flag, name="episode-flag"),
    path("holds/<uuid:block_id>/release/", trust.release, name="episode-hold-release"),
    path("holds/<uuid:block_id>/keep-out/", trust.keep, name="episode-hold-keep"),
    path("alarms/<uuid:alarm_id>/dismiss/", trust.dismiss, name="episode-alarm-dismiss"),
    path("alarms/<uuid:alarm_id>/flag/", trust.flag, name="episode-alarm-flag"),
]

_of_poison: list[URLPattern | URLResolver] = [
    path("", flags.list_all, name="poison"),
    path("<uuid:flag_id>/", poison.show_flag, name="poison-flag"),
    path("<uuid:flag_id>/lift/", flags.lift, name="poison-lift"),
    path("<uuid:flag_id>/block/", poison.block, name="poison-block"),
    path("closures/<uuid:containment_id>/lift/", poison.lift, name="poison-closure-lift"),
]

_of_the_queue: list[URLPattern | URLResolver] = [
    path("", queue.show_queue, name="queue"),
    path("<uuid:episode_id>/", queue.show_item, name="queue-item"),
    path("<uuid:episode_id>/decide/", reviews.decide, name="queue-decide"),
    path("<uuid:episode_id>/accept/", reviews.accept, name="queue-accept"),
    path("<uuid:episode_id>/undo/", reviews.undo, name="queue-undo"),
]

_of_an_incident: list[URLPattern | URLResolver] = [
    path("", incidents.show, name="incident"),
    path("backwards/", incident_parts.look_back, name="incident-backwards"),
    path("forwards/", incident_parts.look_forward, name="incident-forwards"),
    path("as-of/", incident_parts.look_as_of, name="incident-as-of"),
    path("evidence.json", incident_exports.export_json, name="incident-json"),
    path("evidence.html", incident_exports.export_html, name="incident-html"),
    path("sessions.csv", incident_exports.export_sessions, name="incident-csv"),
    path("tell/", incident_hook.tell, name="incident-tell"),
    path("note/", incident_acts.note, name="incident-note"),
    path("state/", incident_acts.set_state, name="incident-state"),
    path("people/", incident_acts.assign, name="incident-assign"),
    path("people/<uuid:person_id>/off/", incident_acts.take_off, name="incident-take-off"),
    path("links/", incident_acts.link, name="incident-link"),
    path("links/<uuid:link_id>/off/", incident_acts.unlink, name="incident-unlink"),
]

_of_a_precedent: list[URLPattern | URLResolver] = [
    path("", precedent.show_precedent, name="promotion-precedent"),
    path("edit/", precedent.edit, name="promotion-edit"),
    path("approve/", precedent.approve, name="promotion-approve"),
    path("refuse/", precedent.refuse, name="promotion-refuse"),
    path("withdraw/", precedent.withdraw, name="promotion-withdraw"),
    path("offer/", precedent.offer, name="promotion-offer"),
]

_of_the_promotion: list[URLPattern | URLResolver] = [
    path("", promotion.show_candidates, name="promotion"),
    path("waiting/", promotion.list_waiting, name="promotion-waiting"),
    path("published/", promotion.list_published, name="promotion-published"),
    path("history/", promotion.list_history, name="promotion-history"),
    path("lessons/", promotion.list_lessons, name="promotion-lessons"),
    path("lessons/<uuid:lesson_id>/", proposals.show_lesson, name="promotion-lesson"),
    path("lessons/<uuid:lesson_id>/accept/", proposals.accept, name="promotion-lesson-accept"),
    path("lessons/<uuid:lesson_id>/dismiss/", proposals.dismiss, name="promotion-lesson-dismiss"),
    path("propose/<uuid:episode_id>/", proposals.propose, name="promotion-propose"),
    path("<uuid:precedent_id>/", include(_of_a_precedent)),
]

_of_erasures: list[URLPattern | URLResolver] = [
    path("", erasures.list_all, name="erasure-list"),
    path("ask/", erasures.ask, name="erasure-ask"),
    path("readmit/", erasures.readmit, name="erasure-readmit"),
    path("<uuid:erasure_id>/", erasures.show, name="erasure"),
    path("<uuid:erasure_id>/certificate/", erasures.show_certificate, name="erasure-certificate"),
    path("<uuid:erasure_id>/file/", erasures.download, name="erasure-download"),
]

_of_the_audit: list[URLPattern | URLResolver] = [
    path("", audit.list_all, name="audit-list"),
    path("verification/", audit.show_verification, name="audit-verification"),
    path("export/", audit.export, name="audit-export"),
    path("<uuid:entry_id>/", audit.show, name="audit-entry"),
]

_of_the_installation: list[URLPattern | URLResolver] = [
    path("", installation.list_audit, name="installation-audit"),
    path("verification/", installation.show_verification, name="installation-verification"),
    path("export/", installation.export_audit, name="installation-export"),
    path("<uuid:entry_id>/", installation.show_entry, name="installation-entry"),
]

_of_the_settings: list[URLPattern | URLResolver] = [
    path("", arguments.go_to_settings, name="settings"),
    path("arguments/", arguments.edit_arguments, name="settings-arguments"),
    path("ranking/", ranking.edit_ranking, name="settings-ranking"),
    path("trust/", trust_settings.edit_trust, name="settings-trust"),
    path("retention/", retention.edit_retention, name="settings-retention"),
    path("toolsets/", toolsets.show_toolsets, name="settings-toolsets"),
    path("toolsets/<uuid:toolset_id>/retire/", toolsets.retire, name="settings-toolset-retire"),
    path("keys/", api_keys.edit_keys, name="settings-keys"),
    path("keys/<uuid:key_id>/", api_key.show_key, name="settings-key"),
    path("keys/<uuid:key_id>/rotate/", api_key.rotate, name="settings-key-rotate"),
    path("keys/<uuid:key_id>/limit/", api_key.limit, name="settings-key-limit"),
    path("keys/<uuid:key_id>/revoke/", api_key.revoke, name="settings-key-revoke"),
    path("incidents/", incident_hook.edit_hook, name="settings-incidents"),
    path("export/", export.show_export, name="settings-export"),
    path("export/file/", export.download, name="settings-export-file"),
    path("members/", members.edit_members, name="settings-members"),
    path("members/invite/", members.invite, name="settings-invite"),
    path(
        "members/invitations/<uuid:invitation_id>/revoke/",
        members.revoke,
        name="settings-invitation-revoke",
    ),
    path("members/<int:member_id>/role/", members.set_role, name="settings-member-role"),
    path("members/<int:member_id>/remove/", members.remove, name="settings-member-remove"),
]

_of_an_app: list[URLPattern | URLResolver] = [
    path("", overview.show_overview, name="overview"),
    path("queue/", include(_of_the_queue)),
    path("poison/", include(_of_poison)),
    path("recalls/", recalls.list_log, name="recall-list"),
    path("recalls/<uuid:recall_id>/", recalls.show_recall, name="recall"),
    path("incidents/", incidents.list_all, name="incident-list"),
    path("incidents/open/", incidents.open_new, name="incident-open"),
    path("incidents/<uuid:incident_id>/", include(_of_an_incident)),
    path("holds/", holds.list_all, name="hold-list"),
    path("holds/place/", holds.place, name="hold-place"),
    path("holds/<uuid:hold_id>/lift/", holds.lift, name="hold-lift"),
    path("erasures/", include(_of_erasures)),
    path("audit/", include(_of_the_audit)),
    path("episodes/", episodes.list_episodes, name="episode-list"),
    path("episodes/<uuid:episode_id>/", include(_of_an_episode)),
    path("promotion/", include(_of_the_promotion)),
    path("settings/", include(_of_the_settings)),
]

urlpatterns = [
    path("", home.go_home, name="home"),
    path("apps/", home.list_apps, name="app-list"),
    path("apps/<str:app_name>/", include(_of_an_app)),
    path("audit/", include(_of_the_installation)),
    path("sign-in/", sign_in.sign_in, name="sign-in"),
    path("sign-in/code/", sign_in.give_code, name="sign-in-code"),
    path("sign-in/provider/", single_sign_on.leave, name="sign-in-provider"),
    path("sign-in/provider/back/", single_sign_on.come_back, name="sign-in-back"),
    path("sign-out/", sign_in.sign_out, name="sign-out"),
    path("invitations/<str:token>/", invitation.accept, name="invitation"),
    path("preferences/", preferences.preferences, name="preferences"),
    path("preferences/password/", preferences.set_password, name="preferences-password"),
    path("preferences/second-factor/", second_factor.show, name="preferences-factor"),
    path(
        "preferences/second-factor/code.svg", second_factor.draw_code, name="preferences-factor-qr"
    ),
    path("preferences/provider/", single_sign_on.link, name="preferences-provider"),
    path("accounts/", accounts.list_all, name="account-list"),
    path("accounts/<int:account_id>/<str:act>/", accounts.change, name="account-change"),
    path("keys/", preferences.list_keys, name="keys"),
]
