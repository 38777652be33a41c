"""The patterns of the screen, on text in lower case, without accents, one space between words.
Every gap is bounded, so that a pattern costs the same wherever it starts."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    reason: str
    needs: tuple[str, ...]  # one of these must occur, else the pattern is not even tried
    pattern: re.Pattern[str]


def _rule(reason: str, needs: str, *parts: str) -> Rule:
    return Rule(reason, tuple(needs.split("|")), re.compile("|".join(parts), re.MULTILINE))


_ORDERS = (
    r"(?:instructions?|prompts?|rules|guidelines|directives?|directions|commands|polic(?:y|ies)"
    r"|constraints|restrictions|safeguards|training|programming|guardrails)"
)
_MODEL = r"(?:ai|a\.i\.|llms?|gpt[-\w.]{0,12}|chatgpt|claude|gemini|copilot|language models?)"
_AGENT = rf"(?:{_MODEL}|assistants?|agents?|bots?|models?)"
_VALUABLES = (
    r"(?:passwords?|passphrases?|credentials?|secrets?|api[ _-]?keys?|access[ _-]?tokens?"
    r"|private keys?|ssh keys?|env(?:ironment)? variables?|system prompt|cookies|security codes?"
    r"|card numbers?|(?:chat|conversation) history|all (?:of )?(?:the |your |my )?(?:\w{2,20}'?s? )?"
    r"(?:messages|e-?mails|files|contacts|data|conversations|documents))"
)
_FILE_OF_VALUABLES = (
    r"(?:\.env\b|/etc/(?:passwd|shadow)|\.ssh\b|id_rsa|\.aws\b|\.secret\w{0,20}|\.netrc|\.npmrc|\.pypirc"
    r"|\.git-credentials|\.kube\b|/proc/self/environ|\bsecrets?\.(?:ya?ml|json|toml|txt)"
    r"|\bcredentials(?:\.\w{2,5})?\b)"
)
_VARIABLE_OF_VALUABLES = (
    r"(?:os\.environ|process\.env|getenv"
    r"|\$\{?[a-z0-9_]{0,30}(?:secret|token|passw|api_?key|credential|private_key|access_key|database_url))"
)
# Installs, fetches, evaluates or runs a script; not a test, a linter or a project's own lock file.
COMMAND = (
    r"\b(?:(?:pip3?|npm|yarn|gem|cargo|apt(?:-get)?|brew)\s+(?:install|i|add)\s+(?!-)[\w@]"
    r"|curl\s|wget\s|python3?\s+-[cm]\s+(?![\"']?(?:pytest|unittest|tox|ruff|mypy|black))|node\s+-e"
    r"|(?:ba|z)?sh\s+(?:-c\b|\S{1,80}\.sh\b)|eval\s|source\s)|(?<![\w.])\./\S{1,80}\.sh\b"
)
CONDITION = (
    r"\b(?:before|prior to) (?:making|any|you|modif|chang|edit|touch|start|proceed|continu|submit|commit|fix|work|build)"
    r"|\b(?:required|mandatory|critical|skipping this)\b|\bmust (?:be|first|run|configure|install|execute)"
    r"|\bimportant:|\bplease also run\b|\bplease first\b"
)

RULES = (
    _rule(
        "override_instructions",
        "ignore|disregard|forget|overrid|overrul|bypass|neglect|discard|follow",
        r"\b(?:ignor(?:e|ing)|disregard|forget|override|overrule|bypass|neglect|discard"
        r"|(?:do not|don't|stop) follow(?:ing)?)\b[^.\n]{0,40}?"
        r"\b(?:all|any|every|previous|prior|above|earlier|preceding|existing|your|system|original"
        rf"|foregoing|former|other)\b[^.\n]{{0,40}}?\b{_ORDERS}\b",
        r"\b(?:ignore|disregard|override|bypass) (?:the|these|those) (?:\w{1,20} ){0,2}?"
        r"(?:instructions?|prompts?|guidelines|directives?|(?:policy|rules) above)\b",
        r"\b(?:forget|disregard|ignore) (?:everything|all|anything)\b[^.\n]{0,30}"
        r"\b(?:above|before|told|said|previous|prior|earlier|know)",
    ),
    _rule(
        "override_instructions",
        "ignor|vergiss|missachte|oubli|olvida|esquec|dimentica|忽略|无视|無視|忘记|игнорируй|забудь",
        r"\bignorier\w*\b[^.\n]{0,40}(?:anweisung|instruktion|regel|vorgabe)",
        r"\b(?:vergiss|missachte)\b[^.\n]{0,40}(?:anweisung|instruktion|regel|vorgabe)",
        r"\b(?:ignor[ae]\w*|olvid\w+|oubli\w+|esquec\w+|dimentic\w+)\b[^.\n]{0,40}"
        r"(?:instruc|instruz|consign|reglas|regles|regole|regras|istruzion)",
        r"(?:忽略|无视|無視|忘记)[^。\n]{0,20}(?:指令|指示|提示|规则|命令)",
        r"(?:指示|命令|プロンプト)[^。\n]{0,10}無視",
        r"(?:игнорируй|забудь)\w*[^.\n]{0,40}(?:инструкц|указан|правил)",
    ),
    _rule(
        "override_instructions",
        "new |updated |revised |real |instructions|adhere|you are now|from now on|developer mode"
        "|jailbr|your |anything now|unrestricted|the following first|solve the task|stop what",
        r"\b(?:new|updated|revised|real|actual) (?:system )?(?:instructions?|prompt|directives?) ?:",
        r"\b(?:adhere|stick) to the following\b",
        r"\bfollow (?:only (?:these|the following|my)|(?:these|my) (?:new|exact)|the following)"
        r" (?:instructions|commands|orders|steps)\b",
        r"\byou are now (?:an? |the |in |my |dan\b|free|operating|acting)",
        r"\bfrom now on,? (?:you|always|never|act|respond|answer|ignore|treat|use|call)\b",
        r"\b(?:developer|god|debug|sudo) mode\b[^.\n]{0,40}\b(?:enabled|activated|unlocked|on)\b",
        r"\byour (?:new|real|actual|only) (?:task|goal|objective|mission|job|role|purpose) (?:is|:)",
        r"\bjailbr(?:eak|oken)\b|\bdo anything now\b",
        r"\b(?:unrestricted|unfiltered|uncensored) (?:ai|assistant|model|mode|agent)\b",
        r"\bdo the following first\b|\bbefore you can solve the task\b|\bstop what you(?:'re| are) doing\b",
    ),
    _rule(
        "role_marker",
        "<|inst]|role|system|assistant|developer|precedent|episodic memory|end of",
        r"<\|\s?(?:im_start|im_end|im_sep|system|user|assistant|endoftext|begin_of_text|eot_id"
        r"|start_header_id|end_header_id|channel|message)\s?\|>",
        r"\[/?inst\]|<</?sys>>",
        r"</?(?:system|assistant|developer|instructions?|prompt|information|important|admin|memory"
        r"|episodic[_-]?memory|human|tool_?(?:call|result|response)s?|function_?(?:call|result)s?)"
        r"(?:\s[^>\n]{0,60})?>",
        r"^[\s>*#-]{0,8}(?:assistant|developer|system (?:prompt|message|instructions?|note|override))"
        r"[\s*]{0,3}:",
        r"^[\s>*#-]{0,8}system[\s*]{0,3}:[\s*]{0,3}(?:you\b|ignore|always|never|the (?:assistant|agent|user)|do\b)",
        r"[\"']role[\"']\s?:\s?[\"'](?:system|assistant|developer|tool)[\"']",
        r"\bprecedent ?\((?:success|partial|failure|escalated|abandoned|unknown)\b",
        r"\b(?:begin|end) (?:of )?(?:episodic memory|system prompt|user (?:input|message|prompt)|instructions)\b",
    ),
    _rule(
        "addressed_to_model",
        "ai|llm|gpt|claude|gemini|copilot|language model|assistant|agent|bot",
        rf"\bto you, {_AGENT}\b",
        rf"\b(?:note|attention|message|instructions?|reminder|warning|request)s?:? (?:to|for|,)"
        rf" ?(?:the |any |all |every |future )?(?:{_MODEL}|assistants?|agents?|bots?)\b",
        rf"\b(?:if|since|because) you(?:'re| are) (?:an? |the )?(?:{_MODEL}|large language|assistant|agent)\b",
        rf"\b{_AGENT},? (?:that |which |who )?(?:read|see|process|pars|handl|summari[sz])(?:s|es|ing)? this\b",
        rf"\b(?:{_MODEL}|assistants?|agents?) (?:must|shall|should|(?:is|are) required to|ha(?:s|ve) to|needs? to)"
        r" (?:always|never|immediately|now|first|ignore|call|run|execute|send|forward|approve|refund|transfer|remember)\b",
    ),
    _rule(
        "tool_directive",
        "curl|wget|python|sh -c|base64|crontab|hooks|rc|profile|authorized_keys|requirements",
        r"\b(?:curl|wget)\b[^\n]{0,200}\|\s{0,3}(?:sudo )?(?:ba|z)?sh\b",
        r"\bpython3? -c\b[^\n]{0,80}(?:\bos\b|subprocess|exec\(|eval\(|open\(|__import__|urllib|socket|requests\.)",
        r"\b(?:ba|z)?sh -c [\"']",
        r"\bbase64 (?:-d|--decode)\b[^\n]{0,80}\|",
        # What stays behind when the run is over.
        r"(?:>>?|\btee\b|\bcp\b)[^\n]{0,60}(?:\.(?:bash|zsh)rc|\.(?:bash_)?profile|\.git/hooks|authorized_keys"
        r"|/etc/cron|requirements\.txt)",
        r"\bcrontab -|\|\s?crontab\b",
    ),
    _rule(
        "tool_directive",
        "without |do not |don't |never ",
        r"\b(?:do not|don't|never|without) (?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?|notif(?:y|ying)"
        r"|alert(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)) (?:this |it |that |anything )?(?:to )?"
        r"(?:the |any |your )?(?:users?|customers?|humans?|operators?|anyone|owner)\b",
        r"\b(?:call|run|execute|invoke|approve|transfer|refund|send)\b[^.\n]{0,80}\bwithout"
        r" (?:any )?(?:asking|confirm\w*|approval|verif\w*|review\w*|authori[sz]ation|checking)\b",
    ),
    _rule(
        "memory_directive",
        "remember|memor|future|next time|always|never",
        r"\b(?:remember|memori[sz]e|keep in mind|note)\b[^.\n]{0,120}\b(?:from now on|always|never"
        r"|(?:all |any |every )?future (?:sessions?|conversations?|tasks?|runs?|interactions?|agents?|requests?|chats?))\b",
        r"\bin (?:all |any |every )?(?:the )?(?:future|subsequent|later) (?:sessions?|conversations?|tasks?|runs?"
        r"|interactions?|requests?|cases?|episodes?|chats?)\b[^.\n]{0,80}\b(?:always|never|must|should|call"
        r"|use|approve|refund|skip|ignore|send|recommend)\b",
        r"(?:^|[.:;!\"'(\]]\s{0,3}|\b(?:must|should|shall|to|then|please|and)\s)(?:always|never)\s"
        r"(?:refund|approve|grant|transfer|send|skip|trust|allow|accept|call|use|run|recommend|forward"
        r"|bcc|cc|ask|verify|check|require|include|respond|reply|follow|ignore|execute)\b",
        r"\b(?:when(?:ever)?|for (?:all|any|every)|if)\b[^.\n]{0,80}, ?(?:you (?:must|should) )?(?:always|never) \w",
        r"\b(?:update|overwrite|poison|append to|add to|write to|save (?:this |it )?(?:in|to)|store (?:this |it )?in)"
        r" (?:your|the (?:agent|assistant|model)'?s?) (?:long-term )?(?:memory|memories|instructions|system prompt|knowledge)\b",
        r"\b(?:when(?:ever)?|if) (?:a |the |any )?(?:users?|customers?) (?:asks?|mentions?|says?|requests?|wants?)\b"
        r"[^.\n]{0,80}\b(?:you (?:must|should|will)|always|never|instead)\b",
    ),
    _rule(
        "exfiltration",
        "cat |less |head |tail |type |cp |ls |base64|xxd|source |printenv|env|echo|print|curl|console"
        "|dump|log|find ",
        rf"\b(?:cat|less|more|head|tail|type|cp|ls|base64|xxd|source)\s[^\n]{{0,60}}{_FILE_OF_VALUABLES}",
        rf"\b(?:print|echo|puts|console\.log|curl|dump|send|log)\b[^\n]{{0,80}}{_VARIABLE_OF_VALUABLES}",
        r"\bprintenv\b|(?:^|[`\s;&|(])env(?:\s{0,2}(?:\||>)|`)|\bexport -p\b",
        r"\bfind\s[/~][^\n]{0,60}(?:\.pem|\.key|id_rsa|\.env)",
        r"\b(?:include|paste|attach|append|upload|submit|post)\b[^.\n]{0,60}(?:\benvironment (?:variables|state|dump)"
        r"|(?<!\w)\.env\b|\benv_dump)",
    ),
    _rule(
        "exfiltration",
        "send|post|mail|forward|upload|transmit|leak|exfiltrat|paste|publish|share|concatenate|reveal|print|repeat|output|show|![",
        rf"\b(?:send|post|e-?mail|forward|upload|transmit|leak|exfiltrate|publish|concatenate)\b[^.\n]{{0,40}}?"
        rf"\b{_VALUABLES}\b[^\n]{{0,80}}?(?:\bto\b[^\n]{{0,40}}?(?:https?:|www\.|@|<email>|website|webhook|server|url|endpoint|attacker))",
        r"\b(?:reveal|print|repeat|output|show|leak|tell me|give me)\b[^.\n]{0,40}\b(?:your |the )?"
        r"(?:system prompt|initial instructions|hidden instructions|instructions above)\b",
        r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{0,200}[?&][^)\s]{0,200}\)",
    ),
    _rule(
        "hidden_text",
        "<!--|style=",
        rf"<!--[\s\S]{{0,160}}?\b(?:instructions?|ignore|must|system|{_AGENT})\b",
        r"style\s?=\s?[\"'][^\"'>]{0,120}(?:display\s?:\s?none|visibility\s?:\s?hidden|font-size\s?:\s?0"
        r"|opacity\s?:\s?0)[^>]{0,120}>[^<]{12,}",
    ),
)
