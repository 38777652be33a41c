"""One settings file, driven by the environment. docs/operations.md lists the variables.

Without a DATABASE_URL the module can still be imported (type checker, collectstatic), but nothing
that touches the database or signs anything works.
"""

from __future__ import annotations

from pathlib import Path

import django_stubs_ext
from celery.schedules import crontab
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from memoryadmin import keyfile
from memoryadmin.database import dsn
from memoryadmin.database.postgres import data_folder
from memoryadmin.lib import env
from memoryadmin.lib.identity_provider import ROLES, SUPERUSER, read_provider

# lets Django's generic classes be subscripted at run time, as mypy wants them
django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = data_folder()

# Local: one person's machine, reached by loopback only. Set by the embedded server and by `up`.
LOCAL = env.flag("MEMORYADMIN_LOCAL", default=False)
DEBUG = env.flag("MEMORYADMIN_DEBUG", default=False)

# --- Database: memoryadmin/database/dsn.py says who connects as what ------------------------------

DB_LOGIN = env.choice("MEMORYADMIN_DB_ROLE", "app", of=("owner", "app"))
_database = dsn.parameters("owner" if DB_LOGIN == "owner" else "app")
DATABASES = {"default": dsn.django_database(_database)} if _database else {}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- Keys -----------------------------------------------------------------------------------------

SECRET_KEY = ""
SECRET_KEY_FALLBACKS = env.names("MEMORYADMIN_SECRET_KEY_FALLBACKS")
# Keyed hashes that must stay comparable for good (tombstones, audit). Not the secret key, which
# may be rotated.
HASH_KEY = ""
# Signs certificates and audit checkpoints. Kept from the database, or it would prove nothing.
SIGNING_KEY = ""
if _database:
    SECRET_KEY = keyfile.key("MEMORYADMIN_SECRET_KEY", DATA_DIR / "secret_key", may_create=LOCAL)
    HASH_KEY = keyfile.key("MEMORYADMIN_HASH_KEY", DATA_DIR / "hash_key", may_create=LOCAL)
    SIGNING_KEY = keyfile.key("MEMORYADMIN_SIGNING_KEY", DATA_DIR / "signing_key", may_create=LOCAL)
# Erasures and checkpoints, one signed line each, to be kept apart from the database's backups.
LEDGER_PATH = env.path("MEMORYADMIN_LEDGER", DATA_DIR / "ledger.jsonl")

# --- Web ------------------------------------------------------------------------------------------

ALLOWED_HOSTS = env.names(
    "MEMORYADMIN_ALLOWED_HOSTS", ("localhost", "127.0.0.1", "[::1]") if LOCAL or DEBUG else ()
)
CSRF_TRUSTED_ORIGINS = env.names("MEMORYADMIN_TRUSTED_ORIGINS")
ROOT_URLCONF = "memoryadmin.urls"
WSGI_APPLICATION = "memoryadmin.wsgi.application"

HTTPS = env.flag("MEMORYADMIN_HTTPS", default=not LOCAL)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = HTTPS
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_ENGINE = "episodes.accounts.session_store"
SESSION_COOKIE_AGE = env.whole("MEMORYADMIN_SESSION_HOURS", 12, least=1, most=720) * 3600
SESSION_IDLE_SECONDS = env.whole("MEMORYADMIN_SESSION_IDLE_MINUTES", 120, least=5, most=43_200) * 60
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"
TRUST_PROXY = env.flag("MEMORYADMIN_TRUST_PROXY", default=False)
if TRUST_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "csp",
    "django_htmx",
    "template_partials",
    "pgtrigger",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "memoryadmin",  # no models: the commands that run the program
    "episodes",
    "curation",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "memoryadmin.demo.marker.tell_pages",
            ]
        },
    }
]

STATIC_URL = "/static/"
STATIC_ROOT = Path(env.text("MEMORYADMIN_STATIC_ROOT", str(DATA_DIR / "static")))
STATICFILES_DIRS = [path for path in (BASE_DIR / "static",) if path.is_dir()]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},  # nothing is uploaded
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# --- Who may sign in, and how (episodes/accounts/) --------------------------------------------------

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in {
        "MinimumLengthValidator": {"min_length": 12},
        "CommonPasswordValidator": {},
        "UserAttributeSimilarityValidator": {},
    }.items()
]
# roles, and "superuser", that are let in by password only with a second factor
SECOND_FACTOR_FOR = env.choices("MEMORYADMIN_SECOND_FACTOR_FOR", of=(*ROLES, SUPERUSER))
IDENTITY_PROVIDER = read_provider()
PASSWORD_SIGN_IN = env.flag("MEMORYADMIN_PASSWORD_SIGN_IN", default=True)
if not PASSWORD_SIGN_IN and IDENTITY_PROVIDER is None:
    env.required("MEMORYADMIN_OIDC_ISSUER", why="MEMORYADMIN_PASSWORD_SIGN_IN is 0")

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = False

