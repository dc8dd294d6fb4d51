//! Tests of the messages for invalid settings.

use insta::assert_snapshot;

use super::*;
use crate::config::LogLevelSetting;

#[test]
fn zero_connections_are_refused() {
    assert_snapshot!(
        TestUser::new().variable("DATABASE_MAX_CONNECTIONS", "0").error_text(),
        @"environment variable DATABASE_MAX_CONNECTIONS: `0` is not a whole number from 1 to 64 (`database.max_connections`)"
    );
}

#[test]
fn unknown_keys_name_line_and_nearest_key() {
    assert_snapshot!(
        TestUser::new().file("model = \"x\"\n\ndatabse.path = \"x\"\n").error_text(),
        @"unknown key `databse.path` in DIR/config/deliberate/config.toml:3; did you mean `database.path`?"
    );
    assert_snapshot!(TestUser::new().file("[databse]\npath = \"x\"\n").error_text(), @"unknown key `databse.path` in DIR/config/deliberate/config.toml:2; did you mean `database.path`?");
    assert_snapshot!(TestUser::new().file("[limits]\nline_byte = 1\n").error_text(), @"unknown key `limits.line_byte` in DIR/config/deliberate/config.toml:2; did you mean `limits.line_bytes`?");
    assert_snapshot!(TestUser::new().file("timeout_ms = 1\n").error_text(), @"unknown key `timeout_ms` in DIR/config/deliberate/config.toml:1; did you mean `request.timeout_ms`?");
    assert_snapshot!(TestUser::new().file("LANGBASE_API_KEY = \"x\"\n").error_text(), @"unknown key `LANGBASE_API_KEY` in DIR/config/deliberate/config.toml:1; did you mean `langbase.api_key`?");
    assert_snapshot!(TestUser::new().file("colour = \"blue\"\n").error_text(), @"unknown key `colour` in DIR/config/deliberate/config.toml:1");
    assert_snapshot!(TestUser::new().file("[weather]\n").error_text(), @"unknown key `weather` in DIR/config/deliberate/config.toml:1");
    assert_snapshot!(TestUser::new().file("[[database]]\npath = \"x\"\n").error_text(), @"unknown key `database` in DIR/config/deliberate/config.toml:1; did you mean `database.path`?");
    assert_snapshot!(TestUser::new().file("database = \"x.db\"\n").error_text(), @"unknown key `database` in DIR/config/deliberate/config.toml:1; did you mean `database.path`?");
}

#[test]
fn unknown_flag_keys_and_variables_name_the_nearest() {
    assert_snapshot!(TestUser::new().flag("--set", "log.levle", "info").error_text(), @"unknown key `log.levle` in flag --set; did you mean `log.level`?");
    assert_snapshot!(TestUser::new().variable("DELIBERATE_MODLE", "x").error_text(), @"unknown environment variable DELIBERATE_MODLE; did you mean `DELIBERATE_MODEL`?");
    assert_snapshot!(TestUser::new().variable("DELIBERATE_WEATHER", "x").error_text(), @"unknown environment variable DELIBERATE_WEATHER");
    // Variables of other programs are ignored.
    assert!(
        TestUser::new()
            .variable("LANGBASE_API_KEYS", "x")
            .load()
            .is_ok()
    );
}

#[test]
fn an_unknown_shared_log_level_is_a_warning_and_the_next_source_counts() {
    let user = TestUser::new().variable("LOG_LEVEL", "wran");
    let loaded = user.load_valid();
    assert_snapshot!(loaded.warnings.join("\n"), @"ignored environment variable LOG_LEVEL: `wran` is not one of error, warn, info, debug, trace (`log.level`); did you mean `warn`?");
    assert_eq!(loaded.settings.log.level, LogLevelSetting::Info);
    assert!(loaded.is_default("log.level"));
    let loaded = user.file("[log]\nlevel = \"debug\"\n").load_valid();
    assert_eq!(loaded.settings.log.level, LogLevelSetting::Debug);
    // Overridden values are not looked at.
    let user = TestUser::new().variable("LOG_LEVEL", "wran");
    let loaded = user.variable("DELIBERATE_LOG_LEVEL", "error").load_valid();
    assert_eq!(loaded.settings.log.level, LogLevelSetting::Error);
    assert!(loaded.warnings.is_empty());
}

