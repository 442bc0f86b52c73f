-- A judge's own arm beside another arm of it, item by item. The arms are paired before their
-- samples are read, so that only those of the pair are.
CREATE VIEW analysis.swap_pairs AS
SELECT
    paired.*,
    other_probability - own_probability AS probability_difference,
    other_score - own_score AS score_difference,
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
        d.sweep,
        other.experiment_id,
        s.experiment,
        s.concept,
        s.model,
        s.family,
        other.arm,
        r.owner_model AS rubric_owner,
        other.id AS arm_id,
        s.item_id,
        count(s.score) FILTER (WHERE s.arm_id = own.id) AS own_n,
        count(s.score) FILTER (WHERE s.arm_id = other.id) AS other_n,
        avg(s.score) FILTER (WHERE s.arm_id = own.id) AS own_score,
        avg(s.score) FILTER (WHERE s.arm_id = other.id) AS other_score,
        -- The mean over samples: one that was probed twice counts once, with the mean of its probes.
        avg((coalesce(s.first_probability, 0) + coalesce(s.second_probability, 0))
            / nullif(num_nonnulls(s.first_probability, s.second_probability), 0))
            FILTER (WHERE s.arm_id = own.id) AS own_probability,
        avg((coalesce(s.first_probability, 0) + coalesce(s.second_probability, 0))
            / nullif(num_nonnulls(s.first_probability, s.second_probability), 0))
            FILTER (WHERE s.arm_id = other.id) AS other_probability,
        bool_or(s.simulated) AS simulated,
        bool_or(s.imported) AS imported
    FROM arms AS other
    JOIN arms AS own ON own.experiment_id = other.experiment_id AND own.arm = 'own'
    JOIN rubrics AS r ON r.id = other.rubric_id
    JOIN analysis.declared_replicates AS d ON d.experiment_id = other.experiment_id
    JOIN analysis.samples AS s
        ON s.arm_id = ANY (ARRAY[own.id, other.id]) AND s.replicate < d.replicates
    WHERE other.arm IN ('swap', 'sham')
    GROUP BY
        d.sweep, other.experiment_id, s.experiment, s.concept, s.model, s.family, other.arm,
        r.owner_model, other.id, s.item_id
) AS paired
JOIN analysis.experiments AS x ON x.experiment_id = paired.experiment_id
WHERE own_n > 0 AND other_n > 0;

