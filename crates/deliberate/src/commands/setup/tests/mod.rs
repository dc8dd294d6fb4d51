//! Tests of `setup` with files in temporary directories.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use secrecy::SecretString;
use tempfile::TempDir;

use super::clients::Os;
use super::*;

mod edits;
mod files;

/// A machine with its own home directory.
struct TestMachine {
    directory: TempDir,
    dirs: Dirs,
}

struct SetupRun {
    outcome: SetupOutcome,
    output: String,
}

impl TestMachine {
    fn new() -> Self {
        let directory = TempDir::new().unwrap();
        // As on macOS, where the temporary directory is itself behind a link.
        let home = directory.path().canonicalize().unwrap();
        let dirs = Dirs {
            os: Os::Unix,
            config: home.join(".config"),
            home,
            codex_home: None,
            claude_home: None,
            program: PathBuf::from("/opt/bin/deliberate"),
        };
        Self { directory, dirs }
    }

    fn path(&self, inside: &str) -> PathBuf {
        self.dirs.home.join(inside)
    }

    fn write(&self, inside: &str, text: &str) -> PathBuf {
        let path = self.path(inside);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn read(&self, inside: &str) -> String {
        std::fs::read_to_string(self.path(inside)).unwrap()
    }

    fn try_run(&self, args: &SetupArgs, answer: &str) -> anyhow::Result<SetupRun> {
        let mut output = Vec::new();
        let mut io = SetupIo {
            input: &mut answer.as_bytes(),
            output: &mut output,
        };
        let outcome = set_up(args, &mut io, &self.dirs)?;
        let output = String::from_utf8(output)
            .unwrap()
            .replace(&self.dirs.home.display().to_string(), "HOME");
        Ok(SetupRun { outcome, output })
    }

    fn run(&self, args: &SetupArgs, answer: &str) -> SetupRun {
        self.try_run(args, answer).unwrap()
    }

    /// Returns the names of all files in the directory of a file.
    fn list_siblings(&self, inside: &str) -> Vec<String> {
        let directory = std::fs::read_dir(self.path(inside).parent().unwrap()).unwrap();
        let mut names: Vec<String> = directory
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn args(client: &str) -> SetupArgs {
    SetupArgs {
        client: client.to_owned(),
        print: false,
        yes: false,
        name: "deliberate".to_owned(),
        env: Vec::new(),
        file: None,
    }
}

fn server_entry(env: &[(&str, &str)]) -> ServerEntry {
    ServerEntry {
        name: "deliberate".to_owned(),
        command: "/opt/bin/deliberate".to_owned(),
        args: vec!["serve".to_owned()],
        env: env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), SecretString::from(*value)))
            .collect(),
    }
}

#[test]
fn the_command_line_is_checked() {
    #[derive(Debug, clap::Parser)]
    struct SetupCli {
        #[command(flatten)]
        setup: SetupArgs,
    }
    let parse = |args: &[&str]| {
        let args = std::iter::once("setup").chain(args.iter().copied());
        <SetupCli as clap::Parser>::try_parse_from(args).map(|cli| cli.setup)
    };
    let setup = parse(&["cursor", "--env", "LANGBASE_API_KEY=sk-1=2", "-y"]).unwrap();
    assert!(setup.yes && !setup.print && setup.name == "deliberate");
    assert!(!format!("{setup:?}").contains("sk-1"));
    assert!(parse(&["emacs"]).is_err());
    assert!(parse(&["cursor", "--name", "a b"]).is_err());
    assert!(parse(&["cursor", "--env", "nonsense"]).is_err());
}

#[test]
fn every_client_has_the_file_its_documentation_names() {
    let mut dirs = TestMachine::new().dirs;
    let files = |dirs: &Dirs| -> String {
        let lines = CLIENTS
            .iter()
            .map(|client| format!("{}: {}", client.name, (client.file)(dirs).display()));
        lines.collect::<Vec<_>>().join("\n")
    };
    dirs.home = PathBuf::from("/home/me");
    dirs.config = PathBuf::from("/home/me/.config");
    assert_snapshot!(files(&dirs), @"
    claude-desktop: /home/me/.config/Claude/claude_desktop_config.json
    claude-code: /home/me/.claude.json
    cursor: /home/me/.cursor/mcp.json
    vscode: /home/me/.config/Code/User/mcp.json
    windsurf: /home/me/.codeium/windsurf/mcp_config.json
    zed: /home/me/.config/zed/settings.json
    codex: /home/me/.codex/config.toml
    gemini-cli: /home/me/.gemini/settings.json
    ");
    dirs.os = Os::Apple;
    dirs.config = PathBuf::from("/home/me/Library/Application Support");
    dirs.codex_home = Some(PathBuf::from("/codex"));
    dirs.claude_home = Some(PathBuf::from("/claude"));
    assert_snapshot!(files(&dirs), @"
    claude-desktop: /home/me/Library/Application Support/Claude/claude_desktop_config.json
    claude-code: /claude/.claude.json
    cursor: /home/me/.cursor/mcp.json
    vscode: /home/me/Library/Application Support/Code/User/mcp.json
    windsurf: /home/me/.codeium/windsurf/mcp_config.json
    zed: /home/me/.config/zed/settings.json
    codex: /codex/config.toml
    gemini-cli: /home/me/.gemini/settings.json
    ");
}

#[test]
fn clients_are_found_and_known_to_be_set_up() {
    let machine = TestMachine::new();
    assert!(
        detect_clients(&machine.dirs)
            .iter()
            .all(|found| !found.exists && !found.configured)
    );

    machine.write(".cursor/extensions.json", "{}");
    machine.write(
        ".codex/config.toml",
        "[mcp_servers.thinker]\ncommand = \"/x/deliberate\"\n",
    );
    machine.write(
        ".gemini/settings.json",
        "{\"mcpServers\": {\"deliberate\": {\"command\": \"npx\"}}}",
    );
    machine.write(
        ".config/zed/settings.json",
        "// mine\n{\"context_servers\": {\"deliberate\": {\"command\": \"/x/deliberate\"}},}",
    );
    let found: Vec<(&str, bool, bool)> = detect_clients(&machine.dirs)
        .iter()
        .filter(|found| found.exists)
        .map(|found| (found.name, found.exists, found.configured))
        .collect();
    let expected = [
        ("cursor", true, false),
        ("zed", true, true),
        ("codex", true, true),
        ("gemini-cli", true, false),
    ];
    assert_eq!(found, expected);
}
