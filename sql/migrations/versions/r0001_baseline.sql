-- The schema of judge-gym 0.1.0. Never change this file: later migrations change the schema.

CREATE SCHEMA analysis;
COMMENT ON SCHEMA analysis IS 'Views for analysts, described in their comments';


-- Windows and their documents

CREATE TABLE windows (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    query TEXT NOT NULL,
    country TEXT NOT NULL,
    start_date DATE,
    end_date DATE,
    max_documents INTEGER NOT NULL,
    source JSONB NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    collected_at TIMESTAMPTZ,
    shareable BOOLEAN DEFAULT true NOT NULL,
    licence TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_windows PRIMARY KEY (id),
    CONSTRAINT uq_windows_key UNIQUE (key)
);

CREATE TABLE documents (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    window_id BIGINT NOT NULL,
    position INTEGER NOT NULL,
    key TEXT NOT NULL,
    url TEXT NOT NULL,
    canonical_url TEXT NOT NULL,
    domain TEXT NOT NULL,
    tier TEXT NOT NULL,
    tier_weight DOUBLE PRECISION NOT NULL,
    title TEXT NOT NULL,
    published DATE,
    text TEXT NOT NULL,
    cut_from INTEGER,
    truth_value DOUBLE PRECISION,
    truth_label TEXT,
    category TEXT DEFAULT '' NOT NULL,
    simulated BOOLEAN DEFAULT false NOT NULL,
    origin TEXT DEFAULT '' NOT NULL,
    doubt TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_documents PRIMARY KEY (id),
    CONSTRAINT uq_documents_window_id_key UNIQUE (window_id, key),
    CONSTRAINT uq_documents_window_id_position UNIQUE (window_id, position),
    CONSTRAINT ck_documents_tier_weight_range CHECK (tier_weight BETWEEN 0 AND 1),
    CONSTRAINT ck_documents_truth_value_range CHECK (truth_value BETWEEN 0 AND 1),
    CONSTRAINT fk_documents_window_id
        FOREIGN KEY (window_id) REFERENCES windows (id) ON DELETE CASCADE
);

CREATE TABLE dropped_documents (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    window_id BIGINT NOT NULL,
    url TEXT NOT NULL,
    title TEXT NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    CONSTRAINT pk_dropped_documents PRIMARY KEY (id),
    CONSTRAINT fk_dropped_documents_window_id
        FOREIGN KEY (window_id) REFERENCES windows (id) ON DELETE CASCADE
);
CREATE INDEX ix_dropped_documents_window_id ON dropped_documents (window_id);


-- Sweeps, experiments and their items

CREATE TABLE sweeps (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    swap JSONB,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    plan TEXT,
    on_unsupported TEXT DEFAULT 'error' NOT NULL,
    score_critic JSONB,
    definition JSONB,
    files JSONB DEFAULT '{}' NOT NULL,
    frozen JSONB,
    CONSTRAINT pk_sweeps PRIMARY KEY (id),
    CONSTRAINT ck_sweeps_on_unsupported_known CHECK (on_unsupported IN ('error', 'mark')),
    CONSTRAINT uq_sweeps_name UNIQUE (name)
);

CREATE TABLE sweep_runs (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    sweep_id BIGINT NOT NULL,
    began_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    ended_at TIMESTAMPTZ,
    message TEXT,
    CONSTRAINT pk_sweep_runs PRIMARY KEY (id),
    CONSTRAINT fk_sweep_runs_sweep_id
        FOREIGN KEY (sweep_id) REFERENCES sweeps (id) ON DELETE CASCADE
);
CREATE INDEX ix_sweep_runs_sweep_id ON sweep_runs (sweep_id);

CREATE TABLE experiments (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    key TEXT NOT NULL,
    tag TEXT NOT NULL,
    task_type TEXT NOT NULL,
    concept TEXT NOT NULL,
    country TEXT NOT NULL,
    window_id BIGINT NOT NULL,
    model TEXT NOT NULL,
    family TEXT NOT NULL,
    scale_size SMALLINT NOT NULL,
    replicates INTEGER NOT NULL,
    config JSONB NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    point TEXT,
    recipe JSONB,
    view_recipes JSONB DEFAULT '{}' NOT NULL,
    rubric_recipe TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_experiments PRIMARY KEY (id),
    CONSTRAINT ck_experiments_task_type_known
        CHECK (task_type IN ('ecc', 'control', 'benchmark', 'pairs')),
    CONSTRAINT ck_experiments_scale_size_range CHECK (scale_size BETWEEN 2 AND 10),
    CONSTRAINT ck_experiments_replicates_positive CHECK (replicates >= 1),
    CONSTRAINT uq_experiments_id_scale_size UNIQUE (id, scale_size),
    CONSTRAINT uq_experiments_key UNIQUE (key),
    CONSTRAINT uq_experiments_tag UNIQUE (tag),
    CONSTRAINT fk_experiments_window_id
        FOREIGN KEY (window_id) REFERENCES windows (id) ON DELETE RESTRICT
);
CREATE INDEX ix_experiments_point ON experiments (point);
CREATE INDEX ix_experiments_window_id ON experiments (window_id);

CREATE TABLE sweep_experiments (
    sweep_id BIGINT NOT NULL,
    experiment_id BIGINT NOT NULL,
    replicates INTEGER NOT NULL,
    CONSTRAINT pk_sweep_experiments PRIMARY KEY (sweep_id, experiment_id),
    CONSTRAINT ck_sweep_experiments_replicates_positive CHECK (replicates >= 1),
    CONSTRAINT fk_sweep_experiments_sweep_id
        FOREIGN KEY (sweep_id) REFERENCES sweeps (id) ON DELETE CASCADE,
    CONSTRAINT fk_sweep_experiments_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (id) ON DELETE CASCADE
);
CREATE INDEX ix_sweep_experiments_experiment_id ON sweep_experiments (experiment_id);

