"""The web process. It never starts a database server; whoever starts it hands it DATABASE_URL."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal

from django.core.wsgi import get_wsgi_application

from memoryadmin.lib import env
from memoryadmin.lib.processes import die_with_parent

# A worker of Granian is a fork: until it has handlers of its own it has its parent's, which only notes
# a SIGTERM. And the parent is asked for by name: one that has died before this line is no parent any
# more, and its orphan would keep the port.
signal.signal(signal.SIGTERM, signal.SIG_DFL)
_main = multiprocessing.parent_process()
die_with_parent(_main.pid if _main else None)
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryadmin.settings")
env.required("DATABASE_URL", why="the web process starts no database; `manage.py up` does")

application = get_wsgi_application()

# Otherwise the first search of each process waits for them: a second for the recognisers, a third
# of one for the model. Imported here, because they need the settings.
from episodes.query import load_models  # noqa: E402

load_models()

# What is loaded now stays. A full round of the collector over it takes a tenth of a second, in the
# middle of somebody's request; what requests leave behind, mostly compiled templates, is gone over
# far more seldom than by default (700, 10, 10).
gc.collect()
gc.freeze()
gc.set_threshold(10_000, 20, 50)
