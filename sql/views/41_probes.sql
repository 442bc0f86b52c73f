-- Probes, each with the sample it is about.
CREATE VIEW analysis.probes AS
SELECT
    p.id AS probe_id,
    p.sample_id,
    a.experiment_id,
    x.tag AS experiment,
    x.model,
    x.family,
    a.arm,
    a.rubric_id,
    s.item_id,
    s.replicate AS sample_replicate,
    p.replicate,
    p.status,
    p.probability,
    p.failure,
    p.call_id,
    c.attempts,
    c.prompt_tokens,
    c.completion_tokens,
    c.cost_usd,
    c.latency_ms,
    p.created_at,
    p.simulated,
    s.imported
FROM probes AS p
JOIN samples AS s ON s.id = p.sample_id
JOIN arms AS a ON a.id = s.arm_id
JOIN experiments AS x ON x.id = a.experiment_id
LEFT JOIN llm_calls AS c ON c.id = p.call_id;

COMMENT ON VIEW analysis.probes IS 'One row per probe: what share of experts a judge expects to choose the verdict of its sample.';
COMMENT ON COLUMN analysis.probes.probe_id IS 'Identifier of the probe in this database.';
COMMENT ON COLUMN analysis.probes.sample_id IS 'The sample it is about, in analysis.samples.';
COMMENT ON COLUMN analysis.probes.experiment_id IS 'The experiment, in analysis.experiments.';
COMMENT ON COLUMN analysis.probes.experiment IS 'Tag of the experiment.';
COMMENT ON COLUMN analysis.probes.model IS 'The judge.';
COMMENT ON COLUMN analysis.probes.family IS 'Family of the judge.';
COMMENT ON COLUMN analysis.probes.arm IS 'own, swap or sham.';
COMMENT ON COLUMN analysis.probes.rubric_id IS 'The rubric applied, in analysis.rubrics.';
COMMENT ON COLUMN analysis.probes.item_id IS 'The item judged, in analysis.items.';
COMMENT ON COLUMN analysis.probes.sample_replicate IS 'Replicate of the sample, from 0.';
COMMENT ON COLUMN analysis.probes.replicate IS '0 for the first probe of the sample, 1 for the second.';
COMMENT ON COLUMN analysis.probes.status IS 'answered, unparseable, refused or failed.';
COMMENT ON COLUMN analysis.probes.probability IS 'Expected share of experts, 0 to 1; NULL unless answered.';
COMMENT ON COLUMN analysis.probes.failure IS 'Why there is no probability; NULL when answered.';
COMMENT ON COLUMN analysis.probes.call_id IS 'The call, in analysis.calls; NULL when cleaned away.';
COMMENT ON COLUMN analysis.probes.attempts IS 'Number of attempts.';
COMMENT ON COLUMN analysis.probes.prompt_tokens IS 'Tokens of the prompt; NULL when not reported.';
COMMENT ON COLUMN analysis.probes.completion_tokens IS 'Tokens of the answer; NULL when not reported.';
COMMENT ON COLUMN analysis.probes.cost_usd IS 'Price in US dollars; NULL when the model has no known price.';
COMMENT ON COLUMN analysis.probes.latency_ms IS 'Time from sending to the answer, in milliseconds.';
COMMENT ON COLUMN analysis.probes.created_at IS 'When the probe was stored.';
COMMENT ON COLUMN analysis.probes.simulated IS 'Whether the simulator answered the probe.';
COMMENT ON COLUMN analysis.probes.imported IS 'Whether it rests on imported judgements.';
