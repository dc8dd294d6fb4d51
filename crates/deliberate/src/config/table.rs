//! The one table of settings. The file's keys, the environment variables, the defaults, what is
//! allowed, `deliberate config`, the reference page and the sample file are all read from it, so a
//! new setting is one entry here and one field in [`super::Settings`].

pub(crate) use super::setting::{Fallback, Kind, Setting};

/// Every provider that can be named. `auto` takes the first one that is configured or found.
pub(crate) static PROVIDERS: &[&str] = &[
    "auto",
    "langbase",
    "anthropic",
    "sampling",
    "client",
    "openai",
    "openrouter",
    "groq",
    "together",
    "mistral",
    "deepseek",
    "xai",
    "gemini",
    "ollama",
    "lmstudio",
    "llamacpp",
    "vllm",
];

/// What clients can get.
pub(super) static TOOL_SETS: &[&str] = &["reasoning", "prompts", "gateway"];

const fn setting(
    key: &'static str,
    env: &'static [&'static str],
    kind: Kind,
    fallback: Fallback,
    help: &'static str,
) -> Setting {
    Setting {
        key,
        env,
        kind,
        fallback,
        help,
    }
}

const fn integer(min: u64, max: u64) -> Kind {
    Kind::Integer { min, max }
}

const fn milliseconds(min: u64, max: u64) -> Kind {
    Kind::Milliseconds { min, max }
}

const fn unset(example: &'static str) -> Fallback {
    Fallback::Unset { example }
}

use Fallback::{Computed, Value};
use Kind::{Address, Choice, Choices, Number, Path, Paths, Secret, Switch, Text, Texts, Url};

const HOUR_MS: u64 = 3_600_000;

