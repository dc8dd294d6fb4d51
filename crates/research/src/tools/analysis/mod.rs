//! Tools that analyze and compare articles.

mod articles_by_authors;
mod citation_context;
mod compare;
mod insights;
mod network;
mod reading_list;
mod related;
mod topic;

use super::ToolRegistrar;

/// Registers the analysis tools.
pub(crate) fn add(adding: ToolRegistrar<'_>) -> ToolRegistrar<'_> {
    let lab = adding.services.clone();
    adding
        .add_common(related::FindRelatedPapers(lab.clone()))
        .add_common(compare::CompareArticles)
        .add_common(network::ExploreCitationNetwork(lab.clone()))
        .add_common(citation_context::GetCitationContext(lab.clone()))
        .add_rare(topic::AnalyzeTopic(lab.clone()))
        .add_rare(topic::SearchByTopic(lab.clone()))
        .add_rare(articles_by_authors::FindArticlesByAuthors)
        .add_rare(insights::ExtractArticleInsights)
        .add_rare(reading_list::GenerateReadingList(lab))
}
