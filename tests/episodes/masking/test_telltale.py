from __future__ import annotations

import pytest

from episodes.masking.telltale import holds_personal, holds_secret, said_of_value

PHONES = """phone phones phone_number phoneNumber phone_no PHONE-NO phone2 phone_1 phonenumber customerphone
home_phone phoneHome telephone tel telefon teléfono ｐｈｏｎｅ mobile mobile_no mobilePhone cell cell_phone
fax fax_number whatsapp_number contact_number callerId handynummer p_h_o_n_e customer.phone"""
IDS = """ssn tax_id taxId taxpayer-id passport passport_number passportNo national_id drivers_license
driving_licence_number social_security_number socialSecurityNumber nhs_number nif DNI vat_number
account_number accountNo bank_account routing_number sort_code license_plate"""
CARDS = "card_number cardNumber card_no cc_number credit_card creditCardNumber"
EMAILS = "email emails e-mail email_address userEmail mail_address correo"
SECRETS = "password userPassword pwd PIN pin_code otp card_cvv api_key apiKey access_token secret"
PERSONAL = """name names dob date_of_birth dateOfBirth dateofbirth birthday birth_year geburtsdatum
fecha_nacimiento first_name firstName LASTNAME full_name surname username nickname customer_name
customerName passenger_name cardholder cardholder_name account_holder nombre nachname
address address1 address_line_2 homeAddress billing_address street street_name zip zip_code postcode
postal_code house_number apartment dirección"""
NOTHING = """item_id order_id user_id account_id card_id card_last4 payment_method_id device_id line_id
product_name tool_name file_name plan_name hotel_name company_name app_name agent_name new_name
phone_model phone_type mobile_plan_id email_template_id tokens_used pinned opinion author number
invoice_number tracking_number flight_number permission cancel excellent hotel telemetry fixture
ip_address mac_address memory_address address_id zip_file street_view household city country state"""


def of_kind(kind: str, names: str) -> list[tuple[str, str]]:
    return [(name, kind) for name in names.split()]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *of_kind("phone", PHONES),
        *of_kind("id", IDS),
        *of_kind("card", CARDS),
        *of_kind("iban", "iban IBAN_number customerIban"),
        *of_kind("email", EMAILS),
        *of_kind("secret", SECRETS),
    ],
)
def test_a_name_says_what_the_masker_puts_in_place(name: str, kind: str) -> None:
    said = said_of_value(name)
    assert said is not None
    assert said.kind == kind
    assert holds_secret(name) == (kind == "secret")


@pytest.mark.parametrize("name", PERSONAL.split())
def test_a_name_says_that_a_person_is_named(name: str) -> None:
    assert holds_personal(name, name_alone=True)
    assert said_of_value(name) is None


@pytest.mark.parametrize("name", NOTHING.split())
def test_a_name_says_nothing(name: str) -> None:
    assert (said_of_value(name), holds_secret(name)) == (None, False)
    assert not holds_personal(name, name_alone=True)


def test_a_name_alone_may_be_of_anything() -> None:
    assert (holds_personal("name"), holds_personal("name", name_alone=True)) == (False, True)
    assert holds_personal("customer_name")