CREATE TABLE former_sweep_experiments (
    sweep_id BIGINT NOT NULL,
    experiment_id BIGINT NOT NULL,
    CONSTRAINT pk_former_sweep_experiments PRIMARY KEY (sweep_id, experiment_id),
    CONSTRAINT fk_former_sweep_experiments_sweep_id
        FOREIGN KEY (sweep_id) REFERENCES sweeps (id) ON DELETE CASCADE,
    CONSTRAINT fk_former_sweep_experiments_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (id) ON DELETE CASCADE
);
CREATE INDEX ix_former_sweep_experiments_experiment_id ON former_sweep_experiments (experiment_id);

CREATE TABLE items (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    key TEXT NOT NULL,
    window_id BIGINT NOT NULL,
    bundle_size SMALLINT NOT NULL,
    CONSTRAINT pk_items PRIMARY KEY (id),
    CONSTRAINT uq_items_key UNIQUE (key),
    CONSTRAINT fk_items_window_id FOREIGN KEY (window_id) REFERENCES windows (id) ON DELETE CASCADE
);
CREATE INDEX ix_items_window_id ON items (window_id);

CREATE TABLE item_documents (
    item_id BIGINT NOT NULL,
    position SMALLINT NOT NULL,
    document_id BIGINT NOT NULL,
    CONSTRAINT pk_item_documents PRIMARY KEY (item_id, position),
    CONSTRAINT fk_item_documents_item_id
        FOREIGN KEY (item_id) REFERENCES items (id) ON DELETE CASCADE,
    CONSTRAINT fk_item_documents_document_id
        FOREIGN KEY (document_id) REFERENCES documents (id) ON DELETE CASCADE
);
CREATE INDEX ix_item_documents_document_id ON item_documents (document_id);

CREATE TABLE experiment_items (
    experiment_id BIGINT NOT NULL,
    item_id BIGINT NOT NULL,
    position INTEGER NOT NULL,
    CONSTRAINT pk_experiment_items PRIMARY KEY (experiment_id, item_id),
    CONSTRAINT fk_experiment_items_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (id) ON DELETE CASCADE,
    CONSTRAINT fk_experiment_items_item_id
        FOREIGN KEY (item_id) REFERENCES items (id) ON DELETE CASCADE
);
CREATE INDEX ix_experiment_items_item_id ON experiment_items (item_id);


-- The ledger of calls

CREATE TABLE llm_batches (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    key TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    status TEXT NOT NULL,
    calls INTEGER NOT NULL,
    answered INTEGER DEFAULT 0 NOT NULL,
    failed INTEGER DEFAULT 0 NOT NULL,
    input_file_id TEXT,
    provider_batch_id TEXT,
    output_file_id TEXT,
    error_file_id TEXT,
    error TEXT,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    submitted_at TIMESTAMPTZ,
    polled_at TIMESTAMPTZ,
    ended_at TIMESTAMPTZ,
    requested_at TIMESTAMPTZ,
    CONSTRAINT pk_llm_batches PRIMARY KEY (id),
    CONSTRAINT ck_llm_batches_status_known
        CHECK (status
            IN ('planned', 'submitted', 'cancelling', 'completed', 'failed', 'expired', 'cancelled', 'vanished')),
    CONSTRAINT uq_llm_batches_provider_provider_batch_id UNIQUE (provider, provider_batch_id),
    CONSTRAINT ck_llm_batches_provider_batch_id_when_submitted
        CHECK (status IN ('planned', 'cancelled', 'failed') OR provider_batch_id IS NOT NULL),
    CONSTRAINT ck_llm_batches_ended_at_when_ended
        CHECK ((status IN ('planned', 'submitted', 'cancelling')) = (ended_at IS NULL)),
    CONSTRAINT uq_llm_batches_key UNIQUE (key)
);
CREATE INDEX ix_llm_batches_open ON llm_batches (status)
    WHERE status IN ('planned', 'submitted', 'cancelling');

CREATE TABLE llm_calls (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    key TEXT NOT NULL,
    workflow TEXT NOT NULL,
    agent TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    experiment_id BIGINT,
    messages JSONB NOT NULL,
    template TEXT NOT NULL,
    template_hash TEXT NOT NULL,
    parameters JSONB NOT NULL,
    status TEXT NOT NULL,
    attempts INTEGER DEFAULT 0 NOT NULL,
    errors JSONB DEFAULT '[]' NOT NULL,
    answer TEXT,
    finish_reason TEXT,
    prompt_tokens INTEGER,
    completion_tokens INTEGER,
    cost_usd NUMERIC(14, 8),
    latency_ms DOUBLE PRECISION,
    route TEXT DEFAULT 'direct' NOT NULL,
    simulated BOOLEAN,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    sent_at TIMESTAMPTZ,
    finished_at TIMESTAMPTZ,
    request_digest TEXT,
    cached_from BIGINT,
    batch_id BIGINT,
    sent_parameters JSONB,
    not_applied JSONB,
    sent_body JSONB,
    reasoning TEXT,
    logprobs JSONB,
    served_model TEXT,
    response_id TEXT,
    fingerprint TEXT,
    finish_given TEXT,
    cached_tokens INTEGER,
    cache_written_tokens INTEGER,
    reasoning_tokens INTEGER,
    cost_source TEXT,
    at_most_usd NUMERIC(14, 8),
    prompt_words INTEGER,
    CONSTRAINT pk_llm_calls PRIMARY KEY (id),
    CONSTRAINT ck_llm_calls_status_known
        CHECK (status IN ('planned', 'sent', 'succeeded', 'failed', 'cancelled')),
    CONSTRAINT ck_llm_calls_cost_source_known
        CHECK (cost_source IN ('provider', 'file', 'litellm', 'simulated')),
    CONSTRAINT ck_llm_calls_answer_when_succeeded
        CHECK ((status = 'succeeded') = (answer IS NOT NULL)),
    CONSTRAINT ck_llm_calls_attempts_not_negative CHECK (attempts >= 0),
    CONSTRAINT uq_llm_calls_key UNIQUE (key),
    CONSTRAINT fk_llm_calls_experiment_id
        FOREIGN KEY (experiment_id) REFERENCES experiments (id) ON DELETE SET NULL,
    CONSTRAINT fk_llm_calls_cached_from
        FOREIGN KEY (cached_from) REFERENCES llm_calls (id) ON DELETE SET NULL,
    CONSTRAINT fk_llm_calls_batch_id
        FOREIGN KEY (batch_id) REFERENCES llm_batches (id) ON DELETE RESTRICT
);
CREATE INDEX ix_llm_calls_batch_id ON llm_calls (batch_id);
CREATE INDEX ix_llm_calls_cached_from ON llm_calls (cached_from);
CREATE INDEX ix_llm_calls_experiment_id ON llm_calls (experiment_id);
CREATE INDEX ix_llm_calls_facts ON llm_calls (id)
    INCLUDE (sent_at, cost_usd, served_model, fingerprint);
