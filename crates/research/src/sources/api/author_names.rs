//! Parses the author names of API responses.

use deliberate_core::Author;

use super::text_cleanup;

/// The words that the names of organizations end with.
const GROUP_NAME_ENDINGS: &[&str] = &[
    "collaboration",
    "consortium",
    "group",
    "network",
    "team",
    "initiative",
    "committee",
    "investigators",
    "society",
    "project",
    "association",
    "institute",
];

/// Parses `Given Family` or `Family, Given`; `None` if the text holds no name.
pub(crate) fn parse_author(name: &str) -> Option<Author> {
    let name = text_cleanup::clean_markup(name, text_cleanup::MAX_LINE_CHARS)?;
    let last = name.rsplit(' ').next().unwrap_or_default().to_lowercase();
    if GROUP_NAME_ENDINGS.contains(&last.as_str()) && !name.contains(',') {
        return Some(organization(name));
    }
    Some(Author::parse(&name)).filter(|it| !it.family.is_empty())
}

/// Builds an author from the parts of the name.
pub(crate) fn author_from_parts(family: Option<String>, given: Option<String>) -> Option<Author> {
    match (family, given) {
        (Some(family), given) => Some(Author::person(family, given.unwrap_or_default())),
        // Some people have a single name, and sources put it in either field.
        (None, Some(given)) => Some(Author::person(given, "")),
        (None, None) => None,
    }
}

/// Builds an author that is an organization.
pub(crate) fn organization(name: String) -> Author {
    Author {
        family: name,
        organisation: true,
        ..Author::default()
    }
}

/// Parses an ORCID with or without the `https://orcid.org/` prefix.
pub(crate) fn orcid(text: &str) -> Option<String> {
    let bare = text.trim().rsplit('/').next()?.to_uppercase();
    let fine = bare.len() == 19
        && bare.split('-').count() == 4
        && bare.split('-').all(|it| it.len() == 4)
        && bare
            .bytes()
            .all(|it| it.is_ascii_digit() || it == b'-' || it == b'X');
    fine.then_some(bare)
}

/// Parses `Smith JA, van der Berg C`, the list form of medical indexes.
pub(crate) fn parse_author_list(names: &str) -> Vec<Author> {
    let names =
        text_cleanup::clean_markup(names, text_cleanup::MAX_ABSTRACT_CHARS).unwrap_or_default();
    let one = |name: &str| {
        let name = name.trim().trim_end_matches('.');
        let (family, initials) = name.rsplit_once(' ').unwrap_or((name, ""));
        let short = initials.chars().all(char::is_uppercase) && initials.len() <= 8;
        match (family.is_empty(), short) {
            (true, _) => None,
            (false, true) => Some(Author::person(family, initials)),
            (false, false) => parse_author(name),
        }
    };
    names
        .split(", ")
        .filter_map(one)
        .take(text_cleanup::MAX_AUTHORS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_no_people() {
        let it = parse_author("The ATLAS Collaboration").expect("there is a name");
        assert!(it.organisation && it.family == "The ATLAS Collaboration");
        assert_eq!(
            parse_author("Group, Peter").map(|it| it.organisation),
            Some(false)
        );
        assert_eq!(parse_author(" \u{200b}"), None);
    }

    #[test]
    fn orcids_are_bare() {
        let bare = Some("0000-0002-1825-009X".to_owned());
        assert_eq!(orcid("http://orcid.org/0000-0002-1825-009x"), bare);
        assert_eq!(orcid("0000-0002-1825"), None);
    }

    #[test]
    fn lists_of_names_are_taken_apart() {
        let all = parse_author_list("van der Berg CA, Smith J, WHO Study Group.");
        let names: Vec<String> = all.iter().map(Author::full_name).collect();
        assert_eq!(names, ["CA van der Berg", "J Smith", "WHO Study Group"]);
        assert!(parse_author_list("").is_empty());
    }
}
