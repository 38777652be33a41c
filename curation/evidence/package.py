"""Evidence as a file: items, each with its hash, under one manifest. Pure.

canonical   JSON with sorted keys, no spaces, everything but ASCII escaped: the same text on
            every machine, with nothing in it that hides or moves
item        {"id", "kind", "content"}; its hash is sha256 over the canonical content
manifest    what was exported, by whom and when, and the id, kind and hash of every item; its
            own hash stands in the file, on the incident's timeline and in the audit
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from episodes.ingest.canonical import content_hash

FORMAT = "memoryadmin-evidence/1"


@dataclass(frozen=True, slots=True)
class Item:
    id: str
    kind: str
    content: Mapping[str, Any]

    @property
    def canonical(self) -> str:
        return canonical(self.content)

    @property
    def sha256(self) -> str:
        return digest(self.canonical)


@dataclass(frozen=True, slots=True)
class Package:
    about: Mapping[str, Any]
    items: Sequence[Item]

    @property
    def manifest(self) -> dict[str, Any]:
        listed = [{"id": one.id, "kind": one.kind, "sha256": one.sha256} for one in self.items]
        return {"format": FORMAT, **self.about, "items": listed}

    @property
    def sha256(self) -> str:
        return digest(canonical(self.manifest))

    def of(self, kind: str) -> list[Mapping[str, Any]]:
        return [one.content for one in self.items if one.kind == kind]

    def as_json(self) -> str:
        whole = {
            "manifest": self.manifest,
            "manifest_sha256": self.sha256,
            "items": [
                {"id": one.id, "kind": one.kind, "content": one.content} for one in self.items
            ],
        }
        return json.dumps(whole, ensure_ascii=True, sort_keys=True, indent=1, allow_nan=False)


def canonical(content: Any) -> str:
    return json.dumps(
        content, ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False
    )


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def objections(package: Package, manifest: Mapping[str, Any], sha256: str) -> Iterator[str]:
    """Yield what is wrong with a package that was read from a file, against the manifest in it."""
    if digest(canonical(manifest)) != sha256:
        yield "the manifest is not what its hash stands for"
    if manifest.get("format") != FORMAT:
        yield f"the format is not {FORMAT}"
    listed = {one["id"]: one for one in manifest.get("items", [])}
    found = {one.id: one for one in package.items}
    if len(listed) != len(manifest.get("items", [])) or len(found) != len(package.items):
        yield "an item is there twice"
    yield from (f"{name} is missing" for name in listed if name not in found)
    yield from (f"{name} is not in the manifest" for name in found if name not in listed)
    for name, item in found.items():
        if name in listed and (item.kind, item.sha256) != (
            listed[name]["kind"],
            listed[name]["sha256"],
        ):
            yield f"{name} is not what its hash stands for"
        if (
            item.kind == "revision"
            and content_hash_of(item.content) != item.content["content_hash"]
        ):
            yield f"{name} is not what was served: its content hash is another"


def content_hash_of(revision: Mapping[str, Any]) -> str:
    """Return the content hash of a revision's evidence, as it was made when the session came in.

    A lesson that we put together from the trace is no part of it.
    """
    return content_hash(
        goal=revision["goal"],
        steps=revision["steps"],
        resolution=revision["resolution"],
        lesson="" if revision["lesson_source"] == "template" else revision["lesson"],
        issue_type=revision["issue_type"],
        toolset_version=revision["toolset_version"],
    )
