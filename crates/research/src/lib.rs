#![doc = include_str!("../README.md")]

pub mod analysis;
pub mod answer;
pub mod articles;
pub mod bibliography;
mod blocking;
pub mod discovery;
pub mod http;
pub(crate) mod index_sync;
pub(crate) mod ingest;
mod options;
pub mod pdf_locator;
mod prompt_fence;
mod resources;
pub(crate) mod retrieval;
mod sentences;
mod services;
pub mod sources;
pub mod tools;
pub(crate) mod watch_folder;

use std::sync::Arc;

use deliberate_toolkit::Registry;

pub use options::{
    AnswerOptions, EmbeddingOptions, RerankOptions, ResearchOptions, RetrievalOptions,
};
pub use resources::ArticleResources;
pub use retrieval::query::{
    ArticleFilter, RetrievalQuery, RetrievalResult, RetrievalScope, RetrievedPassage,
};
pub use services::{ResearchServices, ResearchSetupError};
pub use tools::ToolListingMode;
#[doc(hidden)]
pub use tools::answers;

/// Adds the research tools and the article resources to a registry, with a listener that makes the
/// index follow every change of an article.
pub fn register(
    registry: Registry,
    services: &Arc<ResearchServices>,
    mode: ToolListingMode,
) -> Registry {
    tools::register(registry, services, mode)
        .with_resources(ArticleResources)
        .with_listener(Arc::new(resources::IndexChangeListener(services.clone())))
}
