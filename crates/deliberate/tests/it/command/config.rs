//! Tests of `deliberate config` and of invalid settings.

use serde_json::Value;

use crate::support::{TestHome, run_command};

fn entry<'a>(all: &'a Value, key: &str) -> (&'a str, &'a str) {
    let all = all.as_array().unwrap();
    let entry = all.iter().find(|entry| entry["key"] == key).unwrap();
    (
        entry["value"].as_str().unwrap(),
        entry["origin"].as_str().unwrap(),
    )
}

#[tokio::test]
async fn each_setting_names_its_origin_and_flag_beats_variable_beats_file_beats_default() {
    let home = TestHome::new();
    std::fs::create_dir(home.path("config/deliberate")).unwrap();
    let file = home.path("config/deliberate/config.toml");
    let text = "model = \"from-file\"\n\n[request]\nmax_retries = 7\nretry_delay_ms = 5\n\n[log]\nlevel = \"warn\"\n";
    std::fs::write(&file, text).unwrap();
    let mut command = home.command();
    command
        .env("MAX_RETRIES", "8")
        .env("LOG_LEVEL", "debug")
        .env("RETRY_DELAY_MS", "")
        .args([
            "--log-level",
            "error",
            "--set",
            "limits.content_chars=9",
            "config",
            "--json",
        ]);
    let output = run_command(&mut command).await;
    let all: Value = serde_json::from_str(&output.stdout).unwrap();
    let line = |number: u32| format!("{}:{number}", file.display());
    assert_eq!(entry(&all, "model"), ("from-file", line(1).as_str()));
    assert_eq!(
        entry(&all, "request.max_retries"),
        ("8", "environment variable MAX_RETRIES")
    );
    assert_eq!(
        entry(&all, "request.retry_delay_ms"),
        ("5", line(5).as_str()),
        "an empty variable is not set"
    );
    assert_eq!(entry(&all, "log.level"), ("error", "flag --log-level"));
    assert_eq!(
        entry(&all, "limits.content_chars"),
        ("9", "flag --set limits.content_chars")
    );
    assert_eq!(entry(&all, "database.max_connections"), ("5", "default"));
    assert_eq!(
        entry(&all, "database.path").0,
        home.database().display().to_string()
    );
}

#[tokio::test]
async fn the_table_shows_every_setting_and_hides_secrets() {
    let home = TestHome::new();
    let mut command = home.command();
    command.env("OPENAI_API_KEY", "sk-hidden").arg("config");
    let output = run_command(&mut command).await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    let line = output
        .stdout
        .lines()
        .find(|line| line.contains("openai.api_key"))
        .unwrap();
    assert!(
        line.contains("set (hidden)") && line.contains("OPENAI_API_KEY"),
        "{line}"
    );
    assert!(!output.stdout.contains("sk-hidden"));
    assert!(output.stdout.contains("There is no settings file"));
}

#[tokio::test]
async fn the_sample_is_a_settings_file_that_is_taken() {
    let home = TestHome::new();
    let sample = home.run(&["config", "--sample"]).await;
    let file = home.path("work/sample.toml");
    std::fs::write(&file, &sample.stdout).unwrap();
    let output = home
        .run(&["--config", "sample.toml", "config", "--json"])
        .await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    // The sample is valid with everything in it enabled, too.
    let on: String = sample
        .stdout
        .lines()
        .map(
            |line| match line.strip_prefix("# ").or_else(|| line.strip_prefix('#')) {
                Some(setting) if setting.contains(" = ") || setting.starts_with('[') => {
                    format!("{setting}\n")
                }
                _ => format!("{line}\n"),
            },
        )
        .collect();
    std::fs::write(&file, on).unwrap();
    let output = home.run(&["--config", "sample.toml", "config"]).await;
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
}

