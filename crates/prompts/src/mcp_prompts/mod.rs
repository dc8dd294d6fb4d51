//! The prompts of the library as MCP prompts, for people who pick one in their client.
//!
//! A prompt is listed if it says so, else if its category does, else if the settings do. The result
//! is the prompt alone; for a chain, or a prompt that does more than render, it is an instruction
//! to the model about which call to make.

mod complete;
mod get;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use deliberate_toolkit::{
    CompletionRequest, CompletionValues, PromptArgumentInfo, PromptInfo, PromptProvider,
    RenderedPrompt, ResourceContext, ToolError,
};
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::{
    engine::Engine,
    library::PromptLibrary,
    model::{self, Prompt},
};

/// The tool that runs prompts.
pub(crate) const TOOL: &str = "prompt_engine";

/// Names that the prompts of the reasoning modes use.
const RESERVED_NAMES: [&str; 8] = [
    "think",
    "tree",
    "diverge",
    "reflect",
    "backtrack",
    "auto",
    "graph",
    "recap",
];

/// Lists and renders the prompts of the library for MCP clients.
pub struct LibraryPrompts {
    engine: Arc<Engine>,
    /// The ids of prompts with a reserved name for which a warning was logged.
    warned_ids: Mutex<BTreeSet<String>>,
}

impl LibraryPrompts {
    pub fn new(engine: Arc<Engine>) -> Self {
        Self {
            engine,
            warned_ids: Mutex::default(),
        }
    }

    fn is_listed(&self, library: &PromptLibrary, prompt: &Prompt) -> bool {
        if !self.is_registered(library, prompt) {
            return false;
        }
        let free = !RESERVED_NAMES.contains(&prompt.id.as_str());
        if !free {
            self.warn(&prompt.id);
        }
        free
    }

    fn is_registered(&self, library: &PromptLibrary, prompt: &Prompt) -> bool {
        let category = library.categories.get(&prompt.category);
        let by_category = category.and_then(|it| it.register_with_mcp);
        prompt
            .registered
            .or(by_category)
            .unwrap_or(self.engine.options.list_prompts)
    }

    /// Logs once that a prompt is not listed because its name is reserved.
    fn warn(&self, id: &str) {
        let mut warned = self
            .warned_ids
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if warned.insert(id.to_owned()) {
            tracing::warn!(
                prompt = id,
                "a prompt is not listed because a reasoning mode has the same name"
            );
        }
    }

    /// Finds a listed prompt by its exact name.
    fn find_listed(&self, library: &PromptLibrary, name: &str) -> Option<Arc<Prompt>> {
        let prompt = library.prompts.get(name)?;
        self.is_listed(library, prompt).then(|| prompt.clone())
    }
}

impl PromptProvider for LibraryPrompts {
    fn list(&self) -> BoxFuture<'_, Vec<PromptInfo>> {
        Box::pin(async {
            let library = self.engine.live_library.library().await;
            let shown = library.prompts.values();
            shown
                .filter(|prompt| self.is_listed(&library, prompt))
                .map(|prompt| prompt_info(prompt))
                .collect()
        })
    }

    fn get<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a Map<String, Value>,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<RenderedPrompt, ToolError>>> {
        Box::pin(async move {
            let library = self.engine.live_library.library().await;
            let prompt = self.find_listed(&library, name)?;
            Some(get::get_prompt(&self.engine, &library, &prompt, arguments, context).await)
        })
    }

    fn complete<'a>(
        &'a self,
        name: &'a str,
        typed: CompletionRequest<'a>,
        _: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<CompletionValues, ToolError>>> {
        Box::pin(async move {
            let library = self.engine.live_library.library().await;
            let prompt = self.find_listed(&library, name)?;
            Some(Ok(complete::complete_argument(&library, &prompt, typed)))
        })
    }
}

fn prompt_info(prompt: &Prompt) -> PromptInfo {
    let argument = |it: &model::ArgumentDefinition| PromptArgumentInfo {
        name: it.name.clone(),
        description: it.description.clone().unwrap_or_default(),
        // An argument with a default may be omitted.
        required: it.required && it.default_value.is_none(),
    };
    PromptInfo {
        name: prompt.id.clone(),
        title: prompt.name.clone(),
        description: prompt.description.clone(),
        tool: TOOL.to_owned(),
        arguments: prompt.arguments.iter().map(argument).collect(),
    }
}
