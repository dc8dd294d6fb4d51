//! Finding papers, and questions that are asked again and again.

mod available;
mod change_question;
mod create_question;
mod create_source;
mod look_at_questions;
mod papers;
mod run_question;
mod run_sources;
mod saved;

pub(crate) use papers::paper_line;

use super::ToolRegistrar;

/// The tools of discovery.
pub(crate) fn add(adding: ToolRegistrar<'_>) -> ToolRegistrar<'_> {
    let lab = adding.lab.clone();
    adding
        .add_common(papers::SearchPapers(lab.clone()))
        .add_rare(create_question::CreateResearchQuestion(lab.clone()))
        .add_rare(look_at_questions::ListResearchQuestions)
        .add_rare(look_at_questions::GetResearchQuestion)
        .add_rare(run_question::RunDiscoveryForQuestion(lab.clone()))
        .add_rare(available::ListAvailableSources(lab.clone()))
        .add_rare(change_question::UpdateResearchQuestion(lab.clone()))
        .add_rare(change_question::DeleteResearchQuestion)
        .add_rare(create_source::CreateSource::arxiv(lab.clone()))
        .add_rare(create_source::CreateSource::pubmed(lab.clone()))
        .add_rare(create_source::CreateSource::crossref(lab.clone()))
        .add_rare(create_source::CreateSource::openalex(lab.clone()))
        .add_rare(create_source::CreateSource::biorxiv(lab.clone()))
        .add_rare(create_source::CreateSource::semantic_scholar(lab.clone()))
        .add_rare(create_source::CreateSource::europe_pmc(lab.clone()))
        .add_rare(saved::ListDiscoverySources)
        .add_rare(saved::GetDiscoverySource)
        .add_rare(run_sources::RunDiscovery(lab))
        .add_rare(saved::DeleteDiscoverySource)
}

/// Whose questions are meant where nobody says.
pub(super) fn default_user() -> String {
    "default_user".to_owned()
}
