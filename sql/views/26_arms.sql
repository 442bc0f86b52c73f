-- Which experiment is judged under which rubric.
CREATE VIEW analysis.arms AS
SELECT
    a.id AS arm_id,
    a.experiment_id,
    x.experiment,
    x.model,
    a.arm,
    a.rubric_id,
    r.owner_model AS rubric_owner,
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
    a.held_out_items
FROM arms AS a
JOIN analysis.experiments AS x ON x.experiment_id = a.experiment_id
JOIN rubrics AS r ON r.id = a.rubric_id;

COMMENT ON VIEW analysis.arms IS 'One row per arm: an experiment judged under one rubric.';
COMMENT ON COLUMN analysis.arms.arm_id IS 'Identifier of the arm in this database.';
COMMENT ON COLUMN analysis.arms.experiment_id IS 'The experiment, in analysis.experiments.';
COMMENT ON COLUMN analysis.arms.experiment IS 'Tag of the experiment.';
COMMENT ON COLUMN analysis.arms.model IS 'The judge.';
COMMENT ON COLUMN analysis.arms.arm IS 'own (W3), swap (a rival''s rubric) or sham (the judge''s own rubric drawn again).';
COMMENT ON COLUMN analysis.arms.rubric_id IS 'The rubric applied, in analysis.rubrics.';
COMMENT ON COLUMN analysis.arms.rubric_owner IS 'Model that wrote that rubric; empty when provided.';
COMMENT ON COLUMN analysis.arms.held_out_items IS 'Items on which the swap pair was chosen, excluded from the arm; empty for other arms.';
COMMENT ON COLUMN analysis.arms.scoring_method IS 'Axis: single (one stage), subset (every supported stage) or structured_json.';
COMMENT ON COLUMN analysis.arms.scale_size IS 'Axis: number of stages S on the scale, 2 to 10.';
COMMENT ON COLUMN analysis.arms.randomize_labels IS 'Axis: whether stages get random letters in each sample.';
COMMENT ON COLUMN analysis.arms.shuffle_order IS 'Axis: whether stages are listed in random order in each sample.';
COMMENT ON COLUMN analysis.arms.evidence_view IS 'Axis: the text the judge reads: raw, cleaned, neutralized or abstracted.';
COMMENT ON COLUMN analysis.arms.actors IS 'Axis: whose names the evidence shows, as_found or swapped with the name of the mapping.';
COMMENT ON COLUMN analysis.arms.prompt_order IS 'Axis: rubric_first or evidence_first.';
COMMENT ON COLUMN analysis.arms.abstain IS 'Axis: whether the judge may abstain.';
COMMENT ON COLUMN analysis.arms.probe_window IS 'Axis: probe in a fresh conversation or in the same one.';
COMMENT ON COLUMN analysis.arms.bundle_size IS 'Axis: documents judged together as one item, 1 to 20.';
COMMENT ON COLUMN analysis.arms.bundles IS 'Axis: which documents are judged together, in the place of bundle_size: none, or a plan such as similar, 5.';
COMMENT ON COLUMN analysis.arms.rubric IS 'Axis: whose rubric the own arm applies: own, shared by MODEL, or provided FILE.';
COMMENT ON COLUMN analysis.arms.replicates IS 'Axis: judgements per item and arm, 1 to 1000: the most that any sweep declared. analysis.sweeps has what each declares.';
COMMENT ON COLUMN analysis.arms.temperature IS 'Axis: sampling temperature, 0 to 2.';
COMMENT ON COLUMN analysis.arms.top_p IS 'Axis: top_p, above 0 to 1.';
COMMENT ON COLUMN analysis.arms.max_tokens IS 'Axis: maximum length of an answer, in tokens.';
COMMENT ON COLUMN analysis.arms.reasoning_effort IS 'Axis: none, low, medium or high; default leaves it to the model.';
COMMENT ON COLUMN analysis.arms.logprobs IS 'Axis: whether judgements come with the token probability of the verdict''s letter.';
COMMENT ON COLUMN analysis.arms.wording IS 'Axis: the paraphrase of the judging prompt.';
COMMENT ON COLUMN analysis.arms.rubric_draw IS 'Axis: the draw of the rubric among those that its owner wrote from the same prompt; 0 is the first.';
