//! A harness with a separate workspace and a registry with the engine's tools.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use deliberate_prompts::{Engine, EngineOptions, LibraryPaths, library::LiveLibrary, register};
use deliberate_store::{
    Store,
    sqlite::{SqliteDurability, SqliteOptions, SqliteStore},
};
use deliberate_testkit::{CountingIds, FixedClock};
use deliberate_toolkit::{
    CallLimits, CallOutcome, CallerContext, FixedModel, Registry, RegistryDeps, ToolError,
};
use serde_json::{Value, json};

pub(crate) struct ManagerHarness {
    pub(crate) registry: Arc<Registry>,
    pub(crate) library: Arc<LiveLibrary>,
    pub(crate) store: Arc<dyn Store>,
    folder: Arc<tempfile::TempDir>,
}

impl ManagerHarness {
    pub(crate) fn new() -> Self {
        Self::in_folder(Arc::new(tempfile::tempdir().unwrap()), &|_| {})
    }

    /// Creates a harness with other options.
    pub(crate) fn with_options(change: &dyn Fn(&mut EngineOptions)) -> Self {
        Self::in_folder(Arc::new(tempfile::tempdir().unwrap()), change)
    }

    /// Creates a second process on the same workspace.
    pub(crate) fn second_process(&self) -> Self {
        self.reopen(&|_| {})
    }

    /// Opens the same workspace with other options, like the next start of the program.
    pub(crate) fn reopen(&self, change: &dyn Fn(&mut EngineOptions)) -> Self {
        Self::in_folder(self.folder.clone(), change)
    }

    fn in_folder(folder: Arc<tempfile::TempDir>, change: &dyn Fn(&mut EngineOptions)) -> Self {
        let mut options = EngineOptions {
            paths: LibraryPaths {
                workspace: folder.path().join("workspace"),
                ..LibraryPaths::default()
            },
            ..EngineOptions::default()
        };
        change(&mut options);
        let library = LiveLibrary::new(&options);
        let engine = Arc::new(Engine::new(options, library.clone()));
        let store: Arc<dyn Store> = Arc::new(SqliteStore::new(SqliteOptions {
            path: folder.path().join("store.db"),
            readers: 2,
            durability: SqliteDurability::Relaxed,
        }));
        let registry = Registry::new(RegistryDeps {
            store: store.clone(),
            models: Arc::new(FixedModel(None)),
            clock: Arc::new(FixedClock::new()),
            ids: Arc::new(CountingIds::new()),
            limits: CallLimits::default(),
        });
        Self {
            registry: Arc::new(register(registry, &engine)),
            library,
            store,
            folder,
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
        let called = self
            .registry
            .call("resource_manager", arguments, CallerContext::default())
            .await?;
        match called {
            CallOutcome::Done(answer) => Ok(answer),
            CallOutcome::NeedsReply(asked) => panic!("it asked: {asked:?}"),
        }
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
        let called = self
            .registry
            .call(
                "prompt_engine",
                json!({ "command": command }),
                CallerContext::default(),
            )
            .await
            .unwrap_or_else(|error| panic!("{command}: {error}"));
        match called {
            CallOutcome::Done(answer) => answer["said"].as_str().unwrap().to_owned(),
            CallOutcome::NeedsReply(asked) => panic!("it asked: {asked:?}"),
        }
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
