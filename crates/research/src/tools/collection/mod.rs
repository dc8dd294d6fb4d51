//! Tools for the collection: search, list, add, change, and delete articles.

mod add;
mod delete;
mod details;
mod list;
mod search;
mod stats;
mod update;

use super::ToolRegistrar;

pub(crate) fn add(adding: ToolRegistrar<'_>) -> ToolRegistrar<'_> {
    let lab = || adding.services.clone();
    let (search, list, details) = (
        search::SearchArticles(lab()),
        list::ListArticles,
        details::GetArticleDetails,
    );
    let (more, update, delete) = (
        add::AddArticle(lab()),
        update::UpdateArticleMetadata,
        delete::DeleteArticle,
    );
    let stats = stats::CollectionStats(lab());
    adding
        .add_common(search)
        .add_common(list)
        .add_common(details)
        .add_common(more)
        .add_common(update)
        .add_common(delete)
        .add_common(stats)
}
