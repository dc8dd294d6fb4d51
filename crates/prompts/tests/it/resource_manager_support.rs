//! A harness with a separate workspace and a registry with the engine's tools.

use std::{
    fs,
    ops::Deref,
    path::{Path, PathBuf},
    sync::Arc,
};

use deliberate_prompts::{Engine, EngineOptions, LibraryPaths, library::LiveLibrary, register};
use deliberate_testkit::fixtures::{RegistryBuilder, RegistryFixture, expect_done};
use deliberate_toolkit::ToolError;
use serde_json::{Value, json};

pub(crate) struct ManagerHarness {
    fixture: RegistryFixture,
    pub(crate) library: Arc<LiveLibrary>,
}

impl Deref for ManagerHarness {
    type Target = RegistryFixture;

    fn deref(&self) -> &RegistryFixture {
        &self.fixture
    }
}

impl ManagerHarness {
    pub(crate) fn new() -> Self {
        Self::with_options(&|_| {})
    }

    /// Creates a harness with other options.
    pub(crate) fn with_options(change: &dyn Fn(&mut EngineOptions)) -> Self {
        Self::build(RegistryBuilder::new(), change)
    }

    /// Creates a second process on the same workspace.
    pub(crate) fn second_process(&self) -> Self {
        self.reopen(&|_| {})
    }

    /// Opens the same workspace with other options, like the next start of the program.
    pub(crate) fn reopen(&self, change: &dyn Fn(&mut EngineOptions)) -> Self {
        Self::build(RegistryBuilder::in_folder(self.folder.clone()), change)
    }

    fn build(parts: RegistryBuilder, change: &dyn Fn(&mut EngineOptions)) -> Self {
        let mut options = EngineOptions {
            paths: LibraryPaths {
                workspace: parts.folder().join("workspace"),
                ..LibraryPaths::default()
            },
            ..EngineOptions::default()
        };
        change(&mut options);
        let library = LiveLibrary::new(&options);
        let engine = Arc::new(Engine::new(options, library.clone()));
        Self {
            fixture: parts.build(|registry| register(registry, &engine)),
            library,
        }
    }

    /// Returns the folder that contains the workspace.
    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    /// Returns a path below `resources`.
    pub(crate) fn resource_path(&self, path: &str) -> PathBuf {
        self.workspace().join("resources").join(path)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.resource_path(path))
            .unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.resource_path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) async fn manage(&self, arguments: Value) -> Result<Value, ToolError> {
        let outcome = self.call("resource_manager", arguments).await?;
        Ok(expect_done(Ok(outcome)))
    }

    pub(crate) async fn manage_ok(&self, arguments: Value) -> Value {
        self.manage(arguments.clone())
            .await
            .unwrap_or_else(|error| panic!("{arguments}: {error}"))
    }

    /// Calls the tool, which must fail, and returns the code and the text of the error.
    pub(crate) async fn manage_error(&self, arguments: Value) -> (String, String) {
        match self.manage(arguments.clone()).await {
            Ok(answer) => panic!("{arguments} was answered {answer}"),
            Err(error) => {
                let told = error.to_json();
                let hint = told["hint"].as_str().unwrap_or_default();
                let code = told["code"].as_str().unwrap().to_owned();
                (
                    code,
                    format!("{} {hint}", told["message"].as_str().unwrap()),
                )
            }
        }
    }

    /// Creates a prompt that greets.
    pub(crate) async fn create_greeting(&self, id: &str) -> Value {
        self.manage_ok(json!({
            "resource_type": "prompt", "action": "create", "id": id, "name": "Greeting",
            "description": "Greets someone by name", "category": "people",
            "user_message_template": "Hello {{ who }}!",
            "arguments": [{ "name": "who", "required": true }],
        }))
        .await
    }

    /// Runs a command and returns the rendered text.
    pub(crate) async fn render_command(&self, command: &str) -> String {
        let output = self
            .call_ok("prompt_engine", json!({ "command": command }))
            .await;
        output["said"].as_str().unwrap().to_owned()
    }

    /// Returns the problems of the workspace.
    pub(crate) async fn problems(&self) -> Vec<String> {
        let library = self.library.library().await;
        let own = library
            .problems
            .iter()
            .filter(|it| !it.file.starts_with("shipped/"));
        own.map(|it| format!("{}: {}", it.file, it.message))
            .collect()
    }

    /// Lists all files below the folder that contains the workspace, except the store and the lock.
    pub(crate) fn all_files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut waiting = vec![self.folder.path().to_path_buf()];
        while let Some(folder) = waiting.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                let name = entry
                    .path()
                    .strip_prefix(self.folder.path())
                    .unwrap()
                    .to_owned();
                let name = name.to_string_lossy().into_owned();
                if entry.file_type().unwrap().is_dir() {
                    waiting.push(entry.path());
                } else if !name.starts_with("store.db") && !name.contains(".deliberate.lock") {
                    found.push(name);
                }
            }
        }
        found.sort();
        found
    }
}

/// Returns the text of an output.
pub(crate) fn reply_text(answer: &Value) -> &str {
    answer["said"].as_str().unwrap()
}
