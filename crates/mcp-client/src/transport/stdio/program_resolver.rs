//! Finds a program on Windows as its shell does, including scripts such as `npx.cmd`, which the
//! system itself does not find.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Returns the file of a command, or the command itself if no file is found.
pub(super) fn resolve_program(
    command: &str,
    environment: &BTreeMap<OsString, OsString>,
) -> PathBuf {
    let value = |wanted: &str| {
        let mut all = environment.iter();
        let found = all.find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.clone())
    };
    let endings = value("PATHEXT").map_or_else(
        || ".EXE;.CMD;.BAT".to_owned(),
        |endings| endings.to_string_lossy().into_owned(),
    );
    let asked = Path::new(command);
    if asked.extension().is_some() || asked.components().count() > 1 {
        return asked.to_owned();
    }
    let folders = value("PATH").unwrap_or_default();
    std::env::split_paths(&folders)
        .flat_map(|folder| {
            let endings: Vec<&str> = endings.split(';').collect();
            endings
                .into_iter()
                .map(|ending| folder.join(format!("{command}{ending}")))
                .collect::<Vec<_>>()
        })
        .find(|file| file.is_file())
        .unwrap_or_else(|| asked.to_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_found_by_its_bare_name() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("npx.CMD");
        std::fs::write(&script, "").unwrap();
        let environment = BTreeMap::from([
            ("Path".into(), folder.path().into()),
            ("PATHEXT".into(), ".EXE;.CMD".into()),
        ]);
        assert_eq!(resolve_program("npx", &environment), script);
        assert_eq!(resolve_program("node", &environment), Path::new("node"));
        assert_eq!(
            resolve_program("npx.CMD", &environment),
            Path::new("npx.CMD")
        );
    }
}
