"""Why the anonymiser took something out, in words, for the side-by-side comparison."""

from __future__ import annotations

RULES = {
    "secret": "A key, a token or a password.",
    "email": "An e-mail address.",
    "card": "A payment card number; its checksum is right.",
    "card_called": "A number of a card's length after the word card.",
    "iban": "A bank account number.",
    "id": "A number of an identity, tax or insurance document.",
    "ip": "The address of a machine on the network.",
    "mac": "The address of a network card.",
    "phone": "A telephone number.",
    "wallet": "The address of a crypto wallet.",
    "url": "A link, which may lead to one person's page.",
    "domain": "The name of a site, which may be one person's.",
    "handle": "An account, written with an @.",
    "account_named": "What the words before it call an account or a user name.",
    "birth_date": "A date that is called a date of birth.",
    "address_line": "A street, a house, a flat or a post box with its number.",
    "address_called": "What the words before it call the place where somebody lives or is.",
    "address_code": "A postal code.",
    "known_value": "A value of this subject's own: an id, or something from its episodes.",
    "known_piece": "A part of one of this subject's own ids, in some spelling.",
    "name_title": "A name after a title such as Mr or Dr.",
    "name_introduced": "A name after words that introduce, greet or sign.",
    "name_listed": "A name that a list of given or family names holds.",
    "name_pair": "Capitalised words in a row that are in no dictionary, as names are.",
    "name_context": "A capitalised unfamiliar word that owns or does something.",
    "name_repeated": "A part of a name that was found elsewhere in this text.",
    "rare_token": "A word that too few other subjects use, and that is not ordinary language.",
}

# By kind: what stands in its place is short for this.
KINDS = {
    "secret": "Secret",
    "email": "E-mail address",
    "card": "Card number",
    "iban": "Bank account",
    "id": "Document number",
    "ip": "IP address",
    "mac": "Hardware address",
    "phone": "Telephone number",
    "wallet": "Crypto wallet",
    "url": "Link",
    "account": "Account",
    "birth_date": "Date of birth",
    "address": "Postal address",
    "known_value": "Subject's own value",
    "name": "Name",
    "rare_token": "Rare word",
}


def explain(rule: str) -> str:
    """Return one sentence that says why a rule took something out."""
    return RULES[rule]
