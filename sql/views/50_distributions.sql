-- The pignistic distribution of each cell: a set's weight is shared equally among its stages.
-- Equal verdicts are counted before anything is joined, by ids alone.
CREATE VIEW analysis.distributions AS
SELECT
    d.sweep,
    d.experiment_id,
    x.experiment,
    x.model,
    x.family,
    x.setting,
    a.arm,
    d.arm_id,
    a.rubric_id,
    x.scale_size,
    d.item_id,
    d.stage,
    d.n,
    d.weight,
    x.scoring_method,
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
    d.simulated,
    d.imported,
    d.cumulative_weight
FROM (
    SELECT
        *,
        sum(weight) OVER (
            PARTITION BY sweep, experiment_id, arm_id, item_id ORDER BY stage
        ) AS cumulative_weight
    FROM (
        SELECT
            c.sweep,
            c.experiment_id,
            c.arm_id,
            c.item_id,
            g.stage,
            sum(c.n)::bigint AS n,
            (
                sum(
                    CASE WHEN c.stage_bits & (1 << (g.stage - 1)) > 0
                        THEN c.n::double precision / bit_count(c.stage_bits::bit(10))
                    ELSE 0 END
                ) / sum(c.n)
            )::double precision AS weight,
            bool_or(c.simulated) AS simulated,
            bool_or(c.imported) AS imported
        FROM (
            SELECT
                m.sweep,
                a.experiment_id,
                s.arm_id,
                s.item_id,
                s.scale_size,
                s.stages AS stage_bits,
                count(*) AS n,
                bool_or(s.simulated) AS simulated,
                bool_or(s.imported) AS imported
            FROM samples AS s
            JOIN arms AS a ON a.id = s.arm_id
            JOIN analysis.declared_replicates AS m
                ON m.experiment_id = a.experiment_id AND m.replicates > s.replicate
            WHERE s.status = 'scored'
            GROUP BY m.sweep, a.experiment_id, s.arm_id, s.item_id, s.scale_size, s.stages
        ) AS c
        JOIN generate_series(1, 10) AS g (stage) ON g.stage <= c.scale_size
        GROUP BY c.sweep, c.experiment_id, c.arm_id, c.item_id, g.stage
    ) AS weighted
) AS d
JOIN arms AS a ON a.id = d.arm_id
JOIN analysis.experiments AS x ON x.experiment_id = d.experiment_id;

COMMENT ON VIEW analysis.distributions IS 'One row per sweep, cell (experiment, arm, item) and stage: the distribution of its scored verdicts over the stages, zeros included.';
COMMENT ON COLUMN analysis.distributions.sweep IS 'Name of the sweep, whose replicates alone count; empty for an experiment in no sweep.';
COMMENT ON COLUMN analysis.distributions.experiment_id IS 'The experiment, in analysis.experiments.';
COMMENT ON COLUMN analysis.distributions.experiment IS 'Tag of the experiment.';
COMMENT ON COLUMN analysis.distributions.model IS 'The judge.';
COMMENT ON COLUMN analysis.distributions.family IS 'Family of the judge.';
COMMENT ON COLUMN analysis.distributions.setting IS 'Digest of all but the judge: equal for experiments whose judges can be compared.';
COMMENT ON COLUMN analysis.distributions.arm IS 'own, swap or sham.';
COMMENT ON COLUMN analysis.distributions.arm_id IS 'The arm, in analysis.arms.';
COMMENT ON COLUMN analysis.distributions.rubric_id IS 'The rubric applied; only stages of one rubric are the same.';
COMMENT ON COLUMN analysis.distributions.scale_size IS 'Number of stages S, 2 to 10.';
COMMENT ON COLUMN analysis.distributions.item_id IS 'The item judged, in analysis.items.';
COMMENT ON COLUMN analysis.distributions.stage IS 'A stage of the rubric, 1 to S.';
COMMENT ON COLUMN analysis.distributions.n IS 'Scored samples of the cell.';
COMMENT ON COLUMN analysis.distributions.weight IS 'Share of the verdicts for this stage, 0 to 1; a set of k stages counts 1/k for each.';
COMMENT ON COLUMN analysis.distributions.simulated IS 'Whether the simulator gave any of the verdicts.';
COMMENT ON COLUMN analysis.distributions.imported IS 'Whether it rests on imported judgements.';
COMMENT ON COLUMN analysis.distributions.cumulative_weight IS 'Share of the verdicts for this stage or a lower one, 0 to 1.';
COMMENT ON COLUMN analysis.distributions.scoring_method IS 'Axis: single (one stage), subset (every supported stage) or structured_json.';
COMMENT ON COLUMN analysis.distributions.randomize_labels IS 'Axis: whether stages get random letters in each sample.';
COMMENT ON COLUMN analysis.distributions.shuffle_order IS 'Axis: whether stages are listed in random order in each sample.';
COMMENT ON COLUMN analysis.distributions.evidence_view IS 'Axis: the text the judge reads: raw, cleaned, neutralized or abstracted.';
COMMENT ON COLUMN analysis.distributions.actors IS 'Axis: whose names the evidence shows, as_found or swapped with the name of the mapping.';
COMMENT ON COLUMN analysis.distributions.prompt_order IS 'Axis: rubric_first or evidence_first.';
COMMENT ON COLUMN analysis.distributions.abstain IS 'Axis: whether the judge may abstain.';
COMMENT ON COLUMN analysis.distributions.probe_window IS 'Axis: probe in a fresh conversation or in the same one.';
COMMENT ON COLUMN analysis.distributions.bundle_size IS 'Axis: documents judged together as one item, 1 to 20.';
COMMENT ON COLUMN analysis.distributions.bundles IS 'Axis: which documents are judged together, in the place of bundle_size: none, or a plan such as similar, 5.';
COMMENT ON COLUMN analysis.distributions.rubric IS 'Axis: whose rubric the own arm applies: own, shared by MODEL, or provided FILE.';
COMMENT ON COLUMN analysis.distributions.replicates IS 'Axis: judgements per item and arm, 1 to 1000: the most that any sweep declared. analysis.sweeps has what each declares.';
COMMENT ON COLUMN analysis.distributions.temperature IS 'Axis: sampling temperature, 0 to 2.';
COMMENT ON COLUMN analysis.distributions.top_p IS 'Axis: top_p, above 0 to 1.';
COMMENT ON COLUMN analysis.distributions.max_tokens IS 'Axis: maximum length of an answer, in tokens.';
COMMENT ON COLUMN analysis.distributions.reasoning_effort IS 'Axis: none, low, medium or high; default leaves it to the model.';
COMMENT ON COLUMN analysis.distributions.logprobs IS 'Axis: whether judgements come with the token probability of the verdict''s letter.';
COMMENT ON COLUMN analysis.distributions.wording IS 'Axis: the paraphrase of the judging prompt.';
COMMENT ON COLUMN analysis.distributions.rubric_draw IS 'Axis: the draw of the rubric among those that its owner wrote from the same prompt; 0 is the first.';
