//! Running the commands that the operator allowed, and nothing else.

use std::{collections::BTreeMap, fs, path::Path};

use deliberate_prompts::{
    model::ShellCheck,
    process::{CommandLineError, ProcessError, ProcessOutput, ProcessRunner, split_command},
};
use deliberate_testkit::wait_until;
use proptest::prelude::*;
use tempfile::TempDir;

pub(crate) fn runner(commands: &[&str], scripts: &[&str], workspace: &Path) -> ProcessRunner {
    let owned = |list: &[&str]| -> Vec<String> { list.iter().map(|it| (*it).to_owned()).collect() };
    ProcessRunner::new(&owned(commands), &owned(scripts), workspace)
}

fn check(command: &str) -> ShellCheck {
    ShellCheck {
        command: command.to_owned(),
        ..ShellCheck::default()
    }
}

pub(crate) fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn a_command_is_cut_into_words_as_shells_do() {
    for (command, words) in [
        ("cargo test -q", vec!["cargo", "test", "-q"]),
        ("  a\t b  ", vec!["a", "b"]),
        (r#"a "b c" 'd "e' f\ g"#, vec!["a", "b c", "d \"e", "f g"]),
        (r#"a "x \" y \\ \n" ''"#, vec!["a", r#"x " y \ \n"#, ""]),
        ("a'b'\"c\"d", vec!["abcd"]),
        ("grep '$x|(y)*' \"a;b>c\"", vec!["grep", "$x|(y)*", "a;b>c"]),
        (r"a \$x \| \*", vec!["a", "$x", "|", "*"]),
    ] {
        assert_eq!(split_command(command).unwrap(), words, "{command}");
    }
}

#[test]
fn what_only_a_shell_understands_is_refused() {
    for it in "|&;<>$`(){}*?\n\r\0".chars() {
        assert_eq!(
            split_command(&format!("echo a{it}b")),
            Err(CommandLineError::ShellSyntax(it))
        );
    }
    for command in [
        "echo \"$HOME\"",
        "echo \"`id`\"",
        "echo 'a\nb'",
        "echo \"a\nb\"",
        "a \\\n b",
    ] {
        assert!(
            matches!(
                split_command(command),
                Err(CommandLineError::ShellSyntax(_))
            ),
            "{command}"
        );
    }
    assert_eq!(
        split_command("echo 'a"),
        Err(CommandLineError::UnterminatedQuote)
    );
    assert_eq!(
        split_command("echo \"a"),
        Err(CommandLineError::UnterminatedQuote)
    );
    assert_eq!(
        split_command("echo a\\"),
        Err(CommandLineError::TrailingBackslash)
    );
    assert_eq!(split_command("  "), Err(CommandLineError::Empty));
    assert_eq!(
        split_command(&"a ".repeat(300)),
        Err(CommandLineError::TooLong)
    );
    assert_eq!(
        split_command(&"a".repeat(5_000)),
        Err(CommandLineError::TooLong)
    );
    let told = split_command("a && b").unwrap_err().to_string();
    assert!(told.contains("contains shell syntax"));
}

proptest! {
    #[test]
    fn quoted_words_come_back_whole(words in prop::collection::vec("[^\n\r\0']{0,12}", 1..6)) {
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        prop_assert_eq!(split_command(&quoted.join(" ")), Ok(words));
    }

    #[test]
    fn cutting_never_panics_and_lets_nothing_special_through_unquoted(text in "[a-z |&;$*'\"\\\\]{0,30}") {
        if split_command(&text).is_ok() {
            prop_assert!(!text.contains('|') || text.contains(['\'', '"', '\\']));
        }
    }
}

#[test]
fn only_what_an_entry_says_word_by_word_is_allowed() {
    let folder = folder();
    let runner = runner(
        &[
            "cargo test",
            "npm test *",
            "'my tool' --check *",
            "",
            "broken |",
            "*",
            "sta*",
            "find '*'",
        ],
        &[],
        folder.path(),
    );
    for command in [
        "cargo test",
        "cargo 'test'",
        "npm test",
        "npm test -- --watch",
        "'my tool' --check x",
        "find '*'",
    ] {
        assert!(runner.check_command(command).is_ok(), "{command}");
    }
    for command in [
        "cargo",
        "cargo build",
        "cargo test -q",
        "cargo test --config target.x.runner=evil",
        "cargo testing",
        "npm run evil",
        "status",
        "find x",
        "find '*' -delete",
        "cargo --config x test",
        "sh -c 'cargo test'",
        "X=1 cargo test",
        "broken",
    ] {
        let refused = runner.check_command(command).unwrap_err();
        assert!(
            matches!(refused, ProcessError::NotAllowed { .. }),
            "{command}"
        );
        assert!(refused.to_string().contains("the operator can allow it"));
    }
    assert!(matches!(
        runner.check_command("cargo test; rm -rf x"),
        Err(ProcessError::InvalidCommandLine { .. })
    ));
}

#[tokio::test]
async fn nothing_is_allowed_unless_the_operator_says_so() {
    let folder = folder();
    let none = runner(&[], &[], folder.path());
    let refused = none.run_command(&check("true"), "x").await.unwrap_err();
    assert!(matches!(refused, ProcessError::NotAllowed { .. }));
    let empty = runner(&["", " "], &[], folder.path());
    assert!(empty.run_command(&check("true"), "x").await.is_err());
}

#[tokio::test]
async fn the_exit_code_is_the_verdict_and_the_answer_is_on_the_input() {
    let folder = folder();
    let runner = runner(
        &["grep *", "cat", "no-such-program-here"],
        &[],
        folder.path(),
    );
    let found = runner
        .run_command(&check("grep -c needle"), "a needle\n")
        .await
        .unwrap();
    assert!(found.succeeded());
    assert_eq!(found.tail, "1\n");
    let missing = runner
        .run_command(&check("grep needle"), "hay")
        .await
        .unwrap();
    assert_eq!((missing.succeeded(), missing.code), (false, Some(1)));
    let text = "$(id) `id` | é 'x'";
    assert_eq!(
        runner.run_command(&check("cat"), text).await.unwrap().tail,
        text
    );
    let nothing = runner.run_command(&check("no-such-program-here"), "").await;
    assert!(matches!(nothing, Err(ProcessError::Start { .. })));
}

#[tokio::test]
async fn no_shell_sees_the_words() {
    let folder = folder();
    let runner = runner(&["printf *"], &[], folder.path());
    let said = runner
        .run_command(&check("printf %s '$HOME;id'"), "")
        .await
        .unwrap();
    assert_eq!(said.tail, "$HOME;id");
}

#[tokio::test]
async fn a_command_runs_in_the_workspace_and_nowhere_else() {
    let (folder, outside) = (folder(), folder());
    fs::create_dir(folder.path().join("sub")).unwrap();
    let runner = runner(&["pwd"], &[], folder.path());
    let run = async |dir: Option<String>| {
        let check = ShellCheck {
            working_dir: dir,
            ..check("pwd")
        };
        runner.run_command(&check, "").await.map(|it| it.tail)
    };
    let real = folder.path().canonicalize().unwrap();
    assert_eq!(run(None).await.unwrap().trim(), real.to_str().unwrap());
    let sub = run(Some("sub".to_owned())).await.unwrap();
    assert_eq!(sub.trim(), real.join("sub").to_str().unwrap());
    let outside_path = outside.path().to_str().unwrap().to_owned();
    for dir in [
        "..".to_owned(),
        "sub/../..".to_owned(),
        outside_path,
        "missing".to_owned(),
    ] {
        assert!(matches!(
            run(Some(dir)).await,
            Err(ProcessError::OutsideFolder { .. })
        ));
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(outside.path(), folder.path().join("link")).unwrap();
        let linked = run(Some("link".to_owned())).await;
        assert!(matches!(linked, Err(ProcessError::OutsideFolder { .. })));
    }
}

#[tokio::test]
async fn the_environment_is_small_and_can_not_be_used_against_us() {
    let folder = folder();
    let runner = runner(&["env"], &[], folder.path());
    let env = |name: &str| (name.to_owned(), "mine".to_owned());
    let check = ShellCheck {
        env: BTreeMap::from(["PATH", "LD_PRELOAD", "DYLD_X", "MY_FLAG", "GATE_FLAG"].map(env)),
        ..check("env")
    };
    let said = runner.run_command(&check, "").await.unwrap().tail;
    let names: Vec<&str> = said
        .lines()
        .filter_map(|it| Some(it.split_once('=')?.0))
        .collect();
    let known = [
        "PATH",
        "HOME",
        "USER",
        "LANG",
        "TERM",
        "TMPDIR",
        "CI",
        "GATE_FLAG",
    ];
    assert!(
        names
            .iter()
            .all(|it| known.contains(it) || it.starts_with("LC_")),
        "{names:?}"
    );
    assert!(said.contains("GATE_FLAG=mine") && !said.contains("PATH=mine"));
    assert!(!names.contains(&"CARGO_MANIFEST_DIR"));
}

#[tokio::test]
async fn only_the_end_of_a_long_output_is_kept() {
    let folder = folder();
    let runner = runner(&["seq *"], &[], folder.path());
    let said = runner
        .run_command(&check("seq 1 200000"), "")
        .await
        .unwrap()
        .tail;
    assert_eq!(said.chars().count(), 5_000);
    assert!(said.ends_with("199999\n200000\n"));
}

/// A script that starts a child in the background, writes both ids to a file and waits.
#[cfg(unix)]
const LINGERING_SCRIPT: &str = "sleep 300 &\necho $! > child.tmp\nmv child.tmp child\nsleep 300\n";

/// Returns whether a process exists and is not a zombie.
#[cfg(target_os = "linux")]
fn is_alive(id: &str) -> bool {
    fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap()
            .trim()
            .starts_with(['Z', 'X'])
    })
}