CREATE INDEX ix_llm_calls_not_applied ON llm_calls (experiment_id) WHERE not_applied <> '[]';
CREATE INDEX ix_llm_calls_open ON llm_calls (status) WHERE status IN ('planned', 'sent');
CREATE INDEX ix_llm_calls_request_digest ON llm_calls (request_digest)
    WHERE request_digest IS NOT NULL;
CREATE INDEX ix_llm_calls_sent_at ON llm_calls USING brin (sent_at);

CREATE TABLE gate_changes (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    at TIMESTAMPTZ DEFAULT now() NOT NULL,
    provider TEXT NOT NULL,
    process TEXT NOT NULL,
    in_flight INTEGER NOT NULL,
    reason TEXT NOT NULL,
    CONSTRAINT pk_gate_changes PRIMARY KEY (id)
);
CREATE INDEX ix_gate_changes_provider_at ON gate_changes (provider, at);


-- Views of documents, rubrics, samples and probes

CREATE TABLE views (
    document_id BIGINT NOT NULL,
    view TEXT NOT NULL,
    status TEXT NOT NULL,
    text TEXT,
    words INTEGER,
    over_limit BOOLEAN DEFAULT false NOT NULL,
    method TEXT NOT NULL,
    failure TEXT,
    simulated BOOLEAN DEFAULT false NOT NULL,
    call_id BIGINT,
    recipe TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_views PRIMARY KEY (document_id, view, recipe),
    CONSTRAINT ck_views_view_known CHECK (view IN ('cleaned', 'neutralized', 'abstracted')),
    CONSTRAINT ck_views_status_known CHECK (status IN ('ready', 'failed')),
    CONSTRAINT ck_views_text_when_ready CHECK ((status = 'ready') = (text IS NOT NULL)),
    CONSTRAINT ck_views_failure_when_failed CHECK ((status = 'failed') = (failure IS NOT NULL)),
    CONSTRAINT fk_views_document_id
        FOREIGN KEY (document_id) REFERENCES documents (id) ON DELETE CASCADE,
    CONSTRAINT fk_views_call_id FOREIGN KEY (call_id) REFERENCES llm_calls (id) ON DELETE SET NULL
);
CREATE INDEX ix_views_call_id ON views (call_id);

CREATE TABLE rubrics (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    key TEXT NOT NULL,
    source TEXT NOT NULL,
    owner_model TEXT NOT NULL,
    owner_family TEXT NOT NULL,
    concept TEXT NOT NULL,
    country TEXT NOT NULL,
    scale_size SMALLINT NOT NULL,
    variant SMALLINT NOT NULL,
    status TEXT NOT NULL,
    stages JSONB,
    reasoning TEXT DEFAULT '' NOT NULL,
    observability DOUBLE PRECISION,
    discriminability DOUBLE PRECISION,
    critic_model TEXT,
    critic_failure TEXT,
    flagged BOOLEAN DEFAULT false NOT NULL,
    failure TEXT,
    simulated BOOLEAN DEFAULT false NOT NULL,
    call_id BIGINT,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    recipe TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_rubrics PRIMARY KEY (id),
    CONSTRAINT ck_rubrics_source_known CHECK (source IN ('generated', 'provided')),
    CONSTRAINT ck_rubrics_status_known CHECK (status IN ('ready', 'refused', 'failed')),
    CONSTRAINT ck_rubrics_scale_size_range CHECK (scale_size BETWEEN 2 AND 10),
    CONSTRAINT ck_rubrics_observability_range CHECK (observability BETWEEN 0 AND 1),
    CONSTRAINT ck_rubrics_discriminability_range CHECK (discriminability BETWEEN 0 AND 1),
    CONSTRAINT ck_rubrics_stages_fit_scale
        CHECK (status = 'failed' OR (stages IS NOT NULL
            AND jsonb_array_length(stages) = scale_size)),
    CONSTRAINT ck_rubrics_failure_unless_ready CHECK ((status = 'ready') = (failure IS NULL)),
    CONSTRAINT uq_rubrics_id_scale_size UNIQUE (id, scale_size),
    CONSTRAINT uq_rubrics_key UNIQUE (key),
    CONSTRAINT fk_rubrics_call_id FOREIGN KEY (call_id) REFERENCES llm_calls (id) ON DELETE SET NULL
);
CREATE INDEX ix_rubrics_call_id ON rubrics (call_id);
CREATE INDEX ix_rubrics_choice ON rubrics (concept, country, scale_size, owner_model);

