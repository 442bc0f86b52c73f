-- One flat row per sample. Everything but the sample's own row is joined by a unique key, so that
-- the planner leaves out what a query does not ask for.
CREATE VIEW analysis.samples AS
SELECT
    s.id AS sample_id,
    x.experiment_id,
    x.experiment,
    x.task_type,
    x.concept,
    x.country,
    x.window_id,
    x.window_name,
    x.model,
    x.family,
    x.scoring_method,
    x.scale_size,
    x.randomize_labels,
    x.shuffle_order,
    x.evidence_view,
    x.prompt_order,
    x.abstain,
    x.probe_window,
    x.bundle_size,
    x.bundles,
    x.rubric,
    x.temperature,
    x.top_p,
    x.max_tokens,
    x.reasoning_effort,
    x.logprobs,
    x.wording,
    x.rubric_draw,
    x.actors,
    x.replicates,
    x.setting,
    s.item_id,
    i.item_key,
    i.titles,
    i.urls,
    coalesce(x.truth_value, i.truth_value) AS truth_value,
    coalesce(x.truth_label, i.truth_label) AS truth_label,
    s.arm_id,
    a.arm,
    a.rubric_id,
    r.owner_model AS rubric_owner,
    r.owner_family AS rubric_family,
    r.observability,
    r.discriminability,
    r.flagged,
    s.replicate,
    s.seed,
    s.letters,
    s.display_order,
    s.status,
    s.failure,
    s.failure_kind,
    s.stages AS stage_bits,
    z.stages,
    CASE WHEN z.size = 1 THEN z.stages[1] END AS stage,
    (z.mean_stage - 1) / (s.scale_size - 1) AS score,
    (z.size - 1)::double precision / (s.scale_size - 1) AS subset_width,
    (ln(z.size) / ln(s.scale_size))::double precision AS subset_information,
    CASE WHEN z.size = 1 THEN substr(s.letters, z.stages[1], 1) END AS letter,
    CASE WHEN z.size = 1 THEN array_position(s.display_order, z.stages[1]::smallint) END AS place,
    s.letter_probability,
    s.letter_probabilities,
    first.probability AS first_probability,
    second.probability AS second_probability,
    s.call_id,
    c.provider,
    c.served_model,
    c.fingerprint,
    c.route,
    c.attempts,
    c.finish_reason,
    c.prompt_tokens,
    c.completion_tokens,
    c.cost_usd,
    c.latency_ms,
    s.created_at,
    s.imported,
    s.simulated OR r.simulated OR coalesce(first.simulated, false)
        OR coalesce(second.simulated, false)
        OR coalesce(x.evidence_view = ANY (i.simulated_views), false) AS simulated
FROM samples AS s
JOIN arms AS a ON a.id = s.arm_id
JOIN analysis.experiments AS x ON x.experiment_id = a.experiment_id
JOIN analysis.items AS i ON i.item_id = s.item_id
JOIN rubrics AS r ON r.id = a.rubric_id
LEFT JOIN analysis.stage_sets AS z ON z.stage_bits = s.stages
LEFT JOIN probes AS first ON first.sample_id = s.id AND first.replicate = 0
LEFT JOIN probes AS second ON second.sample_id = s.id AND second.replicate = 1
LEFT JOIN llm_calls AS c ON c.id = s.call_id;

