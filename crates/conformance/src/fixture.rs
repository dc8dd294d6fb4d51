//! The handler under test: the fixtures in front of the real handler. Fixtures answer what the
//! suite requests by name; lists contain the fixtures and then the real items; everything else
//! passes through unchanged.

#![expect(
    deprecated,
    reason = "the suite tests deprecated features until they are removed"
)]

use std::{borrow::Cow, sync::Arc};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CancelTaskParams, CancelledNotificationParam,
        CompleteRequestParams, CompleteResult, CustomNotification, CustomRequest, CustomResult,
        DiscoverResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, GetTaskParams,
        GetTaskResult, InitializeRequestParams, InitializeResult, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
        ProgressNotificationParam, ProtocolVersion, ReadResourceRequestParams,
        ReadResourceResponse, RequestStateCodec, ServerCapabilities, ServerConfig,
        SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
        UnsubscribeRequestParams, UpdateTaskParams,
    },
    service::{NotificationContext, RequestContext, SubscriptionContext},
    task_manager::TaskManager,
};
use serde_json::json;

use super::list_changed::ListChangedSubscribers;
use crate::{
    prompts, resources,
    tools::{self, FixtureCall},
};

/// The state that the fixtures share between calls.
pub(crate) struct FixtureState {
    pub(crate) state_codec: RequestStateCodec,
    pub(crate) tasks: TaskManager,
    pub(crate) subscribers: ListChangedSubscribers,
    tools: Vec<Tool>,
}

/// A handler with the fixtures in front. It is cheap to clone.
#[derive(Clone)]
pub(crate) struct FixtureHandler<H> {
    inner: H,
    state: Arc<FixtureState>,
}

impl<H: ServerHandler> FixtureHandler<H> {
    /// Puts the fixtures in front of a handler.
    pub(crate) fn wrap(inner: H) -> anyhow::Result<Self> {
        let key = [uuid::Uuid::now_v7(), uuid::Uuid::now_v7()].map(uuid::Uuid::into_bytes);
        Ok(Self {
            inner,
            state: Arc::new(FixtureState {
                state_codec: RequestStateCodec::try_new(key.concat())?,
                tasks: TaskManager::new(),
                subscribers: ListChangedSubscribers::default(),
                tools: tools::all(),
            }),
        })
    }

    /// Returns the capabilities of both.
    fn capabilities(&self) -> ServerCapabilities {
        let mut all = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_tasks()
            .build();
        let theirs = self.inner.get_info().capabilities.extensions;
        let extensions = all.extensions.get_or_insert_default();
        extensions.extend(theirs.unwrap_or_default());
        all
    }
}

/// Returns true for the first page, which contains the fixtures.
fn is_first(page: Option<&PaginatedRequestParams>) -> bool {
    page.is_none_or(|page| page.cursor.is_none())
}

/// Treats a method that the real handler does not have as an empty list; other errors remain.
fn or_empty<T: Default>(result: Result<T, ErrorData>) -> Result<T, ErrorData> {
    or_else_fixture(result, || Ok(T::default()))
}

/// Lets the fixtures answer what the real handler does not have.
fn or_else_fixture<T>(
    result: Result<T, ErrorData>,
    ours: impl FnOnce() -> Result<T, ErrorData>,
) -> Result<T, ErrorData> {
    match result {
        Err(error) if error.code == ErrorCode::METHOD_NOT_FOUND => ours(),
        other => other,
    }
}

/// Puts the fixtures' items before the real ones, on the first page.
macro_rules! merge_lists {
    ($method:ident, $items:ident, $Result:ty, $ours:expr) => {
        async fn $method(
            &self,
            page: Option<PaginatedRequestParams>,
            context: RequestContext<RoleServer>,
        ) -> Result<$Result, ErrorData> {
            let first = is_first(page.as_ref());
            let mut list = or_empty(self.inner.$method(page, context).await)?;
            if first {
                let ours: fn(&Self) -> _ = $ours;
                list.$items.splice(0..0, ours(self));
            }
            Ok(list)
        }
    };
}

