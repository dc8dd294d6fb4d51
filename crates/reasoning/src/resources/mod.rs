//! What was thought, by its address: for clients that let a person pick something to read.
//!
//! Reading goes through `reasoning_get` and `reasoning_sessions`, so the same bounds, scopes and
//! records hold as for a call. Knows nothing of how addresses reach a client.

mod address;
mod complete;
mod list;
mod read;
mod touched;

use deliberate_core::{Change, SessionId};
use deliberate_toolkit::{
    Choices, Contents, Desk, Listed, Resources, Template, ToolError, Touched, Typed,
};
use futures::future::BoxFuture;

use address::{Address, Form, ROOT, What, nothing_at};

pub(crate) use complete::sessions as matching_sessions;

/// Sessions, graphs, branches and thoughts by their addresses, which begin with `deliberate://`.
pub struct Pages;

impl Resources for Pages {
    fn needs(&self) -> Option<&'static str> {
        Some("reasoning_get")
    }

    fn knows(&self, uri: &str) -> bool {
        Address::parse(uri).is_some()
    }

    fn templates(&self) -> Vec<Template> {
        let of = |what: What| Form::ALL.map(|form| what.template(form));
        What::ALL.into_iter().flat_map(of).collect()
    }

    fn list<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: usize,
        desk: Desk<'a>,
    ) -> BoxFuture<'a, Result<Listed, ToolError>> {
        Box::pin(list::list(after, limit, desk))
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        desk: Desk<'a>,
    ) -> BoxFuture<'a, Option<Result<Vec<Contents>, ToolError>>> {
        Box::pin(async move {
            if !uri.starts_with(ROOT) {
                return None;
            }
            Some(match Address::parse(uri) {
                Some(address) => read::read(uri, address, desk).await,
                None => Err(nothing_at(uri)),
            })
        })
    }

    fn complete<'a>(
        &'a self,
        template: &'a str,
        typed: Typed<'a>,
        desk: Desk<'a>,
    ) -> BoxFuture<'a, Option<Result<Choices, ToolError>>> {
        Box::pin(async move {
            let of_template = |what: &What| {
                let mut forms = Form::ALL.into_iter();
                forms.any(|form| what.template(form).uri == template)
            };
            let what = What::ALL.into_iter().find(of_template)?;
            Some(complete::ids(what, typed, desk).await)
        })
    }

    fn touched(&self, change: &Change, session: Option<&SessionId>) -> Vec<Touched> {
        touched::by(change, session)
    }
}
