"""Which functions of the program write rows, and whether the audit learns of it.

Read from the source, nothing is run. A write is a call on a query set, a manager or an instance, or
an SQL statement in a literal. A function is covered if it records an entry itself or refers to what
does, however far down; or if all that refers to it is covered. Names are followed through imports
and what packages pass on; who refers to a class refers to its methods.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MODULE = ".<module>"  # what stands outside of functions
RECORDS = frozenset({"episodes.audit.recording.record", "episodes.audit.recording.record_each"})
_SQL = re.compile(
    r"\b(INSERT\s+INTO|DELETE\s+FROM|UPDATE\s+[\w.]+(?:\s+\w+)?\s+SET|TRUNCATE\s+TABLE)\b"
)
_ALWAYS = frozenset(
    {"bulk_create", "bulk_update", "get_or_create", "update_or_create"}
    | {"create_user", "create_superuser"}
)
Def = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class Function:
    """`name`: dotted, from the root of the tree; `refers`: what its body names."""

    name: str
    writes: list[str] = field(default_factory=list)
    refers: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Program:
    """`passed_on`: what a module has by another name, by its own import or assignment."""

    functions: dict[str, Function] = field(default_factory=dict)
    passed_on: dict[str, str] = field(default_factory=dict)
    methods: dict[str, list[str]] = field(default_factory=dict)
    statements: dict[str, str] = field(default_factory=dict)


def read_program(root: Path, *folders: str) -> Program:
    """Return what stands in the folders, migrations aside."""
    program = Program()
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            if "migrations" not in path.parts:
                module = ".".join(path.relative_to(root).with_suffix("").parts)
                text = path.read_text(encoding="utf-8")
                read_module(program, module.removesuffix(".__init__"), text)
    return program


def read_module(program: Program, module: str, source: str) -> None:
    tree = ast.parse(source)
    known = dict(_imports(tree))
    for node in tree.body:
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                known[name] = f"{module}.{name}"
            case ast.Assign(targets=[ast.Name(id=name)]) if sql := _sql_of(node, known, program):
                known[name] = f"{module}.{name}"
                program.statements[known[name]] = sql
    program.passed_on |= {f"{module}.{alias}": target for alias, target in known.items()}
    outside: list[ast.stmt] = []
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                _read_body(program, f"{module}.{name}", node.body, known, {})
            case ast.ClassDef(name=name, body=body):
                own = {n.name: f"{module}.{name}.{n.name}" for n in body if isinstance(n, Def)}
                program.methods[f"{module}.{name}"] = list(own.values())
                for part in body:
                    if isinstance(part, Def):
                        _read_body(program, own[part.name], part.body, known, own)
                    else:
                        outside.append(part)
            case _ if not _sql_of(node, known, program):
                outside.append(node)
    _read_body(program, f"{module}{MODULE}", outside, known, {})


def unaudited(program: Program) -> dict[str, list[str]]:
    """Return what functions write of which the audit may learn nothing."""
    refers = {
        function.name: set(_resolved(program, function.refers))
        for function in program.functions.values()
    }
    records = _reaching(refers, RECORDS)
    by: dict[str, set[str]] = {}
    for name, named in refers.items():
        for one in named:
            by.setdefault(one, set()).add(name)
    for name in refers:
        if ".tasks." in name:
            # whoever rings, it also runs by the clock, where nobody has recorded anything
            by.setdefault(name, set()).add("the clock")
    return {
        name: function.writes
        for name, function in program.functions.items()
        if function.writes and not _is_covered(name, records, by, frozenset())
    }


def _is_covered(
    name: str, records: set[str], by: dict[str, set[str]], seen: frozenset[str]
) -> bool:
    if name in records or name in seen:
        return True
    above = by.get(name, set()) - {name}
    return bool(above) and all(_is_covered(one, records, by, seen | {name}) for one in above)


def _reaching(refers: dict[str, set[str]], wanted: frozenset[str]) -> set[str]:
    """A module that names functions, as one of addresses does, records nothing by that."""
    inside = {name: named for name, named in refers.items() if not name.endswith(MODULE)}
    reached = set(wanted)
    while more := {name for name, named in inside.items() if named & reached} - reached:
        reached |= more
    return reached


def _resolved(program: Program, names: set[str]) -> Iterator[str]:
    for name in names:
        found = name
        # a package may pass on what another one passes on
        for _ in range(5):
            found = program.passed_on.get(found, found)
        yield found
        yield from program.methods.get(found, ())


def _read_body(
    program: Program,
    name: str,
    body: Sequence[ast.stmt],
    known: dict[str, str],
    own: dict[str, str],
) -> None:
    function = Function(name)
    for part in [one for statement in body for one in ast.walk(statement)]:
        if dotted := _dotted(part, known, own):
            function.refers.add(dotted)
            for one in _resolved(program, {dotted}):
                if one in program.statements:
                    function.writes.append(
                        f"{getattr(part, 'lineno', 0)}: {program.statements[one]}"
                    )
        if isinstance(part, ast.Call) and (written := _call_writes(part)):
            function.writes.append(f"{part.lineno}: .{written}()")
        elif isinstance(part, ast.Constant | ast.JoinedStr) and (found := _sql_in(part)):
            function.writes.append(f"{part.lineno}: {found}")
    program.functions[name] = function


def _dotted(node: ast.AST, known: dict[str, str], own: dict[str, str]) -> str | None:
    match node:
        case ast.Name(id=name):
            return known.get(name)
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return own.get(name)
        case ast.Attribute(value=value, attr=name):
            before = _dotted(value, known, own)
            return f"{before}.{name}" if before else None
    return None


def _call_writes(call: ast.Call) -> str | None:
    match call.func:
        case ast.Attribute(attr=name) if name in _ALWAYS:
            return name
        # a dict, a hash and a picture are updated and saved by position, a row by name
        case ast.Attribute(attr="save") if not call.args:
            return "save"
        case ast.Attribute(attr="update" | "create" as name) if not call.args and call.keywords:
            return name
        case ast.Attribute(attr="delete" as name) if not call.args and not call.keywords:
            return name
    return None


def _sql_of(node: ast.stmt, known: dict[str, str], program: Program) -> str:
    """Return what the SQL writes that a module gives a name to, or makes of what has one."""
    if not isinstance(node, ast.Assign):
        return ""
    parts = list(ast.walk(node.value))
    named = (program.statements.get(_dotted(part, known, {}) or "", "") for part in parts)
    return next((one for one in (*map(_sql_in, parts), *named) if one), "")


def _sql_in(node: ast.AST) -> str:
    found = _SQL.search(_text(node))
    return found[1] if found else ""


def _text(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_text(one) or "x" for one in values)
    return ""


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for one in names:
                    whole = one.name if one.asname else one.name.partition(".")[0]
                    yield one.asname or whole, whole
            case ast.ImportFrom(module=str(module), names=names):
                for one in names:
                    yield one.asname or one.name, f"{module}.{one.name}"
