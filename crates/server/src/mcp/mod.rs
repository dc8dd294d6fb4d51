//! The MCP handler: answers the protocol's requests from a registry.

#![expect(
    deprecated,
    reason = "logging is deprecated by 2026-07-28; clients of the handshake revisions use it"
)]

pub(crate) mod call_result;
pub(crate) mod catalog;
mod client_info;
mod client_requests;
mod external_tools;
mod input_required;
mod logging;
mod methods;
mod sampling;
mod tasks;
mod tool_listing;
mod tools_call;

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use deliberate_toolkit::{ClientConversation, ExternalTool, RAW_RESULT, Registry, ToolInfo};
use logging::ClientLogLevel;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
        CompleteResult, CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams,
        GetPromptResponse, GetTaskParams, GetTaskResult, Implementation, InitializeRequestParams,
        InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
        ServerConfig, SetLevelRequestMethod, SetLevelRequestParams, SubscribeRequestMethod,
        SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestMethod,
        UnsubscribeRequestParams, UpdateTaskParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
};

use crate::Subscriptions;
use catalog::subscriptions::connection::ConnectionSubscriptions;
use client_info::ClientInfo;
use sampling::DeclinedSampling;

/// The instructions for the client's model.
const INSTRUCTIONS: &str = "Reasoning that is recorded: each call returns a session_id; pass it \
    back to build on earlier steps. You may bring your own thought as reply (text, or an object \
    with its text and fields): then a step is one call. If an answer holds needs_reply, work out \
    its asks yourself and call reasoning_resume with your replies; if it holds still_running, call \
    reasoning_resume with its id alone for the answer. Ids may be short inside a session (t3, b2, \
    n5).";

/// Serves a registry over MCP. Cheap to clone.
#[derive(Clone)]
pub struct McpHandler {
    registry: Arc<Registry>,
    options: McpOptions,
    tools: Arc<OnceLock<Vec<Tool>>>,
    subscriptions: Option<Arc<Subscriptions>>,
    connection: ConnectionSubscriptions,
    log_level: ClientLogLevel,
    declined_sampling: DeclinedSampling,
    conversation: ClientConversation,
}

/// The settings of the handler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpOptions {
    /// How long a call may take before it becomes a background call. Clients give up after a
    /// minute, some regardless of progress notifications.
    pub background_after: Duration,
    /// The same limit for a client that supports tasks.
    pub task_after: Duration,
    /// Whether the answer to a call may request input from the client's model.
    pub ask_by_input: bool,
    /// The largest answer.
    pub answer_bytes: usize,
    /// Whether clients of the handshake revisions have a session over streamable HTTP, on which
    /// they can receive notifications.
    pub http_sessions: bool,
}

impl Default for McpOptions {
    fn default() -> Self {
        Self {
            background_after: Duration::from_secs(45),
            task_after: Duration::from_secs(2),
            ask_by_input: true,
            answer_bytes: 4 * 1024 * 1024,
            http_sessions: false,
        }
    }
}

impl McpHandler {
    pub fn new(registry: Arc<Registry>, options: McpOptions) -> Self {
        Self {
            registry,
            options,
            tools: Arc::default(),
            subscriptions: None,
            connection: ConnectionSubscriptions::default(),
            log_level: ClientLogLevel::default(),
            declined_sampling: DeclinedSampling::default(),
            conversation: ClientConversation::default(),
        }
    }

    /// A handler for another connection, with its own connection state.
    pub fn for_connection(&self) -> Self {
        Self {
            log_level: ClientLogLevel::default(),
            declined_sampling: DeclinedSampling::default(),
            connection: ConnectionSubscriptions::default(),
            conversation: ClientConversation::default(),
            ..self.clone()
        }
    }

    /// Sends the notifications of these subscriptions to clients.
    pub fn with_subscriptions(mut self, subscriptions: Arc<Subscriptions>) -> Self {
        self.subscriptions = Some(subscriptions);
        self
    }

    /// Cancelled by a transport whose input has ended; ends the listening requests of this
    /// connection.
    pub(crate) fn input_ended(&self) -> tokio_util::sync::CancellationToken {
        self.connection.input_ended()
    }

    /// Tells whether each request of this client is independent, so that it can receive no later
    /// notifications.
    fn is_stateless(&self, context: &RequestContext<RoleServer>) -> bool {
        let parts = context.extensions.get::<http::request::Parts>();
        let streamable = parts.is_some_and(|parts| parts.uri.path() == "/mcp");
        streamable && !self.options.http_sessions
    }

    fn tools(&self) -> &[Tool] {
        self.tools
            .get_or_init(|| self.registry.list_possible().map(to_mcp_tool).collect())
    }

