//! Research: find papers, read them, question them, cite them.
//!
//! `web` is the one way out to the net: guarded, paced, bounded, cached. `sources` are the places
//! papers are found at, one file each; `discover` asks them together and keeps questions that are
//! asked again and again; `collect` is the collection: files to texts, texts to the index, and how
//! they are read; `answer` answers from passages and checks what it says against them; `analyse`
//! looks at papers side by side; `cite` writes and checks bibliographies; `tools` is what clients
//! call.
//!
//! Truth is in the store; the index is derived from it and can be made again. The crate knows
//! nothing of MCP or SQL.

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
pub mod prompt_fence;
mod resources;
pub(crate) mod retrieval;
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

/// The registry with the tools of research and the articles by their addresses. Whatever changes an
/// article is heard, so that the index follows at once.
pub fn register(
    registry: Registry,
    lab: &Arc<ResearchServices>,
    face: ToolListingMode,
) -> Registry {
    tools::register(registry, lab, face)
        .with_resources(ArticleResources)
        .with_listener(Arc::new(resources::IndexChangeListener(lab.clone())))
}

/// Makes a folder, and those above it, for the user alone: what people read is their own.
pub(crate) fn create_private_folder(folder: &std::path::Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
