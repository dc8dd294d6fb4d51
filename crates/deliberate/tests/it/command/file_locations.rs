//! Tests of the files that are read and written: nothing from the working directory, and no more
//! than requested.

use std::{path::Path, process::Stdio};

use deliberate_testkit::MockProvider;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::support::{TestHome, output, run_command, serve, shut_down, think};

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

#[tokio::test]
async fn the_database_lies_with_the_users_data_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let (test_home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    let mut client = serve(&mut test_home.command_with_provider(&standin)).await;
    output(&think(&mut client, "where?").await);
    shut_down(client).await;
    assert!(test_home.database().is_file());
    let folder = std::fs::metadata(test_home.path("data/deliberate")).unwrap();
    assert_eq!(
        folder.permissions().mode() & 0o077,
        0,
        "others can't look into it"
    );
    for untouched in ["work", "home", "config"] {
        assert!(is_empty(&test_home.path(untouched)), "{untouched}");
    }
}

#[tokio::test]
async fn without_a_data_directory_of_its_own_it_is_the_usual_one_at_home() {
    let test_home = TestHome::new();
    let mut command = test_home.command();
    command
        .env_remove("XDG_DATA_HOME")
        .args(["config", "--json"]);
    let output = run_command(&mut command).await;
    let path = test_home.path("home/.local/share/deliberate/deliberate.db");
    assert!(
        output.stdout.contains(&path.display().to_string()),
        "{}",
        output.stdout
    );
}

#[tokio::test]
async fn a_path_of_ones_own_is_taken_by_flag_variable_and_file() {
    let (test_home, standin) = (TestHome::new(), MockProvider::start().await.unwrap());
    std::fs::write(
        test_home.path("config/own.toml"),
        "[database]\npath = \"by-file.db\"\n",
    )
    .unwrap();
    let think = |arguments: &[&str], variable: Option<&str>| {
        let mut command = test_home.command_with_provider(&standin);
        command.args(arguments).args(["think", "where?"]);
        if let Some(path) = variable {
            command.env("DATABASE_PATH", path);
        }
        command
    };
    let file = test_home.path("config/own.toml").display().to_string();
    let cases = [
        (
            think(&["--database", "by-flag.db"], Some("no.db")),
            "work/by-flag.db",
        ),
        (
            think(&[], Some("~/deep/er/by-variable.db")),
            "home/deep/er/by-variable.db",
        ),
        (think(&["--config", &file], None), "config/by-file.db"),
    ];
    for (mut command, path) in cases {
        let output = run_command(&mut command).await;
        assert_eq!(output.code, Some(0), "{output:?}");
        assert!(test_home.path(path).is_file(), "{path}");
    }
    assert!(!test_home.database().exists());
}

#[tokio::test]
async fn a_dotenv_file_in_the_working_directory_or_above_is_not_read() {
    let home = TestHome::new();
    let text = "LANGBASE_API_KEY=sk-not-mine\nDATABASE_PATH=./stray.db\nLOG_LEVEL=trace\n";
    std::fs::create_dir(home.path("work/deeper")).unwrap();
    std::fs::write(home.path("work/.env"), text).unwrap();
    std::fs::write(home.path("work/config.toml"), "nonsense = 1\n").unwrap();
    for folder in ["work", "work/deeper"] {
        let mut command = home.command();
        command.current_dir(home.path(folder)).arg("config");
        let output = run_command(&mut command).await;
        assert_eq!(output.code, Some(0), "{output:?}");
        assert!(
            !output.stdout.contains("stray.db") && !output.stdout.contains("hidden"),
            "{}",
            output.stdout
        );
        let mut command = home.command();
        command
            .current_dir(home.path(folder))
            .args(["think", "who?"]);
        assert_eq!(
            run_command(&mut command).await.code,
            Some(1),
            "no key is taken from it"
        );
    }
}

#[tokio::test]
async fn commands_that_need_no_database_make_none() {
    let home = TestHome::new();
    for arguments in [
        &["tools"][..],
        &["config"],
        &["completions", "bash"],
        &["setup", "zed", "--print"],
    ] {
        assert_eq!(home.run(arguments).await.code, Some(0), "{arguments:?}");
    }
    assert!(is_empty(&home.path("data")));
}

#[tokio::test]
async fn a_reader_that_has_seen_enough_is_no_error() {
    let home = TestHome::new();
    for arguments in [
        &["tools", "--markdown"][..],
        &["tools", "--json"],
        &["config"],
        &["config", "--reference"],
        &["doctor"],
        &["completions", "bash"],
        &["--help"],
    ] {
        let mut command = home.command();
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().unwrap();
        // Closed before the first line: every write meets a broken pipe.
        drop(child.stdout.take());
        let mut complaint = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        while stderr.read_line(&mut complaint).await.unwrap() > 0 {}
        let status = child.wait().await.unwrap();
        assert_eq!(
            (status.code(), complaint.as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
    }
}
