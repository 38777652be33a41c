"""Every column of every model is a store's, or is said to hold nothing of a subject."""

from __future__ import annotations

from pathlib import Path

from django.apps import apps
from django.db import models
from django.test.utils import isolate_apps

from episodes.erasure.check import HASHES, read_tables
from memoryadmin.lib import erasable

ROOT = Path(__file__).resolve().parent.parent.parent


def test_every_column_is_registered() -> None:
    assert erasable.undeclared(apps.get_models(include_auto_created=True)) == []


@isolate_apps("episodes")
def test_a_new_column_is_noticed() -> None:
    class Note(models.Model):
        text = models.TextField()
        n = models.IntegerField()
        choices = models.CharField(max_length=1, choices=[("a", "A")])

        class Meta:
            app_label = "episodes"

        def __str__(self) -> str:
            return self.text

    assert erasable.undeclared([Note]) == ["episodes_note.text"]


def test_what_is_registered_is_there() -> None:
    known = {
        f"{model._meta.db_table}.{field.column}"
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.concrete_fields
    }
    registered = {
        f"{table}.{column}"
        for table, columns in [*erasable.erased().items(), *erasable.kept().items()]
        for column in columns
    }

    assert registered - known == set()


def test_every_table_that_knows_subjects_is_a_store_s(db: None) -> None:
    of_stores = {table for store in erasable.stores() for table in store.tables}
    by_subject = {
        table.name
        for table in read_tables()
        if table.is_by_subject or table.has(HASHES, frozenset({"_bytea"}))
    }

    assert by_subject - of_stores == {"episodes_erasure"}


def test_children_go_before_heads() -> None:
    places = [store.place for store in erasable.stores()]

    assert places == sorted(places)
    assert erasable.stores()[0].place == erasable.Place.DERIVED


def test_who_may_delete_where_nothing_is_deleted() -> None:
    """A list to be read when it grows: whoever takes the eraser's rights must be an erasure, or the
    end of a retention."""
    sources = [
        path
        for app in ("memoryadmin", "episodes", "curation")
        for path in (ROOT / app).rglob("*.py")
    ]
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in sources
        if "migrations" not in path.parts
    }

    assert {name for name, text in texts.items() if "with as_eraser()" in text} == {
        "episodes/audit/cutting.py",
        "episodes/erasure/run.py",
        "episodes/retention/sweep.py",
    }
    assert {name for name, text in texts.items() if "memoryadmin.erasing'" in text} == {
        "memoryadmin/lib/constraints.py",
        "memoryadmin/lib/erasable.py",
    }
