-- Only nodes of 0.3.0 call it, while a cluster is upgraded: see commit-verifications.sql.
-- The guess limit in one round trip instead of thirteen, because requests of one key wait for each other here. Its commit does not
-- wait for the disk: the commit of the audit row before the response does, and makes all earlier commits durable as well.
CREATE OR REPLACE FUNCTION admit_guess(
    guessed BYTEA, by_key TEXT, guess TEXT, now_at BIGINT, since BIGINT, most_by_key BIGINT, most_by_all BIGINT,
    today BIGINT, most_subjects BIGINT
  ) RETURNS TEXT LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
  SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
  DECLARE
    failures_by_all BIGINT;
    failures_by_key BIGINT;
    known_subjects BIGINT;
  BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM pg_advisory_xact_lock(hashtextextended('attempts:' || encode(guessed, 'hex'), 0));
    SELECT COUNT(*), COUNT(*) FILTER (WHERE attempts.key_id = by_key) INTO failures_by_all, failures_by_key
      FROM attempts WHERE attempts.subject = guessed AND attempts.at > since;
    IF failures_by_key >= most_by_key OR failures_by_all >= most_by_all THEN
      RETURN 'too_many_attempts';
    END IF;
    IF NOT EXISTS (SELECT 1 FROM key_subjects k WHERE k.key_id = by_key AND k.day = today AND k.subject = guessed) THEN
      PERFORM pg_advisory_xact_lock(hashtextextended('subjects:' || by_key, 0));
      IF NOT EXISTS (SELECT 1 FROM key_subjects k WHERE k.key_id = by_key AND k.day = today AND k.subject = guessed) THEN
        SELECT d.subjects INTO known_subjects FROM key_days d WHERE d.key_id = by_key AND d.day = today;
        IF COALESCE(known_subjects, 0) >= most_subjects THEN
          RETURN 'quota_exceeded';
        END IF;
        INSERT INTO key_subjects (key_id, day, subject) VALUES (by_key, today, guessed);
        INSERT INTO key_days (key_id, day, subjects) VALUES (by_key, today, 1)
          ON CONFLICT (key_id, day) DO UPDATE SET subjects = key_days.subjects + 1;
      END IF;
    END IF;
    INSERT INTO attempts (subject, key_id, at, id) VALUES (guessed, by_key, now_at, guess);
    RETURN 'admitted';
  END $$;