#[tokio::test]
async fn a_wrong_variable_is_an_error_that_names_it_and_what_would_be_right() {
    let cases = [
        (
            "DATABASE_MAX_CONNECTIONS",
            "0",
            "environment variable DATABASE_MAX_CONNECTIONS: `0` is not a whole number from 1 to 64 (`database.max_connections`)",
        ),
        (
            "MAX_RETRIES",
            "many",
            "environment variable MAX_RETRIES: `many` is not a whole number from 0 to 10 (`request.max_retries`)",
        ),
        (
            "REQUEST_TIMEOUT_MS",
            "-1",
            "environment variable REQUEST_TIMEOUT_MS: `-1` is not a whole number of milliseconds from 1 to 3600000 (`request.timeout_ms`)",
        ),
        (
            "LANGBASE_BASE_URL",
            "ftp://x",
            "environment variable LANGBASE_BASE_URL: `ftp://x` is not an http or https URL without user name or query (`langbase.base_url`)",
        ),
        (
            "DELIBERATE_MODLE",
            "x",
            "unknown environment variable DELIBERATE_MODLE; did you mean `DELIBERATE_MODEL`?",
        ),
        (
            "DELIBERATE_CONFIG",
            "/nowhere/at/all.toml",
            "there is no settings file at /nowhere/at/all.toml, named by environment variable DELIBERATE_CONFIG",
        ),
    ];
    let home = TestHome::new();
    for (name, value, sentence) in cases {
        // Serving is rejected too, instead of running with unintended settings.
        for arguments in [&["config"][..], &["serve"], &[]] {
            let output = run_command(home.command().env(name, value).args(arguments)).await;
            assert_eq!(output.code, Some(2), "{name}");
            assert_eq!(output.stdout, "");
            assert_eq!(output.stderr, format!("error: {sentence}\n"));
        }
    }
}

#[tokio::test]
async fn an_unknown_log_level_of_the_environment_is_a_warning() {
    // Other programs read the same variable, with other words.
    let home = TestHome::new();
    let output = run_command(home.command().env("LOG_LEVEL", "inof").arg("config")).await;
    assert_eq!(output.code, Some(0), "{output:?}");
    let told = "ignored environment variable LOG_LEVEL: `inof` is not one of error, warn, info, debug, trace";
    assert!(output.stderr.contains(told), "{}", output.stderr);
}

#[tokio::test]
async fn mistakes_in_the_file_are_told_together_with_their_lines() {
    let home = TestHome::new();
    let text = "modle = \"x\"\n[request]\nmax_retrys = 2\n[database]\nmax_connections = 0\n[nonsense]\na = 1\n";
    std::fs::write(home.path("work/wrong.toml"), text).unwrap();
    let output = home.run(&["--config", "wrong.toml", "config"]).await;
    assert_eq!(output.code, Some(2));
    insta::assert_snapshot!("config_mistakes", output.stderr);
    let output = home
        .run(&["--set", "modle=x", "--set", "log.level=loud", "config"])
        .await;
    assert_eq!(output.code, Some(2));
    assert!(
        output
            .stderr
            .contains("unknown key `modle` in flag --set; did you mean `model`?"),
        "{}",
        output.stderr
    );
    assert!(
        output.stderr.contains("`loud` is not one of"),
        "{}",
        output.stderr
    );
}

#[tokio::test]
async fn a_provider_that_is_named_without_its_key_is_told_at_the_start() {
    let home = TestHome::new();
    for (provider, variable) in [
        ("langbase", "LANGBASE_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("groq", "GROQ_API_KEY"),
    ] {
        let output = home.run(&["--provider", provider, "serve"]).await;
        assert_eq!(output.code, Some(2), "{provider}");
        assert!(output.stderr.contains(variable), "{}", output.stderr);
        // Commands that need no provider work without one.
        assert_eq!(
            home.run(&["--provider", provider, "sessions"]).await.code,
            Some(0)
        );
        assert_eq!(
            home.run(&["--provider", provider, "config"]).await.code,
            Some(0)
        );
    }
}

#[tokio::test]
async fn plain_http_is_for_this_machine_only() {
    let home = TestHome::new();
    let mut command = home.command();
    command
        .env("LANGBASE_API_KEY", "k")
        .env("LANGBASE_BASE_URL", "http://example.com")
        .arg("serve");
    let output = run_command(&mut command).await;
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("https"), "{}", output.stderr);
}
