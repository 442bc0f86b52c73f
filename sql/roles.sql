-- Two roles to grant to people and programs. `judge-gym database roles` runs this file; psql can run it too.
-- Run it as the user that owns judge-gym's tables, with CREATEROLE; repeat it as needed.
--
--   GRANT judge_gym_reader TO analyst_login;    reads the views of schema analysis, nothing else
--   GRANT judge_gym_writer TO pipeline_login;   runs experiments; cannot change the schema
--
-- Nobody can log in as these roles, and they have no password.
--
-- PostgreSQL lets every login take locks, make large objects, sleep and write to its log. A superuser
-- revokes that from PUBLIC; if another user runs this file, `judge-gym database roles` prints what the
-- reader can still do. NOTIFY, and a login's own password, cannot be revoked.

DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['judge_gym_reader', 'judge_gym_writer'] LOOP
        -- Roles belong to the whole cluster: another database may have created them, even just now.
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
    -- The database of `judge-gym up` for Prefect's records.
    IF EXISTS (
        SELECT FROM pg_database
        WHERE datname = current_database() || '_prefect'
            AND pg_has_role(current_user, datdba, 'USAGE')
    ) THEN
        EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database() || '_prefect');
    END IF;
END
$$;

DO $$
DECLARE
    -- The owner migrates, and locks its work with advisory locks like the writer.
    keepers text := format('judge_gym_writer, %I', (
        SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'public.alembic_version'::regclass
    ));
    routine regprocedure;
BEGIN
    IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) THEN
        RETURN;
    END IF;
    FOR routine IN
        SELECT oid FROM pg_proc
        WHERE pronamespace = 'pg_catalog'::regnamespace
            AND proname ~ '^(pg_(try_)?advisory_|lo_|loread$|lowrite$|pg_sleep|pg_notify$)'
            OR proname IN ('pg_export_snapshot', 'pg_logical_emit_message')
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', routine);
        IF routine::text ~ 'advisory' THEN
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', routine, keepers);
        END IF;
    END LOOP;
    REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC;
    EXECUTE format('GRANT USAGE ON LANGUAGE plpgsql TO %s', keepers);
END
$$;

REVOKE ALL ON SCHEMA public, analysis FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA public, analysis FROM PUBLIC;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA public, analysis FROM PUBLIC;

-- Views read their tables with the rights of their owner, so readers need no rights on tables.
GRANT USAGE ON SCHEMA analysis TO judge_gym_reader, judge_gym_writer;
GRANT SELECT ON ALL TABLES IN SCHEMA analysis TO judge_gym_reader, judge_gym_writer;
ALTER DEFAULT PRIVILEGES IN SCHEMA analysis
    GRANT SELECT ON TABLES TO judge_gym_reader, judge_gym_writer;

GRANT USAGE ON SCHEMA public TO judge_gym_writer;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO judge_gym_writer;
REVOKE INSERT, UPDATE, DELETE ON alembic_version FROM judge_gym_writer;
ALTER DEFAULT PRIVILEGES IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO judge_gym_writer;
