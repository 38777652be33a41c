"""The table shapes that `schema_shapes` compares: their tables, filling, updates and inserts."""

from __future__ import annotations

from dataclasses import dataclass

HEAD = """
    app_id bigint NOT NULL, id uuid NOT NULL, scope text NOT NULL, user_id text, session_id text,
    episode_key text NOT NULL, state text NOT NULL, recall_state text NOT NULL,
    review_state text NOT NULL, outcome text NOT NULL, outcome_source text,
    revision integer NOT NULL, recorded_outcome text NOT NULL, procedure_key text NOT NULL,
    toolset_version text, agent_id text NOT NULL, task_id text NOT NULL, issue_type text NOT NULL,
    tags text[] NOT NULL, started_at timestamptz, completed_at timestamptz,
    received_at timestamptz NOT NULL, last_activity_at timestamptz NOT NULL
"""
HEAD_VALUES = """
    app_id, id, 'user', user_id, session_id, '', 'completed', recall_state, 'unreviewed',
    outcome, outcome_source, 1, outcome, procedure_key, toolset_version, agent_id, '', issue_type,
    '{}', completed_at, completed_at, completed_at, completed_at
"""
WIDE = """goal text NOT NULL, steps jsonb NOT NULL, lesson text NOT NULL, tools text[] NOT NULL,
    content_hash text NOT NULL"""
WIDE_VALUES = "goal, steps, lesson, tools, content_hash"
TEXT = "identifiers text[] NOT NULL, search tsvector NOT NULL"
TEXT_VALUES = "identifiers, to_tsvector('simple', search_text)"
CHILD = "app_id bigint NOT NULL, episode_id uuid NOT NULL, revision integer NOT NULL, user_id text"
CHILD_VALUES = "app_id, id, 1, user_id"
VECTORS = f"{CHILD}, generation integer NOT NULL, scope text NOT NULL"
VECTOR_VALUES = f"{CHILD_VALUES}, 1, 'user'"


@dataclass(frozen=True)
class Table:
    name: str
    columns: str
    values: str  # of the corpus, in the columns' order
    key: str
    where: str = "true"


@dataclass(frozen=True)
class Shape:
    """`vector_from` and `text_from` join what a candidate is measured by to `h`, the eligible
    heads; in a wide table that is the head itself."""

    name: str
    tables: tuple[Table, ...]
    vector: str
    text: str  # alias that owns identifiers and search
    vector_from: str = ""
    text_from: str = ""
    winners_from: str = ""
    is_wide: bool = False
    tuning: str = ""

    @property
    def head(self) -> Table:
        return self.tables[0]

    @property
    def log(self) -> str:
        return f"{self.name}_recall"

    @property
    def hits(self) -> str:
        return f"{self.name}_hit"


def _evidence(of: str, alias: str) -> str:
    return f"""JOIN {of} {alias} ON {alias}.app_id = %(app)s AND {alias}.episode_id = h.id
        AND {alias}.revision = h.revision"""


def _vector(of: str, alias: str) -> str:
    return f"{_evidence(of, alias)} AND {alias}.generation = 1"


JOINED = Shape(
    name="joined",
    tables=(
        Table("joined_head", HEAD, HEAD_VALUES, "id, app_id"),
        Table(
            "joined_revision",
            f"{CHILD}, {WIDE}, {TEXT}",
            f"{CHILD_VALUES}, {WIDE_VALUES}, {TEXT_VALUES}",
            "app_id, episode_id, revision",
        ),
        Table(
            "joined_vector",
            f"{VECTORS}, vector vector NOT NULL",
            f"{VECTOR_VALUES}, vector",
            "app_id, episode_id, generation, revision",
            where="vector IS NOT NULL",
        ),
    ),
    vector="v.vector",
    text="t",
    vector_from=f"LEFT {_vector('joined_vector', 'v')}",
    text_from=_evidence("joined_revision", "t"),
    winners_from=_evidence("joined_revision", "r"),
)

