-- Probes, each with the sample it is about.
CREATE VIEW analysis.probes AS
SELECT
    p.id AS probe_id,
    p.sample_id,
    a.experiment_id,
    x.experiment,
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
    p.failure_kind,
    p.call_id,
    c.attempts,
    c.prompt_tokens,
    c.completion_tokens,
    c.cost_usd,
    c.latency_ms,
    p.created_at,
    x.scoring_method,
    x.scale_size,
    x.randomize_labels,
    x.shuffle_order,
    x.evidence_view,
    x.actors,
    x.prompt_order,
    x.abstain,
    x.probe_window,
    x.bundle_size,
    x.bundles,
    x.rubric,
    x.replicates,
    x.temperature,
    x.top_p,
    x.max_tokens,
    x.reasoning_effort,
    x.logprobs,
    x.wording,
    x.rubric_draw,
    p.simulated,
    s.imported
FROM probes AS p
JOIN samples AS s ON s.id = p.sample_id
JOIN arms AS a ON a.id = s.arm_id
JOIN analysis.experiments AS x ON x.experiment_id = a.experiment_id
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
COMMENT ON COLUMN analysis.probes.failure_kind IS 'The kind of failure, such as timeout or truncated: failure up to its colon.';
COMMENT ON COLUMN analysis.probes.call_id IS 'The call, in analysis.calls; NULL when cleaned away.';
COMMENT ON COLUMN analysis.probes.attempts IS 'Number of attempts.';
COMMENT ON COLUMN analysis.probes.prompt_tokens IS 'Tokens of the prompt; NULL when not reported.';
COMMENT ON COLUMN analysis.probes.completion_tokens IS 'Tokens of the answer; NULL when not reported.';
COMMENT ON COLUMN analysis.probes.cost_usd IS 'Price in US dollars; NULL when the model has no known price.';
COMMENT ON COLUMN analysis.probes.latency_ms IS 'Time from sending to the answer, in milliseconds.';
COMMENT ON COLUMN analysis.probes.created_at IS 'When the probe was stored.';
COMMENT ON COLUMN analysis.probes.simulated IS 'Whether the simulator answered the probe.';
COMMENT ON COLUMN analysis.probes.imported IS 'Whether it rests on imported judgements.';
COMMENT ON COLUMN analysis.probes.scoring_method IS 'Axis: single (one stage), subset (every supported stage) or structured_json.';
COMMENT ON COLUMN analysis.probes.scale_size IS 'Axis: number of stages S on the scale, 2 to 10.';
COMMENT ON COLUMN analysis.probes.randomize_labels IS 'Axis: whether stages get random letters in each sample.';
COMMENT ON COLUMN analysis.probes.shuffle_order IS 'Axis: whether stages are listed in random order in each sample.';
COMMENT ON COLUMN analysis.probes.evidence_view IS 'Axis: the text the judge reads: raw, cleaned, neutralized or abstracted.';
COMMENT ON COLUMN analysis.probes.actors IS 'Axis: whose names the evidence shows, as_found or swapped with the name of the mapping.';
COMMENT ON COLUMN analysis.probes.prompt_order IS 'Axis: rubric_first or evidence_first.';
COMMENT ON COLUMN analysis.probes.abstain IS 'Axis: whether the judge may abstain.';
COMMENT ON COLUMN analysis.probes.probe_window IS 'Axis: probe in a fresh conversation or in the same one.';
COMMENT ON COLUMN analysis.probes.bundle_size IS 'Axis: documents judged together as one item, 1 to 20.';
COMMENT ON COLUMN analysis.probes.bundles IS 'Axis: which documents are judged together, in the place of bundle_size: none, or a plan such as similar, 5.';
COMMENT ON COLUMN analysis.probes.rubric IS 'Axis: whose rubric the own arm applies: own, shared by MODEL, or provided FILE.';
COMMENT ON COLUMN analysis.probes.replicates IS 'Axis: judgements per item and arm, 1 to 1000: the most that any sweep declared. analysis.sweeps has what each declares.';
COMMENT ON COLUMN analysis.probes.temperature IS 'Axis: sampling temperature, 0 to 2.';
COMMENT ON COLUMN analysis.probes.top_p IS 'Axis: top_p, above 0 to 1.';
COMMENT ON COLUMN analysis.probes.max_tokens IS 'Axis: maximum length of an answer, in tokens.';
COMMENT ON COLUMN analysis.probes.reasoning_effort IS 'Axis: none, low, medium or high; default leaves it to the model.';
COMMENT ON COLUMN analysis.probes.logprobs IS 'Axis: whether judgements come with the token probability of the verdict''s letter.';
COMMENT ON COLUMN analysis.probes.wording IS 'Axis: the paraphrase of the judging prompt.';
COMMENT ON COLUMN analysis.probes.rubric_draw IS 'Axis: the draw of the rubric among those that its owner wrote from the same prompt; 0 is the first.';