#[test]
fn bad_values_name_the_place_the_value_and_what_is_allowed() {
    assert_snapshot!(TestUser::new().variable("DELIBERATE_LOG_LEVEL", "wran").error_text(), @"environment variable DELIBERATE_LOG_LEVEL: `wran` is not one of error, warn, info, debug, trace (`log.level`); did you mean `warn`?");
    assert_snapshot!(TestUser::new().file("[request]\nmax_retries = -1\n").error_text(), @"DIR/config/deliberate/config.toml:2: `-1` is not a whole number from 0 to 10 (`request.max_retries`)");
    assert_snapshot!(TestUser::new().file("temperature = 2.5\n").error_text(), @"DIR/config/deliberate/config.toml:1: `2.5` is not a number from 0 to 2 (`temperature`)");
    assert_snapshot!(TestUser::new().file("temperature = nan\n").error_text(), @"DIR/config/deliberate/config.toml:1: `nan` is not a number from 0 to 2 (`temperature`)");
    assert_snapshot!(TestUser::new().file("discover = \"maybe\"\n").error_text(), @"DIR/config/deliberate/config.toml:1: `maybe` is not on or off (`discover`)");
    assert_snapshot!(TestUser::new().file("model = [\"a\"]\n").error_text(), @"DIR/config/deliberate/config.toml:1: `model` takes a single value, not a list");
    assert_snapshot!(TestUser::new().variable("RETRY_DELAY_MS", "1s").error_text(), @"environment variable RETRY_DELAY_MS: `1s` is not a whole number of milliseconds from 0 to 60000 (`request.retry_delay_ms`)");
    assert_snapshot!(TestUser::new().flag("--set base_url", "base_url", "localhost:8080").error_text(), @"flag --set base_url: `localhost:8080` is not an http or https URL without user name or query (`base_url`)");
    assert_snapshot!(TestUser::new().flag("--model", "model", " ").error_text(), @"flag --model: `model` is empty; set a value or remove it");
    assert_snapshot!(TestUser::new().variable("OPENAI_BASE_URL", "https://u:p@host").error_text(), @"environment variable OPENAI_BASE_URL: the value (hidden) is not an http or https URL without user name or query (`openai.base_url`)");
    assert_snapshot!(TestUser::new().variable("LANGBASE_API_KEY", "two words").error_text(), @"environment variable LANGBASE_API_KEY: the value (hidden) is not one line of visible ASCII characters (`langbase.api_key`)");
    let long = "x".repeat(500);
    assert_snapshot!(TestUser::new().variable("MAX_RETRIES", &long).error_text(), @"environment variable MAX_RETRIES: `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…` is not a whole number from 0 to 10 (`request.max_retries`)");
}

#[test]
fn hexadecimal_and_underscores_are_numbers_too() {
    let settings = TestUser::new()
        .file("[limits]\nline_bytes = 0x100000\ncontent_chars = 20_000\n")
        .load_valid()
        .settings;
    assert_eq!(settings.limits.line_bytes, 1_048_576);
    assert_eq!(settings.limits.content_chars, 20_000);
}

#[test]
fn an_empty_key_in_the_file_is_refused() {
    assert_snapshot!(
        TestUser::new().file("[langbase]\napi_key = \"\"\n[openai]\napi_key = \"  \"\n").error_text(),
        @"
        2 errors in the settings:
          DIR/config/deliberate/config.toml:2: `langbase.api_key` is empty; set a value or remove it
          DIR/config/deliberate/config.toml:4: `openai.api_key` is empty; set a value or remove it
        "
    );
}

#[test]
fn broken_toml_names_the_line_and_the_rest_is_still_checked() {
    assert_snapshot!(
        TestUser::new().file("model = \nprovidr = \"auto\"\n[log\nlevel = \"info\"\n").error_text(),
        @"
        3 errors in the settings:
          DIR/config/deliberate/config.toml:1: string values must be quoted, expected literal string
          unknown key `providr` in DIR/config/deliberate/config.toml:2; did you mean `provider`?
          DIR/config/deliberate/config.toml:3: unclosed table, expected `]`
        "
    );
}

