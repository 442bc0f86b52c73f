-- Use of calls by sweep, of experiments that it had before its file or a recipe changed, too. Calls
-- of a view or a rubric name no experiment, because experiments share them; the second part of their
-- key is that of the window or rubric. A call for a view counts where an experiment reads its recipe.
CREATE VIEW analysis.spending AS
WITH owned AS (
    SELECT sweep_id, experiment_id FROM sweep_experiments
    UNION
    SELECT sweep_id, experiment_id FROM former_sweep_experiments
),
views_read AS (
    SELECT DISTINCT b.sweep_id, w.key, k.view, coalesce(x.view_recipes ->> k.view, '') AS recipe
    FROM owned AS b
    JOIN experiments AS x ON x.id = b.experiment_id
    JOIN windows AS w ON w.id = x.window_id
    JOIN (VALUES ('cleaned'), ('neutralized'), ('abstracted')) AS k (view)
        ON x.recipe IS NULL OR x.view_recipes ? k.view
),
rubrics_applied AS (
    SELECT DISTINCT b.sweep_id, r.key
    FROM owned AS b
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
        AND (
            -- store/rubrics.py numbers a sham 2, and the draws after the first from 3 on.
            r.variant = CASE coalesce((x.config ->> 'rubric_draw')::integer, 0)
                WHEN 0 THEN 0 ELSE 2 + (x.config ->> 'rubric_draw')::integer END
            OR r.variant = 2 AND x.config #>> '{rubric,kind}' = 'own'
                AND (w.swap ->> 'sham')::boolean
        )
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
    (count(*) FILTER (
        WHERE status = 'succeeded' AND cost_usd IS NULL AND at_most_usd IS DISTINCT FROM 0
    ) + sum(unanswered))::bigint AS unpriced
FROM (
    SELECT
        calls.*,
        -- An empty or cut answer was paid for too; its cost is its error's.
        CASE WHEN errors = '[]' THEN 0 ELSE (
            SELECT count(*) FROM jsonb_array_elements(errors) AS error WHERE error ? 'answer'
        ) END AS discarded,
        CASE WHEN errors = '[]' THEN 0 ELSE (
            SELECT count(*) FROM jsonb_array_elements(errors) AS error
            WHERE error ? 'at_most_usd' AND (error ->> 'at_most_usd')::numeric IS DISTINCT FROM 0
        ) END AS unanswered,
        CASE WHEN errors = '[]' THEN 0 ELSE coalesce((
            SELECT sum((error ->> 'cost_usd')::numeric)
            FROM jsonb_array_elements(errors) AS error
        ), 0) END AS discarded_usd
    FROM (
        SELECT
            w.name AS sweep, c.workflow, c.agent, c.provider, c.model, c.route, c.created_at,
            c.simulated, c.attempts, c.status, c.prompt_tokens, c.completion_tokens, c.cost_usd,
            c.at_most_usd, c.errors
        FROM sweeps AS w
        JOIN owned AS b ON b.sweep_id = w.id
        JOIN llm_calls AS c ON c.experiment_id = b.experiment_id
        UNION ALL
        SELECT
            w.name, c.workflow, c.agent, c.provider, c.model, c.route, c.created_at,
            c.simulated, c.attempts, c.status, c.prompt_tokens, c.completion_tokens, c.cost_usd,
            c.at_most_usd, c.errors
        FROM sweeps AS w
        JOIN rubrics_applied AS r ON r.sweep_id = w.id
        JOIN llm_calls AS c ON c.experiment_id IS NULL AND split_part(c.key, '/', 2) = r.key
        UNION ALL
        SELECT
            w.name, c.workflow, c.agent, c.provider, c.model, c.route, c.created_at,
            c.simulated, c.attempts, c.status, c.prompt_tokens, c.completion_tokens, c.cost_usd,
            c.at_most_usd, c.errors
        FROM sweeps AS w
        JOIN (SELECT DISTINCT sweep_id, key FROM views_read) AS v ON v.sweep_id = w.id
        JOIN llm_calls AS c ON c.experiment_id IS NULL AND split_part(c.key, '/', 2) = v.key
        WHERE EXISTS (
            SELECT FROM views_read AS r
            WHERE r.sweep_id = w.id AND r.key = v.key AND r.view = split_part(c.key, '/', 4)
                AND CASE
                    WHEN EXISTS (SELECT FROM views AS made WHERE made.call_id = c.id) THEN r.recipe IN
                        (SELECT made.recipe FROM views AS made WHERE made.call_id = c.id)
                    WHEN split_part(c.key, '/', 5) ~ '^[0-9a-f]{16}$'
                        THEN r.recipe = split_part(c.key, '/', 5)
                    ELSE TRUE
                END
        )
    ) AS calls
) AS counted
GROUP BY sweep, workflow, agent, provider, model, route, 7, simulated;

COMMENT ON VIEW analysis.spending IS 'Use of LLM calls by sweep, workflow, model and day. A call that several sweeps share counts in each, so do not sum over sweeps. Calls of product judges, studies and panels belong to no sweep: all calls by provider and day are in analysis.calls. Calls for a rubric count once the rubric is stored.';
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
COMMENT ON COLUMN analysis.spending.unpriced IS 'Requests of unknown cost: answers without a price or token counts, and requests that may have been billed; not those that cost at most 0.';
