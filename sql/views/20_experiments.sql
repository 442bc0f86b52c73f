-- The points of the design space, one column per axis; config also has axes without a column.
CREATE VIEW analysis.experiments AS
SELECT
    x.id AS experiment_id,
    x.tag AS experiment,
    x.key AS experiment_key,
    coalesce(x.point, x.key) AS point,
    x.recipe,
    x.task_type,
    x.concept,
    x.country,
    x.window_id,
    coalesce(nullif(w.name, ''), w.key) AS window_name,
    x.model,
    x.family,
    x.config ->> 'scoring_method' AS scoring_method,
    x.scale_size,
    (x.config ->> 'randomize_labels')::boolean AS randomize_labels,
    (x.config ->> 'shuffle_order')::boolean AS shuffle_order,
    x.config ->> 'evidence_view' AS evidence_view,
    x.config ->> 'prompt_order' AS prompt_order,
    (x.config ->> 'abstain')::boolean AS abstain,
    x.config ->> 'probe_window' AS probe_window,
    (x.config ->> 'bundle_size')::integer AS bundle_size,
    CASE
        WHEN coalesce((x.config #>> '{bundles,size}')::integer, 1) = 1 THEN 'none'
        ELSE
            (x.config #>> '{bundles,by}') || ', ' || (x.config #>> '{bundles,size}')
            || coalesce(', seed ' || nullif(x.config #>> '{bundles,seed}', '0'), '')
            || coalesce(', ' || nullif(x.config #>> '{bundles,view}', 'raw') || ' texts', '')
            || coalesce(', embeddings of ' || nullif(x.config #>> '{bundles,embeddings}', ''), '')
    END AS bundles,
    CASE x.config #>> '{rubric,kind}'
        WHEN 'shared' THEN 'shared by ' || (x.config #>> '{rubric,model}')
        WHEN 'provided' THEN
            'provided' || coalesce(' ' || (x.config #>> '{rubric,name}'), '')
        ELSE x.config #>> '{rubric,kind}'
    END AS rubric,
    x.replicates,
    (x.config ->> 'temperature')::double precision AS temperature,
    (x.config ->> 'top_p')::double precision AS top_p,
    (x.config ->> 'max_tokens')::integer AS max_tokens,
    coalesce(x.config ->> 'reasoning_effort', 'default') AS reasoning_effort,
    coalesce((x.config ->> 'logprobs')::boolean, false) AS logprobs,
    CASE
        WHEN x.config #>> '{actors,kind}' = 'swapped'
        THEN 'swapped ' || (x.config #>> '{actors,mapping,name}')
        ELSE 'as_found'
    END AS actors,
    coalesce(x.config ->> 'wording', 'standard') AS wording,
    coalesce((x.config ->> 'rubric_draw')::integer, 0) AS rubric_draw,
    x.config #>> '{ground_truth,source}' AS truth_source,
    (x.config #>> '{ground_truth,value}')::double precision AS truth_value,
    x.config #>> '{ground_truth,label}' AS truth_label,
    -- Text of jsonb has one order of keys, so equal settings have equal digests. Axes that
    -- experiments of older versions lack are at their default there.
    md5((
        '{"reasoning_effort": "default", "logprobs": false, "actors": {"kind": "as_found", "mapping": null}, "wording": "standard", "rubric_draw": 0, "persona": "", "domain": "", "bundles": {"by": "random", "size": 1, "seed": 0}}'::jsonb
        || ((x.config #- '{rubric,name}') - '{tag,window,model,family,replicates}'::text[])
    )::text || x.window_id || coalesce(x.recipe::text, '')) AS setting,
    x.config,
    x.created_at
FROM experiments AS x
JOIN windows AS w ON w.id = x.window_id;

COMMENT ON VIEW analysis.experiments IS 'One row per experiment: a point of the design space under a recipe, with every axis as a column, and what it judges.';
COMMENT ON COLUMN analysis.experiments.experiment_id IS 'Identifier of the experiment in this database.';
COMMENT ON COLUMN analysis.experiments.experiment IS 'Tag of the experiment, its name for people; the same in every database.';
COMMENT ON COLUMN analysis.experiments.experiment_key IS '16-digit identity: of its point, and of its recipe where another experiment of the point came first.';
COMMENT ON COLUMN analysis.experiments.point IS '16-digit identity of the point: everything but tag, window name, replicates and recipe.';
COMMENT ON COLUMN analysis.experiments.recipe IS 'What its answers were made with: template and its hash, utility model, settings of views; NULL for imported judgements, and where it is not recorded yet.';
COMMENT ON COLUMN analysis.experiments.task_type IS 'ecc (contested, no truth), control (expert proxy), benchmark (known answer) or pairs (which of two answers is better).';
COMMENT ON COLUMN analysis.experiments.concept IS 'What is judged, as free text.';
COMMENT ON COLUMN analysis.experiments.country IS 'Country or setting named in the prompts.';
COMMENT ON COLUMN analysis.experiments.window_id IS 'Window whose evidence is judged.';
COMMENT ON COLUMN analysis.experiments.window_name IS 'Name of the window; its key where it has none.';
COMMENT ON COLUMN analysis.experiments.model IS 'The judge: a litellm model string.';
COMMENT ON COLUMN analysis.experiments.family IS 'Family of the judge; models of one family are averaged before families are compared.';
COMMENT ON COLUMN analysis.experiments.scoring_method IS 'Axis: single (one stage), subset (every supported stage) or structured_json.';
COMMENT ON COLUMN analysis.experiments.scale_size IS 'Axis: number of stages S on the scale, 2 to 10.';
COMMENT ON COLUMN analysis.experiments.randomize_labels IS 'Axis: whether stages get random letters in each sample.';
COMMENT ON COLUMN analysis.experiments.shuffle_order IS 'Axis: whether stages are listed in random order in each sample.';
COMMENT ON COLUMN analysis.experiments.evidence_view IS 'Axis: the text the judge reads: raw, cleaned, neutralized or abstracted.';
COMMENT ON COLUMN analysis.experiments.prompt_order IS 'Axis: rubric_first or evidence_first.';
COMMENT ON COLUMN analysis.experiments.abstain IS 'Axis: whether the judge may abstain.';
COMMENT ON COLUMN analysis.experiments.probe_window IS 'Axis: probe in a fresh conversation or in the same one.';
COMMENT ON COLUMN analysis.experiments.bundle_size IS 'Axis: documents judged together as one item, 1 to 20.';
COMMENT ON COLUMN analysis.experiments.bundles IS 'Axis: which documents are judged together, in the place of bundle_size: none, or a plan such as similar, 5.';
COMMENT ON COLUMN analysis.experiments.rubric IS 'Axis: whose rubric the own arm applies: own, shared by MODEL, or provided FILE.';
COMMENT ON COLUMN analysis.experiments.replicates IS 'Axis: judgements per item and arm, 1 to 1000: the most that any sweep declared. analysis.sweeps has what each declares.';
COMMENT ON COLUMN analysis.experiments.temperature IS 'Axis: sampling temperature, 0 to 2.';
COMMENT ON COLUMN analysis.experiments.top_p IS 'Axis: top_p, above 0 to 1.';
COMMENT ON COLUMN analysis.experiments.max_tokens IS 'Axis: maximum length of an answer, in tokens.';
COMMENT ON COLUMN analysis.experiments.reasoning_effort IS 'Axis: none, low, medium or high; default leaves it to the model.';
COMMENT ON COLUMN analysis.experiments.logprobs IS 'Axis: whether judgements come with the token probability of the verdict''s letter.';
COMMENT ON COLUMN analysis.experiments.actors IS 'Axis: whose names the evidence shows, as_found or swapped with the name of the mapping.';
COMMENT ON COLUMN analysis.experiments.wording IS 'Axis: the paraphrase of the judging prompt.';
COMMENT ON COLUMN analysis.experiments.rubric_draw IS 'Axis: the draw of the rubric among those that its owner wrote from the same prompt; 0 is the first.';
COMMENT ON COLUMN analysis.experiments.truth_source IS 'Source of the truth; NULL without a truth (ecc).';
COMMENT ON COLUMN analysis.experiments.truth_value IS 'Truth of every item as an index from 0 to 1; NULL when it is a label, differs by item, or is unknown.';
COMMENT ON COLUMN analysis.experiments.truth_label IS 'Truth of every item as a stage label; NULL when it is an index, differs by item, or is unknown.';
COMMENT ON COLUMN analysis.experiments.setting IS 'Digest of all but the judge, the recipe included: equal for experiments whose judges can be compared.';
COMMENT ON COLUMN analysis.experiments.config IS 'The whole experiment as JSON, axes without a column included.';
COMMENT ON COLUMN analysis.experiments.created_at IS 'When the experiment was stored.';
