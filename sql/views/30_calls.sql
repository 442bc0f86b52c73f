-- The ledger without its texts, which are large and in analysis.answers.
CREATE VIEW analysis.calls AS
SELECT
    c.id AS call_id,
    c.key AS call_key,
    c.workflow,
    c.agent,
    c.provider,
    c.model,
    c.experiment_id,
    x.tag AS experiment,
    c.template,
    c.template_hash,
    (c.parameters ->> 'temperature')::double precision AS temperature,
    (c.parameters ->> 'top_p')::double precision AS top_p,
    (c.parameters ->> 'max_tokens')::integer AS max_tokens,
    (c.parameters ->> 'seed')::bigint AS seed,
    c.parameters ->> 'reasoning_effort' AS reasoning_effort,
    c.sent_parameters,
    c.not_applied,
    c.sent_body,
    c.status,
    c.attempts,
    c.errors,
    c.served_model,
    c.response_id,
    c.fingerprint,
    c.finish_reason,
    c.finish_given,
    c.prompt_tokens,
    c.completion_tokens,
    c.cached_tokens,
    c.cache_written_tokens,
    c.reasoning_tokens,
    c.cost_usd,
    c.cost_source,
    c.at_most_usd,
    c.prompt_words,
    c.latency_ms,
    c.route,
    c.cached_from,
    c.simulated,
    c.route = 'imported' AS imported,
    c.created_at,
    c.sent_at,
    c.finished_at
FROM llm_calls AS c
LEFT JOIN experiments AS x ON x.id = c.experiment_id;

COMMENT ON VIEW analysis.calls IS 'One row per LLM call, without prompt and answer, which are in analysis.answers.';
COMMENT ON COLUMN analysis.calls.call_id IS 'Identifier of the call in this database.';
COMMENT ON COLUMN analysis.calls.call_key IS 'Identity of the question, its asker and the replicate; the same in every database.';
COMMENT ON COLUMN analysis.calls.workflow IS 'Workflow of the call, such as w3-scoring.';
COMMENT ON COLUMN analysis.calls.agent IS 'Agent of the call, such as scorer or prober.';
COMMENT ON COLUMN analysis.calls.provider IS 'Provider of the call.';
COMMENT ON COLUMN analysis.calls.model IS 'Model of the call.';
COMMENT ON COLUMN analysis.calls.experiment_id IS 'Experiment of the call; NULL for evidence, rubrics and their critics, which experiments share: the calls of a sweep leave these out, analysis.spending counts them.';
COMMENT ON COLUMN analysis.calls.experiment IS 'Tag of that experiment.';
COMMENT ON COLUMN analysis.calls.template IS 'Template of the prompt.';
COMMENT ON COLUMN analysis.calls.template_hash IS 'Digest of the template at that time.';
COMMENT ON COLUMN analysis.calls.temperature IS 'Requested sampling temperature, 0 to 2; see not_applied.';
COMMENT ON COLUMN analysis.calls.top_p IS 'Requested top_p, above 0 to 1; see not_applied.';
COMMENT ON COLUMN analysis.calls.max_tokens IS 'Requested maximum length of the answer, in tokens.';
COMMENT ON COLUMN analysis.calls.seed IS 'Requested seed, 31 bits; see not_applied.';
COMMENT ON COLUMN analysis.calls.reasoning_effort IS 'Requested reasoning effort; NULL when left to the model; see not_applied.';
COMMENT ON COLUMN analysis.calls.sent_parameters IS 'Parameters as sent, a JSON object; max_tokens includes room for thinking. NULL for calls before version 0018 of the tables.';
COMMENT ON COLUMN analysis.calls.not_applied IS 'Names of requested parameters that the model does not accept, a JSON array; NULL for calls before version 0018 of the tables.';
COMMENT ON COLUMN analysis.calls.sent_body IS 'Body of the request as sent, without messages and key, a JSON object; NULL in batches that were not answered and before version 0025 of the tables, as the other columns of the answer that came with it.';
COMMENT ON COLUMN analysis.calls.status IS 'planned, sent, succeeded, failed or cancelled.';
COMMENT ON COLUMN analysis.calls.attempts IS 'Number of attempts.';
COMMENT ON COLUMN analysis.calls.errors IS 'What went wrong in earlier attempts, a JSON array; one with at_most_usd may have been billed, at most so much.';
COMMENT ON COLUMN analysis.calls.served_model IS 'Model that answered, by the provider; NULL when it does not say.';
COMMENT ON COLUMN analysis.calls.response_id IS 'The provider''s identifier of the response; some providers repeat theirs.';
COMMENT ON COLUMN analysis.calls.fingerprint IS 'The provider''s name of the configuration that answered; NULL when it does not say.';
COMMENT ON COLUMN analysis.calls.finish_reason IS 'stop, length, content_filter, context, tool_call, error or unknown; NULL without an answer.';
COMMENT ON COLUMN analysis.calls.finish_given IS 'The finish reason in the provider''s own words.';
COMMENT ON COLUMN analysis.calls.prompt_tokens IS 'Tokens of the prompt, with those of the cache; NULL when not reported.';
COMMENT ON COLUMN analysis.calls.completion_tokens IS 'Tokens of the answer, with those of the reasoning; NULL when not reported.';
COMMENT ON COLUMN analysis.calls.cached_tokens IS 'Tokens of the prompt that were read from the provider''s cache; NULL when not reported.';
COMMENT ON COLUMN analysis.calls.cache_written_tokens IS 'Tokens of the prompt that were written to the provider''s cache; NULL when not reported.';
COMMENT ON COLUMN analysis.calls.reasoning_tokens IS 'Tokens of the reasoning; NULL when not reported.';
COMMENT ON COLUMN analysis.calls.cost_usd IS 'Price in US dollars; NULL, not 0, when the model has no known price or nobody counted the tokens.';
COMMENT ON COLUMN analysis.calls.cost_source IS 'Source of the cost: provider, file (providers.toml), litellm (its price list) or simulated; NULL when unknown or reused.';
COMMENT ON COLUMN analysis.calls.at_most_usd IS 'The most in US dollars that an answer of unknown cost, or a call in flight, may cost; NULL where the cost is known, and for a model without a price. Attempts of unknown outcome have theirs in errors.';
COMMENT ON COLUMN analysis.calls.prompt_words IS 'Words of the prompt, where the provider counted fewer tokens: it did not read all of it. NULL otherwise.';
COMMENT ON COLUMN analysis.calls.latency_ms IS 'Time from sending to the answer, in milliseconds.';
COMMENT ON COLUMN analysis.calls.route IS 'Route of the answer, such as direct or cache.';
COMMENT ON COLUMN analysis.calls.cached_from IS 'The call whose answer was reused, at no cost; NULL for its own answer.';
COMMENT ON COLUMN analysis.calls.simulated IS 'Whether the simulator answered; NULL without an answer.';
COMMENT ON COLUMN analysis.calls.imported IS 'Whether the answer was imported; no call was made here.';
COMMENT ON COLUMN analysis.calls.created_at IS 'When it was planned.';
COMMENT ON COLUMN analysis.calls.sent_at IS 'When it was last sent.';
COMMENT ON COLUMN analysis.calls.finished_at IS 'When it ended.';