CREATE TABLE arms (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    experiment_id BIGINT NOT NULL,
    rubric_id BIGINT NOT NULL,
    scale_size SMALLINT NOT NULL,
    arm TEXT NOT NULL,
    held_out_items BIGINT[] DEFAULT '{}' NOT NULL,
    CONSTRAINT pk_arms PRIMARY KEY (id),
    CONSTRAINT ck_arms_arm_known CHECK (arm IN ('own', 'swap', 'sham')),
    CONSTRAINT fk_arms_experiment_id_scale_size
        FOREIGN KEY (experiment_id, scale_size)
            REFERENCES experiments (id, scale_size) ON DELETE CASCADE,
    CONSTRAINT fk_arms_rubric_id_scale_size
        FOREIGN KEY (rubric_id, scale_size) REFERENCES rubrics (id, scale_size),
    CONSTRAINT uq_arms_experiment_id_arm_rubric_id UNIQUE (experiment_id, arm, rubric_id),
    CONSTRAINT uq_arms_id_scale_size UNIQUE (id, scale_size)
);
CREATE INDEX ix_arms_rubric_id ON arms (rubric_id);
CREATE UNIQUE INDEX uq_arms_one_own ON arms (experiment_id) WHERE arm = 'own';

CREATE TABLE samples (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    arm_id BIGINT NOT NULL,
    item_id BIGINT NOT NULL,
    replicate INTEGER NOT NULL,
    scale_size SMALLINT NOT NULL,
    seed BIGINT NOT NULL,
    letters TEXT NOT NULL,
    display_order SMALLINT[] NOT NULL,
    status TEXT NOT NULL,
    stages INTEGER,
    verdict_text TEXT,
    span_start INTEGER,
    span_end INTEGER,
    failure TEXT,
    simulated BOOLEAN DEFAULT false NOT NULL,
    call_id BIGINT,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    imported BOOLEAN DEFAULT false NOT NULL,
    letter_probability DOUBLE PRECISION,
    letter_probabilities JSONB,
    CONSTRAINT pk_samples PRIMARY KEY (id),
    CONSTRAINT ck_samples_status_known
        CHECK (status IN ('scored', 'abstained', 'unparseable', 'refused', 'failed')),
    CONSTRAINT fk_samples_arm_id_scale_size
        FOREIGN KEY (arm_id, scale_size) REFERENCES arms (id, scale_size) ON DELETE CASCADE,
    CONSTRAINT uq_samples_arm_id_item_id_replicate UNIQUE (arm_id, item_id, replicate),
    CONSTRAINT ck_samples_replicate_not_negative CHECK (replicate >= 0),
    CONSTRAINT ck_samples_stages_when_scored CHECK ((status = 'scored') = (stages IS NOT NULL)),
    CONSTRAINT ck_samples_stages_within_scale CHECK (stages BETWEEN 1 AND (1 << scale_size) - 1),
    CONSTRAINT ck_samples_letter_probability_range CHECK (letter_probability BETWEEN 0 AND 1),
    CONSTRAINT ck_samples_letter_probabilities_with_its_own
        CHECK ((letter_probability IS NULL) = (letter_probabilities IS NULL)),
    CONSTRAINT ck_samples_failure_when_not_judged
        CHECK ((status IN ('unparseable', 'refused', 'failed')) = (failure IS NOT NULL)),
    CONSTRAINT ck_samples_presentation_fits_scale
        CHECK (length(letters) = scale_size AND cardinality(display_order) = scale_size),
    CONSTRAINT fk_samples_item_id FOREIGN KEY (item_id) REFERENCES items (id) ON DELETE RESTRICT,
    CONSTRAINT fk_samples_call_id FOREIGN KEY (call_id) REFERENCES llm_calls (id) ON DELETE SET NULL
);
CREATE INDEX ix_samples_arm_id ON samples (arm_id);
CREATE INDEX ix_samples_call_id ON samples (call_id);
CREATE INDEX ix_samples_item_id ON samples (item_id);

CREATE TABLE probes (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    sample_id BIGINT NOT NULL,
    replicate SMALLINT NOT NULL,
    status TEXT NOT NULL,
    probability DOUBLE PRECISION,
    failure TEXT,
    simulated BOOLEAN DEFAULT false NOT NULL,
    call_id BIGINT,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    CONSTRAINT pk_probes PRIMARY KEY (id),
    CONSTRAINT ck_probes_status_known
        CHECK (status IN ('answered', 'unparseable', 'refused', 'failed')),
    CONSTRAINT uq_probes_sample_id_replicate UNIQUE (sample_id, replicate),
    CONSTRAINT ck_probes_probability_range CHECK (probability BETWEEN 0 AND 1),
    CONSTRAINT ck_probes_probability_when_answered
        CHECK ((status = 'answered') = (probability IS NOT NULL)),
    CONSTRAINT ck_probes_failure_when_missing CHECK ((status = 'answered') = (failure IS NULL)),
    CONSTRAINT fk_probes_sample_id
        FOREIGN KEY (sample_id) REFERENCES samples (id) ON DELETE CASCADE,
    CONSTRAINT fk_probes_call_id FOREIGN KEY (call_id) REFERENCES llm_calls (id) ON DELETE SET NULL
);
CREATE INDEX ix_probes_call_id ON probes (call_id);
CREATE INDEX ix_probes_second ON probes (sample_id) WHERE replicate = 1;