# The text side beside the vector, per generation; the revision keeps evidence only.
DOCUMENT = Shape(
    name="document",
    tables=(
        Table("document_head", HEAD, HEAD_VALUES, "id, app_id"),
        Table(
            "document_revision",
            f"{CHILD}, {WIDE}",
            f"{CHILD_VALUES}, {WIDE_VALUES}",
            "app_id, episode_id, revision",
        ),
        Table(
            "document_vector",
            f"{VECTORS}, {TEXT}, vector vector",
            f"{VECTOR_VALUES}, {TEXT_VALUES}, vector",
            "app_id, episode_id, generation, revision",
        ),
    ),
    vector="t.vector",
    text="t",
    vector_from=_vector("document_vector", "t"),
    winners_from=_evidence("document_revision", "r"),
)


def _wide(name: str, *, tuning: str = "", split: bool = False) -> Shape:
    wide = "" if split else f", {WIDE}"
    wide_values = "" if split else f", {WIDE_VALUES}"
    head = Table(
        f"{name}_head",
        f"{HEAD}, {TEXT}, vector vector{wide}",
        f"{HEAD_VALUES}, {TEXT_VALUES}, vector{wide_values}",
        "id, app_id",
    )
    evidence = Table(
        f"{name}_revision",
        f"{CHILD}, {WIDE}",
        f"{CHILD_VALUES}, {WIDE_VALUES}",
        "app_id, episode_id, revision",
    )
    return Shape(
        name=name,
        tables=(head, evidence) if split else (head,),
        vector="h.vector",
        text="h",
        winners_from=_evidence(evidence.name, "r")
        if split
        else f"JOIN {head.name} r ON r.app_id = %(app)s AND r.id = h.id",
        is_wide=True,
        tuning=tuning,
    )


WIDE_NAIVE = _wide("wide")
# pgvector declares its type EXTERNAL: in a row over 2 kB the vector is what goes out of line.
WIDE_TUNED = _wide(
    "wide_tuned", tuning="ALTER TABLE wide_tuned_head ALTER vector SET STORAGE PLAIN;"
)
# What search reads in one wide head, the evidence out of line in a table of its own.
WIDE_SPLIT = _wide("wide_split", split=True)

SHAPES = {s.name: s for s in (JOINED, DOCUMENT, WIDE_NAIVE, WIDE_TUNED, WIDE_SPLIT)}


def create(shape: Shape) -> str:
    tables = "".join(f"CREATE TABLE {table.name} ({table.columns});" for table in shape.tables)
    head = shape.head.name
    return f"""
        {tables} {shape.tuning} ALTER TABLE {head} SET (fillfactor = 85);
        CREATE TABLE {shape.log} (
            app_id bigint, recalled_at timestamptz, id uuid, user_id text NOT NULL,
            session_id text, query text NOT NULL, profile text NOT NULL, candidates int NOT NULL,
            mode text NOT NULL, degraded boolean NOT NULL, PRIMARY KEY (app_id, recalled_at, id));
        CREATE TABLE {shape.hits} (
            app_id bigint, recalled_at timestamptz, recall_id uuid, rank smallint,
            user_id text NOT NULL, episode_id uuid NOT NULL, revision integer NOT NULL,
            content_hash text NOT NULL, outcome text NOT NULL, similarity float8, text float8,
            outcome_weight float8 NOT NULL, toolset_weight float8 NOT NULL, decay float8 NOT NULL,
            score float8 NOT NULL, PRIMARY KEY (app_id, recalled_at, recall_id, rank));
        CREATE INDEX ON {shape.hits} (app_id, episode_id, recalled_at);
    """


def fill(table: Table) -> str:
    return f"""INSERT INTO {table.name} SELECT {table.values} FROM corpus WHERE {table.where}
        ORDER BY completed_at"""


def index(shape: Shape) -> str:
    """The indexes that writes must keep, search's own among them; GIN is measured apart."""
    head = shape.head.name
    keys = "".join(f"ALTER TABLE {t.name} ADD PRIMARY KEY ({t.key});" for t in shape.tables)
    return f"""{keys}
        CREATE UNIQUE INDEX ON {head} (app_id, user_id, session_id, episode_key)
            WHERE scope = 'user';
        CREATE INDEX ON {head} (app_id, user_id, completed_at DESC) WHERE scope = 'user'
            AND state = 'completed' AND recall_state = 'recallable';
        CREATE INDEX ON {head} (app_id, received_at DESC, id DESC);
        CREATE INDEX ON {head} (app_id, completed_at);
    """
