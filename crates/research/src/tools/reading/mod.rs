//! Reading: one article by its outline, a section, pages or words; whole articles in a small working
//! set.

mod article;
mod content;
mod full;
mod outline;
mod slots;
mod stretch;
mod unload;

use super::ToolRegistrar;

pub(crate) fn add(adding: ToolRegistrar<'_>) -> ToolRegistrar<'_> {
    adding
        .add_common(article::ReadArticle)
        .add_rare(full::ReadFullArticle)
        .add_rare(unload::UnloadArticle)
        .add_rare(content::GetArticleFullContent)
}