CREATE TABLE score_marks (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    sample_id BIGINT NOT NULL,
    critic_model TEXT NOT NULL,
    template TEXT NOT NULL,
    status TEXT NOT NULL,
    observable BOOLEAN,
    consistent BOOLEAN,
    uses_evidence BOOLEAN,
    failure TEXT,
    simulated BOOLEAN DEFAULT false NOT NULL,
    call_id BIGINT,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    CONSTRAINT pk_score_marks PRIMARY KEY (id),
    CONSTRAINT ck_score_marks_status_known
        CHECK (status IN ('marked', 'no_reasoning', 'unparseable', 'refused', 'failed')),
    CONSTRAINT uq_score_marks_sample_id_critic_model_template
        UNIQUE (sample_id, critic_model, template),
    CONSTRAINT ck_score_marks_marks_when_marked
        CHECK ((status = 'marked') = (observable IS NOT NULL
            AND consistent IS NOT NULL AND uses_evidence IS NOT NULL)),
    CONSTRAINT ck_score_marks_failure_when_not_marked
        CHECK ((status IN ('marked', 'no_reasoning')) = (failure IS NULL)),
    CONSTRAINT fk_score_marks_sample_id
        FOREIGN KEY (sample_id) REFERENCES samples (id) ON DELETE CASCADE,
    CONSTRAINT fk_score_marks_call_id
        FOREIGN KEY (call_id) REFERENCES llm_calls (id) ON DELETE SET NULL
);
CREATE INDEX ix_score_marks_call_id ON score_marks (call_id);


-- Annotations

CREATE TABLE annotation_sets (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    name TEXT NOT NULL,
    source TEXT NOT NULL,
    described JSONB NOT NULL,
    rubric_id BIGINT,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    CONSTRAINT pk_annotation_sets PRIMARY KEY (id),
    CONSTRAINT ck_annotation_sets_name_not_empty CHECK (name <> ''),
    CONSTRAINT uq_annotation_sets_name UNIQUE (name),
    CONSTRAINT fk_annotation_sets_rubric_id
        FOREIGN KEY (rubric_id) REFERENCES rubrics (id) ON DELETE CASCADE
);
CREATE INDEX ix_annotation_sets_rubric_id ON annotation_sets (rubric_id);

CREATE TABLE annotations (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    set_id BIGINT NOT NULL,
    item TEXT NOT NULL,
    item_id BIGINT,
    annotator TEXT NOT NULL,
    kind TEXT NOT NULL,
    labels JSONB NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    CONSTRAINT pk_annotations PRIMARY KEY (id),
    CONSTRAINT ck_annotations_kind_known CHECK (kind IN ('person', 'judge')),
    CONSTRAINT ck_annotations_has_label CHECK (jsonb_array_length(labels) > 0),
    CONSTRAINT ck_annotations_items_of_people CHECK ((item_id IS NULL) OR (kind = 'person')),
    CONSTRAINT uq_annotations_set_id_item_annotator_kind_item_id
        UNIQUE NULLS NOT DISTINCT (set_id, item, annotator, kind, item_id),
    CONSTRAINT fk_annotations_set_id
        FOREIGN KEY (set_id) REFERENCES annotation_sets (id) ON DELETE CASCADE,
    CONSTRAINT fk_annotations_item_id FOREIGN KEY (item_id) REFERENCES items (id) ON DELETE CASCADE
);
CREATE INDEX ix_annotations_item_id ON annotations (item_id);


-- Analyses

CREATE TABLE analysis_plans (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    sweep_id BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    content JSONB NOT NULL,
    stored_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    CONSTRAINT pk_analysis_plans PRIMARY KEY (id),
    CONSTRAINT uq_analysis_plans_sweep_id_sha256 UNIQUE (sweep_id, sha256),
    CONSTRAINT fk_analysis_plans_sweep_id
        FOREIGN KEY (sweep_id) REFERENCES sweeps (id) ON DELETE CASCADE
);

CREATE TABLE analysis_runs (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    sweep_id BIGINT NOT NULL,
    version TEXT NOT NULL,
    simulated BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    data_digest TEXT DEFAULT '' NOT NULL,
    plan_id BIGINT,
    standing TEXT DEFAULT '' NOT NULL,
    frozen TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_analysis_runs PRIMARY KEY (id),
    CONSTRAINT fk_analysis_runs_sweep_id
        FOREIGN KEY (sweep_id) REFERENCES sweeps (id) ON DELETE CASCADE,
    CONSTRAINT fk_analysis_runs_plan_id
        FOREIGN KEY (plan_id) REFERENCES analysis_plans (id) ON DELETE SET NULL
);
CREATE INDEX ix_analysis_runs_sweep_id ON analysis_runs (sweep_id);

CREATE TABLE analysis_results (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    run_id BIGINT NOT NULL,
    metric TEXT NOT NULL,
    scope JSONB NOT NULL,
    scope_key TEXT NOT NULL,
    estimate DOUBLE PRECISION,
    lower DOUBLE PRECISION,
    upper DOUBLE PRECISION,
    n INTEGER NOT NULL,
    n_items INTEGER NOT NULL,
    floor DOUBLE PRECISION,
    p DOUBLE PRECISION,
    p_adjusted DOUBLE PRECISION,
    unit TEXT NOT NULL,
    method TEXT NOT NULL,
    simulated BOOLEAN NOT NULL,
    imported BOOLEAN DEFAULT false NOT NULL,
    because TEXT NOT NULL,
    remarks JSONB DEFAULT '[]' NOT NULL,
    items_lower DOUBLE PRECISION,
    items_upper DOUBLE PRECISION,
    df DOUBLE PRECISION,
    CONSTRAINT pk_analysis_results PRIMARY KEY (id),
    CONSTRAINT uq_analysis_results_run_id_metric_scope_key UNIQUE (run_id, metric, scope_key),
    CONSTRAINT ck_analysis_results_reason_when_not_estimable
        CHECK (estimate IS NOT NULL OR because <> ''),
    CONSTRAINT ck_analysis_results_p_range CHECK (p BETWEEN 0 AND 1),
    CONSTRAINT ck_analysis_results_p_adjusted_range CHECK (p_adjusted BETWEEN 0 AND 1),
    CONSTRAINT fk_analysis_results_run_id
        FOREIGN KEY (run_id) REFERENCES analysis_runs (id) ON DELETE CASCADE
);