COMMENT ON VIEW analysis.samples IS 'One row per sample: the outcome of one judgement with experiment, item, rubric, display, probes and call. Stages of different rubrics are not the same.';
COMMENT ON COLUMN analysis.samples.sample_id IS 'Identifier of the sample in this database.';
COMMENT ON COLUMN analysis.samples.experiment_id IS 'The experiment, in analysis.experiments and analysis.sweeps.';
COMMENT ON COLUMN analysis.samples.experiment IS 'Tag of the experiment.';
COMMENT ON COLUMN analysis.samples.task_type IS 'ecc (contested, no truth), control (expert proxy), benchmark (known answer) or pairs (which of two answers is better).';
COMMENT ON COLUMN analysis.samples.concept IS 'What is judged, as free text.';
COMMENT ON COLUMN analysis.samples.country IS 'Country or setting named in the prompts.';
COMMENT ON COLUMN analysis.samples.window_id IS 'Window whose evidence is judged.';
COMMENT ON COLUMN analysis.samples.window_name IS 'Name of the window; its key where it has none.';
COMMENT ON COLUMN analysis.samples.model IS 'The judge: a litellm model string.';
COMMENT ON COLUMN analysis.samples.family IS 'Family of the judge.';
COMMENT ON COLUMN analysis.samples.scoring_method IS 'Axis: single, subset or structured_json.';
COMMENT ON COLUMN analysis.samples.scale_size IS 'Axis: number of stages S on the scale, 2 to 10.';
COMMENT ON COLUMN analysis.samples.randomize_labels IS 'Axis: whether stages get random letters in each sample.';
COMMENT ON COLUMN analysis.samples.shuffle_order IS 'Axis: whether stages are listed in random order in each sample.';
COMMENT ON COLUMN analysis.samples.evidence_view IS 'Axis: the text the judge reads: raw, cleaned, neutralized or abstracted.';
COMMENT ON COLUMN analysis.samples.prompt_order IS 'Axis: rubric_first or evidence_first.';
COMMENT ON COLUMN analysis.samples.abstain IS 'Axis: whether the judge may abstain.';
COMMENT ON COLUMN analysis.samples.probe_window IS 'Axis: probe in a fresh conversation or in the same one.';
COMMENT ON COLUMN analysis.samples.bundle_size IS 'Axis: documents judged together as one item, 1 to 20.';
COMMENT ON COLUMN analysis.samples.bundles IS 'Axis: which documents are judged together, in the place of bundle_size: none, or a plan such as similar, 5.';
COMMENT ON COLUMN analysis.samples.rubric IS 'Axis: whose rubric the own arm applies: own, shared by MODEL, or provided FILE.';
COMMENT ON COLUMN analysis.samples.temperature IS 'Axis: sampling temperature, 0 to 2.';
COMMENT ON COLUMN analysis.samples.top_p IS 'Axis: top_p, above 0 to 1.';
COMMENT ON COLUMN analysis.samples.max_tokens IS 'Axis: maximum length of an answer, in tokens.';
COMMENT ON COLUMN analysis.samples.reasoning_effort IS 'Axis: none, low, medium or high; default leaves it to the model.';
COMMENT ON COLUMN analysis.samples.logprobs IS 'Axis: whether judgements come with the token probability of the verdict''s letter.';
COMMENT ON COLUMN analysis.samples.wording IS 'Axis: the paraphrase of the judging prompt.';
COMMENT ON COLUMN analysis.samples.rubric_draw IS 'Axis: the draw of the rubric among those that its owner wrote from the same prompt; 0 is the first.';
COMMENT ON COLUMN analysis.samples.setting IS 'Digest of all but the judge: equal for experiments whose judges can be compared.';
COMMENT ON COLUMN analysis.samples.item_id IS 'The item judged, in analysis.items.';
COMMENT ON COLUMN analysis.samples.item_key IS '16-digit identity of the item; the same in every database.';
COMMENT ON COLUMN analysis.samples.titles IS 'Titles of the item''s documents, in the order shown.';
COMMENT ON COLUMN analysis.samples.urls IS 'Addresses of the item''s documents, in the order shown.';
COMMENT ON COLUMN analysis.samples.truth_value IS 'Known index, 0 to 1, of the experiment or else of the item; NULL without one.';
COMMENT ON COLUMN analysis.samples.truth_label IS 'Known stage label of the experiment or else of the item; NULL without one.';
COMMENT ON COLUMN analysis.samples.arm_id IS 'The arm, in analysis.arms.';
COMMENT ON COLUMN analysis.samples.arm IS 'own (W3), swap (a rival''s rubric) or sham (the judge''s own rubric drawn again).';
COMMENT ON COLUMN analysis.samples.rubric_id IS 'The rubric applied in this arm, in analysis.rubrics.';
COMMENT ON COLUMN analysis.samples.rubric_owner IS 'Model that wrote the rubric applied; empty when provided.';
COMMENT ON COLUMN analysis.samples.rubric_family IS 'Family of that model; empty when provided.';
COMMENT ON COLUMN analysis.samples.observability IS 'The critic''s rating of the rubric, 0 to 1; NULL when not rated.';
COMMENT ON COLUMN analysis.samples.discriminability IS 'The critic''s rating of the rubric, 0 to 1; NULL when not rated.';
COMMENT ON COLUMN analysis.samples.flagged IS 'Whether a rating of the rubric is below the threshold.';
COMMENT ON COLUMN analysis.samples.replicate IS 'Number of the repeated judgement, from 0.';
COMMENT ON COLUMN analysis.samples.seed IS 'Seed of the letters and the order, derived from the sample''s natural key.';
COMMENT ON COLUMN analysis.samples.letters IS 'Letters of stage 1, 2, ... as shown.';
COMMENT ON COLUMN analysis.samples.display_order IS 'Stages as listed, first to last.';
COMMENT ON COLUMN analysis.samples.status IS 'scored, abstained, unparseable, refused or failed; only scored has a verdict.';
COMMENT ON COLUMN analysis.samples.failure IS 'Why there is no verdict; NULL when scored or abstained.';
COMMENT ON COLUMN analysis.samples.failure_kind IS 'The kind of failure, such as timeout or truncated: failure up to its colon.';
COMMENT ON COLUMN analysis.samples.stage_bits IS 'The verdict as a bit set: bit s-1 for stage s; NULL unless scored.';
COMMENT ON COLUMN analysis.samples.stages IS 'The verdict as an ascending array of stages, 1 to S; NULL unless scored.';
COMMENT ON COLUMN analysis.samples.stage IS 'The stage, 1 to S, when the verdict is a single one; else NULL.';
COMMENT ON COLUMN analysis.samples.score IS 'The verdict on the 0-1 scale: (s-1)/(S-1), for a set the mean of its stages; NULL unless scored.';
COMMENT ON COLUMN analysis.samples.subset_width IS 'Stages left open as a share of the scale: (size-1)/(S-1), 0 to 1; NULL unless scored.';
COMMENT ON COLUMN analysis.samples.subset_information IS 'The same in bits: log2(size)/log2(S), 0 to 1; NULL unless scored.';
COMMENT ON COLUMN analysis.samples.letter IS 'Letter that the single stage was shown with; else NULL.';
COMMENT ON COLUMN analysis.samples.place IS 'Position of the single stage in the list, from 1; else NULL.';
COMMENT ON COLUMN analysis.samples.letter_probability IS 'Token probability of the verdict''s letter, 0 to 1; NULL without logprobs, and for a verdict that is not a single letter.';
COMMENT ON COLUMN analysis.samples.letter_probabilities IS 'Token probabilities at the place of the verdict''s letter, a JSON object of the letters among the tokens that the provider listed; NULL like letter_probability.';
COMMENT ON COLUMN analysis.samples.first_probability IS 'Share of experts the judge expects to agree, 0 to 1, at the first probe; NULL without an answer.';
COMMENT ON COLUMN analysis.samples.second_probability IS 'The same at the second probe, which one sample in ten has; else NULL.';
COMMENT ON COLUMN analysis.samples.call_id IS 'The call, in analysis.calls and analysis.answers; NULL when cleaned away.';
COMMENT ON COLUMN analysis.samples.provider IS 'Provider of the call.';
COMMENT ON COLUMN analysis.samples.served_model IS 'Model that answered, by the provider; NULL when it does not say.';
COMMENT ON COLUMN analysis.samples.fingerprint IS 'The provider''s name of the configuration that answered; NULL when it does not say.';
COMMENT ON COLUMN analysis.samples.route IS 'Route of the answer, such as direct, cache or imported.';
COMMENT ON COLUMN analysis.samples.attempts IS 'Number of attempts.';
COMMENT ON COLUMN analysis.samples.finish_reason IS 'The provider''s finish reason.';
COMMENT ON COLUMN analysis.samples.prompt_tokens IS 'Tokens of the prompt; NULL when not reported.';
COMMENT ON COLUMN analysis.samples.completion_tokens IS 'Tokens of the answer; NULL when not reported.';
COMMENT ON COLUMN analysis.samples.cost_usd IS 'Price in US dollars; NULL when the model has no known price.';
COMMENT ON COLUMN analysis.samples.latency_ms IS 'Time from sending to the answer, in milliseconds.';
COMMENT ON COLUMN analysis.samples.created_at IS 'When the sample was stored.';
COMMENT ON COLUMN analysis.samples.imported IS 'Whether the judgement was imported.';
COMMENT ON COLUMN analysis.samples.simulated IS 'Whether the verdict, its probes, its rubric or the text came from the simulator.';
COMMENT ON COLUMN analysis.samples.actors IS 'Axis: whose names the evidence shows, as_found or swapped with the name of the mapping.';
COMMENT ON COLUMN analysis.samples.replicates IS 'Axis: judgements per item and arm, 1 to 1000: the most that any sweep declared. analysis.sweeps has what each declares.';
