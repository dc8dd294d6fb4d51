//! Files under the roots that the operator made available to clients.
//!
//! A file is identified by its canonical path after all links are resolved. Clients learn nothing
//! about files outside the roots, not even whether they exist. Reading needs the scope `files`.
//! This module knows paths and URIs, but not the protocol.

mod directory_walk;
mod read_file;
mod uri;

use std::{path::PathBuf, sync::Arc};

use deliberate_core::{Change, SessionId, truncate_chars};
use deliberate_toolkit::{
    ArgumentIssue, CompletionRequest, CompletionValues, EntityKind, ResourceBody, ResourceChange,
    ResourceContext, ResourceData, ResourceInfo, ResourcePage, ResourceProvider, ToolError,
    UriTemplate,
};
use futures::future::BoxFuture;
use tokio::sync::Semaphore;

use directory_walk::FileEntry;
use read_file::FileReadError;

/// The URI template of files.
const TEMPLATE: &str = "file:///{+path}";

/// The variable in the template.
const PATH_VARIABLE: &str = "path";

/// The largest number of values in one completion.
const MAX_COMPLETIONS: usize = 100;

/// The largest number of concurrent disk operations. The disk may be slow, and blocking threads are
/// few.
const MAX_CONCURRENT_READS: usize = 8;

/// Limits on reading and listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLimits {
    /// The largest file that can be read, in bytes.
    pub file_bytes: u64,
    /// The largest number of files listed for all roots together.
    pub max_listed: usize,
}

impl Default for FileLimits {
    fn default() -> Self {
        Self {
            file_bytes: 1024 * 1024,
            max_listed: 1_000,
        }
    }
}

/// The files under some directories. Hidden files are neither listed nor read.
#[derive(Debug)]
pub struct FileRoots {
    roots: Arc<[PathBuf]>,
    limits: FileLimits,
    disk_permits: Arc<Semaphore>,
}

impl FileRoots {
    /// Serves the files under these directories. A directory that does not exist, now or later, has
    /// no files.
    pub fn new(roots: Vec<PathBuf>, limits: FileLimits) -> Self {
        Self {
            roots: roots.into(),
            limits,
            disk_permits: Arc::new(Semaphore::new(MAX_CONCURRENT_READS)),
        }
    }

    /// Runs a blocking disk operation with the canonical roots.
    async fn run_on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&[PathBuf]) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let place = self.disk_permits.clone().acquire_owned().await;
        let place = place.map_err(|_| ToolError::Internal)?;
        let roots = self.roots.clone();
        let task = tokio::task::spawn_blocking(move || {
            // The operation holds the permit, not its caller: a caller may be cancelled while the
            // disk still works.
            let _place = place;
            work(&directory_walk::canonical_roots(&roots))
        });
        task.await.map_err(|_| ToolError::Internal)
    }

    async fn read_contents(&self, uri: &str) -> Result<ResourceData, ToolError> {
        let path = uri::uri_to_path(uri).ok_or_else(|| file_not_found(uri))?;
        let mime = mime_guess::from_path(&path).first_raw();
        let most = self.limits.file_bytes;
        let read = self.run_on_disk(move |roots| read_file::read(&path, roots, most));
        let bytes = read
            .await?
            .map_err(|refusal| to_tool_error(uri, refusal, most))?;
        let (body, mime) = match String::from_utf8(bytes) {
            Ok(text) => (ResourceBody::Text(text), text_mime_type(mime)),
            Err(error) => {
                let mime = mime.unwrap_or("application/octet-stream");
                (ResourceBody::Bytes(error.into_bytes()), mime)
            }
        };
        Ok(ResourceData {
            uri: uri.to_owned(),
            mime_type: Some(mime.to_owned()),
            body,
            meta: None,
        })
    }

    async fn list_page(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> Result<ResourcePage, ToolError> {
        let after = after.map(FileEntry::parse_key).transpose()?;
        let most = self.limits.max_listed;
        let files = self
            .run_on_disk(move |roots| directory_walk::list_files(roots, most))
            .await?;
        let is_next =
            |file: &FileEntry| after.as_ref().is_none_or(|after| file.sort_key() > *after);
        let mut rest = files.into_iter().filter(is_next);
        let shown: Vec<FileEntry> = rest.by_ref().take(limit).collect();
        let next = match (rest.next(), shown.last()) {
            (Some(_), Some(last)) => Some(last.format_key()),
            _ => None,
        };
        Ok(ResourcePage {
            resources: shown.iter().filter_map(to_resource).collect(),
            next,
        })
    }

    async fn complete_paths(&self, typed: &str) -> Result<CompletionValues, ToolError> {
        let most = self.limits.max_listed;
        let files = self
            .run_on_disk(move |roots| directory_walk::list_files(roots, most))
            .await?;
        let looked_at_all = files.len() < most;
        let addresses = files.iter().filter_map(|file| uri::path_to_uri(&file.path));
        let paths = addresses.filter_map(|uri| uri.strip_prefix("file:///").map(str::to_owned));
        let mut values: Vec<String> = paths.filter(|path| path.starts_with(typed)).collect();
        let more = !looked_at_all || values.len() > MAX_COMPLETIONS;
        values.truncate(MAX_COMPLETIONS);
        Ok(CompletionValues {
            values,
            has_more: more,
        })
    }
}