CREATE TABLE analysis_findings (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    run_id BIGINT NOT NULL,
    hypothesis TEXT NOT NULL,
    statement TEXT NOT NULL,
    estimand TEXT NOT NULL,
    scope JSONB NOT NULL,
    scope_key TEXT NOT NULL,
    direction TEXT NOT NULL,
    margin DOUBLE PRECISION NOT NULL,
    reference DOUBLE PRECISION NOT NULL,
    estimate DOUBLE PRECISION,
    lower DOUBLE PRECISION,
    upper DOUBLE PRECISION,
    n INTEGER NOT NULL,
    n_items INTEGER NOT NULL,
    unit TEXT NOT NULL,
    p DOUBLE PRECISION,
    p_adjusted DOUBLE PRECISION,
    conclusion TEXT NOT NULL,
    reason TEXT NOT NULL,
    confirmatory BOOLEAN NOT NULL,
    simulated BOOLEAN NOT NULL,
    imported BOOLEAN DEFAULT false NOT NULL,
    items_lower DOUBLE PRECISION,
    items_upper DOUBLE PRECISION,
    planned BOOLEAN DEFAULT false NOT NULL,
    CONSTRAINT pk_analysis_findings PRIMARY KEY (id),
    CONSTRAINT uq_analysis_findings_run_id_hypothesis_scope_key
        UNIQUE (run_id, hypothesis, scope_key),
    CONSTRAINT ck_analysis_findings_conclusion_known
        CHECK (conclusion IN ('supported', 'refuted', 'inconclusive', 'not testable here')),
    CONSTRAINT ck_analysis_findings_direction_known
        CHECK (direction IN ('above', 'below', 'within')),
    CONSTRAINT ck_analysis_findings_p_range CHECK (p BETWEEN 0 AND 1),
    CONSTRAINT ck_analysis_findings_p_adjusted_range CHECK (p_adjusted BETWEEN 0 AND 1),
    CONSTRAINT fk_analysis_findings_run_id
        FOREIGN KEY (run_id) REFERENCES analysis_runs (id) ON DELETE CASCADE
);

CREATE TABLE study_points (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    study TEXT NOT NULL,
    first_day DATE NOT NULL,
    last_day DATE NOT NULL,
    sweep_id BIGINT NOT NULL,
    run_id BIGINT NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    CONSTRAINT pk_study_points PRIMARY KEY (id),
    CONSTRAINT uq_study_points_study_first_day_last_day UNIQUE (study, first_day, last_day),
    CONSTRAINT ck_study_points_days_in_order CHECK (last_day >= first_day),
    CONSTRAINT fk_study_points_sweep_id
        FOREIGN KEY (sweep_id) REFERENCES sweeps (id) ON DELETE CASCADE,
    CONSTRAINT fk_study_points_run_id
        FOREIGN KEY (run_id) REFERENCES analysis_runs (id) ON DELETE CASCADE
);
CREATE INDEX ix_study_points_run_id ON study_points (run_id);
CREATE INDEX ix_study_points_sweep_id ON study_points (sweep_id);


-- Judges for products

CREATE TABLE judges (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    key TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    model TEXT NOT NULL,
    config JSONB NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    CONSTRAINT pk_judges PRIMARY KEY (id),
    CONSTRAINT ck_judges_kind_known
        CHECK (kind
            IN ('rubric', 'binary', 'pairwise', 'callable', 'http', 'ensemble', 'routed', 'panel')),
    CONSTRAINT uq_judges_key UNIQUE (key)
);
CREATE INDEX ix_judges_name ON judges (name);

CREATE TABLE judge_items (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    key TEXT NOT NULL,
    corpus TEXT NOT NULL,
    name TEXT NOT NULL,
    perturbation TEXT DEFAULT '' NOT NULL,
    severity DOUBLE PRECISION,
    seed BIGINT,
    text TEXT NOT NULL,
    second TEXT,
    context TEXT NOT NULL,
    simulated BOOLEAN DEFAULT false NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    perturber TEXT,
    label TEXT,
    CONSTRAINT pk_judge_items PRIMARY KEY (id),
    CONSTRAINT ck_judge_items_severity_range CHECK (severity BETWEEN 0 AND 1),
    CONSTRAINT ck_judge_items_variant_whole
        CHECK ((perturbation = '') = (severity IS NULL) AND (perturbation = '') = (seed IS NULL)),
    CONSTRAINT uq_judge_items_key UNIQUE (key)
);
CREATE INDEX ix_judge_items_corpus_name ON judge_items (corpus, name);

CREATE TABLE judge_results (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    judge_id BIGINT NOT NULL,
    item_id BIGINT NOT NULL,
    repeat INTEGER NOT NULL,
    status TEXT NOT NULL,
    score DOUBLE PRECISION,
    subscores JSONB NOT NULL,
    verdict TEXT,
    reason TEXT NOT NULL,
    failure TEXT,
    call_ids BIGINT[] NOT NULL,
    duration_s DOUBLE PRECISION,
    simulated BOOLEAN DEFAULT false NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    review_day TEXT DEFAULT '' NOT NULL,
    CONSTRAINT pk_judge_results PRIMARY KEY (id),
    CONSTRAINT ck_judge_results_status_known
        CHECK (status
            IN ('scored', 'inconsistent', 'cannot_assess', 'unparseable', 'refused', 'failed')),
    CONSTRAINT uq_judge_results_judge_id_item_id_repeat_review_day
        UNIQUE (judge_id, item_id, repeat, review_day),
    CONSTRAINT ck_judge_results_repeat_not_negative CHECK (repeat >= 0),
    CONSTRAINT ck_judge_results_score_when_scored CHECK ((status = 'scored') = (score IS NOT NULL)),
    CONSTRAINT ck_judge_results_failure_when_not_judged
        CHECK ((status IN ('unparseable', 'refused', 'failed')) = (failure IS NOT NULL)),
    CONSTRAINT ck_judge_results_score_finite CHECK (score NOT IN ('NaN', 'Infinity', '-Infinity')),
    CONSTRAINT fk_judge_results_judge_id
        FOREIGN KEY (judge_id) REFERENCES judges (id) ON DELETE CASCADE,
    CONSTRAINT fk_judge_results_item_id
        FOREIGN KEY (item_id) REFERENCES judge_items (id) ON DELETE RESTRICT
);
CREATE INDEX ix_judge_results_item_id ON judge_results (item_id);

