//! The table of settings. Keys, environment variables, defaults, allowed values, `deliberate
//! config`, the reference page and the sample file all follow from it, so a new setting is one
//! entry here and one field in [`super::AppSettings`].

use deliberate_llm::PROVIDERS;

pub(crate) use super::definition::{SettingDefault, SettingDefinition, SettingKind};

/// Value of `provider` that takes the first provider that is configured or found.
pub(crate) const AUTO: &str = "auto";

/// Value of `provider` that asks the client's model through MCP sampling.
pub(crate) const SAMPLING: &str = "sampling";

/// Value of `provider` that suspends each call until the client replies.
pub(crate) const CLIENT: &str = "client";

/// Allowed values of `provider`: the table of providers, and the three values that name none.
pub(crate) static PROVIDER_CHOICES: &[&str] = &provider_choices();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where a wrong index is an error"
)]
const fn provider_choices() -> [&'static str; PROVIDERS.len() + 3] {
    let mut choices = [AUTO; PROVIDERS.len() + 3];
    let mut index = 0;
    while index < PROVIDERS.len() {
        choices[index + 1] = PROVIDERS[index].name;
        index += 1;
    }
    choices[index + 1] = SAMPLING;
    choices[index + 2] = CLIENT;
    choices
}

/// Groups of tools that can be offered to clients.
pub(super) static TOOL_SETS: &[&str] = &[
    "reasoning",
    "prompts",
    "research",
    "research_compact",
    "gateway",
];

/// Names of the sources of papers.
pub(super) static PAPER_SOURCES: &[&str] = &deliberate_research::sources::SOURCE_NAMES;

const fn setting(
    key: &'static str,
    env: &'static [&'static str],
    kind: SettingKind,
    fallback: SettingDefault,
    help: &'static str,
) -> SettingDefinition {
    SettingDefinition {
        key,
        env,
        kind,
        default: fallback,
        help,
    }
}

const fn integer(min: u64, max: u64) -> SettingKind {
    SettingKind::Integer { min, max }
}

const fn milliseconds(min: u64, max: u64) -> SettingKind {
    SettingKind::Milliseconds { min, max }
}

const fn unset(example: &'static str) -> SettingDefault {
    SettingDefault::Unset { example }
}

use SettingDefault::{Computed, Value};
use SettingKind::{
    Address, Choice, Choices, Number, Path, Paths, Secret, Switch, Text, Texts, Url,
};

const HOUR_MS: u64 = 3_600_000;

