//! Tests of precedence and of each value's origin.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::*;
use crate::config::{
    DatabaseDurability, LogFormat, LogLevelSetting,
    definitions::{CONFIG_VARIABLE, SETTINGS},
};

#[test]
fn flag_over_environment_over_file_over_default() {
    let user = TestUser::new();
    let loaded = user.load_valid();
    assert_eq!(find_entry(&loaded, "model").origin, SettingOrigin::Default);
    assert_eq!(loaded.file, None);

    let user = user.file("# first line\nmodel = \"from-file\"\n");
    let path = user.path("config/deliberate/config.toml");
    let loaded = user.load_valid();
    assert_eq!(loaded.settings.model.as_deref(), Some("from-file"));
    assert_eq!(find_entry(&loaded, "model").origin, file_origin(&path, 2));
    assert_eq!(loaded.file, Some(path));

    let user = user.variable("DELIBERATE_MODEL", "from-variable");
    let loaded = user.load_valid();
    assert_eq!(loaded.settings.model.as_deref(), Some("from-variable"));
    assert_eq!(
        find_entry(&loaded, "model").origin,
        SettingOrigin::Variable("DELIBERATE_MODEL".to_owned())
    );

    let user = user.flag("--model", "model", "from-flag");
    let loaded = user.load_valid();
    assert_eq!(loaded.settings.model.as_deref(), Some("from-flag"));
    assert_eq!(
        find_entry(&loaded, "model").origin,
        SettingOrigin::Flag("--model".to_owned())
    );
}

#[test]
fn our_own_variable_wins_over_the_shared_one() {
    let user = TestUser::new()
        .variable("LOG_LEVEL", "warn")
        .variable("DELIBERATE_LOG_LEVEL", "debug");
    let loaded = user.load_valid();
    assert_eq!(loaded.settings.log.level, LogLevelSetting::Debug);
    assert_eq!(
        find_entry(&loaded, "log.level").origin,
        SettingOrigin::Variable("DELIBERATE_LOG_LEVEL".to_owned())
    );
}

#[test]
fn an_empty_variable_counts_as_not_set() {
    let loaded = TestUser::new()
        .variable("LANGBASE_API_KEY", "")
        .variable("DATABASE_PATH", "  ")
        .variable("DELIBERATE_NONSENSE", "")
        .load_valid();
    assert!(loaded.settings.accounts["langbase"].api_key.is_none());
    assert_eq!(
        find_entry(&loaded, "database.path").origin,
        SettingOrigin::Default
    );
}

#[test]
fn words_and_white_space_are_read_kindly() {
    let settings = TestUser::new()
        .variable("LOG_LEVEL", "WARN")
        .variable("LOG_FORMAT", " Json\n")
        .variable("DELIBERATE_DISCOVER", "OFF")
        .load_valid()
        .settings;
    assert_eq!(settings.log.level, LogLevelSetting::Warn);
    assert_eq!(settings.log.format, LogFormat::Json);
    assert!(!settings.discover);
}

#[test]
fn the_file_can_be_named_by_flag_and_variable() {
    let mut user = TestUser::new().file("model = \"usual\"\n");
    let other = user.path("other.toml");
    std::fs::write(&other, "model = \"other\"\n").unwrap();
    user = user.variable(CONFIG_VARIABLE, &other.display().to_string());
    assert_eq!(user.load_valid().settings.model.as_deref(), Some("other"));
    user.flags.config = Some(user.path("config/deliberate/config.toml"));
    assert_eq!(user.load_valid().settings.model.as_deref(), Some("usual"));
}

#[test]
fn paths_start_where_a_person_would_expect() {
    let path = |user: TestUser| {
        let path = user.load_valid().settings.database.path;
        path.strip_prefix(user.directory.path())
            .map_or(path.clone(), Path::to_path_buf)
    };
    let default = path(TestUser::new());
    assert_eq!(default, Path::new("data/deliberate/deliberate.db"));
    let home = path(TestUser::new().variable("DATABASE_PATH", "~/mine.db"));
    assert_eq!(home, Path::new("home/mine.db"));
    let working = path(TestUser::new().variable("DATABASE_PATH", "./data/reasoning.db"));
    assert_eq!(working, Path::new("./data/reasoning.db"));
    let beside = path(TestUser::new().file("database.path = \"mine.db\"\n"));
    assert_eq!(beside, Path::new("config/deliberate/mine.db"));
    let memory = path(TestUser::new().file("database.path = \":memory:\"\n"));
    assert_eq!(memory, Path::new(":memory:"));
}

#[test]
fn folders_of_prompts_are_found_from_the_narrowest_setting_to_the_widest() {
    let folders = |user: &TestUser| {
        let prompts = user.load_valid().settings.prompts;
        (
            prompts.workspace,
            prompts.folders.prompts,
            prompts.folders.gates,
        )
    };
    let path = |text: &str| Some(PathBuf::from(text));
    let user = TestUser::new();
    let own = user.path("data/deliberate/prompts");
    assert_eq!(folders(&user), (Some(own), None, None));
    let user = TestUser::new()
        .variable("MCP_WORKSPACE", "/w")
        .variable("MCP_RESOURCES_PATH", "/all")
        .variable("MCP_GATES_PATH", "/gates");
    assert_eq!(
        folders(&user),
        (path("/w"), path("/all/prompts"), path("/gates"))
    );
    let user = user.variable("DELIBERATE_PROMPTS_WORKSPACE", "/ours").flag(
        "--set prompts.gates_path",
        "prompts.gates_path",
        "/set",
    );
    assert_eq!(
        folders(&user),
        (path("/ours"), path("/all/prompts"), path("/set"))
    );
    let user = user.flag("--workspace", "prompts.workspace", "/flag");
    assert_eq!(folders(&user).0, path("/flag"));
}