CREATE TABLE perturbed_texts (
    key TEXT NOT NULL,
    perturbation TEXT NOT NULL,
    severity DOUBLE PRECISION NOT NULL,
    seed BIGINT NOT NULL,
    model TEXT NOT NULL,
    status TEXT NOT NULL,
    text TEXT,
    failure TEXT,
    call_ids BIGINT[] NOT NULL,
    simulated BOOLEAN DEFAULT false NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    CONSTRAINT pk_perturbed_texts PRIMARY KEY (key),
    CONSTRAINT ck_perturbed_texts_status_known
        CHECK (status IN ('changed', 'unusable', 'refused', 'failed')),
    CONSTRAINT ck_perturbed_texts_severity_range CHECK (severity > 0 AND severity <= 1),
    CONSTRAINT ck_perturbed_texts_text_when_changed
        CHECK ((status = 'changed') = (text IS NOT NULL)),
    CONSTRAINT ck_perturbed_texts_failure_when_not_changed
        CHECK ((status = 'changed') = (failure IS NULL))
);

CREATE TABLE calibration_checks (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    judge_id BIGINT NOT NULL,
    corpus TEXT NOT NULL,
    calibration TEXT NOT NULL,
    name TEXT NOT NULL,
    perturbation TEXT DEFAULT '' NOT NULL,
    question TEXT NOT NULL,
    result TEXT NOT NULL,
    reason TEXT NOT NULL,
    action TEXT NOT NULL,
    metric TEXT NOT NULL,
    estimate DOUBLE PRECISION,
    lower DOUBLE PRECISION,
    upper DOUBLE PRECISION,
    n INTEGER NOT NULL,
    n_items INTEGER NOT NULL,
    unit TEXT NOT NULL,
    method TEXT NOT NULL,
    p DOUBLE PRECISION,
    p_adjusted DOUBLE PRECISION,
    beside JSONB NOT NULL,
    simulated BOOLEAN DEFAULT false NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    CONSTRAINT pk_calibration_checks PRIMARY KEY (id),
    CONSTRAINT ck_calibration_checks_result_known
        CHECK (result IN ('passes', 'fails', 'inconclusive', 'not applicable')),
    CONSTRAINT uq_calibration_checks_judge_id_corpus_name UNIQUE (judge_id, corpus, name),
    CONSTRAINT ck_calibration_checks_p_range CHECK (p BETWEEN 0 AND 1),
    CONSTRAINT ck_calibration_checks_p_adjusted_range CHECK (p_adjusted BETWEEN 0 AND 1),
    CONSTRAINT fk_calibration_checks_judge_id
        FOREIGN KEY (judge_id) REFERENCES judges (id) ON DELETE CASCADE
);

CREATE TABLE judge_reviews (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    review TEXT NOT NULL,
    reviewed_on DATE NOT NULL,
    judge_id BIGINT NOT NULL,
    alternative_id BIGINT,
    corpus TEXT NOT NULL,
    decision TEXT NOT NULL,
    figures JSONB NOT NULL,
    recommendation TEXT NOT NULL,
    reason TEXT NOT NULL,
    simulated BOOLEAN DEFAULT false NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    CONSTRAINT pk_judge_reviews PRIMARY KEY (id),
    CONSTRAINT ck_judge_reviews_recommendation_known
        CHECK (recommendation IN ('keep', 'reconsider')),
    CONSTRAINT uq_judge_reviews_one_a_day
        UNIQUE NULLS NOT DISTINCT (review, reviewed_on, judge_id, corpus, alternative_id),
    CONSTRAINT fk_judge_reviews_judge_id
        FOREIGN KEY (judge_id) REFERENCES judges (id) ON DELETE CASCADE,
    CONSTRAINT fk_judge_reviews_alternative_id
        FOREIGN KEY (alternative_id) REFERENCES judges (id) ON DELETE CASCADE
);
CREATE INDEX ix_judge_reviews_judge_id_reviewed_on ON judge_reviews (judge_id, reviewed_on);

CREATE TABLE alignment_looks (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    alignment TEXT NOT NULL,
    before_id BIGINT NOT NULL,
    chosen_id BIGINT NOT NULL,
    test_digest TEXT NOT NULL,
    items_digest TEXT NOT NULL,
    item_keys JSONB NOT NULL,
    simulated BOOLEAN DEFAULT false NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    CONSTRAINT pk_alignment_looks PRIMARY KEY (id),
    CONSTRAINT uq_alignment_looks_once UNIQUE (before_id, chosen_id, test_digest, items_digest),
    CONSTRAINT ck_alignment_looks_item_keys_present CHECK (jsonb_array_length(item_keys) > 0),
    CONSTRAINT fk_alignment_looks_before_id
        FOREIGN KEY (before_id) REFERENCES judges (id) ON DELETE CASCADE,
    CONSTRAINT fk_alignment_looks_chosen_id
        FOREIGN KEY (chosen_id) REFERENCES judges (id) ON DELETE CASCADE
);
CREATE INDEX ix_alignment_looks_chosen_id ON alignment_looks (chosen_id);

