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

pub(crate) use papers::line;

use super::Adding;

/// The tools of discovery.
pub(crate) fn add(adding: Adding<'_>) -> Adding<'_> {
    let lab = adding.lab.clone();
    adding
        .common(papers::SearchPapers(lab.clone()))
        .rare(create_question::CreateResearchQuestion(lab.clone()))
        .rare(look_at_questions::ListResearchQuestions)
        .rare(look_at_questions::GetResearchQuestion)
        .rare(run_question::RunDiscoveryForQuestion(lab.clone()))
        .rare(available::ListAvailableSources(lab.clone()))
        .rare(change_question::UpdateResearchQuestion(lab.clone()))
        .rare(change_question::DeleteResearchQuestion)
        .rare(create_source::CreateSource::arxiv(lab.clone()))
        .rare(create_source::CreateSource::pubmed(lab.clone()))
        .rare(create_source::CreateSource::crossref(lab.clone()))
        .rare(create_source::CreateSource::openalex(lab.clone()))
        .rare(create_source::CreateSource::biorxiv(lab.clone()))
        .rare(create_source::CreateSource::semantic_scholar(lab.clone()))
        .rare(create_source::CreateSource::europe_pmc(lab.clone()))
        .rare(saved::ListDiscoverySources)
        .rare(saved::GetDiscoverySource)
        .rare(run_sources::RunDiscovery(lab))
        .rare(saved::DeleteDiscoverySource)
}

/// Whose questions are meant where nobody says.
pub(super) fn default_user() -> String {
    "default_user".to_owned()
}
