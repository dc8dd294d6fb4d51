//! The protocol, answered from a registry.

use std::sync::{Arc, OnceLock};

use deliberate_toolkit::{Caller, Listing, Progress, Registry};
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestMethod,
        CompleteRequestParams, CompleteResult, CustomRequest, CustomResult, ErrorCode,
        Implementation, ListPromptsRequestMethod, ListPromptsResult,
        ListResourceTemplatesRequestMethod, ListResourceTemplatesResult,
        ListResourcesRequestMethod, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ProgressNotificationParam, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::{answer, sampling, slim};

/// What a model should know before it uses the tools.
const INSTRUCTIONS: &str = "Reasoning that is recorded: each call returns a session_id; pass it \
    back to build on earlier steps. If an answer holds needs_reply, think about its asks yourself \
    and call reasoning_resume with your replies.";

/// The tools change only when the program does, so a client may keep the list for an hour.
const LIST_TTL_MS: u64 = 3_600_000;

/// Progress that waits to be sent; more than this is dropped, since the newest says it all.
const PROGRESS_QUEUE: usize = 16;

/// Methods the SDK knows. Requests that name one of these and still come out as "custom" had
/// parameters that do not fit.
const KNOWN_METHODS: [&str; 14] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "resources/subscribe",
    "resources/unsubscribe",
    "completion/complete",
    "logging/setLevel",
];

/// The MCP face of a registry. Cheap to clone.
#[derive(Clone)]
pub struct Face {
    registry: Arc<Registry>,
    tools: Arc<OnceLock<Vec<Tool>>>,
}

impl Face {
    /// A face on that registry.
    pub fn new(registry: Arc<Registry>) -> Self {
        Self {
            registry,
            tools: Arc::default(),
        }
    }

    fn tools(&self) -> &[Tool] {
        self.tools
            .get_or_init(|| self.registry.list().map(tool).collect())
    }
}

impl ServerHandler for Face {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let implementation =
            Implementation::new("deliberate", env!("CARGO_PKG_VERSION")).with_title("Deliberate");
        ServerConfig::new(capabilities)
            .with_server_info(implementation)
            .with_instructions(INSTRUCTIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().iter().find(|tool| tool.name == name).cloned()
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if page.is_some_and(|page| page.cursor.is_some()) {
            return Err(ErrorData::invalid_params(
                "cursor: is not one this server gave; the list has a single page",
                None,
            ));
        }
        Ok(ListToolsResult::with_all_items(self.tools().to_vec())
            .with_ttl_ms(LIST_TTL_MS)
            .with_cache_scope(CacheScope::Public))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let (caller, progress) = caller(&context);
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let (outcome, ()) = tokio::join!(
            self.registry.call(&request.name, arguments, caller),
            send_progress(progress, &context),
        );
        answer::result(outcome).map(CallToolResponse::Complete)
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<
            ListResourceTemplatesRequestMethod,
        >())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if KNOWN_METHODS.contains(&request.method.as_str()) {
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

/// The call's side of the client, and the progress it will want sent.
fn caller(context: &RequestContext<RoleServer>) -> (Caller, mpsc::Receiver<Progress>) {
    let (sender, receiver) = mpsc::channel(PROGRESS_QUEUE);
    let progress = context.meta.get_progress_token().map(|_| {
        let tell: Arc<dyn Fn(Progress) + Send + Sync> = Arc::new(move |update| {
            // Full means that newer news is on its way; closed, that nobody listens.
            drop(sender.try_send(update));
        });
        tell
    });
    let caller = Caller {
        cancelled: context.ct.clone(),
        progress,
        mind: sampling::offered(context),
        principal: deliberate_toolkit::Principal::default(),
    };
    (caller, receiver)
}

/// Sends progress until the call, which holds the other end, is over.
async fn send_progress(
    mut progress: mpsc::Receiver<Progress>,
    context: &RequestContext<RoleServer>,
) {
    let Some(token) = context.meta.get_progress_token() else {
        return;
    };
    while let Some(update) = progress.recv().await {
        let mut params =
            ProgressNotificationParam::new(token.clone(), update.done).with_message(update.message);
        params.total = update.total;
        if context.peer.notify_progress(params).await.is_err() {
            return;
        }
    }
}

fn tool(listing: Listing<'_>) -> Tool {
    let about = listing.about;
    let mut tool = Tool::new(
        about.name,
        about.description,
        slim::input(listing.input_schema),
    );
    tool.title = Some(about.title.to_owned());
    tool.output_schema = Some(Arc::new(slim::output(listing.output_schema)));
    tool.annotations = Some(slim::annotations(about.annotations));
    tool
}