CREATE TABLE decisions (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    judge_id BIGINT,
    decision TEXT NOT NULL,
    person TEXT NOT NULL,
    reason TEXT NOT NULL,
    details JSONB NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    CONSTRAINT pk_decisions PRIMARY KEY (id),
    CONSTRAINT ck_decisions_kind_known CHECK (kind IN ('spending', 'review')),
    CONSTRAINT ck_decisions_decision_known
        CHECK (decision IN ('approve', 'refuse', 'keep', 'reconsider')),
    CONSTRAINT ck_decisions_person_named CHECK (person <> ''),
    CONSTRAINT ck_decisions_decision_of_kind
        CHECK ((kind = 'spending') = (decision IN ('approve', 'refuse'))),
    CONSTRAINT ck_decisions_judge_of_review CHECK ((kind = 'review') = (judge_id IS NOT NULL)),
    CONSTRAINT fk_decisions_judge_id FOREIGN KEY (judge_id) REFERENCES judges (id) ON DELETE CASCADE
);
CREATE INDEX ix_decisions_judge_id ON decisions (judge_id);
CREATE INDEX ix_decisions_subject ON decisions (subject);


-- Panels

CREATE TABLE panels (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    config JSONB NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    CONSTRAINT pk_panels PRIMARY KEY (id),
    CONSTRAINT uq_panels_key UNIQUE (key)
);

CREATE TABLE panel_documents (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    key TEXT NOT NULL,
    name TEXT NOT NULL,
    title TEXT NOT NULL,
    items JSONB NOT NULL,
    shown_items INTEGER NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    CONSTRAINT pk_panel_documents PRIMARY KEY (id),
    CONSTRAINT ck_panel_documents_shown_items_range
        CHECK (shown_items BETWEEN 1 AND jsonb_array_length(items)),
    CONSTRAINT uq_panel_documents_key UNIQUE (key)
);
CREATE INDEX ix_panel_documents_name ON panel_documents (name);

CREATE TABLE panel_reviews (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    panel_id BIGINT NOT NULL,
    document_id BIGINT NOT NULL,
    rater TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    label TEXT NOT NULL,
    model TEXT NOT NULL,
    status TEXT NOT NULL,
    overall_score INTEGER,
    overall_comment TEXT,
    items JSONB,
    failure TEXT,
    tier TEXT,
    latency_ms DOUBLE PRECISION,
    call_ids BIGINT[] NOT NULL,
    simulated BOOLEAN DEFAULT false NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    CONSTRAINT pk_panel_reviews PRIMARY KEY (id),
    CONSTRAINT ck_panel_reviews_status_known CHECK (status IN ('done', 'error', 'cancelled')),
    CONSTRAINT ck_panel_reviews_tier_known CHECK (tier IN ('schema', 'json', 'text', 'judge')),
    CONSTRAINT uq_panel_reviews_panel_id_document_id_rater_attempt
        UNIQUE (panel_id, document_id, rater, attempt),
    CONSTRAINT ck_panel_reviews_attempt_not_negative CHECK (attempt >= 0),
    CONSTRAINT ck_panel_reviews_review_when_done
        CHECK ((status = 'done') = (num_nonnulls(overall_score, overall_comment, items, tier) = 4)),
    CONSTRAINT ck_panel_reviews_failure_unless_done CHECK ((status = 'done') = (failure IS NULL)),
    CONSTRAINT fk_panel_reviews_panel_id
        FOREIGN KEY (panel_id) REFERENCES panels (id) ON DELETE CASCADE,
    CONSTRAINT fk_panel_reviews_document_id
        FOREIGN KEY (document_id) REFERENCES panel_documents (id) ON DELETE RESTRICT
);
CREATE INDEX ix_panel_reviews_document_id ON panel_reviews (document_id);

CREATE TABLE panel_consensus (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    panel_id BIGINT NOT NULL,
    document_id BIGINT NOT NULL,
    attempt INTEGER NOT NULL,
    review_ids BIGINT[] NOT NULL,
    model TEXT NOT NULL,
    status TEXT NOT NULL,
    final_score INTEGER,
    raw_score INTEGER,
    rationale TEXT,
    mean DOUBLE PRECISION,
    median DOUBLE PRECISION,
    spread INTEGER,
    level TEXT,
    failure TEXT,
    tier TEXT,
    latency_ms DOUBLE PRECISION,
    call_ids BIGINT[] NOT NULL,
    simulated BOOLEAN DEFAULT false NOT NULL,
    created_at TIMESTAMPTZ DEFAULT now() NOT NULL,
    CONSTRAINT pk_panel_consensus PRIMARY KEY (id),
    CONSTRAINT ck_panel_consensus_status_known CHECK (status IN ('done', 'error', 'cancelled')),
    CONSTRAINT ck_panel_consensus_tier_known CHECK (tier IN ('schema', 'json', 'text', 'judge')),
    CONSTRAINT ck_panel_consensus_level_known CHECK (level IN ('strong', 'moderate', 'weak')),
    CONSTRAINT uq_panel_consensus_panel_id_document_id_attempt
        UNIQUE (panel_id, document_id, attempt),
    CONSTRAINT ck_panel_consensus_attempt_not_negative CHECK (attempt >= 0),
    CONSTRAINT ck_panel_consensus_verdict_when_done
        CHECK ((status = 'done') = (num_nonnulls(final_score, raw_score, rationale, tier) = 4)),
    CONSTRAINT ck_panel_consensus_failure_unless_done CHECK ((status = 'done') = (failure IS NULL)),
    CONSTRAINT ck_panel_consensus_agreement_when_done
        CHECK (status <> 'done' OR num_nonnulls(mean, median, spread, level) = 4),
    CONSTRAINT fk_panel_consensus_panel_id
        FOREIGN KEY (panel_id) REFERENCES panels (id) ON DELETE CASCADE,
    CONSTRAINT fk_panel_consensus_document_id
        FOREIGN KEY (document_id) REFERENCES panel_documents (id) ON DELETE RESTRICT
);
CREATE INDEX ix_panel_consensus_document_id ON panel_consensus (document_id);
