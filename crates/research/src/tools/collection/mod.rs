//! The collection: what there is, by its exact name or by what it is about; change and delete.

mod add;
mod delete;
mod details;
mod list;
mod search;
mod stats;
mod update;

use super::Adding;

pub(crate) fn add(adding: Adding<'_>) -> Adding<'_> {
    let lab = || adding.lab.clone();
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
        .common(search)
        .common(list)
        .common(details)
        .common(more)
        .common(update)
        .common(delete)
        .common(stats)
}
