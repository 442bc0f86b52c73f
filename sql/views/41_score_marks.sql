-- Critics' marks of the reasoning behind samples, each with the sample it is about.
CREATE VIEW analysis.score_marks AS
SELECT
    m.id AS mark_id,
    m.sample_id,
    a.experiment_id,
    x.experiment,
    x.model,
    x.family,
    a.arm,
    a.rubric_id,
    s.item_id,
    s.replicate AS sample_replicate,
    m.critic_model,
    m.template,
    m.status,
    m.observable,
    m.consistent,
    m.uses_evidence,
    m.observable AND m.consistent AND m.uses_evidence AS passes,
    m.failure,
    m.failure_kind,
    m.call_id,
    c.attempts,
    c.prompt_tokens,
    c.completion_tokens,
    c.cost_usd,
    c.latency_ms,
    m.created_at,
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
    m.simulated,
    s.imported
FROM score_marks AS m
JOIN samples AS s ON s.id = m.sample_id
JOIN arms AS a ON a.id = s.arm_id
JOIN analysis.experiments AS x ON x.experiment_id = a.experiment_id
LEFT JOIN llm_calls AS c ON c.id = m.call_id;

COMMENT ON VIEW analysis.score_marks IS 'One row per sample and critic: what the critic says of the reasoning behind a scored verdict. For a sensitivity analysis; no figure leaves a sample out for its marks unless its name says so.';
COMMENT ON COLUMN analysis.score_marks.mark_id IS 'Identifier of the row in this database.';
COMMENT ON COLUMN analysis.score_marks.sample_id IS 'The sample it is about, in analysis.samples.';
COMMENT ON COLUMN analysis.score_marks.experiment_id IS 'The experiment, in analysis.experiments.';
COMMENT ON COLUMN analysis.score_marks.experiment IS 'Tag of the experiment.';
COMMENT ON COLUMN analysis.score_marks.model IS 'The judge that reasoned.';
COMMENT ON COLUMN analysis.score_marks.family IS 'Family of the judge.';
COMMENT ON COLUMN analysis.score_marks.arm IS 'own, swap or sham.';
COMMENT ON COLUMN analysis.score_marks.rubric_id IS 'The rubric applied, in analysis.rubrics.';
COMMENT ON COLUMN analysis.score_marks.item_id IS 'The item judged, in analysis.items.';
COMMENT ON COLUMN analysis.score_marks.sample_replicate IS 'Replicate of the sample, from 0.';
COMMENT ON COLUMN analysis.score_marks.critic_model IS 'The critic: a litellm model string.';
COMMENT ON COLUMN analysis.score_marks.template IS 'Hash of the template that the critic was asked with; marks by another template are other rows.';
COMMENT ON COLUMN analysis.score_marks.status IS 'marked, no_reasoning (the answer is a verdict alone), unparseable, refused or failed.';
COMMENT ON COLUMN analysis.score_marks.observable IS 'Whether the reasoning cites something that the evidence says; NULL unless marked.';
COMMENT ON COLUMN analysis.score_marks.consistent IS 'Whether the reasoning leads to the verdict and to no other stage; NULL unless marked.';
COMMENT ON COLUMN analysis.score_marks.uses_evidence IS 'Whether the reasoning rests on the evidence; NULL unless marked.';
COMMENT ON COLUMN analysis.score_marks.passes IS 'Whether all three marks are true; NULL unless marked.';
COMMENT ON COLUMN analysis.score_marks.failure IS 'Why there are no marks; NULL when marked or without reasoning.';
COMMENT ON COLUMN analysis.score_marks.failure_kind IS 'The kind of failure, such as timeout or truncated: failure up to its colon.';
COMMENT ON COLUMN analysis.score_marks.call_id IS 'The critic''s call, in analysis.calls; NULL without one.';
COMMENT ON COLUMN analysis.score_marks.attempts IS 'Number of attempts.';
COMMENT ON COLUMN analysis.score_marks.prompt_tokens IS 'Tokens of the prompt; NULL when not reported.';
COMMENT ON COLUMN analysis.score_marks.completion_tokens IS 'Tokens of the answer; NULL when not reported.';
COMMENT ON COLUMN analysis.score_marks.cost_usd IS 'Price in US dollars; NULL when the model has no known price.';
COMMENT ON COLUMN analysis.score_marks.latency_ms IS 'Time from sending to the answer, in milliseconds.';
COMMENT ON COLUMN analysis.score_marks.created_at IS 'When the marks were stored.';
COMMENT ON COLUMN analysis.score_marks.simulated IS 'Whether the simulator gave the marks, or the sample or its evidence.';
COMMENT ON COLUMN analysis.score_marks.imported IS 'Whether it rests on imported judgements.';
COMMENT ON COLUMN analysis.score_marks.scoring_method IS 'Axis: single (one stage), subset (every supported stage) or structured_json.';
COMMENT ON COLUMN analysis.score_marks.scale_size IS 'Axis: number of stages S on the scale, 2 to 10.';
COMMENT ON COLUMN analysis.score_marks.randomize_labels IS 'Axis: whether stages get random letters in each sample.';
COMMENT ON COLUMN analysis.score_marks.shuffle_order IS 'Axis: whether stages are listed in random order in each sample.';
COMMENT ON COLUMN analysis.score_marks.evidence_view IS 'Axis: the text the judge reads: raw, cleaned, neutralized or abstracted.';
COMMENT ON COLUMN analysis.score_marks.actors IS 'Axis: whose names the evidence shows, as_found or swapped with the name of the mapping.';
COMMENT ON COLUMN analysis.score_marks.prompt_order IS 'Axis: rubric_first or evidence_first.';
COMMENT ON COLUMN analysis.score_marks.abstain IS 'Axis: whether the judge may abstain.';
COMMENT ON COLUMN analysis.score_marks.probe_window IS 'Axis: probe in a fresh conversation or in the same one.';
COMMENT ON COLUMN analysis.score_marks.bundle_size IS 'Axis: documents judged together as one item, 1 to 20.';
COMMENT ON COLUMN analysis.score_marks.bundles IS 'Axis: which documents are judged together, in the place of bundle_size: none, or a plan such as similar, 5.';
COMMENT ON COLUMN analysis.score_marks.rubric IS 'Axis: whose rubric the own arm applies: own, shared by MODEL, or provided FILE.';
COMMENT ON COLUMN analysis.score_marks.replicates IS 'Axis: judgements per item and arm, 1 to 1000: the most that any sweep declared. analysis.sweeps has what each declares.';
COMMENT ON COLUMN analysis.score_marks.temperature IS 'Axis: sampling temperature, 0 to 2.';
COMMENT ON COLUMN analysis.score_marks.top_p IS 'Axis: top_p, above 0 to 1.';
COMMENT ON COLUMN analysis.score_marks.max_tokens IS 'Axis: maximum length of an answer, in tokens.';
COMMENT ON COLUMN analysis.score_marks.reasoning_effort IS 'Axis: none, low, medium or high; default leaves it to the model.';
COMMENT ON COLUMN analysis.score_marks.logprobs IS 'Axis: whether judgements come with the token probability of the verdict''s letter.';
COMMENT ON COLUMN analysis.score_marks.wording IS 'Axis: the paraphrase of the judging prompt.';
COMMENT ON COLUMN analysis.score_marks.rubric_draw IS 'Axis: the draw of the rubric among those that its owner wrote from the same prompt; 0 is the first.';