REST_FRAMEWORK = {
    "DEFAULT_SCHEMA_CLASS": "episodes.api.schema.ApiSchema",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "memoryadmin",
    "DESCRIPTION": "Episodic memory of AI agents: sessions in, precedent out.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"validatorUrl": None},  # the page asks nobody outside
    "ENUM_NAME_OVERRIDES": {
        name: f"episodes.enums.{name}"
        for name in (
            "Arm",
            "ErasureStatus",
            "HashKind",
            "IndexState",
            "LessonSource",
            "Outcome",
            "OutcomeSource",
            "Rating",
            "RecallMode",
            "RecallState",
            "ReviewState",
            "Scope",
            "State",
            "ToolsetRelation",
        )
    }
    | {
        "SearchedScope": "episodes.api.serializers.search.SEARCHED_SCOPES",
        "StatedOutcome": "episodes.api.serializers.outcome.STATED_OUTCOMES",
        "SessionStatus": "episodes.api.serializers.session.STATUSES",
        "BatchStatus": "episodes.api.serializers.session.BATCH_STATUSES",
        "StepKind": "episodes.api.serializers.episode.STEP_KINDS",
        "ExclusionReason": "episodes.api.serializers.search.EXCLUSION_REASONS",
    },
}

# --- Limits of the API (api.md, "Common rules") ---------------------------------------------------

SESSION_MAX_BYTES = 5 * 1024 * 1024
BATCH_MAX_BYTES = 20 * 1024 * 1024
BATCH_MAX_ITEMS = 100
IDEMPOTENCY_SECONDS = 24 * 3600
DATA_UPLOAD_MAX_MEMORY_SIZE = BATCH_MAX_BYTES + 64 * 1024
IDLE_CLOSE_SECONDS = env.whole("MEMORYADMIN_IDLE_CLOSE_SECONDS", 3600, least=1, most=30 * 86_400)
REQUESTS_PER_MINUTE = env.whole("MEMORYADMIN_REQUESTS_PER_MINUTE", 6_000, least=1, most=10_000_000)

# --- Embedding ------------------------------------------------------------------------------------

EMBEDDER = env.choice("MEMORYADMIN_EMBEDDER", "local", of=("local", "http"))
EMBEDDER_URL = env.url("MEMORYADMIN_EMBEDDER_URL", schemes=("http", "https"))
EMBEDDER_MODEL = env.text("MEMORYADMIN_EMBEDDER_MODEL")
EMBEDDER_API_KEY = env.text("MEMORYADMIN_EMBEDDER_API_KEY")
EMBEDDER_DIMENSIONS = env.whole("MEMORYADMIN_EMBEDDER_DIMENSIONS", 0, least=0, most=2_000)
# at most 20: a task that embeds may run for 45; a slow endpoint wants a smaller batch instead
EMBEDDER_TIMEOUT = env.seconds("MEMORYADMIN_EMBEDDER_TIMEOUT", 10.0, least=0.05, most=20)
EMBEDDER_BATCH = env.whole("MEMORYADMIN_EMBEDDER_BATCH", 64, least=1, most=2_048)
EMBEDDER_SEND_DIMENSIONS = env.flag("MEMORYADMIN_EMBEDDER_SEND_DIMENSIONS", default=False)
# for a model nobody measured yet: rather nothing than something irrelevant; see `calibrate`
EMBEDDER_MINIMUM = env.fraction("MEMORYADMIN_EMBEDDER_MINIMUM", 0.75)
EMBEDDER_FAILURE_THRESHOLD = env.fraction("MEMORYADMIN_EMBEDDER_FAILURE_THRESHOLD", 0.92)
# how long a search waits for its query's vector before it answers from the text side alone
SEARCH_EMBED_SECONDS = env.seconds("MEMORYADMIN_SEARCH_EMBED_SECONDS", 0.3, least=0.01, most=10)
if EMBEDDER == "http":
    for _name in ("MEMORYADMIN_EMBEDDER_URL", "MEMORYADMIN_EMBEDDER_MODEL"):
        env.required(_name, why="MEMORYADMIN_EMBEDDER is http")
    if not EMBEDDER_DIMENSIONS:
        env.required("MEMORYADMIN_EMBEDDER_DIMENSIONS", why="MEMORYADMIN_EMBEDDER is http")

