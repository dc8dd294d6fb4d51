//! Tools that find papers, once or on a schedule.

mod create_research_question;
mod create_source;
mod get_research_question;
mod list_available_sources;
mod run_question;
mod run_sources;
mod saved_sources;
mod search_papers;
mod update_research_question;

pub(crate) use search_papers::paper_line;

use super::ToolRegistrar;

/// Registers the discovery tools.
pub(crate) fn add(adding: ToolRegistrar<'_>) -> ToolRegistrar<'_> {
    let lab = adding.services.clone();
    adding
        .add_common(search_papers::SearchPapers(lab.clone()))
        .add_rare(create_research_question::CreateResearchQuestion(
            lab.clone(),
        ))
        .add_rare(get_research_question::ListResearchQuestions)
        .add_rare(get_research_question::GetResearchQuestion)
        .add_rare(run_question::RunDiscoveryForQuestion(lab.clone()))
        .add_rare(list_available_sources::ListAvailableSources(lab.clone()))
        .add_rare(update_research_question::UpdateResearchQuestion(
            lab.clone(),
        ))
        .add_rare(update_research_question::DeleteResearchQuestion)
        .add_rare(create_source::CreateSource::arxiv(lab.clone()))
        .add_rare(create_source::CreateSource::pubmed(lab.clone()))
        .add_rare(create_source::CreateSource::crossref(lab.clone()))
        .add_rare(create_source::CreateSource::openalex(lab.clone()))
        .add_rare(create_source::CreateSource::biorxiv(lab.clone()))
        .add_rare(create_source::CreateSource::semantic_scholar(lab.clone()))
        .add_rare(create_source::CreateSource::europe_pmc(lab.clone()))
        .add_rare(saved_sources::ListDiscoverySources)
        .add_rare(saved_sources::GetDiscoverySource)
        .add_rare(run_sources::RunDiscovery(lab))
        .add_rare(saved_sources::DeleteDiscoverySource)
}

/// The user of questions without a `user_id`.
pub(super) fn default_user() -> String {
    "default_user".to_owned()
}