/// Starts a command that does not exit, with a child process.
#[cfg(target_os = "linux")]
async fn start_lingering() -> (
    tokio::task::JoinHandle<Result<ProcessOutput, ProcessError>>,
    String,
) {
    let folder = folder();
    fs::write(folder.path().join("lingers.sh"), LINGERING_SCRIPT).unwrap();
    let runner = runner(&["sh lingers.sh"], &[], folder.path());
    let file = folder.path().join("child");
    let running = tokio::spawn(async move {
        let _stays = folder;
        runner.run_command(&check("sh lingers.sh"), "").await
    });
    wait_until(|| file.exists()).await;
    let child = fs::read_to_string(&file).unwrap().trim().to_owned();
    assert!(is_alive(&child));
    (running, child)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_that_takes_too_long_ends_with_all_it_started() {
    let (running, child) = start_lingering().await;
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(301)).await;
    tokio::time::resume();
    let error = running.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("took longer than 300 s"));
    wait_until(|| !is_alive(&child)).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_command_that_nobody_waits_for_ends_with_all_it_started() {
    let (running, child) = start_lingering().await;
    running.abort();
    wait_until(|| !is_alive(&child)).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_command_leaves_behind_ends_with_it() {
    let folder = folder();
    fs::write(folder.path().join("leaves.sh"), "sleep 300 &\necho $!\n").unwrap();
    let runner = runner(&["sh leaves.sh"], &[], folder.path());
    let said = runner
        .run_command(&check("sh leaves.sh"), "")
        .await
        .unwrap()
        .tail;
    wait_until(|| !is_alive(said.trim())).await;
}

#[cfg(unix)]
#[tokio::test]
async fn four_run_at_once() {
    let folder = folder();
    // Each process registers itself, counts the registered ones, and exits when told to.
    let script = "mkdir -p here; : > here/$$\nls here | wc -l >> counts\n\
                  while [ ! -e go ]; do sleep 0.01; done\nrm here/$$\n";
    fs::write(folder.path().join("meets.sh"), script).unwrap();
    let runner = runner(&["sh meets.sh"], &[], folder.path());
    let all: Vec<_> = (0..7)
        .map(|_| {
            let runner = runner.clone();
            tokio::spawn(async move { runner.run_command(&check("sh meets.sh"), "").await })
        })
        .collect();
    let here = folder.path().join("here");
    let there = || fs::read_dir(&here).map_or(0, Iterator::count);
    wait_until(|| there() >= 4).await;
    fs::write(folder.path().join("go"), "").unwrap();
    for one in all {
        assert!(one.await.unwrap().unwrap().succeeded());
    }
    let counts = fs::read_to_string(folder.path().join("counts")).unwrap();
    let most = counts
        .lines()
        .map(|it| it.trim().parse::<u32>().unwrap())
        .max();
    assert!(most <= Some(4), "{counts}");
}
