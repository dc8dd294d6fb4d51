//! Reading: one article by its outline, a section, pages or words; whole articles in a small working
//! set.

mod article;
mod content;
mod full;
mod outline;
mod slots;
mod stretch;
mod unload;

use super::Adding;

pub(crate) fn add(adding: Adding<'_>) -> Adding<'_> {
    adding
        .common(article::ReadArticle)
        .rare(full::ReadFullArticle)
        .rare(unload::UnloadArticle)
        .rare(content::GetArticleFullContent)
}
