//! Looking at articles side by side.

mod by_authors;
mod compare;
mod context;
mod insights;
mod network;
mod reading_list;
mod related;
mod topic;

use super::Adding;

/// The tools of analysis.
pub(crate) fn add(adding: Adding<'_>) -> Adding<'_> {
    let lab = adding.lab.clone();
    adding
        .common(related::FindRelatedPapers(lab.clone()))
        .common(compare::CompareArticles)
        .common(network::ExploreCitationNetwork(lab.clone()))
        .common(context::GetCitationContext(lab.clone()))
        .rare(topic::AnalyzeTopic(lab.clone()))
        .rare(topic::SearchByTopic(lab.clone()))
        .rare(by_authors::FindArticlesByAuthors)
        .rare(insights::ExtractArticleInsights)
        .rare(reading_list::GenerateReadingList(lab))
}
