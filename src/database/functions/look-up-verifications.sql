-- Reads two registry rows for each question, of which one exists, and the stored response: see lookup-table.ts. `hashes` has four of
-- 32 bytes for each question. By index: see check-verifications.sql.
CREATE OR REPLACE FUNCTION look_up_verifications(
    hashes BYTEA, question_count INT, key_ids TEXT[], operations TEXT[]
  ) RETURNS TABLE (key_version BIGINT, sealed BYTEA, other_version BIGINT, other_sealed BYTEA,
    fingerprint BYTEA, answer BYTEA, lease_until BIGINT, expires_at BIGINT)
  LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan
  SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
  #variable_conflict use_column
  BEGIN
    IF key_ids IS NULL THEN
      RETURN QUERY SELECT r.key_version, r.sealed, o.key_version, o.sealed, NULL::bytea, NULL::bytea, NULL::bigint, NULL::bigint
        FROM (SELECT n,
            substring(hashes FROM (128 * n - 127)::int FOR 32) AS subject,
            substring(hashes FROM (128 * n - 95)::int FOR 32) AS reversed,
            substring(hashes FROM (128 * n - 63)::int FOR 32) AS decoy
          FROM generate_series(1, question_count) AS n) q
        LEFT JOIN LATERAL (SELECT registry.key_version, registry.sealed FROM registry
          WHERE registry.subject = q.subject LIMIT 1) r ON true
        LEFT JOIN LATERAL (SELECT registry.key_version, registry.sealed FROM registry
          WHERE registry.subject = CASE WHEN r.sealed IS NULL THEN q.decoy ELSE q.reversed END LIMIT 1) o ON true
        ORDER BY q.n;
    ELSE
      RETURN QUERY SELECT r.key_version, r.sealed, o.key_version, o.sealed, i.fingerprint, i.sealed, i.lease_until, i.expires_at
        FROM (SELECT n,
            substring(hashes FROM (128 * n - 127)::int FOR 32) AS subject,
            substring(hashes FROM (128 * n - 95)::int FOR 32) AS reversed,
            substring(hashes FROM (128 * n - 63)::int FOR 32) AS decoy,
            substring(hashes FROM (128 * n - 31)::int FOR 32) AS name
          FROM generate_series(1, question_count) AS n) q
        LEFT JOIN LATERAL (SELECT registry.key_version, registry.sealed FROM registry
          WHERE registry.subject = q.subject LIMIT 1) r ON true
        LEFT JOIN LATERAL (SELECT registry.key_version, registry.sealed FROM registry
          WHERE registry.subject = CASE WHEN r.sealed IS NULL THEN q.decoy ELSE q.reversed END LIMIT 1) o ON true
        LEFT JOIN LATERAL (SELECT s.fingerprint, s.sealed, s.lease_until, s.expires_at FROM idempotency s
          WHERE s.key_id = key_ids[q.n] AND s.operation = operations[q.n] AND s.name = q.name LIMIT 1) i ON true
        ORDER BY q.n;
    END IF;
  END $$;
