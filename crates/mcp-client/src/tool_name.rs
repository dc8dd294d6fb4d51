//! Names that every model provider takes: letters, digits, `_` and `-`, at most 64.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

use sha2::{Digest as _, Sha256};

use super::adapter::NamePrefix;

/// The longest name of a function.
pub const MAX_NAME: usize = 64;
/// How much of the hash stands in a name that had to be changed.
const HASH_CHARS: usize = 8;

/// The name of a server's tool: `server__tool`. Where that is too long, or holds characters that
/// providers refuse, what is lost is made up for by a hash, so that no two tools get one name.
pub fn qualified_tool_name(server: &str, tool: &str) -> String {
    sanitize_name(&format!("{server}__{tool}"))
}

fn sanitize_name(name: &str) -> String {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.len() <= MAX_NAME && !name.is_empty() && name.chars().all(fine) {
        return name.to_owned();
    }
    let mut short: String = name
        .chars()
        .map(|c| if fine(c) { c } else { '_' })
        .take(MAX_NAME - HASH_CHARS - 1)
        .collect();
    short.push('_');
    let hash = Sha256::digest(name.as_bytes());
    for byte in hash.iter().take(HASH_CHARS / 2) {
        // Writing to a text can't fail.
        let _ = write!(short, "{byte:02x}");
    }
    short
}

/// The name of each `(server, tool)`, in their order; none for a tool that is left out because
/// another has its name.
pub(crate) fn assign_names(tools: &[(&str, &str)], prefix: NamePrefix) -> Vec<Option<String>> {
    let mut servers_of: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (server, tool) in tools {
        servers_of
            .entry(sanitize_name(tool))
            .or_default()
            .insert(server);
    }
    let mut taken = BTreeSet::new();
    tools
        .iter()
        .map(|(server, tool)| {
            let short = sanitize_name(tool);
            let alone = servers_of
                .get(&short)
                .is_none_or(|servers| servers.len() < 2);
            let name = match prefix {
                NamePrefix::Never => sanitize_name(tool),
                NamePrefix::OnConflict if alone => short,
                NamePrefix::OnConflict | NamePrefix::Always => qualified_tool_name(server, tool),
            };
            taken.insert(name.clone()).then_some(name)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_fits_stays() {
        assert_eq!(qualified_tool_name("fs", "read_file"), "fs__read_file");
        assert_eq!(
            qualified_tool_name("fs", "a.b"),
            qualified_tool_name("fs", "a.b")
        );
        assert_ne!(
            qualified_tool_name("fs", "a.b"),
            qualified_tool_name("fs", "a_b")
        );
    }

    #[test]
    fn a_prefix_comes_where_it_must() {
        let tools = [("a", "echo"), ("b", "echo"), ("b", "add")];
        let all = |prefix| assign_names(&tools, prefix);
        let some = |names: &[&str]| {
            names
                .iter()
                .map(|n| Some((*n).to_owned()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            all(NamePrefix::Always),
            some(&["a__echo", "b__echo", "b__add"])
        );
        assert_eq!(
            all(NamePrefix::OnConflict),
            some(&["a__echo", "b__echo", "add"])
        );
        assert_eq!(
            all(NamePrefix::Never),
            [Some("echo".to_owned()), None, Some("add".to_owned())]
        );
    }

    proptest! {
        #[test]
        fn no_two_tools_get_one_name(
            tools in proptest::collection::btree_set(("[a-z]{1,32}", ".{1,90}"), 1..40)
        ) {
            let tools: Vec<(&str, &str)> =
                tools.iter().map(|(server, tool)| (server.as_str(), tool.as_str())).collect();
            let names = assign_names(&tools, NamePrefix::Always);
            let different: BTreeSet<_> = names.iter().flatten().collect();
            prop_assert_eq!(different.len(), tools.len());
            for name in different {
                prop_assert!(name.len() <= MAX_NAME);
                prop_assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'));
            }
        }
    }
}
