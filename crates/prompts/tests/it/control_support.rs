//! A harness for the engine's tools on a real store and a separate workspace, which two processes
//! can share.

use std::{ops::Deref, path::PathBuf, sync::Arc};

use deliberate_core::SystemIds;
use deliberate_prompts::{Engine, EngineOptions, LibraryPaths, library::LiveLibrary, register};
use deliberate_testkit::fixtures::{RegistryBuilder, RegistryFixture};
use deliberate_toolkit::{CallOutcome, CallerContext, Principal, ResourceContext, ToolError};
use serde_json::{Value, json};

pub(crate) struct ControlHarness {
    fixture: RegistryFixture,
    pub(crate) caller: CallerContext,
    options: EngineOptions,
}

impl Deref for ControlHarness {
    type Target = RegistryFixture;

    fn deref(&self) -> &RegistryFixture {
        &self.fixture
    }
}

impl ControlHarness {
    pub(crate) fn new() -> Self {
        Self::with_options(|_| {})
    }

    /// Creates a harness with options of the operator.
    pub(crate) fn with_options(set: impl FnOnce(&mut EngineOptions)) -> Self {
        let parts = RegistryBuilder::new().ids(Arc::new(SystemIds));
        let mut options = EngineOptions {
            paths: LibraryPaths {
                workspace: parts.folder().join("workspace"),
                ..LibraryPaths::default()
            },
            list_prompts: true,
            ..EngineOptions::default()
        };
        set(&mut options);
        Self::build(parts, options)
    }

    fn build(parts: RegistryBuilder, options: EngineOptions) -> Self {
        let library = LiveLibrary::new(&options);
        let engine = Arc::new(Engine::new(options.clone(), library));
        Self {
            fixture: parts.build(|registry| register(registry, &engine)),
            caller: CallerContext::default(),
            options,
        }
    }

    /// Creates a second process on the same data and files.
    pub(crate) fn second_process(&self) -> Self {
        Self::build(self.fixture.second_process(), self.options.clone())
    }

    /// Sets a named principal as the caller.
    pub(crate) fn with_caller(mut self, name: &str) -> Self {
        self.caller.principal = Principal {
            name: Some(name.into()),
            ..Principal::default()
        };
        self
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.options.paths.workspace.join(file)
    }

    /// Writes a file of the workspace.
    pub(crate) fn write(&self, file: &str, text: &str) -> &Self {
        let path = self.path(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// Writes a prompt of category `own`.
    pub(crate) fn prompt(&self, id: &str, fields: &str) -> &Self {
        let name = id.rsplit('/').next().unwrap();
        let text = format!("id: {name}\nname: The {name}\ndescription: About {name}\n{fields}\n");
        self.write(&format!("resources/prompts/own/{id}/prompt.yaml"), &text)
    }

    /// Writes two prompts and a chain of them.
    pub(crate) fn write_sample_prompts(&self) -> &Self {
        self.prompt(
            "hello",
            "arguments:\n  - name: who\n    required: true\nuserMessageTemplate: 'Hello {{who}}'",
        )
        .prompt("bye", "userMessageTemplate: 'Bye'")
        .prompt(
            "greet",
            "arguments:\n  - name: who\n    required: true\nchainSteps:\n  - promptId: hello\n    stepName: first\n  - promptId: bye\n    stepName: second",
        )
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<Value, ToolError> {
        match self
            .registry
            .call(tool, arguments, self.caller.clone())
            .await?
        {
            CallOutcome::Done(output) => Ok(output),
            other @ CallOutcome::NeedsReply(_) => panic!("{other:?}"),
        }
    }

    pub(crate) async fn call_engine(&self, arguments: Value) -> Value {
        self.call("prompt_engine", arguments).await.unwrap()
    }

    /// Calls `system_control`, which must succeed.
    pub(crate) async fn call_control(&self, arguments: Value) -> Value {
        let shown = arguments.to_string();
        let answer = self.call("system_control", arguments).await;
        answer.unwrap_or_else(|error| panic!("{shown}: {error:?}"))
    }

    /// Calls `system_control`, which must fail.
    pub(crate) async fn control_error(&self, arguments: Value) -> ToolError {
        self.call("system_control", arguments).await.unwrap_err()
    }

    /// Calls `system_control` and returns the text of its output.
    pub(crate) async fn control_text(&self, arguments: Value) -> String {
        let answer = self.call_control(arguments).await;
        answer["said"].as_str().unwrap().to_owned()
    }

    pub(crate) fn resource_context(&self) -> ResourceContext<'_> {
        ResourceContext {
            registry: &self.registry,
            caller: &self.caller,
        }
    }
}

/// Builds the arguments of a `system_control` call.
pub(crate) fn control_arguments(action: &str, operation: &str, more: Value) -> Value {
    let mut all = json!({ "action": action, "operation": operation });
    let Value::Object(more) = more else {
        panic!("{more}");
    };
    all.as_object_mut().unwrap().extend(more);
    all
}

/// Returns one field of every item in a list.
pub(crate) fn field_values(list: &Value, field: &str) -> Vec<String> {
    let all = list.as_array().unwrap().iter();
    all.map(|it| it[field].as_str().unwrap().to_owned())
        .collect()
}
