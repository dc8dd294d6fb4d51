//! Finds the words of a title that keep their capitals when a BibTeX style lower-cases the rest.

/// Splits a title into pieces and whether each is protected.
pub(super) fn split_title(title: &str) -> Vec<(String, bool)> {
    let words: Vec<&str> = title.split(' ').collect();
    let title_case = is_title_case(&words);
    let mut starts_sentence = true;
    let mut pieces = Vec::with_capacity(words.len());
    for word in words {
        let protected = has_inner_capital(word)
            || is_single_capital(word, starts_sentence)
            || (!title_case && !starts_sentence && starts_upper(word));
        pieces.push((word.to_owned(), protected));
        starts_sentence = word.ends_with([':', '.', '?', '!', '—', '–']);
    }
    pieces
}

/// Whether most of the longer words have a capital, so that capitals carry no information.
fn is_title_case(words: &[&str]) -> bool {
    let long: Vec<&&str> = words
        .iter()
        .skip(1)
        .filter(|it| it.chars().count() > 3)
        .collect();
    let upper = long.iter().filter(|it| starts_upper(it)).count();
    upper * 2 > long.len()
}

fn starts_upper(word: &str) -> bool {
    word.chars()
        .find(|it| it.is_alphabetic())
        .is_some_and(char::is_uppercase)
}

/// `BERT`, `iPhone`, `mRNA`, `H2O`; in `Pre-Training` the second part counts as a word of its own.
fn has_inner_capital(word: &str) -> bool {
    word.split(['-', '/', '‐', '–']).any(|part| {
        let letters: Vec<char> = part.chars().filter(|it| it.is_alphanumeric()).collect();
        letters.iter().skip(1).any(|it| it.is_uppercase())
    })
}

/// `C`, `X-ray`: a single capital that is a name. `A` at the start of a sentence is an article.
fn is_single_capital(word: &str, starts_sentence: bool) -> bool {
    let first = word.split(['-', '‐', '–']).next().unwrap_or_default();
    let mut letters = first.chars().filter(|it| it.is_alphanumeric());
    let is_one = letters.next().is_some_and(char::is_uppercase) && letters.next().is_none();
    is_one && !(matches!(first, "A" | "I") && (starts_sentence || first == word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protected(title: &str) -> Vec<String> {
        split_title(title)
            .into_iter()
            .filter(|it| it.1)
            .map(|it| it.0)
            .collect()
    }

    #[test]
    fn acronyms_and_names_are_protected() {
        assert_eq!(
            protected("BERT: Pre-training of deep bidirectional transformers"),
            ["BERT:"]
        );
        assert_eq!(protected("Attention Is All You Need"), Vec::<String>::new());
        assert_eq!(
            protected("The rise of Bayesian methods in Germany: A review"),
            ["Bayesian", "Germany:"]
        );
        assert_eq!(
            protected("X-ray studies of H2O with mRNA"),
            ["X-ray", "H2O", "mRNA"]
        );
        assert_eq!(
            protected("A Guide to C and R Programming Languages"),
            ["C", "R"]
        );
    }
}
