//! Expands `${NAME}` in a configuration, so that secrets need not be written into it.

use super::ConfigProblem;

/// A function that returns the value of a variable.
pub type VariableLookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Replaces the variables in `text`: `${NAME}`, `${env:NAME}` (as VS Code and Cursor write it) and
/// `${NAME:-default}`. A variable that is not set is an error, because an empty password would be
/// noticed much later. Anything else is left as it is.
pub fn expand(
    text: &str,
    place: &str,
    variables: VariableLookup<'_>,
    mistakes: &mut Vec<ConfigProblem>,
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((inside, behind)) = after.split_once('}') else {
            out.push_str("${");
            rest = after;
            continue;
        };
        let (name, otherwise) = match inside.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (inside, None),
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        if is_name(name) {
            match variables(name).or_else(|| otherwise.map(str::to_owned)) {
                Some(value) => out.push_str(&value),
                None => mistakes.push(ConfigProblem::new(
                    place,
                    format!(
                        "the variable {name} is not set; set it, or write ${{{name}:-}} to leave it empty"
                    ),
                )),
            }
        } else {
            out.push_str("${");
            out.push_str(inside);
            out.push('}');
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand_text(text: &str) -> (String, usize) {
        let variables = |name: &str| (name == "KEY").then(|| "secret".to_owned());
        let mut mistakes = Vec::new();
        let out = expand(text, "here", &variables, &mut mistakes);
        (out, mistakes.len())
    }

    #[test]
    fn variables_are_put_in() {
        assert_eq!(
            expand_text("a ${KEY} b ${env:KEY}"),
            ("a secret b secret".to_owned(), 0)
        );
        assert_eq!(expand_text("${NONE:-x}${NONE:-}"), ("x".to_owned(), 0));
        assert_eq!(expand_text("Bearer ${NONE}"), ("Bearer ".to_owned(), 1));
    }

    #[test]
    fn what_is_no_variable_stays() {
        for text in [
            "$KEY",
            "${",
            "${a b}",
            "${workspaceFolder/x}",
            "${1}",
            "$}{",
        ] {
            assert_eq!(expand_text(text), (text.to_owned(), 0));
        }
    }
}
