from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rest_framework.exceptions import ValidationError

from episodes.api.problem import errors_of
from episodes.api.serializers.export import YES_NO, read_wanted
from episodes.audit import Actor
from episodes.enums import ActorKind, Outcome, State
from episodes.export.run import begin_export
from episodes.models import App

ACTOR = Actor(name="manage.py export", kind=ActorKind.COMMAND, route="manage.py export")


class Command(BaseCommand):
    help = (
        "Write an app's episodes, or one subject's, to standard output as NDJSON, which `ingest "
        "--format episode` takes. It is recorded. An export that was cut is gone on with by --after."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--app", required=True)
        parser.add_argument("--user", dest="user_id", help="one subject's episodes only")
        parser.add_argument("--session", dest="session_id")
        parser.add_argument("--agent", dest="agent_id")
        parser.add_argument("--task", dest="task_id")
        parser.add_argument("--issue-type")
        parser.add_argument("--tag", dest="tags", action="append", help="repeated: all of them")
        parser.add_argument(
            "--outcome", action="append", choices=Outcome.values, help="repeated: any of them"
        )
        parser.add_argument("--state", choices=State.values)
        parser.add_argument("--blocked", choices=YES_NO, help="kept out of recall, or not")
        parser.add_argument("--since", help="completed then or later: ISO 8601 with its offset")
        parser.add_argument("--until", help="completed before")
        parser.add_argument(
            "--after", help="`stored.cursor` of the last line that there is: go on behind it"
        )

    def handle(self, *, app: str, **options: Any) -> None:
        asked = {
            name: options[name]
            for name in (
                *("user_id", "session_id", "agent_id", "task_id", "issue_type", "tags", "outcome"),
                *("state", "blocked", "since", "until", "after"),
            )
            if options[name] is not None
        }
        try:
            target = App.objects.get(name=app)
            wanted, cursor, _ = read_wanted(asked)
        except App.DoesNotExist:
            raise CommandError(f"there is no app {app}") from None
        except ValidationError as error:
            first = errors_of(error)[0]
            raise CommandError(f"{first['pointer'].strip('/')}: {first['detail']}") from None
        export = begin_export(
            app=target, wanted=wanted, cursor=cursor, actor=ACTOR, in_a_place=False
        )
        try:
            for lines in export:
                self._write(lines)
        except BrokenPipeError:
            raise CommandError(f"nobody read on after {export.count} episodes") from None
        finally:
            # also when nobody reads on: then it is recorded as cut
            export.close()
        self.stderr.write(f"{export.count} episodes")

    def _write(self, lines: bytes) -> None:
        buffer = getattr(self.stdout, "buffer", None)
        if buffer is None:  # a text stream of a caller's
            self.stdout.write(lines.decode(), ending="")
            return
        buffer.write(lines)
        buffer.flush()
