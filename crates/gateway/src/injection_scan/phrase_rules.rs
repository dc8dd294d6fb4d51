//! Detects sentences that address the model and do not describe the tool: to drop its rules, to
//! hide something from its user, to fetch secrets, to change what other tools do.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use super::{
    ScanSign,
    SignWeight::{self, Note, Strong, Weak},
    normalization::{join_spaced_letters, normalize},
};

/// A rule on the normalized form of a text: kind, weight and pattern.
type PhraseRule = (&'static str, SignWeight, &'static str);

/// Each rule is wide enough for the variations of a sentence, and narrow enough for real tool
/// descriptions. `(?: \S+){0,4}` allows words in between.
const RULES: &[PhraseRule] = &[
    // Dropping the model's rules.
    (
        "override",
        Strong,
        r"\b(?:ignore|disregard|forget|discard)\b(?: \S+){0,4} (?:previous|prior|above|earlier|preceding|former|original|your|system)\b(?: \S+){0,3} (?:instructions?|prompts?|rules|guidelines|directives|training|policies|constraints)\b",
    ),
    (
        "override",
        Strong,
        r"\b(?:ignore|disregard|forget) (?:all|any|every|the|everything)(?: other| of the| of your| these| you were told)? ?(?:instructions|prompts|guidelines|directives|before this)\b",
    ),
    (
        "override",
        Strong,
        r"\b(?:overrides?|supersedes?|bypass(?:es)?|takes? precedence over)\b(?: \S+){0,3} (?:previous|prior|earlier|other|safety|any|all|your)\b(?: \S+){0,2} (?:instructions?|guardrails|directives|guidelines)\b",
    ),
    (
        "override",
        Strong,
        r"\bnew (?:system )?instructions? ?:|\bsystem override\b|\bend of (?:system prompt|instructions)\b",
    ),
    (
        "override",
        Weak,
        r"\byou are now (?:a|an|in|the|acting|operating)\b|\bfrom now on\b|\bjailbr(?:eak|oken)|\b(?:developer|god|admin|maintenance) mode (?:enabled|activated)\b|\b(?:act|behave|respond) as if\b",
    ),
    (
        "override",
        Strong,
        r"ignore(?:all)?(?:previous|prior|your)instructions|donottelltheuser",
    ),
    // Hiding something from the user.
    (
        "secrecy",
        Strong,
        r"\b(?:do not|don't|dont|never|must not|mustn't|should not|shouldn't|avoid|refrain from)(?: \S+){0,3} (?:tell|telling|mention|mentioning|inform|informing|notify|notifying|alert|alerting)\b(?: \S+){0,6} (?:users?|human|operator|anyone|anybody|them)\b",
    ),
    (
        "secrecy",
        Strong,
        r"\bwithout (?:the )?(?:user|human|operator)(?:'s)? (?:knowing|knowledge|noticing|awareness|being told)\b|\b(?:secretly|covertly|surreptitiously)\b",
    ),
    (
        "secrecy",
        Strong,
        r"\b(?:user|human|operator)s? (?:must|should|may|can)(?: ?not|n't) (?:\S+ ){0,2}(?:know|notice|be told|be informed|be aware|be made aware|find out|learn)\b",
    ),
    (
        "secrecy",
        Strong,
        r"\b(?:keep|stays?|remains?|is|are|be)\b(?: \S+){0,3} (?:secret|hidden|confidential|invisible|concealed) (?:from|to) (?:the |your )?(?:user|human|operator|anyone)",
    ),
    (
        "secrecy",
        Strong,
        r"\bhide (?:this|it|these|the \S+|any \S+|all \S+)(?: \S+){0,3} from (?:the |your )?(?:user|human|operator)",
    ),
    (
        "secrecy",
        Weak,
        r"\bwithout (?:telling|informing|notifying|alerting|mentioning|asking)(?: \S+){0,4} (?:user|human|operator)\b",
    ),
    (
        "secrecy",
        Weak,
        r"\b(?:do not|don't|never|must not|should not)(?: \S+){0,3} (?:show|explain|reveal|disclose|display|output|print|acknowledge|say|discuss)\b(?: \S+){0,6} (?:user|human|anyone)\b|\b(?:do not|don't|never) (?:mention|reveal|disclose|discuss) (?:this|that|these|any of)\b",
    ),
    (
        "secrecy",
        Strong,
        r"\b(?:silently|quietly) (?:send|forward|copy|upload|attach|exfiltrate|transmit)\b",
    ),
    (
        "secrecy",
        Weak,
        r"\b(?:silently|quietly) (?:read|call|include|append|pass|add|collect|run|execute|fetch)\b|\b(?:internal|implementation) detail\b(?: \S+){0,6} (?:user|human)\b",
    ),
    // Impersonating an authority.
    (
        "pseudo-tag",
        Strong,
        r"< ?/? ?(?:important|critical|system|assistant|system[-_ ][a-z]+) ?/? ?>|</ ?(?:secret|hidden|admin|override) ?>",
    ),
    (
        "pseudo-tag",
        Strong,
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id|begin_of_text)|\[/?inst\]|<</?sys>>",
    ),
    (
        "pseudo-tag",
        Weak,
        r"</? ?(?:instructions?|hidden|secret) ?>|(?:#{2,}|={3,}|-{3,}) ?(?:system|assistant)(?: (?:prompt|message|note))? ?:",
    ),
    (
        "authority",
        Weak,
        r"\b(?:required|mandated|authori[sz]ed|approved|demanded) by (?:the )?(?:system|administrator|admin|security team|anthropic|openai|platform|compliance)\b|\bhighest (?:possible )?priority\b|\byou must (?:obey|comply)\b",
    ),
    // Demanding to be called first, always, or exclusively.
    (
        "order",
        Weak,
        r"\bbefore (?:you )?(?:(?:us|call|invok|runn?|execut|do)(?:e|ing)? )?(?:any|every|all|each)(?: of the)?(?: other| available)? ?(?:tools?|functions?)\b",
    ),
    (
        "order",
        Weak,
        r"\b(?:call|use|run|invoke) this (?:tool|function)?(?: \S+){0,6} (?:every|each) (?:single )?(?:response|message|conversation|turn|session|reply|prompt|request)\b",
    ),
    (
        "order",
        Strong,
        r"\b(?:all|any|every) other tools? (?:is|are|will be|must be|have been) (?:now )?(?:disabled|deprecated|unavailable|blocked|not allowed|forbidden|broken)\b",
    ),
    (
        "order",
        Weak,
        r"\b(?:do not|don't|never) (?:use|call|invoke|trust) (?:any |the )?other (?:tools?|servers?|functions?)\b|\binstead of (?:using |calling )?(?:any|all|the) other tools?\b",
    ),
    (
        "order",
        Weak,
        r"\b(?:when|whenever|if|after)\b(?: \S+){0,4} (?:another|any other|other|a different) (?:tool|server)s?\b(?: \S+){0,8} (?:must|always|instead|change|modify|add|include|append)\b",
    ),
    (
        "order",
        Note,
        r"\byou must (?:always )?(?:first )?(?:call|use|run|invoke) this (?:tool|function)\b",
    ),
    // Fetching and sending secrets. `find_secret_files` handles files.
    (
        "exfiltration",
        Weak,
        r"\b(?:send|post|upload|forward|transmit|e-?mail|report|submit)\b(?: \S+){0,8} (?:conversation|chat history|message history|chat log|system prompt|private keys?|ssh keys?|credentials|environment variables|api keys?|access tokens?|session tokens?|passwords)\b(?: \S+){0,6} (?:to|at|via)\b",
    ),
    (
        "exfiltration",
        Strong,
        r"\b(?:send|post|upload|forward|transmit|e-?mail|report|submit)\b(?: \S+){0,8} (?:conversation|history|system prompt|keys?|credentials|environment variables|tokens?|passwords?|secrets|contents?|files?)\b(?: \S+){0,6} (?:to|at|via) (?:\S+ ){0,3}(?:https?://\S*(?:attacker|evil|exfil|webhook\.site|ngrok|requestbin|pipedream|burpcollaborator|\d+\.\d+\.\d+\.\d+)|[^@ ]+@\S+\.[a-z]{2,}|attacker)",
    ),
    (
        "exfiltration",
        Strong,
        r"\b(?:include|pass|put|add|append|embed|insert|copy|provide|attach|supply|fill)\b(?: \S+){0,8} (?:system prompt|private keys?|ssh keys?|environment variables)\b(?: \S+){0,8} (?:in|into|as|to|within|inside|through|for) (?:the |this |its |a |an )?(?:\S+ )?(?:parameters?|arguments?|fields?|params?|sidenote|context|notes?|metadata|comment|value|call)\b",
    ),
    (
        "exfiltration",
        Weak,
        r"\b(?:include|pass|put|add|append|embed|insert|copy|provide|attach|supply|fill)\b(?: \S+){0,8} (?:api keys?|access tokens?|credentials|passwords?|conversation history|(?:entire|full|whole) (?:conversation|chat|context)|chat history|previous messages|conversation so far)\b(?: \S+){0,8} (?:in|into|as|to|within|inside|through) (?:the |this |its |a |an )?(?:\S+ )?(?:parameters?|arguments?|fields?|params?|sidenote|context|notes?|metadata|comment|value|call)\b",
    ),
    (
        "exfiltration",
        Weak,
        r"\bcontents? of\b(?: \S+){0,6} (?:as|in|into|to) (?:the |this |a )?(?:\S+ )?(?:sidenote|side note|feedback|notes?|hidden \S+)\b|\bexfiltrat",
    ),
    (
        "prompt",
        Strong,
        r"\b(?:reveal|print|repeat|dump|leak|share|output|recite|expose|include)\b(?: \S+){0,3} (?:your|the full|the entire|the hidden|the original|entire|full)(?: \S+)? (?:system prompt|instructions)\b",
    ),
    ("prompt", Note, r"\bsystem prompt\b"),
    // Changing what other tools do.
    (
        "redirect",
        Strong,
        r"\b(?:all|any|every)(?: \S+){0,2} (?:e-?mails?|messages?|payments?|transactions?|transfers?|files?)(?: \S+){0,2} (?:must|should|needs? to|have to|has to|are to|is to)(?: \S+){0,3} (?:sent|send|forwarded|bcc|bcc'd|cc|copied|routed|redirected|go|proxied|paid)\b(?: \S+){0,6} (?:[^@ ]+@\S+\.[a-z]{2,}|0x[0-9a-f]{6,})",
    ),
    (
        "redirect",
        Strong,
        r"\b(?:always|must|automatically)(?: \S+){0,4} (?:bcc|cc)\b(?: \S+){0,4} [^@ ]+@\S+\.[a-z]{2,}|\b(?:bcc|cc)\b(?: \S+){0,4} (?:attacker|[^@ ]+@\S+\.[a-z]{2,})(?: \S+){0,6} (?:every|each|all|always|any)\b",
    ),
    (
        "redirect",
        Strong,
        r"\b(?:change|replace|modify|swap|substitute|set)\b(?: \S+){0,4} (?:recipient|destination|payee|beneficiary|account number|wallet|iban)\b(?: \S+){0,4} (?:to|with|by) (?:\S+ ){0,2}(?:[^@ ]+@\S+|0x[0-9a-f]+|\S*\d{6,}|attacker)",
    ),
    (
        "redirect",
        Weak,
        r"\b(?:change|replace|swap|substitute) the (?:recipient|destination|payee|beneficiary|account number|wallet|iban)\b",
    ),
    (
        "consent",
        Strong,
        r"\b(?:skip|bypass|do not (?:wait for|require|request|ask for)|don't (?:wait for|ask for)|no need for|even if)(?: \S+){0,3} (?:user|human)(?:'s)? (?:confirmation|approval|consent|permission|declines|refuses|objects|says no)\b",
    ),
    (
        "consent",
        Weak,
        r"\bwithout (?:\S+ ){0,2}(?:confirmation|approval|consent|permission)\b",
    ),
    // Running commands.
    (
        "command",
        Strong,
        r"\b(?:curl|wget|iwr|invoke-webrequest)\b[^|]{0,200}\| ?(?:sudo )?(?:ba|z|da)?sh\b|\bpowershell(?:\.exe)? (?:\S+ ){0,4}-e(?:nc|ncodedcommand)?\b|/dev/tcp/",
    ),
    (
        "command",
        Weak,
        r"\brm -rf\b|\bnc -e\b|\bbase64 (?:-d|--decode)\b",
    ),
];

