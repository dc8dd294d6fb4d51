//! Paraphrases of claims.

/// Words that can replace each other in these passages.
const SYNONYMS: &[(&str, &str)] = &[
    (" increased ", " rose "),
    (" reduced ", " cut "),
    (" lowered ", " decreased "),
    (" lower ", " smaller "),
    (" higher ", " greater "),
    (" improved ", " became better "),
    (" observed", " seen"),
    (" raised ", " increased "),
    (" kept ", " retained "),
    (" patients", " people"),
    (" annually", " each year"),
    (" twice ", " two times "),
    (" daily ", " a day "),
    ("did not ", "failed to "),
    (" more than ", " over "),
    (" produced ", " made "),
    (" linked to ", " associated with "),
];

/// Phrases of attribution.
const ATTRIBUTIONS: &[&str] = &[
    "According to the authors, ",
    "The study found that ",
    "It was reported that ",
    "In this work, ",
    "The results indicate that ",
];

/// The claim and its paraphrases.
pub(crate) fn paraphrases(claim: &str) -> Vec<String> {
    let mut all = vec![claim.to_owned()];
    let opening = ATTRIBUTIONS.get(claim.len() % ATTRIBUTIONS.len()).copied();
    all.push(format!(
        "{}{}",
        opening.unwrap_or_default(),
        lower_first(claim)
    ));
    all.extend(move_leading_phrase(claim));
    let mut other = claim.to_owned();
    for (word, instead) in SYNONYMS {
        other = other.replacen(word, instead, 1);
    }
    let other = other.replace('%', " percent");
    if other != claim {
        all.push(other);
    }
    all
}

/// Lowers the first letter, unless the word is a name that is never written in lower case.
pub(crate) fn lower_first(claim: &str) -> String {
    let first = claim.split(' ').next().unwrap_or_default();
    let written = include_str!("passages.txt");
    let common = format!(" {} ", first.to_lowercase());
    if written.contains(&common) {
        let mut letters = claim.chars();
        let head = letters.next().map(|it| it.to_lowercase().to_string());
        return head.unwrap_or_default() + letters.as_str();
    }
    claim.to_owned()
}

/// Turns `At age 5, it was so.` into `It was so at age 5.`
fn move_leading_phrase(claim: &str) -> Option<String> {
    let (head, rest) = claim.split_once(", ")?;
    let fits = [
        "At ", "In ", "Over ", "After ", "Between ", "With ", "On ", "Above ",
    ];
    if !fits.iter().any(|it| head.starts_with(it)) || rest.contains(',') {
        return None;
    }
    let rest = rest.strip_suffix('.')?;
    let mut letters = rest.chars();
    let first = letters.next()?.to_uppercase().to_string();
    Some(format!(
        "{first}{} {}.",
        letters.as_str(),
        lower_first(head)
    ))
}
