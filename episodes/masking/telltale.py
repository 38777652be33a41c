"""What an argument's name says of its value: no pattern finds `hunter_2`, a date of birth or ten bare
digits. Names come as `phone_number`, `phoneNumber`, `PHONE-NO`, `phone2`, `customerphone`, `teléfono`.

What is said at the end of a name is said of the value: `phone_model` and `email_template_id` hold no
telephone number and no address. Names in other scripts than Latin say nothing here.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from episodes.masking.view import folded

_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")

_PEOPLE = (
    r"(?:user|customer|client|contact|person|guest|passenger|patient|member|employee|recipient"
    r"|sender|receiver|payer|payee|holder|owner|beneficiary|travell?er|driver|student|caller|buyer"
    r"|seller|subscriber|spouse|partner|child|parent|tenant|applicant|candidate|signer|insured"
    r"|billing|shipping|legal|real|home|work|cell|mobile|smart)"
)
_NUMBER = r"(?: ?(?:numbers?|no|num|nr|nbr|nos))"
_PHONE = (
    r"(?:tele?)?phones?|tele?fono?|tel|mobiles?|mobil|movil|cell|cellular|celular|fax|telefax|sms"
    r"|whatsapp|msisdn|handy|landline|caller ?id|(?:tele?fon|handy|mobil|ruf)nummer|contact(?= n)|callback(?= n)"
)
_ID = (
    r"ssn|[ei]?tin|itin|ein|nino?|nhs|nss|dni|nie|nif|curp|cpf|cnpj|pesel|bsn|aadhaa?r|personnummer"
    r"|idnr|steuer(?:id|nummer| id)|reisepass|(?:personal)?ausweis|codice fiscale|passport(?: id)?"
    r"|(?:national|tax ?payer|tax|vat|identity) ?id|tax file|national insurance|medicare|medicaid"
    r"|social ?(?:security|insurance)|(?:id|identity) ?(?:card|document)|driv\w* ?licen[cs]e"
    r"|licen[cs]e ?plate|number ?plate|bank ?account|sort ?code"
    r"|(?:passport|vat|identity|licen[cs]e|pan|account|acct|routing)(?= ?n)"
)
_CONFIDENTIAL = (
    r"pass(?:word|wd|phrase|code)s?|pwd|secret|token|credentials?|auth|authorization|cookie|pin|otp"
    r"|cvv|cvc|(?:api|access|private) ?key|security code"
)


@dataclass(frozen=True, slots=True)
class Said:
    """The value is of this kind if it has so many digits: `mobile: 1` is no telephone number."""

    kind: str
    least_digits: int = 0


_NOUNS = (
    (Said("secret"), rf"(?:{_CONFIDENTIAL})(?: ?(?:code|number|value))?"),
    (
        Said("email"),
        r"e ?mails?(?: ?add?r(?:ess(?:es)?)?)?|mail ?address|correo(?: electronico)?",
    ),
    (Said("card", 6), rf"(?:cc|cards?){_NUMBER}|ccn"),
    (Said("card", 12), r"(?:credit|debit|bank|payment) ?card"),
    (Said("iban", 4), rf"ibans?{_NUMBER}?"),
    (Said("id", 4), rf"(?:{_ID}){_NUMBER}?"),
    (Said("phone", 6), rf"(?:{_PHONE}){_NUMBER}?"),
)
# What follows the noun and takes nothing back: phone_number_home, card_no_raw.
_END = r"(?: (?:home|work|office|private|main|primary|other|new|old|raw|value|text))*"
_VALUE = re.compile(rf"(?:.* )?{_PEOPLE}?(?:{'|'.join(f'({noun})' for _, noun in _NOUNS)}){_END}")

_HOLDS_SECRET = re.compile(rf"(?:.* )?(?:{_CONFIDENTIAL})(?: .*)?")
_HOLDS_PERSONAL = re.compile(
    r"(?:.* )?(?:ssn|dob|bday|\w*birth\w*|geburt\w*|nacimiento|naissance"
    rf"|(?:{_PEOPLE}|first|last|full|middle|given|family|maiden|display|nick|sur|fore) ?names?"
    r"|nombre|apellidos?|vorname|nachname|prenom|card ?holder|account ?holder)(?: .*)?"
    rf"|(?:.* )?{_PEOPLE}?(?:address(?:es)?|direccion|adresse|anschrift|domicilio|street|stra(?:ss|)e|calle|rue"
    r"|zip|plz|(?:zip|postal|post) ?code|house(?= ?n)|apartment|apt)"
    r"(?: ?(?:lines?|name|number|no|full|one|two|home|work|billing|shipping))*"
)
_MACHINES_ADDRESS = re.compile(
    r"(?:.* )?(?:ip|ipv|mac|memory|wallet|contract|server|host|network|base|device|bluetooth|register"
    r"|virtual|byte|node|peer|bind|socket|crypto|btc|eth|bitcoin|web|e ?mail|mail) ?address(?:es)?"
)
_NAME_ALONE = re.compile("names?")


@lru_cache(maxsize=4096)
def said_of_value(name: str) -> Said | None:
    """What the value is as a whole, for the masker."""
    for spelling in _spellings(name):
        if found := _VALUE.fullmatch(spelling):
            return _NOUNS[(found.lastindex or 1) - 1][0]
    return None


@lru_cache(maxsize=4096)
def holds_secret(name: str) -> bool:
    return any(_HOLDS_SECRET.fullmatch(spelling) for spelling in _spellings(name))


@lru_cache(maxsize=4096)
def holds_personal(name: str, *, name_alone: bool = False) -> bool:
    """A person's name, day of birth or postal address, which no placeholder of the masker is for.
    `name_alone`: also what is called `name` and nothing else."""
    return any(
        (
            _HOLDS_PERSONAL.fullmatch(spelling) is not None
            and _MACHINES_ADDRESS.fullmatch(spelling) is None
        )
        or (name_alone and _NAME_ALONE.fullmatch(spelling) is not None)
        for spelling in _spellings(name)
    )


def words_of(name: str) -> str:
    """`phone number` for phoneNumber2. Digits say nothing, and would part a word from its number."""
    if not name.isascii():
        apart = unicodedata.normalize("NFKD", folded(name))
        name = "".join(sign for sign in apart if not unicodedata.combining(sign))
    return " ".join(_PART.findall(name)).lower()


@lru_cache(maxsize=4096)
def _spellings(name: str) -> tuple[str, str]:
    words = words_of(name)
    return words, words.replace(" ", "")  # p_h_o_n_e