#[test]
fn a_user_without_directories_has_prompts_beside_the_database() {
    let workspace = |database: &str| {
        let mut flags = Flags::default();
        flags.set("--database".to_owned(), "database.path", database);
        let loaded = AppSettings::load_from(&flags, Environment::default()).unwrap();
        loaded.settings.prompts.workspace
    };
    assert_eq!(
        workspace("/data/x.db"),
        Some(PathBuf::from("/data/prompts"))
    );
    assert_eq!(workspace(":memory:"), None);
}

#[test]
fn defaults_are_those_of_the_documentation() {
    let user = TestUser::new();
    let settings = user.load_valid().settings;
    let text =
        format!("{settings:#?}").replace(&user.directory.path().display().to_string(), "DIR");
    insta::assert_snapshot!(text);
}

/// Every documented variable reaches its field.
#[test]
fn every_variable_of_the_original_works_as_written() {
    let user = TestUser::new()
        .variable("LANGBASE_API_KEY", KEY)
        .variable("LANGBASE_BASE_URL", "http://127.0.0.1:9")
        .variable("DATABASE_PATH", "/tmp/x.db")
        .variable("DATABASE_MAX_CONNECTIONS", "7")
        .variable("LOG_LEVEL", "debug")
        .variable("LOG_FORMAT", "json")
        .variable("REQUEST_TIMEOUT_MS", "1500")
        .variable("MAX_RETRIES", "0")
        .variable("RETRY_DELAY_MS", "20");
    let pipes = [
        "LINEAR",
        "TREE",
        "DIVERGENT",
        "REFLECTION",
        "AUTO",
        "BACKTRACKING",
        "GOT_GENERATE",
        "GOT_SCORE",
        "GOT_AGGREGATE",
        "GOT_REFINE",
    ];
    let user = pipes.iter().fold(user, |user, pipe| {
        user.variable(&format!("PIPE_{pipe}"), &format!("my-{pipe}"))
    });
    let settings = user.load_valid().settings;
    assert!(settings.accounts["langbase"].api_key.is_some());
    assert_eq!(
        settings.accounts["langbase"].base_url.as_deref(),
        Some("http://127.0.0.1:9")
    );
    assert_eq!(settings.database.path, PathBuf::from("/tmp/x.db"));
    assert_eq!(settings.database.max_connections, 7);
    assert_eq!(settings.log.level, LogLevelSetting::Debug);
    assert_eq!(settings.log.format, LogFormat::Json);
    assert_eq!(settings.request.timeout, Some(Duration::from_millis(1500)));
    assert_eq!(settings.request.max_retries, 0);
    assert_eq!(settings.request.retry_delay, Duration::from_millis(20));
    assert_eq!(settings.pipes.len(), pipes.len());
    for pipe in pipes {
        assert_eq!(
            settings.pipes[pipe.to_lowercase().as_str()],
            format!("my-{pipe}")
        );
    }
}

/// Sets every key to a value other than the default; if a key has no field, its default or nothing
/// appears in the snapshot.
#[test]
fn every_key_reaches_its_field() {
    let user = SETTINGS
        .iter()
        .enumerate()
        .fold(TestUser::new(), |user, (index, setting)| {
            use crate::config::definitions::SettingKind;
            let value = match setting.kind {
                SettingKind::Text => format!("text-{index}"),
                SettingKind::Secret => format!("key-{index}"),
                SettingKind::Integer { min, .. } | SettingKind::Milliseconds { min, .. } => {
                    (min + 2 * index as u64).to_string()
                }
                SettingKind::Number { max, .. } => (max * index as f64 / 1_000.0).to_string(),
                SettingKind::Switch => "off".to_owned(),
                SettingKind::Choice(words) | SettingKind::Choices(words) => {
                    (*words.last().unwrap()).to_owned()
                }
                SettingKind::Path => format!("/elsewhere-{index}"),
                SettingKind::Texts => format!("one-{index}, two-{index}"),
                SettingKind::Paths => "/one, /two".to_owned(),
                SettingKind::Address => format!("127.0.0.1:{}", 1000 + index),
                SettingKind::Url => format!("https://host-{index}/v1"),
            };
            let value = match setting.key {
                "request.max_retries" => "9".to_owned(),
                "limits.principal_share" => "33".to_owned(),
                _ => value,
            };
            user.flag("--set", setting.key, &value)
        });
    let settings = user.load_valid().settings;
    assert_eq!(settings.database.durability, DatabaseDurability::Relaxed);
    for (secret, key) in [
        (&settings.api_key, "api_key"),
        (&settings.accounts["langbase"].api_key, "langbase.api_key"),
        (&settings.accounts["openai"].api_key, "openai.api_key"),
        (&settings.accounts["anthropic"].api_key, "anthropic.api_key"),
    ] {
        let index = SETTINGS.iter().position(|setting| setting.key == key);
        let secret = secret.as_ref().unwrap().expose_secret();
        assert_eq!(secret, format!("key-{}", index.unwrap()));
    }
    insta::assert_snapshot!(format!("{settings:#?}"));
}
