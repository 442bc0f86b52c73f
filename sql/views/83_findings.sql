-- Conclusions of the latest analysis run of each sweep for each hypothesis, validity check and planned contrast.
CREATE VIEW analysis.findings AS
SELECT
    w.name AS sweep,
    f.run_id,
    n.created_at AS run_at,
    n.standing,
    f.hypothesis,
    f.statement,
    f.estimand,
    f.scope,
    f.conclusion,
    f.reason,
    f.confirmatory,
    f.planned,
    f.direction,
    f.margin,
    f.reference,
    f.estimate,
    f.lower,
    f.upper,
    f.items_lower,
    f.items_upper,
    f.n,
    f.n_items,
    f.unit,
    f.p,
    f.p_adjusted,
    f.simulated,
    f.imported
FROM analysis_findings AS f
JOIN analysis_runs AS n ON n.id = f.run_id
JOIN sweeps AS w ON w.id = n.sweep_id
WHERE NOT EXISTS (
    SELECT FROM analysis_runs AS later WHERE later.sweep_id = n.sweep_id AND later.id > n.id
);

COMMENT ON VIEW analysis.findings IS 'One row per hypothesis, validity check or planned contrast and scope, of the latest analysis run of each sweep.';
COMMENT ON COLUMN analysis.findings.sweep IS 'Name of the sweep that was analysed.';
COMMENT ON COLUMN analysis.findings.run_id IS 'The analysis run.';
COMMENT ON COLUMN analysis.findings.run_at IS 'When the run was made.';
COMMENT ON COLUMN analysis.findings.standing IS 'Whether the primary outcomes of the plan are confirmatory, and why.';
COMMENT ON COLUMN analysis.findings.hypothesis IS 'Key of the hypothesis (H1 to H4), validity check (V1 to V5) or planned contrast (such as C1.abstain_share).';
COMMENT ON COLUMN analysis.findings.statement IS 'The claim, as a sentence.';
COMMENT ON COLUMN analysis.findings.estimand IS 'The figure that measures it.';
COMMENT ON COLUMN analysis.findings.scope IS 'The scope of the figure, as JSON.';
COMMENT ON COLUMN analysis.findings.conclusion IS 'supported, refuted, inconclusive or not testable here; decided by the interval.';
COMMENT ON COLUMN analysis.findings.reason IS 'Why, as a sentence.';
COMMENT ON COLUMN analysis.findings.confirmatory IS 'Whether it was a primary outcome of a plan that was stored before the first judgement.';
COMMENT ON COLUMN analysis.findings.planned IS 'Whether it is confirmatory by a plan that was frozen before the first judgement and not changed since.';
COMMENT ON COLUMN analysis.findings.direction IS 'Side of the margin on which the claim puts the value: above, below or within.';
COMMENT ON COLUMN analysis.findings.margin IS 'Required distance from the reference, in its unit.';
COMMENT ON COLUMN analysis.findings.reference IS 'The reference value, in its unit.';
COMMENT ON COLUMN analysis.findings.estimate IS 'The figure, in its unit; NULL when it cannot be estimated.';
COMMENT ON COLUMN analysis.findings.lower IS 'Lower end of the 95% interval, of the total error where wordings or rubric draws vary; NULL without one.';
COMMENT ON COLUMN analysis.findings.upper IS 'Upper end of the 95% interval, of the total error where wordings or rubric draws vary; NULL without one.';
COMMENT ON COLUMN analysis.findings.items_lower IS 'Lower end of the interval over items alone, where lower is of the total error; else NULL.';
COMMENT ON COLUMN analysis.findings.items_upper IS 'Upper end of the interval over items alone, where upper is of the total error; else NULL.';
COMMENT ON COLUMN analysis.findings.n IS 'Observations behind it, such as verdicts.';
COMMENT ON COLUMN analysis.findings.n_items IS 'Items behind it.';
COMMENT ON COLUMN analysis.findings.unit IS 'Unit of estimate, interval, margin and reference.';
COMMENT ON COLUMN analysis.findings.p IS 'p of the value being at the margin, two-sided, 0 to 1; NULL without an interval.';
COMMENT ON COLUMN analysis.findings.p_adjusted IS 'p corrected by Holm over the confirmatory findings, by Benjamini-Hochberg over the others.';
COMMENT ON COLUMN analysis.findings.simulated IS 'Whether it rests on simulated calls; then it is not evidence about real models.';
COMMENT ON COLUMN analysis.findings.imported IS 'Whether it rests on imported judgements.';
