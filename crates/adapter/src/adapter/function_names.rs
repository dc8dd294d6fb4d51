//! Assigns a unique function name to each tool of several servers.

use std::collections::{BTreeMap, BTreeSet};

use deliberate_mcp_client::tool_name::{qualified_tool_name, sanitize_name};

use super::NamePrefix;

/// Returns the name of each `(server, tool)`, in their order; none for a tool that is left out
/// because another one has its name.
pub(super) fn assign_names(tools: &[(&str, &str)], prefix: NamePrefix) -> Vec<Option<String>> {
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
    use deliberate_mcp_client::tool_name::MAX_NAME;
    use proptest::prelude::*;

    use super::*;

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
