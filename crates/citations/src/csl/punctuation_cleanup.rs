//! What the citation processor leaves behind, put right: doubled punctuation, the comma in front
//! of a month that is not known, names that start small and were given a capital. What the
//! record itself says is never touched.

use deliberate_core::Article;

/// Punctuation that meets where something between was empty, and what it comes to.
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
    // The day on which it was retrieved is not known.
    (". Retrieved http", ". http"),
];

/// The text of a citation of this work, tidied.
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

/// `arXiv`, `eLife`, `bioRxiv` stay small where a style starts a sentence with them; and arXiv is
/// not named twice by styles that print the archive in front of the number.
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
        // A word of one's own choice may be a word of the title as well.
        if name.chars().any(char::is_uppercase) && !article.title.contains(&large) {
            text = text.replace(&large, name);
        }
    }
    if arxiv.is_some() {
        text = text.replace("arXiv: arXiv:", "arXiv:");
    }
    text
}