impl<H: ServerHandler> ServerHandler for FixtureHandler<H> {
    fn get_info(&self) -> ServerConfig {
        let mut info = self.inner.get_info();
        info.capabilities = self.capabilities();
        info
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.inner.supported_protocol_versions()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut result = self.inner.initialize(request, context).await?;
        result.capabilities = self.capabilities();
        Ok(result)
    }

    async fn discover(
        &self,
        context: RequestContext<RoleServer>,
    ) -> Result<DiscoverResult, ErrorData> {
        let mut result = self.inner.discover(context).await?;
        result.capabilities = self.capabilities();
        Ok(result)
    }

    async fn ping(&self, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        self.inner.ping(context).await
    }

    merge_lists!(list_tools, tools, ListToolsResult, |it| it
        .state
        .tools
        .clone());
    merge_lists!(list_prompts, prompts, ListPromptsResult, |_| prompts::all());
    merge_lists!(list_resources, resources, ListResourcesResult, |_| {
        resources::all()
    });
    merge_lists!(
        list_resource_templates,
        resource_templates,
        ListResourceTemplatesResult,
        |_| resources::templates()
    );

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let ours = self.state.tools.iter().find(|tool| tool.name == name);
        ours.cloned().or_else(|| self.inner.get_tool(name))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self
            .state
            .tools
            .iter()
            .any(|tool| tool.name == request.name)
        {
            return self.inner.call_tool(request, context).await;
        }
        let state = self.state.as_ref();
        tools::call_tool(FixtureCall {
            state,
            request,
            context,
        })
        .await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        match prompts::get(&request) {
            Some(ours) => ours,
            None => self.inner.get_prompt(request, context).await,
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        match prompts::complete(&request) {
            Some(ours) => Ok(ours),
            None => self.inner.complete(request, context).await,
        }
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if let Some(ours) = resources::read(&request.uri) {
            return Ok(ours.into());
        }
        let uri = request.uri.clone();
        or_else_fixture(self.inner.read_resource(request, context).await, || {
            Err(ErrorData::resource_not_found(
                "the resource does not exist",
                Some(json!({ "uri": uri })),
            ))
        })
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if request.uri == resources::WATCHED_URI {
            return Ok(());
        }
        self.inner.subscribe(request, context).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if request.uri == resources::WATCHED_URI {
            return Ok(());
        }
        self.inner.unsubscribe(request, context).await
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let number = self.state.subscribers.add(context.sink().clone());
        let result = self.inner.listen(context).await;
        self.state.subscribers.remove(number);
        result
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        or_empty(self.inner.set_level(request, context).await)
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        match self.state.tasks.get_task(&request.task_id) {
            Ok(task) => Ok(GetTaskResult::new(task)),
            Err(unknown) => {
                or_else_fixture(self.inner.get_task(request, context).await, || Err(unknown))
            }
        }
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let given = request.input_responses.clone();
        match self.state.tasks.update_task(&request.task_id, given) {
            Ok(()) => Ok(()),
            Err(unknown) => or_else_fixture(self.inner.update_task(request, context).await, || {
                Err(unknown)
            }),
        }
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        match self.state.tasks.cancel_task(&request.task_id) {
            Ok(()) => Ok(()),
            Err(unknown) => or_else_fixture(self.inner.cancel_task(request, context).await, || {
                Err(unknown)
            }),
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        self.inner.on_custom_request(request, context).await
    }

    async fn on_cancelled(
        &self,
        notification: CancelledNotificationParam,
        context: NotificationContext<RoleServer>,
    ) {
        self.inner.on_cancelled(notification, context).await;
    }

    async fn on_progress(
        &self,
        notification: ProgressNotificationParam,
        context: NotificationContext<RoleServer>,
    ) {
        self.inner.on_progress(notification, context).await;
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.inner.on_initialized(context).await;
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        self.inner.on_roots_list_changed(context).await;
    }

    async fn on_custom_notification(
        &self,
        notification: CustomNotification,
        context: NotificationContext<RoleServer>,
    ) {
        self.inner
            .on_custom_notification(notification, context)
            .await;
    }
}
