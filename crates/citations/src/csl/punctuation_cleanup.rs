//! Cleans up the processor's output: doubled punctuation, the comma before an unknown month,
//! capitals on names that begin with a small letter. The contents of the record are never changed.

use deliberate_core::Article;

/// Punctuation that meets where an element between was empty, and its replacement.
const PUNCTUATION_GAPS: [(&str, &str); 13] = [
    (", Released.", "."),
    (", )", ")"),
    (",)", ")"),
    (", ,", ","),
    (",,", ","),
    (",.", "."),
    (";.", "."),
    (":.", ":"),
    (". .", "."),
    ("..", "."),
    (" .", "."),
    (" ;", ";"),
    // The date of retrieval is unknown.
    (". Retrieved http", ". http"),
];

/// Cleans up the citation of this work.
pub(crate) fn clean_punctuation(text: &str, article: &Article) -> String {
    close_gaps(&restore_name_case(text, article), article)
}

fn close_gaps(text: &str, article: &Article) -> String {
    let own = own_texts(article);
    let is_own = |gap: &str| own.iter().any(|it| it.contains(gap));
    let gaps = PUNCTUATION_GAPS.iter().filter(|it| !is_own(it.0));
    gaps.fold(text.to_owned(), |text, (gap, whole)| {
        text.replace(gap, whole)
    })
}

fn own_texts(article: &Article) -> Vec<&str> {
    let optional = [
        &article.venue,
        &article.publisher,
        &article.volume,
        &article.issue,
        &article.pages,
        &article.url,
    ];
    let doi = article.doi.iter().map(deliberate_core::Doi::as_str);
    let names = article.authors.iter().map(|it| it.family.as_str());
    let mut own: Vec<&str> = optional.into_iter().flatten().map(String::as_str).collect();
    own.push(&article.title);
    own.extend(doi);
    own.extend(names);
    own
}

/// Keeps `arXiv`, `eLife` and `bioRxiv` lower-case at the start of a sentence, and removes a second
/// "arXiv" where a style prints the archive before the number.
fn restore_name_case(text: &str, article: &Article) -> String {
    let arxiv = article.arxiv_id.as_ref().map(|_| "arXiv");
    let named = [
        arxiv,
        article.venue.as_deref(),
        article.publisher.as_deref(),
    ];
    let mut text = text.to_owned();
    for name in named.into_iter().flatten() {
        let mut letters = name.chars();
        let first = letters.next().filter(|it| it.is_lowercase());
        let Some(first) = first else { continue };
        let large: String = first.to_uppercase().chain(letters).collect();
        // The capitalized form may also be a word of the title.
        if name.chars().any(char::is_uppercase) && !article.title.contains(&large) {
            text = text.replace(&large, name);
        }
    }
    if arxiv.is_some() {
        text = text.replace("arXiv: arXiv:", "arXiv:");
    }
    text
}
