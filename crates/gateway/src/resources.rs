//! The servers by their addresses: how each does and which tools it has. Holds no secrets.

use std::sync::Arc;

use deliberate_core::{Change, SessionId};
use deliberate_toolkit::{
    Body, Choices, Contents, Desk, Kind, Listed, Resource, Resources, Template, ToolError, Touched,
    Typed,
};
use futures::future::BoxFuture;
use serde_json::{Value, json};

use crate::{
    Gateway,
    gateway::{KnownTool, Served},
    tools::SEARCH,
};

const ALL: &str = "deliberate://servers";
const ONE: &str = "deliberate://servers/{name}";
const JSON: &str = "application/json";

/// `deliberate://servers`, and each server below it.
pub struct ServerPages(pub Arc<Gateway>);

impl ServerPages {
    /// What reads differently when a server has other tools.
    pub fn touched() -> [Touched; 2] {
        [
            Touched::Resource(ALL.to_owned()),
            Touched::Under(format!("{ALL}/")),
        ]
    }
}

impl Resources for ServerPages {
    fn needs(&self) -> Option<&'static str> {
        Some(SEARCH)
    }

    fn knows(&self, uri: &str) -> bool {
        uri == ALL || name_in(uri).is_some()
    }

    fn templates(&self) -> Vec<Template> {
        vec![Template {
            uri: ONE.to_owned(),
            name: "server".to_owned(),
            title: "A connected server".to_owned(),
            description: "How it does, and its tools.".to_owned(),
            mime_type: Some(JSON.to_owned()),
        }]
    }

    fn list<'a>(
        &'a self,
        after: Option<&'a str>,
        limit: usize,
        _: Desk<'a>,
    ) -> BoxFuture<'a, Result<Listed, ToolError>> {
        let names = self.0.names();
        let addresses = std::iter::once((ALL.to_owned(), "servers".to_owned())).chain(
            names
                .iter()
                .map(|name| (format!("{ALL}/{name}"), (*name).to_owned())),
        );
        // The first sorts before those below it.
        let mut left: Vec<_> = addresses
            .filter(|(uri, _)| after.is_none_or(|after| uri.as_str() > after))
            .collect();
        let more = left.len() > limit;
        left.truncate(limit);
        let next = left.last().filter(|_| more).map(|(uri, _)| uri.clone());
        let resources = left.into_iter().map(|(uri, name)| Resource {
            title: (uri == ALL).then(|| "Connected servers".to_owned()),
            uri,
            name,
            description: None,
            mime_type: Some(JSON.to_owned()),
            size: None,
        });
        let listed = Listed {
            resources: resources.collect(),
            next,
        };
        Box::pin(async move { Ok(listed) })
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        _: Desk<'a>,
    ) -> BoxFuture<'a, Option<Result<Vec<Contents>, ToolError>>> {
        let page = if uri == ALL {
            let servers: Vec<Value> = self
                .0
                .served()
                .map(|served| self.page(served, false))
                .collect();
            Some(Ok(json!({ "servers": servers })))
        } else {
            name_in(uri).map(|name| {
                let served = self.0.server(name).map_err(|_| ToolError::NotFound {
                    what: Kind::Resource,
                    id: deliberate_core::cut_to_chars(uri, 80),
                })?;
                Ok(self.page(served, true))
            })
        };
        let contents = |page: Value| {
            vec![Contents {
                uri: uri.to_owned(),
                mime_type: Some(JSON.to_owned()),
                body: Body::Text(format!("{page:#}")),
            }]
        };
        let read = page.map(|page: Result<Value, ToolError>| page.map(contents));
        Box::pin(async move { read })
    }

    fn complete<'a>(
        &'a self,
        template: &'a str,
        typed: Typed<'a>,
        _: Desk<'a>,
    ) -> BoxFuture<'a, Option<Result<Choices, ToolError>>> {
        const MOST: usize = 100;
        let choices = (template == ONE).then(|| {
            let names = self
                .0
                .names()
                .into_iter()
                .filter(|name| name.starts_with(typed.text));
            let values: Vec<String> = names.take(MOST).map(str::to_owned).collect();
            Ok(Choices {
                values,
                more: false,
            })
        });
        Box::pin(async move { choices })
    }

    fn touched(&self, _: &Change, _: Option<&SessionId>) -> Vec<Touched> {
        Vec::new()
    }
}

impl ServerPages {
    fn page(&self, served: &Served, whole: bool) -> Value {
        let status = self
            .0
            .status()
            .into_iter()
            .find(|it| it.server == served.name());
        let known = served.known();
        let mut page = json!({
            "server": served.name(),
            "state": status.as_ref().map(|status| status.state),
            "version": status.as_ref().and_then(|status| status.version.clone()),
            "description": served.about.description,
            "tools": known.as_ref().map(|known| known.tools.len()),
        });
        if let (true, Some(fields)) = (whole, page.as_object_mut()) {
            fields.insert(
                "calls".to_owned(),
                json!(status.as_ref().map(|it| it.calls)),
            );
            fields.insert(
                "failures".to_owned(),
                json!(status.as_ref().map(|it| it.failures)),
            );
            let tools = known.iter().flat_map(|known| &known.tools).map(line);
            fields.insert("tools".to_owned(), Value::Array(tools.collect()));
        }
        page
    }
}

fn line(tool: &Arc<KnownTool>) -> Value {
    match tool.kept_back {
        // What is kept back is not read out.
        Some(why) => json!({ "tool": &*tool.full, "quarantined": why.why() }),
        None => {
            json!({ "tool": &*tool.full, "description": tool.said(300), "exposed": tool.exposed })
        }
    }
}

fn name_in(uri: &str) -> Option<&str> {
    let name = uri.strip_prefix(ALL)?.strip_prefix('/')?;
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (!name.is_empty() && name.chars().all(fine)).then_some(name)
}
