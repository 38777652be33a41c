from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from memoryadmin.lib import clock
from memoryadmin.lib.constraints import one_of


class Part(models.TextChoices):
    """What of the program shows that it lives.

    "pipeline" is a message that beat sent, the queue carried and a worker ran.
    """

    WORKER = "worker"
    BEAT = "beat"
    PIPELINE = "pipeline"


class FailedTask(models.Model):
    """A background task that ended for good: it raised, ran out of time, or killed its workers.

    Holds no text a subject could have written: of the error its class and place, of the arguments
    only numbers and ids.
    """

    task = models.CharField(max_length=200)
    task_id = models.CharField(max_length=64)
    arguments = models.JSONField(default=dict)
    error = models.CharField(max_length=200)  # dotted class name
    place = models.TextField(blank=True, default="")  # one "module:function:line" a line
    at = models.DateTimeField(default=clock.now, db_default=Now())

    class Meta:
        indexes = [
            # The page of failures and the readiness figure: newest first.
            models.Index(fields=["-at"], name="failedtask_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.task} {self.error}"


class Heartbeat(models.Model):
    """When a part of the program last showed that it lives: one row each, overwritten."""

    part = models.CharField(max_length=16, choices=Part.choices)
    node = models.CharField(max_length=200)  # host name; several machines may run workers
    pid = models.IntegerField()
    at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["part", "node"], name="episodes_heartbeat_once_a_node"),
            one_of("part", Part, "episodes_heartbeat_part"),
        ]

    def __str__(self) -> str:
        return f"{self.part} on {self.node}"