COMMENT ON VIEW analysis.swap_pairs IS 'One row per sweep, judge, other rubric and item scored under both: the own arm beside a swap or a sham. A swap is informative only beyond the sham.';
COMMENT ON COLUMN analysis.swap_pairs.sweep IS 'Name of the sweep, whose replicates alone count; empty for an experiment in no sweep.';
COMMENT ON COLUMN analysis.swap_pairs.experiment_id IS 'The experiment, in analysis.experiments.';
COMMENT ON COLUMN analysis.swap_pairs.experiment IS 'Tag of the experiment.';
COMMENT ON COLUMN analysis.swap_pairs.concept IS 'What is judged.';
COMMENT ON COLUMN analysis.swap_pairs.model IS 'The judge.';
COMMENT ON COLUMN analysis.swap_pairs.family IS 'Family of the judge.';
COMMENT ON COLUMN analysis.swap_pairs.arm IS 'The other arm: swap (a rival''s rubric) or sham (its own rubric drawn again).';
COMMENT ON COLUMN analysis.swap_pairs.rubric_owner IS 'Model that wrote the other rubric: the rival, or for a sham the judge.';
COMMENT ON COLUMN analysis.swap_pairs.arm_id IS 'The other arm, in analysis.arms.';
COMMENT ON COLUMN analysis.swap_pairs.item_id IS 'The item, in analysis.items.';
COMMENT ON COLUMN analysis.swap_pairs.own_n IS 'Scored samples under the own rubric.';
COMMENT ON COLUMN analysis.swap_pairs.other_n IS 'Scored samples under the other rubric.';
COMMENT ON COLUMN analysis.swap_pairs.own_score IS 'Mean verdict on the 0-1 scale under the own rubric.';
COMMENT ON COLUMN analysis.swap_pairs.other_score IS 'Mean verdict on the 0-1 scale under the other rubric.';
COMMENT ON COLUMN analysis.swap_pairs.own_probability IS 'Mean over samples of the probed probability, 0 to 1, under the own rubric; NULL without a probe.';
COMMENT ON COLUMN analysis.swap_pairs.other_probability IS 'Mean over samples of the probed probability, 0 to 1, under the other rubric; NULL without a probe.';
COMMENT ON COLUMN analysis.swap_pairs.simulated IS 'Whether any of it came from the simulator.';
COMMENT ON COLUMN analysis.swap_pairs.imported IS 'Whether it rests on imported judgements.';
COMMENT ON COLUMN analysis.swap_pairs.probability_difference IS 'Other minus own probability, -1 to 1; below 0: less confident under the other rubric.';
COMMENT ON COLUMN analysis.swap_pairs.score_difference IS 'Other minus own verdict on the 0-1 scale, -1 to 1.';
COMMENT ON COLUMN analysis.swap_pairs.scoring_method IS 'Axis: single (one stage), subset (every supported stage) or structured_json.';
COMMENT ON COLUMN analysis.swap_pairs.scale_size IS 'Axis: number of stages S on the scale, 2 to 10.';
COMMENT ON COLUMN analysis.swap_pairs.randomize_labels IS 'Axis: whether stages get random letters in each sample.';
COMMENT ON COLUMN analysis.swap_pairs.shuffle_order IS 'Axis: whether stages are listed in random order in each sample.';
COMMENT ON COLUMN analysis.swap_pairs.evidence_view IS 'Axis: the text the judge reads: raw, cleaned, neutralized or abstracted.';
COMMENT ON COLUMN analysis.swap_pairs.actors IS 'Axis: whose names the evidence shows, as_found or swapped with the name of the mapping.';
COMMENT ON COLUMN analysis.swap_pairs.prompt_order IS 'Axis: rubric_first or evidence_first.';
COMMENT ON COLUMN analysis.swap_pairs.abstain IS 'Axis: whether the judge may abstain.';
COMMENT ON COLUMN analysis.swap_pairs.probe_window IS 'Axis: probe in a fresh conversation or in the same one.';
COMMENT ON COLUMN analysis.swap_pairs.bundle_size IS 'Axis: documents judged together as one item, 1 to 20.';
COMMENT ON COLUMN analysis.swap_pairs.bundles IS 'Axis: which documents are judged together, in the place of bundle_size: none, or a plan such as similar, 5.';
COMMENT ON COLUMN analysis.swap_pairs.rubric IS 'Axis: whose rubric the own arm applies: own, shared by MODEL, or provided FILE.';
COMMENT ON COLUMN analysis.swap_pairs.replicates IS 'Axis: judgements per item and arm, 1 to 1000: the most that any sweep declared. analysis.sweeps has what each declares.';
COMMENT ON COLUMN analysis.swap_pairs.temperature IS 'Axis: sampling temperature, 0 to 2.';
COMMENT ON COLUMN analysis.swap_pairs.top_p IS 'Axis: top_p, above 0 to 1.';
COMMENT ON COLUMN analysis.swap_pairs.max_tokens IS 'Axis: maximum length of an answer, in tokens.';
COMMENT ON COLUMN analysis.swap_pairs.reasoning_effort IS 'Axis: none, low, medium or high; default leaves it to the model.';
COMMENT ON COLUMN analysis.swap_pairs.logprobs IS 'Axis: whether judgements come with the token probability of the verdict''s letter.';
COMMENT ON COLUMN analysis.swap_pairs.wording IS 'Axis: the paraphrase of the judging prompt.';
COMMENT ON COLUMN analysis.swap_pairs.rubric_draw IS 'Axis: the draw of the rubric among those that its owner wrote from the same prompt; 0 is the first.';
