//! The end of the demo: the pictures, what is left, and how to go on.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use super::{play::Played, screen::Screen};
use crate::{
    commands::setup::{Dirs, found_clients},
    config::Loaded,
};

/// What can be drawn here, and what a page or a chat draws.
pub(super) fn pictures(played: &Played, screen: &mut Screen<'_>) -> io::Result<()> {
    screen.heading("4  The pictures, drawn from what was stored (★ recommended, or concluded)")?;
    screen.picture(&played.tree.text)?;
    screen.show("")?;
    screen.picture(&played.graph.text)?;
    screen.show("")?;
    screen.say("The same as Mermaid, by reasoning_get, for a page or a chat (without colours):")?;
    for drawn in [&played.tree, &played.graph] {
        let lines = drawn.mermaid.lines();
        for line in lines.filter(|line| !line.trim_start().starts_with("classDef ")) {
            screen.small_print(line)?;
        }
    }
    Ok(())
}

/// The ids, and whether they still name anything.
pub(super) fn ids(
    played: &Played,
    taken: Duration,
    kept_in: Option<&Path>,
    screen: &mut Screen<'_>,
) -> io::Result<()> {
    screen.heading("5  What is left of it")?;
    screen.say(&format!(
        "{} tool calls, {} shipped replies, {:.1} seconds.",
        played.calls,
        played.given,
        taken.as_secs_f64()
    ))?;
    screen.show(&format!("    tree session   {}", played.tree.session_id))?;
    screen.show(&format!("    graph session  {}", played.graph.session_id))?;
    match kept_in {
        Some(database) => {
            screen.show(&format!("    kept in        {}", database.display()))?;
            screen.say("`deliberate sessions` lists them, and your client can continue them.")
        }
        None => screen.say(
            "Nothing is left behind: they lay in a temporary folder, which is gone. `deliberate \
             demo --keep` keeps them, to look at with `deliberate sessions`.",
        ),
    }
}

/// How to get the server into one's own client.
pub(super) fn invitation(
    loaded: &Loaded,
    running: PathBuf,
    screen: &mut Screen<'_>,
) -> io::Result<()> {
    let dirs = Dirs::detect(&loaded.environment).ok();
    let names: Vec<&str> = match &dirs {
        Some(dirs) => found_clients(dirs).iter().map(|it| it.name).collect(),
        None => Vec::new(),
    };
    let program = dirs.map_or(running, |dirs| dirs.program);
    let program = quoted(&program.display().to_string());
    screen.heading("6  Add it to your client")?;
    screen.say("Claude Code takes this line:")?;
    screen.show(&format!("    claude mcp add deliberate -- {program} serve"))?;
    if let [first, others @ ..] = names.as_slice() {
        screen.say("For others, `setup` shows the change, asks, writes, and keeps a backup:")?;
        screen.show(&format!("    {program} setup {first}"))?;
        screen.small_print(&format!("or {}", others.join(", ")))?;
    }
    screen.say("Then ask your client: “Use reasoning_tree to think about …”")
}

/// As a shell takes it.
fn quoted(path: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "/\\:._-+@,".contains(letter);
    if cfg!(windows) {
        if path.contains(' ') {
            return format!("\"{path}\"");
        }
    } else if !path.chars().all(|letter| plain(letter) && letter != '\\') {
        return format!("'{}'", path.replace('\'', r"'\''"));
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_path_can_be_pasted_into_a_shell() {
        for (path, pasted) in [
            ("/usr/bin/deliberate", "/usr/bin/deliberate"),
            (
                "/home/zoë/bin/deliberate-0.1",
                "/home/zoë/bin/deliberate-0.1",
            ),
            ("/My Apps/deliberate", "'/My Apps/deliberate'"),
            ("/it's/$HOME", r"'/it'\''s/$HOME'"),
        ] {
            assert_eq!(quoted(path), pasted);
        }
    }
}
