//! Splits names and sentences into comparable words.

/// Splits a text into words without their endings.
pub(crate) fn tokenize(text: &str) -> Vec<String> {
    split_words(text).iter().map(|word| stem(word)).collect()
}

/// Splits a text at non-alphanumeric characters and `camelCase`, in lower case.
pub(super) fn split_words(text: &str) -> Vec<String> {
    const MAX_TOKENS: usize = 2_000;
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    let mut end = |word: &mut String| {
        if !word.is_empty() {
            words.push(std::mem::take(word));
        }
        words.len() < MAX_TOKENS
    };
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let next_is_lower = chars.peek().is_some_and(|next| next.is_lowercase());
        let begins = c.is_uppercase()
            && (before.is_lowercase()
                || before.is_numeric()
                || (before.is_uppercase() && next_is_lower));
        if (begins || !c.is_alphanumeric()) && !end(&mut word) {
            break;
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    end(&mut word);
    words
}

/// Removes endings that do not change the meaning of a word.
pub(super) fn stem(word: &str) -> String {
    let long = |stem: &str| stem.chars().count() >= 3;
    for (ending, instead) in [
        ("ies", "y"),
        ("sses", "ss"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("xes", "x"),
        ("ing", ""),
        ("ed", ""),
        ("s", ""),
    ] {
        let Some(stem) = word.strip_suffix(ending).filter(|stem| long(stem)) else {
            continue;
        };
        if ending == "s" && (stem.ends_with('s') || stem.ends_with('u') || stem.ends_with('i')) {
            break;
        }
        return trim_stem(&format!("{stem}{instead}"));
    }
    trim_stem(word)
}

/// Reduces `create`, `creating` and `created` to `creat`, and `running` to `run`.
fn trim_stem(word: &str) -> String {
    let count = word.chars().count();
    if let Some(stem) = word.strip_suffix('e').filter(|_| count > 3) {
        return stem.to_owned();
    }
    let mut last = word.chars().rev();
    match (last.next(), last.next()) {
        (Some(one), Some(two))
            if count > 3 && one == two && !matches!(one, 's' | 'l' | 'z' | 'e' | 'o') =>
        {
            word.chars().take(count - 1).collect()
        }
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_into_words() {
        let all = tokenize("readHTTPFile2 list_all-items");
        assert_eq!(all, ["read", "http", "file2", "list", "all", "item"]);
        assert_eq!(tokenize("Größe, Ärger!"), ["größ", "ärger"]);
        assert!(tokenize("--- \u{200b}").is_empty());
    }

    #[test]
    fn endings_do_not_count() {
        for group in [
            ["create", "creates", "created", "creating"],
            ["file", "files", "filed", "filing"],
            ["search", "searches", "searched", "searching"],
            ["query", "queries", "query", "queries"],
            ["run", "runs", "running", "run"],
            ["issue", "issues", "issue", "issued"],
        ] {
            let all: std::collections::BTreeSet<_> =
                group.iter().flat_map(|word| tokenize(word)).collect();
            assert_eq!(all.len(), 1, "{all:?}");
        }
        assert_ne!(tokenize("status"), tokenize("state"));
        assert_eq!(
            tokenize("is as class access"),
            ["is", "as", "class", "access"]
        );
    }
}
