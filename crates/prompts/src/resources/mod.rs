//! The library and its runs by their addresses: for clients that let a person pick something to
//! read, and for whoever wants to hear that it reads differently.
//!
//! Knows nothing of how addresses reach a client.

mod address;
mod complete;
mod list;
mod page;
mod read;
mod run;
mod touched;

use std::sync::Arc;

use deliberate_core::{Change, SessionId};
use deliberate_toolkit::{
    Choices, Contents, Desk, Listed, Resources, Template, ToolError, Touched, Typed,
};
use futures::future::BoxFuture;

use crate::{engine::Engine, menu::TOOL};
use address::{Address, What};

pub use touched::changed_addresses;

/// Prompts, gates, methodologies, styles, runs and problems by their addresses, which begin with
/// `deliberate://`; older ones that begin with `resource://` lead to the same.
pub struct LibraryPages(pub Arc<Engine>);

impl Resources for LibraryPages {
    fn needs(&self) -> Option<&'static str> {
        Some(TOOL)
    }

    fn knows(&self, uri: &str) -> bool {
        Address::parse(uri).is_some()
    }

    fn templates(&self) -> Vec<Template> {
        address::templates()
    }

    fn list<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: usize,
        desk: Desk<'a>,
    ) -> BoxFuture<'a, Result<Listed, ToolError>> {
        Box::pin(async move {
            let library = self.0.shelf.library().await;
            list::list(&library, after, limit, desk).await
        })
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        desk: Desk<'a>,
    ) -> BoxFuture<'a, Option<Result<Vec<Contents>, ToolError>>> {
        Box::pin(async move {
            let address = Address::parse(uri)?;
            let library = self.0.shelf.library().await;
            Some(read::read(uri, address, &library, desk).await)
        })
    }

    fn complete<'a>(
        &'a self,
        template: &'a str,
        typed: Typed<'a>,
        desk: Desk<'a>,
    ) -> BoxFuture<'a, Option<Result<Choices, ToolError>>> {
        Box::pin(async move {
            let what = What::of_template(template)?;
            let library = self.0.shelf.library().await;
            Some(complete::ids(what, &library, typed, desk).await)
        })
    }

    fn touched(&self, change: &Change, _: Option<&SessionId>) -> Vec<Touched> {
        touched::by(change)
    }
}
