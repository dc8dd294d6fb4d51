//! Files under the roots that whoever runs this server has opened to its clients.
//!
//! A file is found by where it really lies, after every link was followed, and no client learns
//! of anything outside the roots, not even whether it is there. Reading needs the scope `files`.
//! Knows paths and addresses; nothing of the protocol.

mod address;
mod open;
mod walk;

use std::{path::PathBuf, sync::Arc};

use deliberate_core::{Change, SessionId, cut_to_chars};
use deliberate_toolkit::{
    Body, Choices, Contents, Desk, Issue, Kind, Listed, Resource, Resources, Template, ToolError,
    Touched, Typed,
};
use futures::future::BoxFuture;
use tokio::sync::Semaphore;

use open::Refusal;
use walk::Found;

/// The form of the addresses.
const TEMPLATE: &str = "file:///{+path}";

/// The variable in it.
const VARIABLE: &str = "path";

/// Values in one completion.
const COMPLETED: usize = 100;

/// Requests that may be at the disk at once. The disk may be slow, and threads are few.
const AT_ONCE: usize = 8;

/// How much of the files is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLimits {
    /// The largest file that is read, in bytes.
    pub file_bytes: u64,
    /// Files that are listed at the most, all roots together.
    pub listed: usize,
}

impl Default for FileLimits {
    fn default() -> Self {
        Self {
            file_bytes: 1024 * 1024,
            listed: 1_000,
        }
    }
}

/// The files under some folders. Hidden ones are neither listed nor read.
#[derive(Debug)]
pub struct FileRoots {
    roots: Arc<[PathBuf]>,
    limits: FileLimits,
    disk: Arc<Semaphore>,
}

impl FileRoots {
    /// The files under these folders. A folder that is not there, now or later, has no files.
    pub fn new(roots: Vec<PathBuf>, limits: FileLimits) -> Self {
        Self {
            roots: roots.into(),
            limits,
            disk: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Does work on the disk, with the roots as they really lie.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&[PathBuf]) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let place = self.disk.clone().acquire_owned().await;
        let place = place.map_err(|_| ToolError::Internal)?;
        let roots = self.roots.clone();
        let task = tokio::task::spawn_blocking(move || {
            // Held by the work and not by who waits for it: they may leave, the disk stays slow.
            let _place = place;
            work(&walk::real_roots(&roots))
        });
        task.await.map_err(|_| ToolError::Internal)
    }

    async fn contents(&self, uri: &str) -> Result<Contents, ToolError> {
        let path = address::path(uri).ok_or_else(|| nothing_at(uri))?;
        let mime = mime_guess::from_path(&path).first_raw();
        let most = self.limits.file_bytes;
        let read = self.on_disk(move |roots| open::read(&path, roots, most));
        let bytes = read.await?.map_err(|refusal| refused(uri, refusal, most))?;
        let (body, mime) = match String::from_utf8(bytes) {
            Ok(text) => (Body::Text(text), text_type(mime)),
            Err(error) => {
                let mime = mime.unwrap_or("application/octet-stream");
                (Body::Bytes(error.into_bytes()), mime)
            }
        };
        Ok(Contents {
            uri: uri.to_owned(),
            mime_type: Some(mime.to_owned()),
            body,
        })
    }

    async fn part(&self, after: Option<&str>, limit: usize) -> Result<Listed, ToolError> {
        let after = after.map(Found::parse_key).transpose()?;
        let most = self.limits.listed;
        let files = self.on_disk(move |roots| walk::files(roots, most)).await?;
        let is_next = |file: &Found| after.as_ref().is_none_or(|after| file.key() > *after);
        let mut rest = files.into_iter().filter(is_next);
        let shown: Vec<Found> = rest.by_ref().take(limit).collect();
        let next = match (rest.next(), shown.last()) {
            (Some(_), Some(last)) => Some(last.written_key()),
            _ => None,
        };
        Ok(Listed {
            resources: shown.iter().filter_map(resource).collect(),
            next,
        })
    }

