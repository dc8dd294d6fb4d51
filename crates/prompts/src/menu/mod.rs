//! The prompts of the library in a client's menu, for people who pick one there.
//!
//! A prompt is in the menu if it says so, else if its category does, else if the settings do. What
//! a person gets is the prompt and nothing more; a chain, or whatever does more than render, is a
//! word to the model about which call to make.

mod complete;
mod serve;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use deliberate_toolkit::{Argument, Choices, Desk, Dish, Menu, Served, ToolError, Typed};
use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::{
    engine::Engine,
    library::Library,
    model::{self, Prompt},
};

/// The tool that prompts lead to.
pub(crate) const TOOL: &str = "prompt_engine";

/// Names that another family of prompts has.
const TAKEN: [&str; 8] = [
    "think",
    "tree",
    "diverge",
    "reflect",
    "backtrack",
    "auto",
    "graph",
    "recap",
];

/// The prompts of the library, for a client's menu.
pub struct PromptMenu {
    engine: Arc<Engine>,
    /// The prompts whose names are taken, of which was told.
    warned: Mutex<BTreeSet<String>>,
}

impl PromptMenu {
    /// A menu of what is in the engine's library.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self {
            engine,
            warned: Mutex::default(),
        }
    }

    fn shows(&self, library: &Library, prompt: &Prompt) -> bool {
        if !self.is_registered(library, prompt) {
            return false;
        }
        let free = !TAKEN.contains(&prompt.id.as_str());
        if !free {
            self.warn(&prompt.id);
        }
        free
    }

    fn is_registered(&self, library: &Library, prompt: &Prompt) -> bool {
        let category = library.categories.get(&prompt.category);
        let by_category = category.and_then(|it| it.register_with_mcp);
        prompt
            .registered
            .or(by_category)
            .unwrap_or(self.engine.options.in_menu)
    }

    /// Says once that a prompt is left out.
    fn warn(&self, id: &str) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.insert(id.to_owned()) {
            tracing::warn!(
                prompt = id,
                "a prompt is not in the menu, because a way of reasoning has its name"
            );
        }
    }

    /// The prompt of that very name, if it is in the menu.
    fn named(&self, library: &Library, name: &str) -> Option<Arc<Prompt>> {
        let prompt = library.prompts.get(name)?;
        self.shows(library, prompt).then(|| prompt.clone())
    }
}

impl Menu for PromptMenu {
    fn list(&self) -> BoxFuture<'_, Vec<Dish>> {
        Box::pin(async {
            let library = self.engine.shelf.library().await;
            let shown = library.prompts.values();
            shown
                .filter(|prompt| self.shows(&library, prompt))
                .map(|prompt| dish(prompt))
                .collect()
        })
    }

    fn get<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a Map<String, Value>,
        desk: Desk<'a>,
    ) -> BoxFuture<'a, Option<Result<Served, ToolError>>> {
        Box::pin(async move {
            let library = self.engine.shelf.library().await;
            let prompt = self.named(&library, name)?;
            Some(serve::serve(&self.engine, &library, &prompt, arguments, desk).await)
        })
    }

    fn complete<'a>(
        &'a self,
        name: &'a str,
        typed: Typed<'a>,
        _: Desk<'a>,
    ) -> BoxFuture<'a, Option<Result<Choices, ToolError>>> {
        Box::pin(async move {
            let library = self.engine.shelf.library().await;
            let prompt = self.named(&library, name)?;
            Some(Ok(complete::choices(&library, &prompt, typed)))
        })
    }
}

fn dish(prompt: &Prompt) -> Dish {
    let argument = |it: &model::Argument| Argument {
        name: it.name.clone(),
        description: it.description.clone().unwrap_or_default(),
        // What has a default may be left out.
        required: it.required && it.default_value.is_none(),
    };
    Dish {
        name: prompt.id.clone(),
        title: prompt.name.clone(),
        description: prompt.description.clone(),
        leads_to: TOOL.to_owned(),
        arguments: prompt.arguments.iter().map(argument).collect(),
    }
}
