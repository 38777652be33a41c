"""What PostgreSQL itself refuses of accounts."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from episodes.models import DepartedName, Identity, RecoveryCode, SecondFactor
from tests.curation.cast import make_user

pytestmark = pytest.mark.django_db


def test_somebody_at_the_provider_has_one_account() -> None:
    ada, eve = make_user("ada"), make_user("eve")
    Identity.objects.create(user=ada, issuer="https://id.example", subject="1")

    with pytest.raises(IntegrityError, match="identity_one_account"), transaction.atomic():
        Identity.objects.create(user=eve, issuer="https://id.example", subject="1")
    with pytest.raises(IntegrityError, match="identity_one_per_issuer"), transaction.atomic():
        Identity.objects.create(user=ada, issuer="https://id.example", subject="2")
    Identity.objects.create(user=eve, issuer="https://another.example", subject="1")


def test_an_account_has_one_second_factor_and_no_code_twice() -> None:
    ada = make_user("ada")
    SecondFactor.objects.create(user=ada, secret="sealed")
    RecoveryCode.objects.create(user=ada, code_hash="1")

    with pytest.raises(IntegrityError), transaction.atomic():
        SecondFactor(user=ada, secret="another").save(force_insert=True)
    with pytest.raises(IntegrityError, match="recoverycode_one_each"), transaction.atomic():
        RecoveryCode.objects.create(user=ada, code_hash="1")


def test_a_name_is_left_once() -> None:
    DepartedName.objects.create(name="ben")

    with pytest.raises(IntegrityError), transaction.atomic():
        DepartedName.objects.create(name="ben")