/// All settings, in the order in which they are shown. Keys without a section come first, because
/// in TOML nothing can leave a section again.
#[rustfmt::skip]
pub(crate) static SETTINGS: &[Setting] = &[
    setting("provider", &["DELIBERATE_PROVIDER"], Choice(PROVIDERS), Value("auto"),
        "Who thinks; `auto` takes the first provider that is configured or found"),
    setting("model", &["DELIBERATE_MODEL"], Text, unset("qwen3:8b"),
        "Model to ask; without it the provider's own default"),
    setting("base_url", &["DELIBERATE_BASE_URL"], Url, unset("http://127.0.0.1:11434/v1"),
        "Address of the chosen provider, in place of its usual one"),
    setting("api_key", &["DELIBERATE_API_KEY"], Secret, unset("your-key"),
        "Key for the chosen provider, in place of its own variable"),
    setting("temperature", &["DELIBERATE_TEMPERATURE"], Number { min: 0.0, max: 2.0 }, unset("0.7"),
        "Sampling temperature; without it each mode's own"),
    setting("max_tokens", &["DELIBERATE_MAX_TOKENS"], integer(1, 1_000_000), unset("2000"),
        "Longest answer to ask a model for, in tokens"),
    setting("discover", &["DELIBERATE_DISCOVER"], Switch, Value("on"),
        "Look for a model server on this machine when nothing is configured"),

    setting("langbase.api_key", &["LANGBASE_API_KEY"], Secret, unset("your-key"),
        "Langbase API key"),
    setting("langbase.base_url", &["LANGBASE_BASE_URL"], Url, Value("https://api.langbase.com"),
        "Langbase API endpoint"),
    setting("langbase.model", &["LANGBASE_MODEL"], Text, Value("openai:gpt-4o-mini"),
        "Model of the pipes that are created on first use"),

    setting("openai.api_key", &["OPENAI_API_KEY"], Secret, unset("your-key"),
        "OpenAI API key"),
    setting("openai.base_url", &["OPENAI_BASE_URL"], Url, unset("https://api.openai.com/v1"),
        "OpenAI API endpoint, or that of a service that speaks the same"),

    setting("anthropic.api_key", &["ANTHROPIC_API_KEY"], Secret, unset("your-key"),
        "Anthropic API key"),
    setting("anthropic.base_url", &["ANTHROPIC_BASE_URL"], Url, unset("https://api.anthropic.com"),
        "Anthropic API endpoint"),

    setting("pipes.linear", &["PIPE_LINEAR"], Text, Value("linear-reasoning-v1"),
        "Langbase pipe for linear reasoning"),
    setting("pipes.tree", &["PIPE_TREE"], Text, Value("tree-reasoning-v1"),
        "Langbase pipe for tree reasoning"),
    setting("pipes.divergent", &["PIPE_DIVERGENT"], Text, Value("divergent-reasoning-v1"),
        "Langbase pipe for divergent reasoning"),
    setting("pipes.reflection", &["PIPE_REFLECTION"], Text, Value("reflection-v1"),
        "Langbase pipe for reflection"),
    setting("pipes.auto", &["PIPE_AUTO"], Text, Value("mode-router-v1"),
        "Langbase pipe that chooses the mode"),
    setting("pipes.backtracking", &["PIPE_BACKTRACKING"], Text, Value("backtracking-reasoning-v1"),
        "Langbase pipe for backtracking"),
    setting("pipes.got_generate", &["PIPE_GOT_GENERATE"], Text, Value("got-generate-v1"),
        "Langbase pipe that generates nodes of a graph of thoughts"),
    setting("pipes.got_score", &["PIPE_GOT_SCORE"], Text, Value("got-score-v1"),
        "Langbase pipe that scores nodes of a graph of thoughts"),
    setting("pipes.got_aggregate", &["PIPE_GOT_AGGREGATE"], Text, Value("got-aggregate-v1"),
        "Langbase pipe that merges nodes of a graph of thoughts"),
    setting("pipes.got_refine", &["PIPE_GOT_REFINE"], Text, Value("got-refine-v1"),
        "Langbase pipe that refines a node of a graph of thoughts"),

    setting("request.timeout_ms", &["REQUEST_TIMEOUT_MS", "DELIBERATE_REQUEST_TIMEOUT_MS"],
        milliseconds(1, HOUR_MS),
        Computed { shown: "30000, longer for a local model", example: "30000" },
        "How long one attempt at a provider may take, in milliseconds"),
    setting("request.max_retries", &["MAX_RETRIES", "DELIBERATE_MAX_RETRIES"], integer(0, 10),
        Value("3"), "How often a request that may still succeed is sent again"),
    setting("request.retry_delay_ms", &["RETRY_DELAY_MS", "DELIBERATE_RETRY_DELAY_MS"],
        milliseconds(0, 60_000), Value("1000"),
        "Pause before the first retry, in milliseconds; later ones are longer"),
    setting("request.concurrency", &["DELIBERATE_REQUEST_CONCURRENCY"], integer(1, 1024),
        Value("256"), "How many requests to one provider may run at once"),
    setting("request.per_second", &["DELIBERATE_REQUEST_PER_SECOND"],
        Number { min: 0.001, max: 10_000.0 }, unset("5"),
        "Most requests to one provider per second"),

    setting("database.path", &["DATABASE_PATH", "DELIBERATE_DATABASE_PATH"], Path,
        Computed {
            shown: "`deliberate/deliberate.db` in the user's data directory",
            example: "~/deliberate.db",
        },
        "SQLite database; a relative path in the file starts at the file's directory"),
    setting("database.max_connections",
        &["DATABASE_MAX_CONNECTIONS", "DELIBERATE_DATABASE_MAX_CONNECTIONS"], integer(1, 64),
        Value("5"), "How many readers may use the database at once"),
    setting("database.durability", &["DELIBERATE_DURABILITY"], Choice(&["full", "relaxed"]),
        Value("full"),
        "`full` survives a power cut; `relaxed` may lose the last moments, but answers sooner"),

    setting("serve.stdio", &["DELIBERATE_STDIO"], Choice(&["auto", "on", "off"]), Value("auto"),
        "Serve standard input and output; `auto` does when a client started the program"),

    setting("http.listen", &["DELIBERATE_HTTP_LISTEN"], Address,
        Computed { shown: "off; `127.0.0.1:8484` when started in a terminal",
            example: "127.0.0.1:8484" },
        "Serve HTTP at this address; beyond this machine it needs a token"),
    setting("http.public_url", &["DELIBERATE_HTTP_PUBLIC_URL"], Url, unset("https://think.example.org"),
        "Address by which clients reach the server, if it is behind another"),
    setting("http.allowed_hosts", &["DELIBERATE_HTTP_ALLOWED_HOSTS"], Texts, unset("think.example.org"),
        "Host names that requests may be sent to, besides this machine's own"),
    setting("http.allowed_origins", &["DELIBERATE_HTTP_ALLOWED_ORIGINS"], Texts,
        unset("https://app.example.org"), "Web pages that may use the server, besides its own"),
    setting("http.token", &["DELIBERATE_HTTP_TOKEN"], Secret, unset("dlb_your-token"),
        "Bearer token that lets clients use everything"),
    setting("http.tokens_file", &["DELIBERATE_HTTP_TOKENS_FILE"], Path, unset("~/deliberate-tokens.toml"),
        "File of named tokens and the tools each may use; `deliberate token new` makes them"),
    setting("http.sse", &["DELIBERATE_HTTP_SSE"], Switch, Value("on"),
        "Serve the HTTP+SSE transport of 2024-11-05 at /sse"),
    setting("http.sessions", &["DELIBERATE_HTTP_SESSIONS"], Switch, Value("off"),
        "Keep sessions for clients of the revisions up to 2025-11-25 that need them"),
    setting("http.max_sessions", &["DELIBERATE_HTTP_MAX_SESSIONS"], integer(1, 100_000), Value("256"),
        "How many sessions may be open, of either kind"),
    setting("http.session_idle_ms", &["DELIBERATE_HTTP_SESSION_IDLE_MS"], milliseconds(1_000, 24 * HOUR_MS),
        Value("300000"), "How long an idle session is kept, in milliseconds"),
    setting("http.connections", &["DELIBERATE_HTTP_CONNECTIONS"], integer(1, 100_000), Value("1024"),
        "How many connections may be open"),
    setting("http.requests_per_minute", &["DELIBERATE_HTTP_REQUESTS_PER_MINUTE"], integer(0, 10_000_000),
        Computed { shown: "any number on this machine, 600 beyond it", example: "600" },
        "How many requests one client may make in a minute; 0 is any number"),
    setting("http.concurrent_requests", &["DELIBERATE_HTTP_CONCURRENT_REQUESTS"], integer(1, 100_000),
        Computed { shown: "1024 on this machine, 64 beyond it", example: "64" },
        "How many requests of one client may run at once"),

    setting("oauth.issuer", &["DELIBERATE_OAUTH_ISSUER"], Url, unset("https://login.example.org"),
        "Accept access tokens of this OAuth authorization server"),
    setting("oauth.audience", &["DELIBERATE_OAUTH_AUDIENCE"], Text,
        Computed { shown: "the server's own address", example: "https://think.example.org/mcp" },
        "Audience that access tokens must name"),
    setting("oauth.jwks_url", &["DELIBERATE_OAUTH_JWKS_URL"], Url,
        Computed { shown: "found at the issuer", example: "https://login.example.org/jwks.json" },
        "Where the issuer's keys are"),
    setting("oauth.scope", &["DELIBERATE_OAUTH_SCOPE"], Text, unset("deliberate"),
        "Scope that lets a token use everything; without it every token of the issuer does"),

    setting("resources.roots", &["DELIBERATE_RESOURCES_ROOTS"], Paths, unset("~/papers, ~/notes"),
        "Folders whose files clients may read"),
    setting("resources.file_bytes", &["DELIBERATE_RESOURCES_FILE_BYTES"], integer(1, 67_108_864),
        Value("1048576"), "Largest file that is given to a client, in bytes"),

    setting("tools.sets", &["DELIBERATE_TOOLS_SETS"], Choices(TOOL_SETS),
        Value("reasoning, prompts, gateway"), "Which tools clients get"),

    setting("gateway.servers_file", &["DELIBERATE_GATEWAY_SERVERS_FILE"], Path,
        Computed {
            shown: "`deliberate/servers.json` in the user's configuration directory",
            example: "~/servers.json",
        },
        "File of other MCP servers that `deliberate servers add` writes, in the form of `mcpServers`"),
    setting("gateway.import", &["DELIBERATE_GATEWAY_IMPORT"], Paths, unset("~/.cursor/mcp.json"),
        "Further files in that form, such as those of Claude Desktop, Cursor and VS Code"),

    setting("prompts.workspace", &["MCP_WORKSPACE", "DELIBERATE_PROMPTS_WORKSPACE"], Path,
        Computed { shown: "`deliberate/prompts` in the user's data directory", example: "~/prompts" },
        "Folder of your own prompts, gates, methodologies, styles and scripts"),
    setting("prompts.resources_path", &["MCP_RESOURCES_PATH", "DELIBERATE_PROMPTS_RESOURCES_PATH"], Path,
        unset("~/prompts/resources"),
        "Folder that holds `prompts`, `gates` and so on, in place of those of the workspace"),
    setting("prompts.prompts_path", &["MCP_PROMPTS_PATH", "DELIBERATE_PROMPTS_PROMPTS_PATH"], Path,
        unset("~/team/prompts"), "Folder of prompts, in place of the workspace's"),
    setting("prompts.gates_path", &["MCP_GATES_PATH", "DELIBERATE_PROMPTS_GATES_PATH"], Path,
        unset("~/team/gates"), "Folder of gates, likewise"),
    setting("prompts.methodologies_path", &["MCP_METHODOLOGIES_PATH", "DELIBERATE_PROMPTS_METHODOLOGIES_PATH"],
        Path, unset("~/team/methodologies"), "Folder of methodologies, likewise"),
    setting("prompts.styles_path", &["MCP_STYLES_PATH", "DELIBERATE_PROMPTS_STYLES_PATH"], Path,
        unset("~/team/styles"), "Folder of styles, likewise"),
    setting("prompts.scripts_path", &["MCP_SCRIPTS_PATH", "DELIBERATE_PROMPTS_SCRIPTS_PATH"], Path,
        unset("~/team/scripts"), "Folder of script tools, likewise"),
    setting("prompts.commands", &["DELIBERATE_PROMPTS_COMMANDS"], Texts, unset("cargo test, npm test"),
        "Commands that gates may run, each in full; a `*` as the last word allows any further ones; without it none"),
    setting("prompts.scripts", &["DELIBERATE_PROMPTS_SCRIPTS"], Texts, unset("word_count, lint-*"),
        "Script tools that prompts may run, by id; a trailing `*` stands for anything"),
    setting("prompts.judge", &["DELIBERATE_PROMPTS_JUDGE"], Choice(&["client", "model"]),
        Value("client"), "Who judges what can't be computed, where a gate does not say"),
    setting("prompts.methodology", &["DELIBERATE_PROMPTS_METHODOLOGY"], Text, unset("CAGEERF"),
        "Methodology in use until someone switches"),
    setting("prompts.in_menu", &["DELIBERATE_PROMPTS_IN_MENU"], Switch, Value("on"),
        "Show prompts in clients' menus, unless a prompt or its category says otherwise"),
    setting("prompts.steps", &["DELIBERATE_PROMPTS_STEPS"], integer(1, 10_000), Value("500"),
        "Most steps of a chain, nested ones counted"),
    setting("prompts.repetitions", &["DELIBERATE_PROMPTS_REPETITIONS"], integer(1, 10_000),
        Value("100"), "How often one step may be repeated"),
    setting("prompts.runs_kept", &["DELIBERATE_PROMPTS_RUNS_KEPT"], integer(1, 1_000_000),
        Value("1000"), "How many ended runs of each chain are kept"),

    setting("telemetry.endpoint", &["OTEL_EXPORTER_OTLP_ENDPOINT", "DELIBERATE_TELEMETRY_ENDPOINT"], Url,
        unset("http://127.0.0.1:4318"), "Send OpenTelemetry traces to this OTLP/HTTP collector"),
    setting("telemetry.service", &["OTEL_SERVICE_NAME", "DELIBERATE_TELEMETRY_SERVICE"], Text,
        Value("deliberate"), "Name of this service in traces"),
    setting("telemetry.token", &["DELIBERATE_TELEMETRY_TOKEN"], Secret, unset("your-token"),
        "Bearer token for the collector"),
    setting("telemetry.sample", &["DELIBERATE_TELEMETRY_SAMPLE"], Number { min: 0.0, max: 1.0 },
        Value("1"), "Share of calls that are traced"),

    setting("log.level", &["LOG_LEVEL", "DELIBERATE_LOG_LEVEL"],
        Choice(&["error", "warn", "info", "debug", "trace"]), Value("info"),
        "How much is written to standard error"),
    setting("log.format", &["LOG_FORMAT", "DELIBERATE_LOG_FORMAT"], Choice(&["pretty", "json"]),
        Value("pretty"), "Log lines for people, or one JSON object per line"),
    setting("log.content", &["DELIBERATE_LOG_CONTENT"], Switch, Value("off"),
        "Also log what was asked and answered, at level `debug` and `trace`"),

    setting("limits.line_bytes", &["DELIBERATE_LIMITS_LINE_BYTES"], integer(65_536, 67_108_864),
        Value("4194304"), "Longest message taken from a client, in bytes"),
    setting("limits.content_chars", &["DELIBERATE_LIMITS_CONTENT_CHARS"], integer(1, 10_000_000),
        Value("100000"), "Longest text in one tool argument, in characters"),
    setting("limits.context_tokens", &["DELIBERATE_LIMITS_CONTEXT_TOKENS"], integer(1, 10_000_000),
        Value("6000"), "How much of a session's past is shown to a model, in tokens"),
    setting("limits.concurrent_calls", &["DELIBERATE_LIMITS_CONCURRENT_CALLS"], integer(1, 10_000),
        Value("256"), "How many tool calls may run at once"),
    setting("limits.call_timeout_ms", &["DELIBERATE_LIMITS_CALL_TIMEOUT_MS"],
        milliseconds(1, HOUR_MS), Value("300000"),
        "How long one tool call may take in all, in milliseconds"),
    setting("limits.answer_within_ms", &["DELIBERATE_LIMITS_ANSWER_WITHIN_MS"],
        milliseconds(100, HOUR_MS), Value("45000"),
        "How long a client waits for a call before it is told that it runs on, in milliseconds"),
    setting("limits.answer_bytes", &["DELIBERATE_LIMITS_ANSWER_BYTES"], integer(1_024, 67_108_864),
        Value("4194304"), "Longest answer to a call, in bytes"),
    setting("limits.shutdown_ms", &["DELIBERATE_LIMITS_SHUTDOWN_MS"],
        milliseconds(0, HOUR_MS), Value("30000"),
        "How long running calls may take to end when the server stops, in milliseconds"),

    setting("suspend.ttl_hours", &["DELIBERATE_SUSPEND_TTL_HOURS"], integer(1, 8760), Value("168"),
        "How long a call that waits for the client's answer is kept, in hours"),

    setting("prices.input_per_mtok", &["DELIBERATE_PRICES_INPUT_PER_MTOK"],
        Number { min: 0.0, max: 1_000_000.0 }, unset("0.15"),
        "Price of a million input tokens, for the recorded cost"),
    setting("prices.output_per_mtok", &["DELIBERATE_PRICES_OUTPUT_PER_MTOK"],
        Number { min: 0.0, max: 1_000_000.0 }, unset("0.60"),
        "Price of a million output tokens, for the recorded cost"),
];

/// Variables that begin so are ours, so an unknown one is a mistake.
pub(super) const OUR_PREFIX: &str = "DELIBERATE_";

/// Variables that are ours without being settings.
pub(super) static OTHER_VARIABLES: &[&str] = &[CONFIG_VARIABLE];

/// Names the settings file.
pub(super) const CONFIG_VARIABLE: &str = "DELIBERATE_CONFIG";

/// The setting with this key.
pub(super) fn find(key: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.key == key)
}
