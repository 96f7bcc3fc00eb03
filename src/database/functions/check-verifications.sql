-- Only nodes of 0.3.0 call it, while a cluster is upgraded: see commit-verifications.sql.
-- Asserts the guess limit, the quota of people per day and the uniqueness of stored responses for a batch of verifications that ask
-- no source outside the process, and writes what they count: see ledger/postgres-append.ts. NULL when all passed. Otherwise nothing is
-- written, and it returns the facts by which the caller decides which ones are refused.
--
-- Locks are taken in one order: people, then API keys, then Idempotency-Keys, each sorted. Most people have no failures, so that
-- one probe of the index answers for them. Every table is read by its index: PostgreSQL plans a statement once per connection,
-- when the tables may still be empty, and LIMIT 1 keeps it from turning a probe into a join of whole tables.
CREATE OR REPLACE FUNCTION check_verifications(
    now_at BIGINT, since BIGINT, today BIGINT, most_by_key BIGINT, most_by_all BIGINT,
    guesses checked_guess[], answers checked_answer[]
  ) RETURNS JSONB LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan
  SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
  #variable_conflict use_column
  DECLARE
    new_people BYTEA[];
    new_keys TEXT[];
    new_quotas BIGINT[];
    counted_keys TEXT[];
    counts BIGINT[];
    quotas BIGINT[];
    can_store BOOL[];
    is_stored BOOL := false;
    is_refused BOOL := false;
    has_failures BOOL := false;
    has_wrong BOOL := false;
    answer_count INT := COALESCE(array_length(answers, 1), 0);
    written INT;
  BEGIN
    IF guesses IS NOT NULL THEN
      PERFORM pg_advisory_xact_lock(lock) FROM (
        SELECT hashtextextended('attempts:' || encode(g.subject, 'hex'), 0) AS lock
        FROM unnest(guesses) WITH ORDINALITY AS g(subject, key_id, is_wrong, quota, before_all, before_key, n) ORDER BY 1) locks;
      SELECT bool_or(t.has_failed OR g.before_all >= most_by_all OR g.before_key >= most_by_key), bool_or(g.is_wrong),
          array_agg(g.subject) FILTER (WHERE k.is_known IS NULL AND g.quota IS NOT NULL),
          array_agg(g.key_id) FILTER (WHERE k.is_known IS NULL AND g.quota IS NOT NULL),
          array_agg(g.quota) FILTER (WHERE k.is_known IS NULL AND g.quota IS NOT NULL)
        INTO has_failures, has_wrong, new_people, new_keys, new_quotas
        FROM unnest(guesses) WITH ORDINALITY AS g(subject, key_id, is_wrong, quota, before_all, before_key, n)
        LEFT JOIN LATERAL (SELECT true AS has_failed FROM attempts t
          WHERE t.subject = g.subject AND t.at > since LIMIT 1) t ON true
        LEFT JOIN LATERAL (SELECT true AS is_known FROM key_subjects k
          WHERE k.key_id = g.key_id AND k.day = today AND k.subject = g.subject LIMIT 1) k ON true;
    END IF;
    IF has_failures THEN
      SELECT bool_or(f.by_all + g.before_all >= most_by_all OR f.by_key + g.before_key >= most_by_key)
        INTO is_refused
        FROM unnest(guesses) WITH ORDINALITY AS g(subject, key_id, is_wrong, quota, before_all, before_key, n)
        CROSS JOIN LATERAL (SELECT COUNT(*) AS by_all, COUNT(*) FILTER (WHERE t.key_id = g.key_id) AS by_key
          FROM attempts t WHERE t.subject = g.subject AND t.at > since) f;
    END IF;
    IF new_people IS NOT NULL THEN
      SELECT array_agg(n.key_id), array_agg(n.added), array_agg(n.quota) INTO counted_keys, counts, quotas FROM (
        SELECT g.key_id, COUNT(*) AS added, MIN(g.quota) AS quota FROM unnest(new_keys, new_quotas) AS g(key_id, quota)
        GROUP BY g.key_id) n;
      PERFORM pg_advisory_xact_lock(lock) FROM (
        SELECT hashtextextended('subjects:' || key_id, 0) AS lock FROM unnest(counted_keys) AS key_id ORDER BY 1) locks;
      is_refused := is_refused OR EXISTS (SELECT 1 FROM unnest(counted_keys, counts, quotas) AS g(key_id, added, quota)
        LEFT JOIN LATERAL (SELECT d.subjects FROM key_days d
          WHERE d.key_id = g.key_id AND d.day = today LIMIT 1) d ON true
        WHERE COALESCE(d.subjects, 0) + g.added > g.quota);
    END IF;
    IF answer_count > 0 AND NOT is_refused THEN
      BEGIN
        INSERT INTO idempotency AS i
        (key_id, operation, name, fingerprint, subject, owner, lease_until, expires_at, sealed)
        SELECT a.key_id, a.operation, a.name, a.fingerprint, a.subject, a.owner, 0, a.expires_at, a.sealed
        FROM unnest(answers) WITH ORDINALITY
          AS a(key_id, operation, name, fingerprint, subject, owner, expires_at, sealed, record, n)
        LEFT JOIN LATERAL (SELECT true AS exists FROM registry WHERE registry.subject = a.record LIMIT 1) r ON true
        WHERE (a.record IS NULL OR r.exists IS NOT NULL) ORDER BY a.name;
        GET DIAGNOSTICS written = ROW_COUNT;
        IF written <> answer_count THEN
          RAISE EXCEPTION 'a record was erased' USING ERRCODE = 'TB410';
        END IF;
        is_stored := true;
      EXCEPTION WHEN unique_violation OR SQLSTATE 'TB410' THEN
        is_stored := false;
      END;
    END IF;
    IF answer_count > 0 AND NOT is_stored THEN
      SELECT array_agg(i.is_replaceable IS NOT false AND (a.record IS NULL OR r.exists IS NOT NULL) ORDER BY a.n)
        INTO can_store
        FROM unnest(answers) WITH ORDINALITY
          AS a(key_id, operation, name, fingerprint, subject, owner, expires_at, sealed, record, n)
        LEFT JOIN LATERAL (
          SELECT i.expires_at <= now_at AND (i.sealed IS NOT NULL OR i.lease_until <= now_at)
            OR i.sealed IS NULL AND i.lease_until <= now_at AND i.fingerprint = a.fingerprint AS is_replaceable
          FROM idempotency i WHERE i.key_id = a.key_id AND i.operation = a.operation AND i.name = a.name LIMIT 1) i ON true
        LEFT JOIN LATERAL (SELECT true AS exists FROM registry WHERE registry.subject = a.record LIMIT 1) r ON true;
    END IF;
    IF is_refused OR false = ANY(can_store) THEN
      RETURN jsonb_build_object('answers', COALESCE(to_jsonb(can_store), '[]'), 'guesses', (
        SELECT COALESCE(jsonb_agg(jsonb_build_object('byAll', f.by_all, 'byKey', f.by_key, 'isKnown', k.is_known IS NOT NULL,
          'people', COALESCE(d.subjects, 0)) ORDER BY g.n), '[]')
        FROM unnest(guesses) WITH ORDINALITY AS g(subject, key_id, is_wrong, quota, before_all, before_key, n)
        CROSS JOIN LATERAL (SELECT COUNT(*) AS by_all, COUNT(*) FILTER (WHERE t.key_id = g.key_id) AS by_key
          FROM attempts t WHERE t.subject = g.subject AND t.at > since) f
        LEFT JOIN LATERAL (SELECT true AS is_known FROM key_subjects k
          WHERE k.key_id = g.key_id AND k.day = today AND k.subject = g.subject LIMIT 1) k ON true
        LEFT JOIN LATERAL (SELECT d.subjects FROM key_days d
          WHERE d.key_id = g.key_id AND d.day = today LIMIT 1) d ON true));
    END IF;
    IF new_people IS NOT NULL THEN
      INSERT INTO key_subjects (key_id, day, subject)
        SELECT g.key_id, today, g.subject FROM unnest(new_keys, new_people) AS g(key_id, subject);
      INSERT INTO key_days (key_id, day, subjects)
        SELECT g.key_id, today, g.added FROM unnest(counted_keys, counts) AS g(key_id, added)
        ON CONFLICT (key_id, day) DO UPDATE SET subjects = key_days.subjects + excluded.subjects;
    END IF;
    IF has_wrong THEN
      INSERT INTO attempts (subject, key_id, at) SELECT g.subject, g.key_id, now_at
        FROM unnest(guesses) WITH ORDINALITY AS g(subject, key_id, is_wrong, quota, before_all, before_key, n) WHERE g.is_wrong;
    END IF;
    IF answer_count > 0 AND NOT is_stored THEN
      INSERT INTO idempotency AS i
        (key_id, operation, name, fingerprint, subject, owner, lease_until, expires_at, sealed)
        SELECT a.key_id, a.operation, a.name, a.fingerprint, a.subject, a.owner, 0, a.expires_at, a.sealed
        FROM unnest(answers) WITH ORDINALITY
          AS a(key_id, operation, name, fingerprint, subject, owner, expires_at, sealed, record, n) ORDER BY a.name
        ON CONFLICT (key_id, operation, name) DO UPDATE SET fingerprint = excluded.fingerprint, subject = excluded.subject,
          owner = excluded.owner, lease_until = 0, expires_at = excluded.expires_at, sealed = excluded.sealed
        WHERE i.expires_at <= now_at AND (i.sealed IS NOT NULL OR i.lease_until <= now_at)
          OR i.sealed IS NULL AND i.lease_until <= now_at AND i.fingerprint = excluded.fingerprint;
      GET DIAGNOSTICS written = ROW_COUNT;
      IF written <> answer_count THEN
        RAISE EXCEPTION 'another response was stored at the same time' USING ERRCODE = 'TB409';
      END IF;
    END IF;
    RETURN NULL;
  END $$;