static RULE_SET: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new(RULES.iter().map(|(.., pattern)| pattern)).unwrap_or_else(|_| RegexSet::empty())
});
static RULE_REGEXES: LazyLock<Vec<Option<Regex>>> = LazyLock::new(|| {
    RULES
        .iter()
        .map(|(.., pattern)| Regex::new(pattern).ok())
        .collect()
});
static SECRET_FILES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\.ssh\b|\bid_(?:rsa|ed25519|ecdsa|dsa)\b|/etc/(?:passwd|shadow)\b|\.aws/credentials|\.netrc\b|\.git-credentials|\.kube/config|\.docker/config|\.gnupg\b|claude_desktop_config|\.cursor/mcp|\bmcp\.json|\.claude\.json|\bwallet\.dat\b|\bkeychain\b|\.(?:bash|zsh)_history|\.env\b").ok()
});
static TAKE_VERBS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(?:read|open|cat|get|send|include|pass|load|fetch|extract|attach|copy|contents?|access|upload|grab|collect|use)\b").ok()
});
static NEGATIONS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\bnot\b|n't\b|\bcannot\b|\bnever\b|block|\bden(?:y|ies|ied)|refus|protect|exclud|\bignor|forbid|prevent|redact|except|\bscan|detect").ok()
});
static TOOL_NAMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)+\b|\b[a-z]+(?:[A-Z][a-z0-9]+)+\b").ok()
});
static ORDER_WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:must|always|instead|never|before|whenever|when|should|after|do not|don't|rather than)\b").ok()
});

