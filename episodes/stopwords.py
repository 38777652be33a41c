"""Words too common to find anything by: of English, and the commonest of German, Spanish, French
and Italian where they are no English word of their own; and the courtesies of a request."""

from __future__ import annotations

_WORDS = """
    a about above after again against all also am an and any are as at be because been before being
    below between both but by can cannot could did do does doing don down during each few for from
    further get got had has have having he her here hers him his how i if im in into is isn it its
    ive just like let ll me might more most must my need no nor not now of off on once only or other
    our ours out over own re same shall she should so some such than that the their theirs them then
    there these they this those through to too under until up upon us ve very want was wasn we were
    what when where which while who whom why will with without won would you your yours
    please thanks thank hi hello hey dear ok okay yes yeah kindly asap urgent important help
    der die das den dem des ein eine einen einem einer und oder ist sind war nicht ich du er sie es
    wir ihr mein meine mich mir mit von zu zum zur auf für im aus bei auch wie bitte danke hallo
    el la los las un una unos unas y o que de del en por para con no se su mi me es son fue lo al
    le les une et ou je tu il elle nous vous mon ma mes ne pas dans sur pour avec qui au aux ce cette
    est sont bonjour merci hola gracias favor
    il lo gli uno di da non ho sono mio per che ciao grazie
"""
STOP_WORDS = frozenset(_WORDS.split())
