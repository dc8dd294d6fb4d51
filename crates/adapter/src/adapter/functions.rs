//! Lists the tools of all servers as functions.

use std::{
    fmt,
    sync::{Arc, PoisonError},
};

use futures::future::join_all;
use serde_json::Value;

use super::{Adapter, ListingFailure, function_names::assign_names};
use crate::{
    CallOptions, ClientError, ClientErrorKind, McpClient,
    client::{CachePolicy, ToolDef, ToolList},
    content::McpToolResult,
    schema::Parameters,
};

/// A tool that can be called like a function.
#[derive(Clone)]
pub struct Function {
    /// The function's unique name for a model.
    pub name: String,
    /// The server of the tool.
    pub server: String,
    /// The tool's definition.
    pub tool: Arc<ToolDef>,
    /// The tool's parameters.
    pub parameters: Arc<Parameters>,
    adapter: Adapter,
}

/// The functions of all servers, with errors and warnings.
#[derive(Debug, Clone, Default)]
pub struct Functions {
    /// The functions, in the order of the servers and of each server's list.
    pub functions: Vec<Function>,
    /// The errors of servers that could not list their tools.
    pub errors: Vec<ClientError>,
    /// Warnings, such as tools that were left out and filter names that match nothing.
    pub warnings: Vec<String>,
}

impl Functions {
    /// Returns the function with this name.
    pub fn get(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }
}

impl Adapter {
    /// Lists the functions, from fresh cached lists where possible.
    pub async fn to_functions(&self) -> Result<Functions, ClientError> {
        let fresh = if self.0.config.cache {
            CachePolicy::Cached
        } else {
            CachePolicy::Refresh
        };
        self.list_functions(fresh).await
    }

    /// Lists the functions, asking every server again.
    pub async fn refresh_tools(&self) -> Result<Functions, ClientError> {
        self.list_functions(CachePolicy::Refresh).await
    }

    /// Returns those of `names` that no function has.
    pub async fn missing_names(&self, names: &[&str]) -> Result<Vec<String>, ClientError> {
        let functions = self.to_functions().await?;
        let missing = names.iter().filter(|name| functions.get(name).is_none());
        Ok(missing.map(|name| (*name).to_owned()).collect())
    }

    async fn list_functions(&self, fresh: CachePolicy) -> Result<Functions, ClientError> {
        let asked = self
            .clients()
            .map(|client| async move { (client, client.tools(fresh).await) });
        let mut all = Functions::default();
        let mut lists: Vec<(&McpClient, Arc<ToolList>)> = Vec::new();
        let answers = join_all(asked).await;
        let fallback_list = |client: &McpClient| {
            let other = self.0.config.fallbacks.get(client.name())?;
            let (_, list) = answers.iter().find(|(it, _)| it.name() == other)?;
            list.as_ref().ok().cloned()
        };
        for (client, list) in &answers {
            match (list.clone(), fallback_list(client)) {
                (Ok(list), _) => lists.push((client, list)),
                // Calls of these functions reach the fallback, as those of known ones do.
                (Err(error), Some(list)) => {
                    all.warnings.push(format!(
                        "{error}; the tools of its fallback server are listed instead"
                    ));
                    lists.push((client, list));
                }
                (Err(error), None)
                    if self.0.config.on_listing_failure == ListingFailure::Closed =>
                {
                    return Err(error);
                }
                (Err(error), None) => all.errors.push(error),
            }
        }
        // A caller must be able to distinguish "no tools" from "no server reachable".
        if lists.is_empty()
            && let Some(error) = all.errors.first()
        {
            return Err(error.clone());
        }
        let mut chosen = Vec::new();
        let mut plain = Vec::new();
        for (client, list) in &lists {
            let warnings = list.warnings.iter();
            all.warnings
                .extend(warnings.map(|what| format!("server {:?}: {what}", client.name())));
            plain.extend(list.tools.iter().map(|tool| (client.name(), tool.as_ref())));
            let filter = &self.0.config.filter;
            let tools = list
                .tools
                .iter()
                .filter(|tool| filter.allows(client.name(), tool));
            chosen.extend(tools.map(|tool| (client.name(), tool)));
        }
        for name in self.0.config.filter.unmatched_names(&plain) {
            all.warnings.push(format!("no tool is named {name:?}"));
        }
        let pairs: Vec<_> = chosen
            .iter()
            .map(|(server, tool)| (*server, tool.name.as_str()))
            .collect();
        for ((server, tool), name) in chosen
            .iter()
            .zip(assign_names(&pairs, self.0.config.prefix))
        {
            match name {
                Some(name) => all.functions.push(self.build_function(name, server, tool)),
                None => all.warnings.push(format!(
                    "server {server:?}: the tool {:?} is left out because another tool has its name",
                    tool.name
                )),
            }
        }
        Ok(all)
    }

    fn build_function(&self, name: String, server: &str, tool: &Arc<ToolDef>) -> Function {
        Function {
            name,
            server: server.to_owned(),
            tool: tool.clone(),
            parameters: self.parameters(server, tool),
            adapter: self.clone(),
        }
    }

    /// Reads the parameters of a tool, once per definition: a cached listing has the same
    /// definitions, so none of its schemas is read twice.
    fn parameters(&self, server: &str, tool: &Arc<ToolDef>) -> Arc<Parameters> {
        let cache = &self.0.parameters;
        let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (server.to_owned(), tool.name.clone());
        if let Some((definition, parameters)) = cache.get(&key)
            && Arc::ptr_eq(definition, tool)
        {
            return parameters.clone();
        }
        let parameters = Arc::new(Parameters::from_schema(tool.input_schema()));
        cache.insert(key, (tool.clone(), parameters.clone()));
        parameters
    }
}

impl Function {
    /// Returns the description for a model.
    pub fn description(&self) -> &str {
        self.tool
            .description()
            .or_else(|| self.tool.title())
            .unwrap_or_default()
    }

    /// Calls the tool. A result with `isError` becomes an error of the class `Domain`.
    pub async fn call(&self, arguments: Value) -> Result<McpToolResult, ClientError> {
        self.call_with(arguments, CallOptions::default()).await
    }

    /// Calls the tool with these options.
    pub async fn call_with(
        &self,
        arguments: Value,
        options: CallOptions,
    ) -> Result<McpToolResult, ClientError> {
        let adapter = &self.adapter;
        let executed = adapter
            .execute(&self.server, &self.tool.name, arguments, options)
            .await?;
        let result = McpToolResult::from_value(&executed.result);
        if result.is_error {
            let kind = ClientErrorKind::Domain {
                message: result.text(),
                result: Box::new(result.to_value()),
            };
            return Err(
                ClientError::new(executed.server, kind).with_subject(self.tool.name.as_str())
            );
        }
        Ok(result)
    }

    /// Calls the tool in a new task.
    pub fn spawn(
        &self,
        arguments: Value,
    ) -> tokio::task::JoinHandle<Result<McpToolResult, ClientError>> {
        let function = self.clone();
        tokio::spawn(async move { function.call(arguments).await })
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Function")
            .field("name", &self.name)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}
