//! Tests of files, backups and links, and of the messages.

use super::*;

const OTHER_SERVERS: &str = r#"{
  "theme": "dark",
  "mcpServers": {
    "files": {
      "command": "npx",
      "env": {
        "FILES_TOKEN": "ghp_secret"
      }
    }
  }
}
"#;

const CURSOR: &str = ".cursor/mcp.json";

#[test]
fn a_new_file_is_made() {
    let machine = TestMachine::new();
    let run = machine.run(&args("cursor"), "y\n");
    assert_eq!(run.outcome, SetupOutcome::Written);
    assert_snapshot!(run.output, @r#"
    --- HOME/.cursor/mcp.json
    +++ HOME/.cursor/mcp.json
    @@ -0,0 +1,8 @@
    +{
    +  "mcpServers": {
    +    "deliberate": {
    +      "command": "/opt/bin/deliberate",
    +      "args": ["serve"]
    +    }
    +  }
    +}
    Write this? [y/N] Written.
    Restart Cursor.
    "#);
    assert_snapshot!(machine.read(CURSOR), @r#"
    {
      "mcpServers": {
        "deliberate": {
          "command": "/opt/bin/deliberate",
          "args": ["serve"]
        }
      }
    }
    "#);
    assert_eq!(machine.list_siblings(CURSOR), ["mcp.json"]);
}

#[test]
fn other_servers_are_kept_and_the_old_file_backed_up() {
    let machine = TestMachine::new();
    machine.write(CURSOR, OTHER_SERVERS);
    let run = machine.run(&args("cursor"), "yes\n");
    assert_eq!(run.outcome, SetupOutcome::Written);
    let text = run.output.split("Written.").next().unwrap();
    assert_snapshot!(text, @r#"
    --- HOME/.cursor/mcp.json
    +++ HOME/.cursor/mcp.json
    @@ -6,6 +6,10 @@
           "env": {
             "FILES_TOKEN": "(hidden)"
           }
    +    },
    +    "deliberate": {
    +      "command": "/opt/bin/deliberate",
    +      "args": ["serve"]
         }
       }
     }
    Write this? [y/N]
    "#);
    assert_snapshot!(machine.read(CURSOR), @r#"
    {
      "theme": "dark",
      "mcpServers": {
        "files": {
          "command": "npx",
          "env": {
            "FILES_TOKEN": "ghp_secret"
          }
        },
        "deliberate": {
          "command": "/opt/bin/deliberate",
          "args": ["serve"]
        }
      }
    }
    "#);
    let names = machine.list_siblings(CURSOR);
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names[1].starts_with("mcp.json.bak-20"), "{names:?}");
    assert_eq!(
        machine.read(&format!(".cursor/{}", names[1])),
        OTHER_SERVERS
    );
    assert!(run.output.contains(&names[1]));
}

#[test]
fn the_same_again_is_nothing_to_do() {
    let machine = TestMachine::new();
    machine.write(CURSOR, OTHER_SERVERS);
    assert_eq!(
        machine.run(&args("cursor"), "y\n").outcome,
        SetupOutcome::Written
    );
    let before = machine.read(CURSOR);
    let again = machine.run(&args("cursor"), "");
    assert_eq!(again.outcome, SetupOutcome::Unchanged);
    assert_snapshot!(again.output, @"HOME/.cursor/mcp.json already has this server; nothing was changed.");
    assert_eq!(machine.read(CURSOR), before);
    assert_eq!(machine.list_siblings(CURSOR).len(), 2);
}

#[test]
fn two_changes_in_a_moment_leave_two_backups() {
    let machine = TestMachine::new();
    machine.write(CURSOR, OTHER_SERVERS);
    let mut setup = args("cursor");
    setup.yes = true;
    for name in ["one", "two", "three"] {
        setup.name = name.to_owned();
        assert_eq!(machine.run(&setup, "").outcome, SetupOutcome::Written);
    }
    assert_eq!(machine.list_siblings(CURSOR).len(), 4);
}