    async fn paths(&self, typed: &str) -> Result<Choices, ToolError> {
        let most = self.limits.listed;
        let files = self.on_disk(move |roots| walk::files(roots, most)).await?;
        let looked_at_all = files.len() < most;
        let addresses = files.iter().filter_map(|file| address::uri(&file.path));
        let paths = addresses.filter_map(|uri| uri.strip_prefix("file:///").map(str::to_owned));
        let mut values: Vec<String> = paths.filter(|path| path.starts_with(typed)).collect();
        let more = !looked_at_all || values.len() > COMPLETED;
        values.truncate(COMPLETED);
        Ok(Choices { values, more })
    }
}

impl Resources for FileRoots {
    fn needs(&self) -> Option<&'static str> {
        Some("files")
    }

    fn knows(&self, uri: &str) -> bool {
        address::is_file(uri)
    }

    fn templates(&self) -> Vec<Template> {
        vec![Template {
            uri: TEMPLATE.to_owned(),
            name: "file".to_owned(),
            title: "A file".to_owned(),
            description: format!(
                "A file under one of the folders this server shows, up to {} bytes.",
                self.limits.file_bytes
            ),
            mime_type: None,
        }]
    }

    fn list<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: usize,
        _: Desk<'a>,
    ) -> BoxFuture<'a, Result<Listed, ToolError>> {
        Box::pin(self.part(after, limit))
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        desk: Desk<'a>,
    ) -> BoxFuture<'a, Option<Result<Vec<Contents>, ToolError>>> {
        Box::pin(async move {
            if !address::is_file(uri) {
                return None;
            }
            if !desk.caller.principal.scope.allows("files") {
                let what = "files".to_owned();
                return Some(Err(ToolError::Forbidden { what }));
            }
            Some(self.contents(uri).await.map(|contents| vec![contents]))
        })
    }

    fn complete<'a>(
        &'a self,
        template: &'a str,
        typed: Typed<'a>,
        _: Desk<'a>,
    ) -> BoxFuture<'a, Option<Result<Choices, ToolError>>> {
        Box::pin(async move {
            if template != TEMPLATE {
                return None;
            }
            Some(match typed.argument {
                VARIABLE => self.paths(typed.text).await,
                _ => Ok(Choices::default()),
            })
        })
    }

    /// Nobody watches the files.
    fn tells_of_changes(&self) -> bool {
        false
    }

    fn touched(&self, _: &Change, _: Option<&SessionId>) -> Vec<Touched> {
        Vec::new()
    }
}

fn resource(file: &Found) -> Option<Resource> {
    let uri = address::uri(&file.path)?;
    let mime = mime_guess::from_path(&file.path).first_raw();
    Some(Resource {
        uri,
        name: file.name()?,
        title: None,
        description: None,
        mime_type: mime.map(str::to_owned),
        size: Some(file.size),
    })
}

/// What a text is written in. Some endings are guessed to be films that are programs as often.
fn text_type(guess: Option<&'static str>) -> &'static str {
    guess
        .filter(|mime| !mime.starts_with("video/") && !mime.starts_with("audio/"))
        .unwrap_or("text/plain")
}

fn nothing_at(uri: &str) -> ToolError {
    ToolError::NotFound {
        what: Kind::Resource,
        id: cut_to_chars(uri, 200),
    }
}

/// What the client is told. That something lies outside the roots reads as if it were not there.
fn refused(uri: &str, refusal: Refusal, most: u64) -> ToolError {
    match refusal {
        Refusal::NotThere => nothing_at(uri),
        Refusal::Folder => ToolError::Invalid(vec![Issue::new(
            "uri",
            "is a folder; list the resources to see the files in it",
        )]),
        Refusal::TooLarge => ToolError::LimitReached {
            what: format!("the file is larger than {most} bytes, the limit of this server"),
            instead: "Read a smaller file, or have the limit raised.",
        },
    }
}
