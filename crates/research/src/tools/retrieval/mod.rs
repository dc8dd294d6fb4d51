//! Tools for the index, custom indexes, and knowledge collections.

pub(crate) mod custom_index;
pub(crate) mod knowledge_collection;
mod optimize;
mod passage_view;
mod reindex;

use super::ToolRegistrar;

pub(crate) fn add(adding: ToolRegistrar<'_>) -> ToolRegistrar<'_> {
    let lab = || adding.services.clone();
    let (reindex, optimize) = (
        reindex::ReindexCollection(lab()),
        optimize::OptimizeSearch(lab()),
    );
    let (create, search) = (
        custom_index::create::CreateCustomIndex(lab()),
        custom_index::search::SearchCustomIndex(lab()),
    );
    let list = custom_index::list::ListCustomIndexes(lab());
    let (upload, find) = (
        knowledge_collection::upload::UploadExternalKnowledge(lab()),
        knowledge_collection::search::SearchExternalKnowledge(lab()),
    );
    adding
        .add_rare(reindex)
        .add_rare(optimize)
        .add_rare(create)
        .add_rare(search)
        .add_rare(list)
        .add_rare(custom_index::delete::DeleteCustomIndex)
        .add_rare(knowledge_collection::create::CreateKnowledgeCollection)
        .add_rare(knowledge_collection::list::ListKnowledgeCollections)
        .add_rare(knowledge_collection::delete::DeleteKnowledgeCollection)
        .add_rare(upload)
        .add_rare(find)
        .add_rare(knowledge_collection::move_paper::MovePaperToProject)
}
