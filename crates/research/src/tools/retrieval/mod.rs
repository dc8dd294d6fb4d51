//! The index and what articles are put together by: custom indexes and knowledge collections.

mod custom_create;
mod custom_delete;
mod custom_list;
mod custom_search;
mod knowledge_create;
mod knowledge_delete;
mod knowledge_list;
mod knowledge_move;
mod knowledge_search;
mod knowledge_upload;
mod optimize;
mod passages;
mod reindex;

use super::ToolRegistrar;

pub(crate) fn add(adding: ToolRegistrar<'_>) -> ToolRegistrar<'_> {
    let lab = || adding.lab.clone();
    let (reindex, optimize) = (
        reindex::ReindexCollection(lab()),
        optimize::OptimizeSearch(lab()),
    );
    let (create, search) = (
        custom_create::CreateCustomIndex(lab()),
        custom_search::SearchCustomIndex(lab()),
    );
    let list = custom_list::ListCustomIndexes(lab());
    let (upload, find) = (
        knowledge_upload::UploadExternalKnowledge(lab()),
        knowledge_search::SearchExternalKnowledge(lab()),
    );
    adding
        .add_rare(reindex)
        .add_rare(optimize)
        .add_rare(create)
        .add_rare(search)
        .add_rare(list)
        .add_rare(custom_delete::DeleteCustomIndex)
        .add_rare(knowledge_create::CreateKnowledgeCollection)
        .add_rare(knowledge_list::ListKnowledgeCollections)
        .add_rare(knowledge_delete::DeleteKnowledgeCollection)
        .add_rare(upload)
        .add_rare(find)
        .add_rare(knowledge_move::MovePaperToProject)
}
