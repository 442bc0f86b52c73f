-- The ledger without its texts, which stand in analysis.answers and are large.
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
    c.sent_parameters,
    c.not_applied,
    c.status,
    c.attempts,
    c.errors,
    c.finish_reason,
    c.prompt_tokens,
    c.completion_tokens,
    c.cost_usd,
    c.latency_ms,
    c.route,
    c.cached_from,
    c.simulated,
    c.created_at,
    c.sent_at,
    c.finished_at
FROM llm_calls AS c
LEFT JOIN experiments AS x ON x.id = c.experiment_id;

COMMENT ON VIEW analysis.calls IS 'One row per LLM call ever made, without prompt and answer, which are in analysis.answers.';
COMMENT ON COLUMN analysis.calls.call_id IS 'Identifier of the call in this database.';
COMMENT ON COLUMN analysis.calls.call_key IS 'What was asked, by whom and which replicate; the same in every database.';
COMMENT ON COLUMN analysis.calls.workflow IS 'Workflow that asked, such as w3-scoring.';
COMMENT ON COLUMN analysis.calls.agent IS 'Agent that asked, such as scorer or prober.';
COMMENT ON COLUMN analysis.calls.provider IS 'Provider that was asked.';
COMMENT ON COLUMN analysis.calls.model IS 'Model that was asked.';
COMMENT ON COLUMN analysis.calls.experiment_id IS 'Experiment it was asked for; NULL for evidence and rubrics, which experiments share.';
COMMENT ON COLUMN analysis.calls.experiment IS 'Tag of that experiment.';
COMMENT ON COLUMN analysis.calls.template IS 'Template of the prompt.';
COMMENT ON COLUMN analysis.calls.template_hash IS 'Digest of the template as it was then.';
COMMENT ON COLUMN analysis.calls.temperature IS 'Sampling temperature asked for, 0 to 2; see not_applied.';
COMMENT ON COLUMN analysis.calls.top_p IS 'Nucleus sampling bound asked for, above 0 to 1; see not_applied.';
COMMENT ON COLUMN analysis.calls.max_tokens IS 'Longest answer asked for, in tokens.';
COMMENT ON COLUMN analysis.calls.seed IS 'Seed asked for, 31 bits; see not_applied.';
COMMENT ON COLUMN analysis.calls.sent_parameters IS 'Parameters as they were sent, a JSON object; max_tokens has room for thinking in it. NULL for calls of judge-gym before version 0018 of the tables.';
COMMENT ON COLUMN analysis.calls.not_applied IS 'Names of parameters asked for that the model does not take, a JSON array; NULL for calls of judge-gym before version 0018 of the tables.';
COMMENT ON COLUMN analysis.calls.status IS 'planned, sent, succeeded, failed or cancelled.';
COMMENT ON COLUMN analysis.calls.attempts IS 'How often it was sent.';
COMMENT ON COLUMN analysis.calls.errors IS 'What went wrong in earlier attempts, a JSON array.';
COMMENT ON COLUMN analysis.calls.finish_reason IS 'Why the answer ended, in the provider''s words; NULL without an answer.';
COMMENT ON COLUMN analysis.calls.prompt_tokens IS 'Tokens of the prompt; NULL when not told.';
COMMENT ON COLUMN analysis.calls.completion_tokens IS 'Tokens of the answer; NULL when not told.';
COMMENT ON COLUMN analysis.calls.cost_usd IS 'Price in US dollars; NULL when the model has no known price, never 0 for that.';
COMMENT ON COLUMN analysis.calls.latency_ms IS 'Time from sending to the answer, in milliseconds.';
COMMENT ON COLUMN analysis.calls.route IS 'How the answer came, such as direct or cache.';
COMMENT ON COLUMN analysis.calls.cached_from IS 'The call whose answer was used again, at no cost; NULL for an answer of its own.';
COMMENT ON COLUMN analysis.calls.simulated IS 'Whether the simulator answered; NULL without an answer.';
COMMENT ON COLUMN analysis.calls.created_at IS 'When it was planned.';
COMMENT ON COLUMN analysis.calls.sent_at IS 'When it was last sent.';
COMMENT ON COLUMN analysis.calls.finished_at IS 'When it ended.';