#[test]
fn a_variable_of_ours_that_is_not_utf8_is_refused() {
    let mut environment = TestUser::new().environment();
    environment.unreadable.insert("DATABASE_PATH".to_owned());
    environment.unreadable.insert("SOMEONE_ELSES".to_owned());
    let errors = AppSettings::load_from(&Flags::default(), environment).unwrap_err();
    assert_snapshot!(errors, @"environment variable DATABASE_PATH is not valid UTF-8");
}

#[test]
fn a_named_file_must_exist() {
    let mut user = TestUser::new();
    user.flags.config = Some(user.path("gone.toml"));
    assert_snapshot!(user.error_text(), @"there is no settings file at DIR/gone.toml, named by flag --config");
    assert_snapshot!(
        TestUser::new().variable("DELIBERATE_CONFIG", "/nowhere/gone.toml").error_text(),
        @"there is no settings file at /nowhere/gone.toml, named by environment variable DELIBERATE_CONFIG"
    );
    let mut user = TestUser::new();
    user.flags.config = Some(user.directory.path().to_owned());
    assert_snapshot!(user.error_text(), @"cannot read the settings file DIR: Is a directory (os error 21)");
}

#[test]
fn a_user_without_directories_must_name_the_database() {
    let errors = AppSettings::load_from(&Flags::default(), Environment::default()).unwrap_err();
    assert_snapshot!(errors, @"this user has no data directory for the database; set `database.path`");
    let mut flags = Flags::default();
    flags.set("--database".to_owned(), "database.path", "x.db");
    assert!(AppSettings::load_from(&flags, Environment::default()).is_ok());
}

#[test]
fn a_bad_line_in_the_file_counts_even_where_a_variable_overrides_it() {
    let user = TestUser::new()
        .file("[log]\nlevel = \"loud\"\n")
        .variable("LOG_LEVEL", "info");
    assert_snapshot!(user.error_text(), @"DIR/config/deliberate/config.toml:2: `loud` is not one of error, warn, info, debug, trace (`log.level`)");
}

#[test]
fn all_mistakes_are_reported_at_once() {
    assert_snapshot!(
        TestUser::new()
            .file("modle = \"x\"\n[database]\nmax_connections = 100\n")
            .variable("DELIBERATE_DURABLE", "full")
            .variable("LOG_FORMAT", "xml")
            .variable("LANGBASE_API_KEY", "with space")
            .flag("--set", "pipes.liner", "x")
            .error_text(),
        @"
        6 errors in the settings:
          unknown key `modle` in DIR/config/deliberate/config.toml:1; did you mean `model`?
          unknown key `pipes.liner` in flag --set; did you mean `pipes.linear`?
          unknown environment variable DELIBERATE_DURABLE; did you mean `DELIBERATE_DURABILITY`?
          environment variable LANGBASE_API_KEY: the value (hidden) is not one line of visible ASCII characters (`langbase.api_key`)
          DIR/config/deliberate/config.toml:3: `100` is not a whole number from 1 to 64 (`database.max_connections`)
          environment variable LOG_FORMAT: `xml` is not one of pretty, json (`log.format`)
        "
    );
}

#[test]
fn a_list_of_words_takes_only_known_ones() {
    assert_snapshot!(
        TestUser::new().variable("DELIBERATE_TOOLS_SETS", "reasoning, promts").error_text(),
        @"environment variable DELIBERATE_TOOLS_SETS: `promts` is not one of reasoning, prompts, research, research_compact, gateway (`tools.sets`); did you mean `prompts`?"
    );
    assert_snapshot!(
        TestUser::new().file("[tools]\nsets = []\n").error_text(),
        @"DIR/config/deliberate/config.toml:2: `tools.sets` is empty; set a value or remove it"
    );
    assert_snapshot!(
        TestUser::new().flag("--set tools.sets", "tools.sets", " , ").error_text(),
        @"flag --set tools.sets: `,` is not one of reasoning, prompts, research, research_compact, gateway (`tools.sets`)"
    );
    assert_snapshot!(
        TestUser::new().flag("--set prompts.judge", "prompts.judge", "modle").error_text(),
        @"flag --set prompts.judge: `modle` is not one of client, model (`prompts.judge`); did you mean `model`?"
    );
}