    fn external_tools(&self) -> Vec<ExternalTool> {
        let external = self.registry.external_tools();
        external.map(|external| external.list()).unwrap_or_default()
    }
}

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = catalog::capabilities::server_capabilities(
            &self.registry,
            self.subscriptions.is_some(),
        );
        let implementation =
            Implementation::new("deliberate", env!("CARGO_PKG_VERSION")).with_title("Deliberate");
        ServerConfig::new(capabilities)
            .with_server_info(implementation)
            .with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let deaf = self.is_stateless(&context);
        context.peer.set_peer_info(request.clone());
        let mut info = self.negotiate_initialize(&request)?;
        if deaf {
            catalog::capabilities::without_notifications(&mut info.capabilities);
        }
        Ok(info)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let own = self.tools().iter().find(|tool| tool.name == name);
        let external_tool = || {
            let external = self.external_tools();
            let external_tool = external
                .iter()
                .find(|external_tool| &*external_tool.name == name)?;
            external_tools::tool_outline(external_tool)
        };
        own.cloned().or_else(external_tool)
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let modern = ClientInfo::from_context(&context).modern;
        if let Some(external) = self.registry.external_tools() {
            external.wait_ready().await;
        }
        let (page, external) = catalog::tools::list(
            &self.registry,
            self.tools(),
            self.external_tools(),
            page,
            &context,
        )?;
        Ok(external_tools::add_external_tools(
            page, &external, modern, &context,
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let told = self.answer_call(request, &context).await?;
        Ok(external_tools::to_response(told, &context))
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let client = ClientInfo::from_context(&context);
        let most = self.options.answer_bytes;
        let task = tasks::get(&self.registry, &request.task_id, &client, most).await?;
        Ok(external_tools::to_task_response(task, &context))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let client = ClientInfo::from_context(&context);
        let responses = &request.input_responses;
        tasks::update(&self.registry, &request.task_id, responses, &client).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let client = ClientInfo::from_context(&context);
        tasks::cancel(&self.registry, &request.task_id, &client).await
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if ClientInfo::from_context(&context).modern {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        self.log_level.set(request.level);
        Ok(())
    }

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        catalog::prompts::list(&self.registry, page, &context).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        catalog::prompts::get(&self.registry, request, &context).await
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let principal = ClientInfo::from_context(&context).principal;
        // A principal that may see no resources is not notified of new ones.
        if catalog::resources::may_see_any(&self.registry, &principal) {
            self.connection.on_resources_listed();
        }
        catalog::resources::list(&self.registry, page, &context).await
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        catalog::resources::templates(&self.registry, page, &context)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        catalog::resources::read(&self.registry, request, &context).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        catalog::completion::complete(&self.registry, request, &context).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        match &self.subscriptions {
            Some(all) if !self.is_stateless(&context) => {
                self.connection
                    .subscribe(all, &self.registry, request, &context)
            }
            _ => Err(ErrorData::method_not_found::<SubscribeRequestMethod>()),
        }
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if self.subscriptions.is_none() {
            return Err(ErrorData::method_not_found::<UnsubscribeRequestMethod>());
        }
        self.connection.unsubscribe(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let all = self.subscriptions.as_ref()?;
        Some(catalog::subscriptions::connection::accepted_filter(
            all,
            &self.registry,
            requested,
        ))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        match &self.subscriptions {
            Some(all) => {
                catalog::subscriptions::connection::listen(
                    all,
                    &self.registry,
                    &self.connection,
                    context,
                )
                .await
            }
            None => Ok(()),
        }
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if let Some(all) = &self.subscriptions {
            self.connection.on_initialized(all, &context.peer);
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let modern = ClientInfo::from_context(&context).modern;
        if methods::is_supported(&request.method, modern, &self.get_info().capabilities) {
            return Err(ErrorData::invalid_params(
                format!(
                    "the parameters of {} are missing or malformed",
                    request.method
                ),
                None,
            ));
        }
        Err(ErrorData::new(
            ErrorCode::METHOD_NOT_FOUND,
            format!("there is no method {:?}", request.method),
            None,
        ))
    }
}

fn to_mcp_tool(listing: ToolInfo<'_>) -> Tool {
    let about = listing.meta;
    let mut tool = Tool::new(
        about.name,
        about.description,
        tool_listing::slim_input_schema(listing.input_schema),
    );
    tool.title = Some(about.title.to_owned());
    // The result of an upstream server need not be structured, and clients reject an unstructured
    // result if a schema promises a structure.
    let properties = listing.output_schema.get("properties");
    let hands_on = properties.is_some_and(|all| all.get(RAW_RESULT).is_some());
    tool.output_schema = (!hands_on).then(|| {
        let slim = tool_listing::slim_output_schema(listing.output_schema, listing.input_schema);
        Arc::new(slim)
    });
    tool.annotations = Some(tool_listing::tool_annotations(about.hints));
    tool
}