impl ResourceProvider for FileRoots {
    fn required_scope(&self) -> Option<&'static str> {
        Some("files")
    }

    fn matches(&self, uri: &str) -> bool {
        uri::is_file_uri(uri)
    }

    fn templates(&self) -> Vec<UriTemplate> {
        vec![UriTemplate {
            uri: TEMPLATE.to_owned(),
            name: "file".to_owned(),
            title: "A file".to_owned(),
            description: format!(
                "A file in one of the directories that this server exposes, up to {} bytes.",
                self.limits.file_bytes
            ),
            mime_type: None,
        }]
    }

    fn list<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: usize,
        _: ResourceContext<'a>,
    ) -> BoxFuture<'a, Result<ResourcePage, ToolError>> {
        Box::pin(self.list_page(after, limit))
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        context: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<Vec<ResourceData>, ToolError>>> {
        Box::pin(async move {
            if !uri::is_file_uri(uri) {
                return None;
            }
            if !context.caller.principal.scope.allows("files") {
                let what = "files".to_owned();
                return Some(Err(ToolError::Forbidden { what }));
            }
            Some(self.read_contents(uri).await.map(|contents| vec![contents]))
        })
    }

    fn complete<'a>(
        &'a self,
        template: &'a str,
        typed: CompletionRequest<'a>,
        _: ResourceContext<'a>,
    ) -> BoxFuture<'a, Option<Result<CompletionValues, ToolError>>> {
        Box::pin(async move {
            if template != TEMPLATE {
                return None;
            }
            Some(match typed.argument {
                PATH_VARIABLE => self.complete_paths(typed.text).await,
                _ => Ok(CompletionValues::default()),
            })
        })
    }

    /// Files are not watched.
    fn supports_subscriptions(&self) -> bool {
        false
    }

    fn changes_for(&self, _: &Change, _: Option<&SessionId>) -> Vec<ResourceChange> {
        Vec::new()
    }
}

fn to_resource(file: &FileEntry) -> Option<ResourceInfo> {
    let uri = uri::path_to_uri(&file.path)?;
    let mime = mime_guess::from_path(&file.path).first_raw();
    Some(ResourceInfo {
        uri,
        name: file.name()?,
        title: None,
        description: None,
        mime_type: mime.map(str::to_owned),
        size: Some(file.size),
    })
}

/// The MIME type of a text file. For some extensions the guess is a video format although they are
/// used for source code as well.
fn text_mime_type(guess: Option<&'static str>) -> &'static str {
    guess
        .filter(|mime| !mime.starts_with("video/") && !mime.starts_with("audio/"))
        .unwrap_or("text/plain")
}

fn file_not_found(uri: &str) -> ToolError {
    ToolError::NotFound {
        what: EntityKind::RESOURCE,
        id: truncate_chars(uri, 200),
    }
}

/// The error for the client. A file outside the roots looks like one that does not exist.
fn to_tool_error(uri: &str, refusal: FileReadError, most: u64) -> ToolError {
    match refusal {
        FileReadError::NotFound => file_not_found(uri),
        FileReadError::IsDirectory => ToolError::Invalid(vec![ArgumentIssue::new(
            "uri",
            "is a directory; list the resources to see its files",
        )]),
        FileReadError::TooLarge => ToolError::LimitReached {
            what: format!("the file is larger than {most} bytes, the limit of this server"),
            instead: "Read a smaller file, or ask the operator to raise the limit.",
        },
    }
}