#[test]
fn no_means_no() {
    let machine = TestMachine::new();
    machine.write(CURSOR, OTHER_SERVERS);
    for answer in ["n\n", "\n", "maybe\n", ""] {
        let run = machine.run(&args("cursor"), answer);
        assert_eq!(run.outcome, SetupOutcome::Declined);
        assert!(
            run.output.ends_with("Nothing was written.\n"),
            "{}",
            run.output
        );
    }
    assert_eq!(machine.read(CURSOR), OTHER_SERVERS);
    assert_eq!(machine.list_siblings(CURSOR), ["mcp.json"]);
    let fresh = TestMachine::new();
    assert_eq!(
        fresh.run(&args("cursor"), "n\n").outcome,
        SetupOutcome::Declined
    );
    assert!(!fresh.path(".cursor").exists());
}

#[test]
fn a_broken_file_is_left_alone_and_the_block_is_shown() {
    let machine = TestMachine::new();
    for broken in [
        "{\"mcpServers\": ",
        "{\n  // mine\n  \"a\": 1,\n  b\n}",
        "[]",
        "{\"mcpServers\": []}",
    ] {
        machine.write(CURSOR, broken);
        let run = machine.run(&args("cursor"), "y\n");
        assert_eq!(run.outcome, SetupOutcome::ManualEditNeeded);
        assert!(
            run.output.contains("\"command\": \"/opt/bin/deliberate\""),
            "{}",
            run.output
        );
        assert_eq!(machine.read(CURSOR), broken);
    }
    machine.write(CURSOR, "{\n  // mine\n  \"a\": 1,\n  b\n}");
    assert_snapshot!(machine.run(&args("cursor"), "y\n").output, @r#"
    HOME/.cursor/mcp.json was not changed: line 4 is not JSON.
    Add this to it yourself:

    {
      "mcpServers": {
        "deliberate": {
          "command": "/opt/bin/deliberate",
          "args": ["serve"]
        }
      }
    }
    "#);
    std::fs::write(machine.path(CURSOR), b"{\"a\": \"\xff\"}").unwrap();
    assert_eq!(
        machine.run(&args("cursor"), "y\n").outcome,
        SetupOutcome::ManualEditNeeded
    );
}

#[test]
fn a_file_with_comments_is_written_with_them() {
    let machine = TestMachine::new();
    machine.write(
        CURSOR,
        "{\n  // mine\n  \"theme\": \"dark\", // at night\n}\n",
    );
    let run = machine.run(&args("cursor"), "y\n");
    assert_eq!(run.outcome, SetupOutcome::Written);
    assert_snapshot!(machine.read(CURSOR), @r#"
    {
      // mine
      "theme": "dark", // at night
      "mcpServers": {
        "deliberate": {
          "command": "/opt/bin/deliberate",
          "args": ["serve"]
        }
      },
    }
    "#);
    assert_eq!(machine.list_siblings(CURSOR).len(), 2);
}

#[test]
fn print_only_prints() {
    let machine = TestMachine::new();
    let mut setup = args("vscode");
    setup.print = true;
    setup.env = vec![("LOG_LEVEL".to_owned(), SecretString::from("debug"))];
    let run = machine.run(&setup, "");
    assert_eq!(run.outcome, SetupOutcome::Printed);
    assert_snapshot!(run.output, @r#"
    {
      "servers": {
        "deliberate": {
          "type": "stdio",
          "command": "/opt/bin/deliberate",
          "args": ["serve"],
          "env": {
            "LOG_LEVEL": "debug"
          }
        }
      }
    }
    "#);
    setup.client = "codex".to_owned();
    assert_snapshot!(machine.run(&setup, "").output, @r#"
    [mcp_servers.deliberate]
    command = "/opt/bin/deliberate"
    args = ["serve"]
    env = { LOG_LEVEL = "debug" }
    "#);
    assert!(
        std::fs::read_dir(machine.directory.path())
            .unwrap()
            .next()
            .is_none()
    );
}

#[test]
fn another_file_can_be_named() {
    let machine = TestMachine::new();
    let mut setup = args("claude-code");
    setup.file = Some(machine.path("project/.mcp.json"));
    assert_eq!(machine.run(&setup, "y\n").outcome, SetupOutcome::Written);
    assert!(
        machine
            .read("project/.mcp.json")
            .contains("\"type\": \"stdio\"")
    );
    assert!(!machine.path(".claude.json").exists());
}

#[test]
fn a_file_that_changed_meanwhile_is_not_overwritten() {
    let machine = TestMachine::new();
    let path = machine.write(CURSOR, OTHER_SERVERS);
    let target = ClientConfigFile::read(&path).unwrap();
    std::fs::write(&path, "{}").unwrap();
    let error = target.write("{\"new\": 1}").unwrap_err().to_string();
    assert!(error.contains("has changed in the meantime"), "{error}");
    assert_eq!(machine.read(CURSOR), "{}");
    assert_eq!(machine.list_siblings(CURSOR), ["mcp.json"]);
}

#[test]
fn keys_in_the_shown_change_are_hidden_but_written() {
    let machine = TestMachine::new();
    machine.write(CURSOR, OTHER_SERVERS);
    let mut setup = args("cursor");
    setup.env = vec![("LANGBASE_API_KEY".to_owned(), SecretString::from("sk-1"))];
    let run = machine.run(&setup, "y\n");
    assert!(
        !run.output.contains("sk-1") && !run.output.contains("ghp_secret"),
        "{}",
        run.output
    );
    assert!(
        run.output.contains("\"LANGBASE_API_KEY\": \"(hidden)\""),
        "{}",
        run.output
    );
    let written = machine.read(CURSOR);
    assert!(written.contains("sk-1") && written.contains("ghp_secret"));
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_linked_file_stays_a_link() {
        let machine = TestMachine::new();
        machine.write("dotfiles/cursor.json", OTHER_SERVERS);
        std::fs::create_dir(machine.path(".cursor")).unwrap();
        symlink("../dotfiles/cursor.json", machine.path(CURSOR)).unwrap();
        assert_eq!(
            machine.run(&args("cursor"), "y\n").outcome,
            SetupOutcome::Written
        );
        let link = std::fs::read_link(machine.path(CURSOR)).unwrap();
        assert_eq!(link, Path::new("../dotfiles/cursor.json"));
        assert!(machine.read("dotfiles/cursor.json").contains("deliberate"));
        assert_eq!(machine.list_siblings(CURSOR), ["mcp.json"]);
        assert_eq!(machine.list_siblings("dotfiles/cursor.json").len(), 2);
    }

    #[test]
    fn a_link_to_nothing_gets_its_file() {
        let machine = TestMachine::new();
        std::fs::create_dir(machine.path(".cursor")).unwrap();
        symlink("../dotfiles/cursor.json", machine.path(CURSOR)).unwrap();
        assert_eq!(
            machine.run(&args("cursor"), "y\n").outcome,
            SetupOutcome::Written
        );
        assert!(machine.read("dotfiles/cursor.json").contains("deliberate"));
        assert!(machine.path(CURSOR).is_symlink());
    }

    #[test]
    fn permissions_are_kept_and_new_files_are_private() {
        let machine = TestMachine::new();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        machine.run(&args("gemini-cli"), "y\n");
        assert_eq!(mode(&machine.path(".gemini/settings.json")), 0o600);

        let path = machine.write(CURSOR, OTHER_SERVERS);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        machine.run(&args("cursor"), "y\n");
        for name in machine.list_siblings(CURSOR) {
            assert_eq!(mode(&machine.path(".cursor").join(name)), 0o640);
        }
    }

    #[test]
    fn an_unwritable_directory_is_a_clear_error() {
        let machine = TestMachine::new();
        machine.write("blocked", "a file where a directory should be");
        let mut setup = args("cursor");
        setup.yes = true;
        setup.file = Some(machine.path("blocked/mcp.json"));
        assert!(machine.try_run(&setup, "").is_err());
    }
}
