-- Has all columns that reports of usage add up, so that they read no long rows.
CREATE INDEX invocations_by_time ON invocations (
    created_at, tool_name, session_id, model, pipe_name, success, latency_ms,
    model_calls, prompt_tokens, completion_tokens, cost_usd
);
