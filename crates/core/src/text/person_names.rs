//! Splits a text into the names of people.

/// Splits a list of names. Separators are semicolons, line breaks, `&` and `and`; also commas,
/// where each part is a whole name or where initials follow each family name. Single words are
/// names of their own if there are at least `alone` of them; fewer are `Family, Given`.
pub fn split_person_names(text: &str, alone: usize) -> Vec<String> {
    let text = text.replace(" and ", ";").replace(['&', '\n'], ";");
    let names = text
        .split(';')
        .flat_map(|part| split_by_commas(part, alone));
    names.filter(|it| !it.is_empty()).collect()
}

fn split_by_commas(part: &str, alone: usize) -> Vec<String> {
    let parts: Vec<&str> = part
        .split(',')
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .collect();
    let mut pairs = parts.chunks(2);
    if parts.len() > 2 && pairs.all(|it| matches!(it, [_, given] if is_initials(given))) {
        return parts.chunks(2).map(|it| it.join(", ")).collect();
    }
    let words = |it: &str| it.split_whitespace().count();
    let each = |wanted: fn(usize) -> bool| {
        let mut parts = parts.iter();
        parts.all(|it| wanted(words(it)) && !is_initials(it))
    };
    let whole = parts.len() > 1 && each(|words| words > 1) && !is_family_first(&parts);
    let single = parts.len() >= alone && each(|words| words == 1);
    if whole || single {
        parts.into_iter().map(str::to_owned).collect()
    } else {
        vec![parts.join(", ")]
    }
}

/// Recognizes `J.`, `J. W.` and `JW`.
fn is_initials(text: &str) -> bool {
    text.split_whitespace().all(|word| {
        let letters = || word.chars().filter(|it| it.is_alphabetic());
        letters().count() <= 3 && letters().all(char::is_uppercase)
    })
}

/// Tells whether a name begins with a particle, as a family name does: `van der Meer, Jan Piet`.
fn is_family_first(parts: &[&str]) -> bool {
    matches!(parts, [family, given]
        if family.starts_with(char::is_lowercase) && given.starts_with(char::is_uppercase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_set_apart_as_people_write_them() {
        for (text, names) in [
            (
                "Ilse Hartmann, Pál Kovács",
                &["Ilse Hartmann", "Pál Kovács"][..],
            ),
            ("Hartmann, Ilse", &["Hartmann, Ilse"]),
            (
                "Hartmann, Ilse; Kovács, P.",
                &["Hartmann, Ilse", "Kovács, P."],
            ),
            (
                "Smith, J., Brown, K. L., & Lee, M.",
                &["Smith, J.", "Brown, K. L.", "Lee, M."],
            ),
            ("Brennan, Okafor, Li", &["Brennan", "Okafor", "Li"]),
            ("van der Meer, Jan Piet", &["van der Meer, Jan Piet"]),
            ("Tolkien, J. R. R.", &["Tolkien, J. R. R."]),
            ("King, Martin Luther, Jr.", &["King, Martin Luther, Jr."]),
            (" ; ,", &[]),
        ] {
            assert_eq!(split_person_names(text, 3), names, "{text}");
        }
    }

    #[test]
    fn family_names_alone_are_names_where_people_are_looked_for() {
        assert_eq!(
            split_person_names("Brennan, Okafor", 2),
            ["Brennan", "Okafor"]
        );
        assert_eq!(split_person_names("Brennan, A.", 2), ["Brennan, A."]);
        assert_eq!(split_person_names("Brennan", 2), ["Brennan"]);
    }
}