/// All settings, in the order in which they are displayed. Keys without a section come first,
/// because in TOML a key after a section header belongs to that section.
#[rustfmt::skip]
pub(crate) static SETTINGS: &[SettingDefinition] = &[
    setting("provider", &["DELIBERATE_PROVIDER"], Choice(PROVIDER_CHOICES), Value("auto"),
        "Provider of the model; `auto` takes the first one that is configured or found"),
    setting("model", &["DELIBERATE_MODEL"], Text, unset("qwen3:8b"),
        "Model name; default: the provider's own"),
    setting("base_url", &["DELIBERATE_BASE_URL"], Url, unset("http://127.0.0.1:11434/v1"),
        "Base URL of the provider, instead of its usual one"),
    setting("api_key", &["DELIBERATE_API_KEY"], Secret, unset("your-key"),
        "API key of the provider, instead of its own variable"),
    setting("temperature", &["DELIBERATE_TEMPERATURE"], Number { min: 0.0, max: 2.0 }, unset("0.7"),
        "Sampling temperature; default: that of each mode"),
    setting("max_tokens", &["DELIBERATE_MAX_TOKENS"], integer(1, 1_000_000), unset("2000"),
        "Longest answer requested from a model, in tokens"),
    setting("discover", &["DELIBERATE_DISCOVER"], Switch, Value("on"),
        "Search for a model server on this machine if nothing is configured"),

    setting("langbase.api_key", &["LANGBASE_API_KEY"], Secret, unset("your-key"),
        "Langbase API key"),
    setting("langbase.base_url", &["LANGBASE_BASE_URL"], Url, Value("https://api.langbase.com"),
        "Langbase API base URL"),
    setting("langbase.model", &["LANGBASE_MODEL"], Text, Value("openai:gpt-4o-mini"),
        "Model of the pipes created on first use"),

    setting("openai.api_key", &["OPENAI_API_KEY"], Secret, unset("your-key"),
        "OpenAI API key"),
    setting("openai.base_url", &["OPENAI_BASE_URL"], Url, unset("https://api.openai.com/v1"),
        "OpenAI API base URL, or that of a compatible service"),

    setting("anthropic.api_key", &["ANTHROPIC_API_KEY"], Secret, unset("your-key"),
        "Anthropic API key"),
    setting("anthropic.base_url", &["ANTHROPIC_BASE_URL"], Url, unset("https://api.anthropic.com"),
        "Anthropic API base URL"),

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
        Computed { display: "30000, longer for a local model", example: "30000" },
        "Time limit of one attempt at a provider, in milliseconds"),
    setting("request.max_retries", &["MAX_RETRIES", "DELIBERATE_MAX_RETRIES"], integer(0, 10),
        Value("3"), "Number of retries of a request that failed temporarily"),
    setting("request.retry_delay_ms", &["RETRY_DELAY_MS", "DELIBERATE_RETRY_DELAY_MS"],
        milliseconds(0, 60_000), Value("1000"),
        "Delay before the first retry, in milliseconds; later delays are longer"),
    setting("request.concurrency", &["DELIBERATE_REQUEST_CONCURRENCY"], integer(1, 1024),
        Value("256"), "Maximum concurrent requests to one provider"),
    setting("request.per_second", &["DELIBERATE_REQUEST_PER_SECOND"],
        Number { min: 0.001, max: 10_000.0 }, unset("5"),
        "Maximum requests per second to one provider"),

    setting("database.path", &["DATABASE_PATH", "DELIBERATE_DATABASE_PATH"], Path,
        Computed {
            display: "`deliberate/deliberate.db` in the user's data directory",
            example: "~/deliberate.db",
        },
        "SQLite database; a relative path in the settings file starts at that file's directory"),
    setting("database.max_connections",
        &["DATABASE_MAX_CONNECTIONS", "DELIBERATE_DATABASE_MAX_CONNECTIONS"], integer(1, 64),
        Value("5"), "Maximum concurrent database readers"),
    setting("database.durability", &["DELIBERATE_DURABILITY"], Choice(&["full", "relaxed"]),
        Value("full"),
        "`full` survives a power failure; `relaxed` is faster but may lose the last moments"),

    setting("serve.stdio", &["DELIBERATE_STDIO"], Choice(&["auto", "on", "off"]), Value("auto"),
        "Serve MCP on standard input and output; `auto` does so if a client started the program"),

    setting("http.listen", &["DELIBERATE_HTTP_LISTEN"], Address,
        Computed { display: "off; `127.0.0.1:8484` if started in a terminal",
            example: "127.0.0.1:8484" },
        "Serve HTTP at this address; beyond this machine a token is required"),
    setting("http.public_url", &["DELIBERATE_HTTP_PUBLIC_URL"], Url, unset("https://think.example.org"),
        "URL by which clients reach the server, if it is behind a proxy"),
    setting("http.allowed_hosts", &["DELIBERATE_HTTP_ALLOWED_HOSTS"], Texts, unset("think.example.org"),
        "Host names that requests may be sent to, in addition to this machine's own"),
    setting("http.allowed_origins", &["DELIBERATE_HTTP_ALLOWED_ORIGINS"], Texts,
        unset("https://app.example.org"), "Origins of web pages that may use the server, in addition to its own"),
    setting("http.token", &["DELIBERATE_HTTP_TOKEN"], Secret, unset("dlb_your-token"),
        "Bearer token with access to everything"),
    setting("http.tokens_file", &["DELIBERATE_HTTP_TOKENS_FILE"], Path, unset("~/deliberate-tokens.toml"),
        "File of named tokens and the tools each may use; `deliberate token new` creates them"),
    setting("http.sse", &["DELIBERATE_HTTP_SSE"], Switch, Value("on"),
        "Serve the HTTP+SSE transport of 2024-11-05 at /sse"),
    setting("http.sessions", &["DELIBERATE_HTTP_SESSIONS"], Switch, Value("off"),
        "Keep sessions for clients of revisions up to 2025-11-25 that need them"),
    setting("http.max_sessions", &["DELIBERATE_HTTP_MAX_SESSIONS"], integer(1, 100_000), Value("256"),
        "Maximum open sessions of all transports"),
    setting("http.session_idle_ms", &["DELIBERATE_HTTP_SESSION_IDLE_MS"], milliseconds(1_000, 24 * HOUR_MS),
        Value("300000"), "Time after which an idle session is closed, in milliseconds"),
    setting("http.connections", &["DELIBERATE_HTTP_CONNECTIONS"], integer(1, 100_000), Value("1024"),
        "Maximum open connections"),
    setting("http.requests_per_minute", &["DELIBERATE_HTTP_REQUESTS_PER_MINUTE"], integer(0, 10_000_000),
        Computed { display: "unlimited on this machine, 600 beyond it", example: "600" },
        "Maximum requests of one client per minute; 0 is unlimited"),
    setting("http.concurrent_requests", &["DELIBERATE_HTTP_CONCURRENT_REQUESTS"], integer(1, 100_000),
        Computed { display: "1024 on this machine, 64 beyond it", example: "64" },
        "Maximum concurrent requests of one client"),

    setting("oauth.issuer", &["DELIBERATE_OAUTH_ISSUER"], Url, unset("https://login.example.org"),
        "Accept access tokens of this OAuth authorization server"),
    setting("oauth.audience", &["DELIBERATE_OAUTH_AUDIENCE"], Text,
        Computed { display: "the server's own URL", example: "https://think.example.org/mcp" },
        "Audience that access tokens must name"),
    setting("oauth.jwks_url", &["DELIBERATE_OAUTH_JWKS_URL"], Url,
        Computed { display: "discovered at the issuer", example: "https://login.example.org/jwks.json" },
        "URL of the issuer's signing keys"),
    setting("oauth.scope", &["DELIBERATE_OAUTH_SCOPE"], Text, unset("deliberate"),
        "Scope that gives a token access to everything; if not set, every token of the issuer has it"),

    setting("resources.roots", &["DELIBERATE_RESOURCES_ROOTS"], Paths, unset("~/papers, ~/notes"),
        "Folders whose files clients may read"),
    setting("resources.file_bytes", &["DELIBERATE_RESOURCES_FILE_BYTES"], integer(1, 67_108_864),
        Value("1048576"), "Largest file sent to a client, in bytes"),

    setting("tools.sets", &["DELIBERATE_TOOLS_SETS"], Choices(TOOL_SETS),
        Value("reasoning, prompts, research_compact, gateway"),
        "Tools offered to clients; `research_compact` is all of `research` behind one tool"),

    setting("gateway.servers_file", &["DELIBERATE_GATEWAY_SERVERS_FILE"], Path,
        Computed {
            display: "`deliberate/servers.json` in the user's configuration directory",
            example: "~/servers.json",
        },
        "File of upstream servers written by `deliberate servers add`, in the `mcpServers` format"),
    setting("gateway.import", &["DELIBERATE_GATEWAY_IMPORT"], Paths, unset("~/.cursor/mcp.json"),
        "Further files in that format, such as those of Claude Desktop, Cursor and VS Code"),

    setting("prompts.workspace", &["MCP_WORKSPACE", "DELIBERATE_PROMPTS_WORKSPACE"], Path,
        Computed { display: "`deliberate/prompts` in the user's data directory", example: "~/prompts" },
        "Folder of your own prompts, gates, methodologies, styles and scripts"),
    setting("prompts.resources_path", &["MCP_RESOURCES_PATH", "DELIBERATE_PROMPTS_RESOURCES_PATH"], Path,
        unset("~/prompts/resources"),
        "Folder that contains `prompts`, `gates` and so on, instead of the workspace's"),
    setting("prompts.prompts_path", &["MCP_PROMPTS_PATH", "DELIBERATE_PROMPTS_PROMPTS_PATH"], Path,
        unset("~/team/prompts"), "Folder of prompts, instead of the workspace's"),
    setting("prompts.gates_path", &["MCP_GATES_PATH", "DELIBERATE_PROMPTS_GATES_PATH"], Path,
        unset("~/team/gates"), "Folder of gates, instead of the workspace's"),
    setting("prompts.methodologies_path", &["MCP_METHODOLOGIES_PATH", "DELIBERATE_PROMPTS_METHODOLOGIES_PATH"],
        Path, unset("~/team/methodologies"), "Folder of methodologies, instead of the workspace's"),
    setting("prompts.styles_path", &["MCP_STYLES_PATH", "DELIBERATE_PROMPTS_STYLES_PATH"], Path,
        unset("~/team/styles"), "Folder of styles, instead of the workspace's"),
    setting("prompts.scripts_path", &["MCP_SCRIPTS_PATH", "DELIBERATE_PROMPTS_SCRIPTS_PATH"], Path,
        unset("~/team/scripts"), "Folder of script tools, instead of the workspace's"),
    setting("prompts.commands", &["DELIBERATE_PROMPTS_COMMANDS"], Texts, unset("cargo test, npm test"),
        "Commands that gates may run, each in full; a `*` as the last word allows any further words; default: none"),
    setting("prompts.scripts", &["DELIBERATE_PROMPTS_SCRIPTS"], Texts, unset("word_count, lint-*"),
        "Ids of the script tools that prompts may run; a trailing `*` matches anything"),
    setting("prompts.caller_scripts", &["DELIBERATE_PROMPTS_CALLER_SCRIPTS"], Switch, Value("off"),
        "Let calls write scripts into the workspace, where an allowed command may run them"),
    setting("prompts.judge", &["DELIBERATE_PROMPTS_JUDGE"], Choice(&["client", "model"]),
        Value("client"), "Judge of criteria that cannot be computed, if a gate names none"),
    setting("prompts.methodology", &["DELIBERATE_PROMPTS_METHODOLOGY"], Text, unset("CAGEERF"),
        "Active methodology until it is switched"),
    setting("prompts.in_menu", &["DELIBERATE_PROMPTS_IN_MENU"], Switch, Value("on"),
        "List prompts in clients' menus, unless a prompt or its category says otherwise"),
    setting("prompts.steps", &["DELIBERATE_PROMPTS_STEPS"], integer(1, 10_000), Value("500"),
        "Maximum steps of a chain, including nested ones"),
    setting("prompts.repetitions", &["DELIBERATE_PROMPTS_REPETITIONS"], integer(1, 10_000),
        Value("100"), "Maximum repetitions of one step"),
    setting("prompts.runs_kept", &["DELIBERATE_PROMPTS_RUNS_KEPT"], integer(1, 1_000_000),
        Value("1000"), "Number of ended runs kept for each chain"),

    setting("research.folder", &["DELIBERATE_RESEARCH_FOLDER"], Path,
        Computed { display: "`research` beside the database", example: "~/research" },
        "Folder of the index, downloads and cached responses of sources"),
    setting("research.papers", &["DELIBERATE_RESEARCH_PAPERS"], Path,
        Computed { display: "`papers` in that folder", example: "~/papers" },
        "Folder for downloaded papers"),
    setting("research.readable", &["DELIBERATE_RESEARCH_READABLE"], Paths,
        Computed {
            display: "the user's documents, downloads and desktop, and the working directory",
            example: "~/Documents, ~/Downloads",
        },
        "Folders that papers may be read from, in addition to the papers folder"),
    setting("research.watch", &["DELIBERATE_RESEARCH_WATCH"], Paths, unset("~/papers/inbox"),
        "Folders that are watched for new files, which are read automatically"),
    setting("research.exports", &["DELIBERATE_RESEARCH_EXPORTS"], Path,
        Computed { display: "`exports` in the research folder", example: "~/bibliographies" },
        "Folder for exported bibliographies"),
    setting("research.file_bytes", &["DELIBERATE_RESEARCH_FILE_BYTES"], integer(1_024, 2_147_483_648),
        Value("104857600"), "Largest file that is downloaded or read, in bytes"),
    setting("research.sources", &["DELIBERATE_RESEARCH_SOURCES"], Choices(PAPER_SOURCES),
        Value("arxiv, semantic_scholar, openalex, crossref, pubmed, europe_pmc, biorxiv, medrxiv"),
        "Sources that are searched for papers"),
    setting("research.contact", &["DELIBERATE_RESEARCH_CONTACT"], Text, unset("you@example.org"),
        "Your e-mail address for sources that ask for a contact; required for Unpaywall"),
    setting("research.cache_hours", &["DELIBERATE_RESEARCH_CACHE_HOURS"], integer(0, 8760), Value("24"),
        "Time for which responses of sources are cached, in hours"),
    setting("research.semantic_scholar_key", &["SEMANTIC_SCHOLAR_API_KEY", "DELIBERATE_RESEARCH_SEMANTIC_SCHOLAR_KEY"],
        Secret, unset("your-key"), "Semantic Scholar API key"),
    setting("research.openalex_key", &["OPENALEX_API_KEY", "DELIBERATE_RESEARCH_OPENALEX_KEY"],
        Secret, unset("your-key"), "OpenAlex API key"),
    setting("research.pubmed_key", &["NCBI_API_KEY", "DELIBERATE_RESEARCH_PUBMED_KEY"],
        Secret, unset("your-key"), "NCBI API key, for PubMed"),
    setting("research.arxiv_url", &["DELIBERATE_RESEARCH_ARXIV_URL"], Url,
        Value("https://export.arxiv.org/api"), "Base URL of arXiv's API; a URL without a path gets the usual path, also in the settings below"),
    setting("research.semantic_scholar_url", &["DELIBERATE_RESEARCH_SEMANTIC_SCHOLAR_URL"], Url,
        Value("https://api.semanticscholar.org/graph/v1"), "Base URL of Semantic Scholar's API"),
    setting("research.openalex_url", &["DELIBERATE_RESEARCH_OPENALEX_URL"], Url,
        Value("https://api.openalex.org"), "Base URL of OpenAlex's API"),
    setting("research.crossref_url", &["DELIBERATE_RESEARCH_CROSSREF_URL"], Url,
        Value("https://api.crossref.org"), "Base URL of Crossref's API"),
    setting("research.pubmed_url", &["DELIBERATE_RESEARCH_PUBMED_URL"], Url,
        Value("https://eutils.ncbi.nlm.nih.gov/entrez/eutils"), "Base URL of PubMed's API"),
    setting("research.europe_pmc_url", &["DELIBERATE_RESEARCH_EUROPE_PMC_URL"], Url,
        Value("https://www.ebi.ac.uk/europepmc/webservices/rest"), "Base URL of Europe PMC's API"),
    setting("research.biorxiv_url", &["DELIBERATE_RESEARCH_BIORXIV_URL"], Url,
        Value("https://api.biorxiv.org"), "Base URL of bioRxiv's API"),
    setting("research.medrxiv_url", &["DELIBERATE_RESEARCH_MEDRXIV_URL"], Url,
        Value("https://api.biorxiv.org"), "Base URL of medRxiv's API"),
    setting("research.unpaywall_url", &["DELIBERATE_RESEARCH_UNPAYWALL_URL"], Url,
        Value("https://api.unpaywall.org/v2"), "Base URL of Unpaywall's API"),
    setting("research.embeddings", &["DELIBERATE_RESEARCH_EMBEDDINGS"],
        Choice(&["embedded", "endpoint", "off"]), Value("embedded"),
        "Embeddings for search: the table inside the program, an OpenAI-compatible endpoint, or none"),
    setting("research.embeddings_url", &["DELIBERATE_RESEARCH_EMBEDDINGS_URL"], Url,
        unset("http://127.0.0.1:11434/v1"), "Base URL of the embeddings endpoint"),
    setting("research.embeddings_model", &["DELIBERATE_RESEARCH_EMBEDDINGS_MODEL"], Text,
        unset("nomic-embed-text"), "Model of the embeddings endpoint"),
    setting("research.embeddings_key", &["DELIBERATE_RESEARCH_EMBEDDINGS_KEY"], Secret,
        unset("your-key"), "API key of the embeddings endpoint"),
    setting("research.rerank", &["DELIBERATE_RESEARCH_RERANK"],
        Choice(&["off", "model", "endpoint"]), Value("off"),
        "Reranker of the best passages: none, the reasoning model, or a Cohere-compatible endpoint"),
    setting("research.rerank_url", &["DELIBERATE_RESEARCH_RERANK_URL"], Url,
        Value("https://api.cohere.com/v2"), "URL of the rerank endpoint"),
    setting("research.rerank_model", &["DELIBERATE_RESEARCH_RERANK_MODEL"], Text,
        Value("rerank-v3.5"), "Model of the rerank endpoint"),
    setting("research.rerank_key", &["COHERE_API_KEY", "DELIBERATE_RESEARCH_RERANK_KEY"], Secret,
        unset("your-key"), "API key of the rerank endpoint"),
    setting("research.vector_weight", &["DELIBERATE_RESEARCH_VECTOR_WEIGHT"], Number { min: 0.0, max: 1.0 },
        Computed { display: "0.3 with the embedded table, 0.7 with an endpoint", example: "0.5" },
        "Maximum weight of the vector rank in a search"),
    setting("research.text_weight", &["DELIBERATE_RESEARCH_TEXT_WEIGHT"], Number { min: 0.0, max: 1.0 },
        Computed { display: "0.7 with the embedded table, 0.3 with an endpoint", example: "0.5" },
        "Maximum weight of the full-text rank in a search"),
    setting("research.adaptive", &["DELIBERATE_RESEARCH_ADAPTIVE"], Switch, Value("on"),
        "Lower the weight of the vector rank if the full-text search finds the question's words; off uses the weights unchanged"),
    setting("research.rank_constant", &["DELIBERATE_RESEARCH_RANK_CONSTANT"], Number { min: 1.0, max: 1_000.0 },
        Value("60"), "Constant of reciprocal rank fusion"),
    setting("research.passage_tokens", &["DELIBERATE_RESEARCH_PASSAGE_TOKENS"], integer(50, 4_000),
        Value("350"), "Length of a passage, in tokens; changing it rebuilds the index"),
    setting("research.overlap_tokens", &["DELIBERATE_RESEARCH_OVERLAP_TOKENS"], integer(0, 1_000),
        Value("60"), "Overlap with the previous passage, in tokens"),
    setting("research.support", &["DELIBERATE_RESEARCH_SUPPORT"], Number { min: 0.0, max: 1.0 },
        Value("0.6"), "Share of an answer's claims that the passages must support; otherwise the answer is withheld"),
    setting("research.answer_model_calls", &["DELIBERATE_RESEARCH_ANSWER_MODEL_CALLS"], integer(1, 1_000),
        Value("40"), "Maximum model calls for one question"),
    setting("research.answer_tokens", &["DELIBERATE_RESEARCH_ANSWER_TOKENS"], integer(1_000, 100_000_000),
        Value("120000"), "Maximum tokens for one question"),
    setting("research.answer_ms", &["DELIBERATE_RESEARCH_ANSWER_MS"], milliseconds(1_000, HOUR_MS),
        Value("240000"), "Time limit for one question, in milliseconds"),
    setting("research.judge", &["DELIBERATE_RESEARCH_JUDGE"], Choice(&["model", "off"]), Value("model"),
        "Judge of the sentences that code cannot check: the reasoning model, with a quote that code verifies, or none"),
    setting("research.schedule", &["DELIBERATE_RESEARCH_SCHEDULE"], Switch, Value("on"),
        "Run saved questions when they are due, while the server runs"),
    setting("research.schedule_every_ms", &["DELIBERATE_RESEARCH_SCHEDULE_EVERY_MS"],
        milliseconds(100, 24 * HOUR_MS), Value("300000"), "Interval between checks for due questions, in milliseconds"),

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
        "Level of the log on standard error"),
    setting("log.format", &["LOG_FORMAT", "DELIBERATE_LOG_FORMAT"], Choice(&["pretty", "json"]),
        Value("pretty"), "Log lines for people, or one JSON object per line"),
    setting("log.content", &["DELIBERATE_LOG_CONTENT"], Switch, Value("off"),
        "Also log the content of requests and answers, at levels `debug` and `trace`"),
    setting("log.audit", &["DELIBERATE_LOG_AUDIT"], Switch, Value("on"),
        "Log who called which tool of an upstream server, at every level"),

    setting("limits.line_bytes", &["DELIBERATE_LIMITS_LINE_BYTES"], integer(65_536, 67_108_864),
        Value("4194304"), "Longest message accepted from a client, in bytes"),
    setting("limits.content_chars", &["DELIBERATE_LIMITS_CONTENT_CHARS"], integer(1, 10_000_000),
        Value("100000"), "Longest text in one tool argument, in characters"),
    setting("limits.context_tokens", &["DELIBERATE_LIMITS_CONTEXT_TOKENS"], integer(1, 10_000_000),
        Value("6000"), "How much of a session's history a model sees, in tokens"),
    setting("limits.concurrent_calls", &["DELIBERATE_LIMITS_CONCURRENT_CALLS"], integer(1, 10_000),
        Value("256"), "Maximum concurrent tool calls"),
    setting("limits.principal_share", &["DELIBERATE_LIMITS_PRINCIPAL_SHARE"], integer(1, 100),
        Value("50"), "Largest part of the concurrent calls and model requests that one token may take of what others leave, in percent"),
    setting("limits.call_timeout_ms", &["DELIBERATE_LIMITS_CALL_TIMEOUT_MS"],
        milliseconds(1, HOUR_MS), Value("300000"),
        "Time limit of one tool call, in milliseconds"),
    setting("limits.answer_within_ms", &["DELIBERATE_LIMITS_ANSWER_WITHIN_MS"],
        milliseconds(100, HOUR_MS), Value("45000"),
        "Time after which a call continues in the background and the client gets its id, in milliseconds"),
    setting("limits.answer_bytes", &["DELIBERATE_LIMITS_ANSWER_BYTES"], integer(1_024, 67_108_864),
        Value("4194304"), "Longest answer of a call, in bytes"),
    setting("limits.shutdown_ms", &["DELIBERATE_LIMITS_SHUTDOWN_MS"],
        milliseconds(0, HOUR_MS), Value("5000"),
        "Time that running calls get to finish when the server stops, in milliseconds"),

    setting("suspend.ttl_hours", &["DELIBERATE_SUSPEND_TTL_HOURS"], integer(1, 8760), Value("168"),
        "Time for which a suspended call is kept, in hours"),

    setting("retention.days", &["DELIBERATE_RETENTION_DAYS"], integer(0, 36_500), Value("90"),
        "Days for which records of calls (the invocation log) are kept; 0 keeps them for ever"),
    setting("retention.log_bytes", &["DELIBERATE_RETENTION_LOG_BYTES"],
        integer(0, 1_000_000_000_000), Value("268435456"),
        "Largest size of the invocation log; the oldest records beyond it are deleted; 0 sets no limit"),

    setting("prices.input_per_mtok", &["DELIBERATE_PRICES_INPUT_PER_MTOK"],
        Number { min: 0.0, max: 1_000_000.0 }, unset("0.15"),
        "Price of a million input tokens, for the cost in the invocation log"),
    setting("prices.output_per_mtok", &["DELIBERATE_PRICES_OUTPUT_PER_MTOK"],
        Number { min: 0.0, max: 1_000_000.0 }, unset("0.60"),
        "Price of a million output tokens, for the cost in the invocation log"),
];

/// Prefix of the program's own variables; an unknown one with it is an error.
pub(super) const VARIABLE_PREFIX: &str = "DELIBERATE_";

/// Variables of this program that are no settings.
pub(super) static OTHER_VARIABLES: &[&str] = &[CONFIG_VARIABLE];

/// Variable with the path of the settings file.
pub(super) const CONFIG_VARIABLE: &str = "DELIBERATE_CONFIG";

/// Variable that many programs read, each with other words for the levels. An unknown word is
/// therefore ignored, with a warning.
pub(super) const LOG_LEVEL_VARIABLE: &str = "LOG_LEVEL";

pub(super) fn find_setting(key: &str) -> Option<&'static SettingDefinition> {
    SETTINGS.iter().find(|setting| setting.key == key)
}
