"""Words around names, in the languages that requests come in most."""

from __future__ import annotations

from curation.anonymise.word_lists import words

TITLES = words(
    """
    mr mrs ms miss mx dr prof professor sir madam madame mme mlle monsieur herr frau fräulein
    señor señora señorita sr sra srta don doña signor signora signorina sig dott dottore
    meneer mevrouw dhr mevr pan pani senhor senhora hr fru ing capt captain sgt lt col rev
    reverend father sister judge justice sheikh hon lady lord dame doctor
    """
)

# What stands directly before a name when somebody is introduced, greeted or named in a form.
INTRODUCTIONS = (
    r"(?:my|his|her|their|the|full|first|last|given|family|sur|customer|contact|patient|passenger"
    r"|account ?holder'?s?|cardholder'?s?|card ?holder'?s?) ?names?(?: on (?:it|(?:the|my) card))?"
    r"(?: (?:is|was|to|as|are)|'s|’s)?|name(?:d|'s|’s)?(?: (?:is|him|her|it))?"
    r"|mein name ist|ich hei(?:ß|ss)e|je m'appelle|me llamo|mi nombre es|mi chiamo|il mio nome è"
    r"|meu nome é|ik heet|mijn naam is|nazywam się|jag heter|jeg hedder"
    r"|i am|i['’]m|this is|call(?:ed)? (?:me|him|her)|it['’]s me|yours truly"
    r"|dear|hello|hi|hey|hallo|hola|bonjour|caro|cara|liebe|lieber|estimad[oa]|querid[oa]|attn|attention"
    r"|(?:best |kind |warm )?regards|sincerely|yours|cheers|best wishes|signed(?: by)?|greetings"
    r"|mit freundlichen grüßen|un saludo|saludos|cordialement"
    r"|cardholder|account holder|holder|customer|client|patient|passenger|traveller|traveler|guest"
    r"|contact|recipient|beneficiary|payee|employee|member|user|colleague|agent|manager|assignee"
    r"|on behalf of|speak (?:to|with)|talk(?:ed)? (?:to|with)|spoke (?:to|with)|ask(?:ed)? for|c/o"
    r"|(?:my|his|her|their) (?:wife|husband|son|daughter|mother|father|mom|mum|dad|brother|sister"
    r"|friend|boss|partner|colleague|uncle|aunt|cousin|girlfriend|boyfriend|fiancée?|child|kid)"
)
AFTER_A_NAME = words(
    """
    said says asked asks wrote writes told tells called calls replied replies lives lived
    named wants wanted needs moved married died born ordered bought paid complained reported
    requested confirmed explained thinks thought works worked
    """
)

PARTICLES = words(
    """
    van von der den de del della di da dos das do du la le bin ibn bint al el ben ter ten zu
    zur af av y e
    """
)

# What stands before a place and seldom before a person.
BEFORE_A_PLACE = words(
    """
    in at near around into across within through outside inside visit visiting en bei nach
    """
)
PLACE_HEADS = words(
    """
    san santa sao saint st los las new port fort mount lake north south
    """
)
# A run of capitals with one of these in it is a firm, an office, a work or a street.
FIRMS = words(
    """
    inc ltd llc llp plc corp corporation company co gmbh ag sa spa srl bv nv oy ab group
    holdings technologies technology systems solutions services partners associates bank
    insurance airlines university college school institute hospital clinic church ministry
    department agency foundation studio studios records media network labs software capital
    ventures investments industries international hotel restaurant street road avenue lane
    drive square park bridge airport station city county state river lake island mountain
    valley force office team club league award festival magazine times post journal news
    weekly
    """
)
CALENDAR = words(
    """
    monday tuesday wednesday thursday friday saturday sunday january february march april may
    june july august september october november december christmas easter
    """
)