/// Returns the signs in a text.
pub(super) fn find_signs(text: &str) -> Vec<ScanSign> {
    let plain = normalize(text);
    let mut signs = Vec::new();
    apply_rules(&plain, &mut signs);
    if let Some(closed) = join_spaced_letters(&plain) {
        apply_rules(&closed, &mut signs);
    }
    signs.extend(find_secret_files(&plain));
    signs
}

fn apply_rules(plain: &str, signs: &mut Vec<ScanSign>) {
    for at in RULE_SET.matches(plain) {
        let (Some((kind, weight, _)), Some(Some(rule))) = (RULES.get(at), RULE_REGEXES.get(at))
        else {
            continue;
        };
        let found = rule.find(plain).map_or("", |it| it.as_str());
        signs.push(ScanSign::new(*weight, kind, found));
    }
}

/// Detects mentions of files with secrets, where a text asks to take them.
fn find_secret_files(plain: &str) -> Vec<ScanSign> {
    const CONTEXT_CHARS: usize = 70;
    let (Some(files), Some(takes), Some(denies)) = (&*SECRET_FILES, &*TAKE_VERBS, &*NEGATIONS)
    else {
        return Vec::new();
    };
    let found = files.find_iter(plain).take(4);
    let sign = |file: regex::Match<'_>| {
        let before: String = plain
            .get(..file.start())?
            .chars()
            .rev()
            .take(CONTEXT_CHARS)
            .collect();
        let before: String = before.chars().rev().collect();
        let weight = if !takes.is_match(&before) || denies.is_match(&before) {
            Note
        } else if matches!(file.as_str(), ".env" | "mcp.json" | "keychain") {
            Weak
        } else {
            Strong
        };
        Some(ScanSign::new(
            weight,
            "files",
            format!("{before}{}", file.as_str()),
        ))
    };
    found.filter_map(sign).collect()
}

/// Returns words that look like tool names in sentences that give orders.
pub(super) fn find_tool_mentions(text: &str) -> Vec<String> {
    const MAX_MENTIONS: usize = 40;
    let (Some(names), Some(orders)) = (&*TOOL_NAMES, &*ORDER_WORDS) else {
        return Vec::new();
    };
    let mut words: Vec<String> = text
        .split(['\n', ';', '!'])
        .flat_map(|line| line.split(". "))
        .filter(|sentence| orders.is_match(sentence))
        .flat_map(|sentence| names.find_iter(sentence))
        .map(|word| word.as_str().to_owned())
        .filter(|word| word.len() >= 6)
        .take(MAX_MENTIONS)
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_can_be_read() {
        assert_eq!(RULE_SET.len(), RULES.len());
        assert!(RULE_REGEXES.iter().all(Option::is_some));
        for one in [
            &SECRET_FILES,
            &TAKE_VERBS,
            &NEGATIONS,
            &TOOL_NAMES,
            &ORDER_WORDS,
        ] {
            assert!(one.is_some());
        }
    }
}
