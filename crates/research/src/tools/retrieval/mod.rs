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

use super::Adding;

pub(crate) fn add(adding: Adding<'_>) -> Adding<'_> {
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
        .rare(reindex)
        .rare(optimize)
        .rare(create)
        .rare(search)
        .rare(list)
        .rare(custom_delete::DeleteCustomIndex)
        .rare(knowledge_create::CreateKnowledgeCollection)
        .rare(knowledge_list::ListKnowledgeCollections)
        .rare(knowledge_delete::DeleteKnowledgeCollection)
        .rare(upload)
        .rare(find)
        .rare(knowledge_move::MovePaperToProject)
}
