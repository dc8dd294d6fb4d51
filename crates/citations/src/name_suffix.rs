//! The generation suffix of a name: `Martin Luther, Jr.`.

const SUFFIXES: [&str; 6] = ["jr", "sr", "ii", "iii", "iv", "v"];

/// Splits given names and their generation suffix.
pub(crate) fn split_suffix(given: &str) -> (&str, Option<&str>) {
    let Some((names, last)) = given.rsplit_once(',') else {
        return (given, None);
    };
    let last = last.trim();
    let bare = last.trim_end_matches('.').to_lowercase();
    let names = names.trim_matches([',', ' ']);
    if SUFFIXES.contains(&bare.as_str()) && !names.is_empty() {
        (names, Some(last))
    } else {
        (given, None)
    }
}

#[cfg(test)]
mod tests {
    use super::split_suffix;

    #[test]
    fn only_a_generation_is_parted() {
        assert_eq!(
            split_suffix("Martin Luther, Jr."),
            ("Martin Luther", Some("Jr."))
        );
        assert_eq!(split_suffix("John D., III"), ("John D.", Some("III")));
        assert_eq!(split_suffix("Ana, Maria"), ("Ana, Maria", None));
        assert_eq!(split_suffix(", Jr."), (", Jr.", None));
        assert_eq!(split_suffix("Jane"), ("Jane", None));
    }
}
