-- Two roles to grant to people and programs; `judge-gym database roles` runs this file, and so may
-- psql. By the user that owns judge-gym's tables, who needs CREATEROLE; again at will.
--
--   GRANT judge_gym_reader TO analyst_login;    reads the views of schema analysis, nothing else
--   GRANT judge_gym_writer TO pipeline_login;   runs experiments; cannot change the schema
--
-- Nobody can log in as these roles, and they have no password.

DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['judge_gym_reader', 'judge_gym_writer'] LOOP
        -- Roles belong to the whole cluster: another database may have made them, even just now.
        BEGIN
            IF to_regrole(role) IS NULL THEN
                EXECUTE format('CREATE ROLE %I NOLOGIN', role);
            END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
    END LOOP;
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format(
        'GRANT CONNECT ON DATABASE %I TO judge_gym_reader, judge_gym_writer', current_database()
    );
    -- The import of a bundle stages its rows in temporary tables.
    EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO judge_gym_writer', current_database());
END
$$;

REVOKE ALL ON SCHEMA public, analysis FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA public, analysis FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA public, analysis FROM PUBLIC;

-- Views read their tables with the rights of their owner, so readers need none on tables.
GRANT USAGE ON SCHEMA analysis TO judge_gym_reader, judge_gym_writer;
GRANT SELECT ON ALL TABLES IN SCHEMA analysis TO judge_gym_reader, judge_gym_writer;
ALTER DEFAULT PRIVILEGES IN SCHEMA analysis
    GRANT SELECT ON TABLES TO judge_gym_reader, judge_gym_writer;

GRANT USAGE ON SCHEMA public TO judge_gym_writer;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO judge_gym_writer;
REVOKE INSERT, UPDATE, DELETE ON alembic_version FROM judge_gym_writer;
ALTER DEFAULT PRIVILEGES IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO judge_gym_writer;
