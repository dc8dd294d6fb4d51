//! Tools that read articles: by outline, section, pages, or words, or whole in a small working set.

mod article;
mod content;
mod excerpt;
mod full_article;
mod outline;
mod unload;
mod working_set;

use super::ToolRegistrar;

pub(crate) fn add(adding: ToolRegistrar<'_>) -> ToolRegistrar<'_> {
    adding
        .add_common(article::ReadArticle)
        .add_rare(full_article::ReadFullArticle)
        .add_rare(unload::UnloadArticle)
        .add_rare(content::GetArticleFullContent)
}
