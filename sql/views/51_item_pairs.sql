-- Divergence of two judges on one item, under one rubric and in the same setting.
CREATE VIEW analysis.item_pairs AS
SELECT
    p.*,
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
    x.rubric_draw
FROM (
    SELECT
        one.sweep,
        one.experiment_id AS experiment_id_a,
        other.experiment_id AS experiment_id_b,
        one.experiment AS experiment_a,
        other.experiment AS experiment_b,
        one.model AS model_a,
        other.model AS model_b,
        one.family AS family_a,
        other.family AS family_b,
        one.rubric_id,
        one.item_id,
        one.n AS n_a,
        other.n AS n_b,
        -- Where a weight is 0 its term is 0 and its logarithm is not taken.
        greatest(0, sum(
            CASE WHEN one.weight > 0 THEN
                one.weight / 2 * ln(2 * one.weight / (one.weight + other.weight)) / ln(2)
            ELSE 0 END
            + CASE WHEN other.weight > 0 THEN
                other.weight / 2 * ln(2 * other.weight / (one.weight + other.weight)) / ln(2)
            ELSE 0 END
        )) AS divergence,
        sum(abs(one.cumulative_weight - other.cumulative_weight)) / (one.scale_size - 1) AS distance,
        bool_or(one.simulated OR other.simulated) AS simulated,
        bool_or(one.imported OR other.imported) AS imported
    FROM analysis.distributions AS one
    JOIN analysis.distributions AS other
        ON other.sweep = one.sweep
        AND other.rubric_id = one.rubric_id
        AND other.setting = one.setting
        AND other.item_id = one.item_id
        AND other.stage = one.stage
        AND other.model > one.model
    WHERE one.arm = 'own' AND other.arm = 'own'
    GROUP BY
        one.sweep, one.experiment_id, other.experiment_id, one.experiment, other.experiment, one.model,
        other.model, one.family, other.family, one.rubric_id, one.item_id, one.n, other.n,
        one.scale_size
) AS p
JOIN analysis.experiments AS x ON x.experiment_id = p.experiment_id_a;

COMMENT ON VIEW analysis.item_pairs IS 'One row per sweep, item and pair of judges with the same rubric and setting: the divergence of their verdicts. With few replicates, identical judges diverge too: the floor is in analysis.polarization.';
COMMENT ON COLUMN analysis.item_pairs.sweep IS 'Name of the sweep, whose replicates alone count; empty for an experiment in no sweep.';
COMMENT ON COLUMN analysis.item_pairs.experiment_id_a IS 'Experiment of the first judge.';
COMMENT ON COLUMN analysis.item_pairs.experiment_id_b IS 'Experiment of the second judge.';
COMMENT ON COLUMN analysis.item_pairs.experiment_a IS 'Tag of the first judge''s experiment.';
COMMENT ON COLUMN analysis.item_pairs.experiment_b IS 'Tag of the second judge''s experiment.';
COMMENT ON COLUMN analysis.item_pairs.model_a IS 'The first judge; the earlier of the two names.';
COMMENT ON COLUMN analysis.item_pairs.model_b IS 'The second judge.';
COMMENT ON COLUMN analysis.item_pairs.family_a IS 'Family of the first judge.';
COMMENT ON COLUMN analysis.item_pairs.family_b IS 'Family of the second judge; polarization averages judges of one family first.';
COMMENT ON COLUMN analysis.item_pairs.rubric_id IS 'The rubric both applied, in analysis.rubrics.';
COMMENT ON COLUMN analysis.item_pairs.item_id IS 'The item, in analysis.items.';
COMMENT ON COLUMN analysis.item_pairs.n_a IS 'Scored samples of the first judge.';
COMMENT ON COLUMN analysis.item_pairs.n_b IS 'Scored samples of the second judge.';
COMMENT ON COLUMN analysis.item_pairs.divergence IS 'Jensen-Shannon divergence of the two distributions, base 2, in bits from 0 to 1.';
COMMENT ON COLUMN analysis.item_pairs.distance IS 'Wasserstein-1 distance of the two distributions over S-1, 0 to 1: near stages differ less.';
COMMENT ON COLUMN analysis.item_pairs.simulated IS 'Whether the simulator gave any of the verdicts.';
COMMENT ON COLUMN analysis.item_pairs.imported IS 'Whether it rests on imported judgements.';
COMMENT ON COLUMN analysis.item_pairs.scoring_method IS 'Axis: single (one stage), subset (every supported stage) or structured_json.';
COMMENT ON COLUMN analysis.item_pairs.scale_size IS 'Axis: number of stages S on the scale, 2 to 10.';
COMMENT ON COLUMN analysis.item_pairs.randomize_labels IS 'Axis: whether stages get random letters in each sample.';
COMMENT ON COLUMN analysis.item_pairs.shuffle_order IS 'Axis: whether stages are listed in random order in each sample.';
COMMENT ON COLUMN analysis.item_pairs.evidence_view IS 'Axis: the text the judge reads: raw, cleaned, neutralized or abstracted.';
COMMENT ON COLUMN analysis.item_pairs.actors IS 'Axis: whose names the evidence shows, as_found or swapped with the name of the mapping.';
COMMENT ON COLUMN analysis.item_pairs.prompt_order IS 'Axis: rubric_first or evidence_first.';
COMMENT ON COLUMN analysis.item_pairs.abstain IS 'Axis: whether the judge may abstain.';
COMMENT ON COLUMN analysis.item_pairs.probe_window IS 'Axis: probe in a fresh conversation or in the same one.';
COMMENT ON COLUMN analysis.item_pairs.bundle_size IS 'Axis: documents judged together as one item, 1 to 20.';
COMMENT ON COLUMN analysis.item_pairs.bundles IS 'Axis: which documents are judged together, in the place of bundle_size: none, or a plan such as similar, 5.';
COMMENT ON COLUMN analysis.item_pairs.rubric IS 'Axis: whose rubric the own arm applies: own, shared by MODEL, or provided FILE.';
COMMENT ON COLUMN analysis.item_pairs.replicates IS 'Axis, of the first judge: judgements per item and arm, 1 to 1000: the most that any sweep declared. analysis.sweeps has what each declares.';
COMMENT ON COLUMN analysis.item_pairs.temperature IS 'Axis: sampling temperature, 0 to 2.';
COMMENT ON COLUMN analysis.item_pairs.top_p IS 'Axis: top_p, above 0 to 1.';
COMMENT ON COLUMN analysis.item_pairs.max_tokens IS 'Axis: maximum length of an answer, in tokens.';
COMMENT ON COLUMN analysis.item_pairs.reasoning_effort IS 'Axis: none, low, medium or high; default leaves it to the model.';
COMMENT ON COLUMN analysis.item_pairs.logprobs IS 'Axis: whether judgements come with the token probability of the verdict''s letter.';
COMMENT ON COLUMN analysis.item_pairs.wording IS 'Axis: the paraphrase of the judging prompt.';
COMMENT ON COLUMN analysis.item_pairs.rubric_draw IS 'Axis: the draw of the rubric among those that its owner wrote from the same prompt; 0 is the first.';