# --- Notices of incidents, sent to the addresses of apps' owners -------------------------------------

# only where the receiver stands in the same private network: whoever manages an app chooses the address
HOOKS_PRIVATE = env.flag("MEMORYADMIN_HOOKS_PRIVATE", default=False)

# --- Celery: its queue is in the same database unless CELERY_BROKER_URL says otherwise ------------

CELERY_BROKER_URL = env.url(
    "CELERY_BROKER_URL",
    "pgmq://localhost/",
    schemes=("pgmq", "redis", "rediss", "amqp", "amqps"),
)
VISIBILITY_TIMEOUT = env.whole("MEMORYADMIN_VISIBILITY_TIMEOUT", 120, least=1, most=43_200)
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = {"visibility_timeout": VISIBILITY_TIMEOUT}
if CELERY_BROKER_URL.startswith("pgmq"):
    CELERY_BROKER_TRANSPORT_OPTIONS |= {
        "conn_string": dsn.conninfo(_database) if _database else "",
        "init_extension": False,
        "use_notify": True,
        "notify_throttle_interval_ms": 0,
        "wait_time_seconds": 0,
        "polling_interval": 0.2,
        "pool_size": 4,
        "pool_timeout": 5.0,
    }
CELERY_TASK_DEFAULT_QUEUE = "memoryadmin"
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_LOST_WAIT = 1.0  # seconds for a result of a killed child; there is none to lose
CELERY_WORKER_PREFETCH_MULTIPLIER = 4
CELERY_TASK_SOFT_TIME_LIMIT = 45
CELERY_TASK_TIME_LIMIT = 60
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "beat-schedule")
# One table of everything that runs by the clock. While no worker runs, old ones expire in the queue.
CELERY_BEAT_SCHEDULE = {
    name: {"task": name, "schedule": every, "options": {"expires": 60}}
    for name, every in {
        "episodes.embed_due": 5.0,
        "episodes.close_idle": 60.0,
        "episodes.run_erasures": 15.0,
        "episodes.sweep_retention": 60.0,
        "episodes.purge_idempotency": crontab(minute="17"),
        "episodes.purge_key_uses": crontab(hour="3", minute="47"),
        "episodes.purge_accounts": crontab(minute="47"),
        "curation.raise_alarms": crontab(minute="*/10"),
        "curation.consolidate": crontab(hour="2", minute="40"),
        "episodes.checkpoint_audit": crontab(minute="*/10"),
        "episodes.verify_audit": 60.0,
        "episodes.cut_audit": crontab(minute="37"),
        "curation.tell_owners": 30.0,
        "memoryadmin.heartbeat": 5.0,
    }.items()
}

# How long the audit is kept, in days; 0: for good. At least a year: an audit that forgets what was
# done last winter answers nobody.
AUDIT_KEEP_DAYS = env.whole("MEMORYADMIN_AUDIT_KEEP_DAYS", 0, least=0, most=36_500)
if 0 < AUDIT_KEEP_DAYS < 365:
    raise ImproperlyConfigured("MEMORYADMIN_AUDIT_KEEP_DAYS must be 0, for good, or at least 365")

# The hour (UTC) in which `up` removes what erasures left in the files; -1: never by itself.
SCRUB_HOUR = env.whole("MEMORYADMIN_SCRUB_HOUR", 3, least=-1, most=23)

# --- Logging: to stderr, one line each; never bodies, headers or SQL parameters -------------------

LOG_LEVEL = env.choice(
    "MEMORYADMIN_LOG_LEVEL", "INFO", of=("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "format": "%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s %(message)s",
            "datefmt": "%Y-%m-%dT%H:%M:%S",
        }
    },
    "filters": {"without_values": {"()": "memoryadmin.log_lines.WithoutValues"}},
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": "line",
            "filters": ["without_values"],
        }
    },
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        "django.db.backends": {"level": "INFO"},
        # refusals are the callers' news, and their addresses may hold ids
        "django.request": {"level": "ERROR"},
        # anybody could fill the log with a traceback for each wrong host name
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        "celery.worker.strategy": {"level": "WARNING"},
        # it repeats the errors' texts; memoryadmin/failures.py logs what may be logged
        "celery.app.trace": {"level": "CRITICAL"},
        "celery.beat": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},
        "pgmq": {"level": "WARNING"},
        "presidio-analyzer": {"level": "WARNING"},
    },
}
