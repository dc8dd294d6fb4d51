//! Crates that the lockfile may hold only below another one, because they are no longer maintained or
//! have a known weakness.

use std::{collections::BTreeMap, path::Path};

/// Each crate, and the crates that may depend on it.
const RESTRICTED_CRATES: &[(&str, &[&str])] = &[
    ("serde_yaml", &["hayagriva"]),
    ("paste", &["hayagriva"]),
    ("rsa", &[]),
];

/// Returns each package of the lockfile with the names of its dependencies. A package that is there
/// in several versions has the dependencies of all of them.
fn locked_packages(lockfile: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut packages: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in lockfile.split("[[package]]").skip(1) {
        let name = package.lines().find_map(|line| {
            let name = line.strip_prefix("name = ")?;
            Some(name.trim_matches('"'))
        });
        let list = package.split_once("dependencies = [").map(|it| it.1);
        let list = list.and_then(|list| list.split_once(']'));
        let lines = list.map(|it| it.0.lines()).into_iter().flatten();
        // A dependency is a name, with its version if there are several.
        let names = lines.filter_map(|line| {
            let line = line.trim().trim_end_matches(',').trim_matches('"');
            line.split(' ').next().filter(|name| !name.is_empty())
        });
        let known = packages.entry(name.unwrap()).or_default();
        known.extend(names);
    }
    packages
}

#[test]
fn restricted_crates_stand_only_below_those_that_need_them() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    let lockfile = std::fs::read_to_string(path).unwrap();
    let packages = locked_packages(&lockfile);
    assert!(packages["hayagriva"].contains(&"serde_yaml"));
    for (name, allowed) in RESTRICTED_CRATES {
        for (package, dependencies) in &packages {
            assert!(
                !dependencies.contains(name) || allowed.contains(package),
                "{package} depends on {name}"
            );
        }
        assert!(
            !allowed.is_empty() || !packages.contains_key(name),
            "{name} is in the lockfile"
        );
    }
}

#[test]
fn a_dependency_is_found_with_and_without_its_version() {
    let lockfile = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n\
                    dependencies = [\n \"paste\",\n \"rsa 0.9.8\",\n]\n\n\
                    [[package]]\nname = \"b\"\nversion = \"1.0.0\"\n";
    let packages = locked_packages(lockfile);
    assert_eq!(packages["a"], ["paste", "rsa"]);
    assert!(packages["b"].is_empty());
}
