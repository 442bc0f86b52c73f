-- Use of calls by sweep. Calls of a window or a rubric name no experiment, because experiments
-- share them; the second part of their key is that of the window or rubric.
CREATE VIEW analysis.spending AS
WITH shared AS (
    SELECT b.sweep_id, w.key
    FROM sweep_experiments AS b
    JOIN experiments AS x ON x.id = b.experiment_id
    JOIN windows AS w ON w.id = x.window_id
    UNION
    SELECT b.sweep_id, r.key
    FROM sweep_experiments AS b
    JOIN sweeps AS w ON w.id = b.sweep_id
    JOIN experiments AS x ON x.id = b.experiment_id
    JOIN rubrics AS r
        ON r.source = 'generated'
        AND r.concept = x.concept
        AND r.country = x.country
        AND r.scale_size = x.scale_size
        AND r.owner_model = CASE x.config #>> '{rubric,kind}'
            WHEN 'own' THEN x.model
            WHEN 'shared' THEN x.config #>> '{rubric,model}'
        END
        AND (r.variant = 0 OR x.config #>> '{rubric,kind}' = 'own' AND (w.swap ->> 'sham')::boolean)
)
SELECT
    sweep,
    workflow,
    agent,
    provider,
    model,
    route,
    (created_at AT TIME ZONE 'UTC')::date AS day,
    simulated,
    route = 'imported' AS imported,
    (count(*) FILTER (WHERE attempts > 0) + sum(discarded))::bigint AS calls,
    count(*) FILTER (WHERE status = 'succeeded') AS succeeded,
    count(*) FILTER (WHERE status = 'failed') AS failed,
    sum(prompt_tokens) AS prompt_tokens,
    sum(completion_tokens) AS completion_tokens,
    sum(coalesce(cost_usd, 0) + discarded_usd) AS cost_usd,
    count(*) FILTER (WHERE status = 'succeeded' AND cost_usd IS NULL) AS unpriced
FROM (
    SELECT
        calls.*,
        -- An empty or cut answer was paid for too; its cost is its error's.
        CASE WHEN errors = '[]' THEN 0 ELSE (
            SELECT count(*) FROM jsonb_array_elements(errors) AS error WHERE error ? 'answer'
        ) END AS discarded,
        CASE WHEN errors = '[]' THEN 0 ELSE coalesce((
            SELECT sum((error ->> 'cost_usd')::numeric)
            FROM jsonb_array_elements(errors) AS error
        ), 0) END AS discarded_usd
    FROM (
        SELECT
            w.name AS sweep, c.workflow, c.agent, c.provider, c.model, c.route, c.created_at,
            c.simulated, c.attempts, c.status, c.prompt_tokens, c.completion_tokens, c.cost_usd,
            c.errors
        FROM sweeps AS w
        JOIN sweep_experiments AS b ON b.sweep_id = w.id
        JOIN llm_calls AS c ON c.experiment_id = b.experiment_id
        UNION ALL
        SELECT
            w.name, c.workflow, c.agent, c.provider, c.model, c.route, c.created_at,
            c.simulated, c.attempts, c.status, c.prompt_tokens, c.completion_tokens, c.cost_usd,
            c.errors
        FROM sweeps AS w
        JOIN shared ON shared.sweep_id = w.id
        JOIN llm_calls AS c ON c.experiment_id IS NULL AND split_part(c.key, '/', 2) = shared.key
    ) AS calls
) AS counted
GROUP BY sweep, workflow, agent, provider, model, route, 7, simulated;

COMMENT ON VIEW analysis.spending IS 'Use of LLM calls by sweep, workflow, model and day. A call that several sweeps share counts in each, so do not sum over sweeps; sum analysis.calls instead. Calls for a rubric count once the rubric is stored.';
COMMENT ON COLUMN analysis.spending.sweep IS 'Name of the sweep.';
COMMENT ON COLUMN analysis.spending.workflow IS 'Workflow of the call, such as w3-scoring.';
COMMENT ON COLUMN analysis.spending.agent IS 'Agent of the call, such as scorer or prober.';
COMMENT ON COLUMN analysis.spending.provider IS 'Provider of the call.';
COMMENT ON COLUMN analysis.spending.model IS 'Model of the call.';
COMMENT ON COLUMN analysis.spending.route IS 'Route of the answers, such as direct or cache.';
COMMENT ON COLUMN analysis.spending.day IS 'Day on which the calls were planned, UTC.';
COMMENT ON COLUMN analysis.spending.simulated IS 'Whether the simulator answered; NULL for calls without an answer.';
COMMENT ON COLUMN analysis.spending.imported IS 'Whether the answers were imported; no calls were made here.';
COMMENT ON COLUMN analysis.spending.calls IS 'Calls, including discarded first answers; attempts of one call count once.';
COMMENT ON COLUMN analysis.spending.succeeded IS 'Calls with an answer.';
COMMENT ON COLUMN analysis.spending.failed IS 'Failed calls.';
COMMENT ON COLUMN analysis.spending.prompt_tokens IS 'Tokens of the prompts; NULL when none were reported.';
COMMENT ON COLUMN analysis.spending.completion_tokens IS 'Tokens of the answers; NULL when none were reported.';
COMMENT ON COLUMN analysis.spending.cost_usd IS 'Known price in US dollars, discarded answers included, without calls in unpriced.';
COMMENT ON COLUMN analysis.spending.unpriced IS 'Answers without a known price.';
