import {
  ANSWERS,
  BY_INDEX,
  COUNTED,
  FAILURES,
  GUESSES,
  IS_FREE,
  IS_OVER,
  KNOWN,
  NEW_PEOPLE,
  RECORD,
  STORE_ANSWERS,
  STORED,
} from './0018-index-plans.ts'

/**
 * Stored responses are inserted without looking for their Idempotency-Keys first: almost always they are new, and the unique
 * index finds those that are not. Only then each is looked at, and replaced or refused. Otherwise the function is that of
 * migration 18.
 */
const CHECK_VERIFICATIONS = `CREATE OR REPLACE FUNCTION check_verifications(
    now_at BIGINT, since BIGINT, today BIGINT, most_by_key BIGINT, most_by_all BIGINT,
    subjects BYTEA, key_ids TEXT[], wrong BOOL[], quotas BIGINT[], before_all INT[], before_key INT[],
    hashes BYTEA, answer_keys TEXT[], operations TEXT[], owners TEXT[], starts INT[], sizes INT[], expiries BIGINT[],
    holds BOOL[], sealed BYTEA
  ) RETURNS JSONB LANGUAGE plpgsql ${BY_INDEX} AS $$
  #variable_conflict use_column
  DECLARE
    new_people BYTEA[];
    new_keys TEXT[];
    new_quotas BIGINT[];
    can_store BOOL[];
    is_stored BOOL := false;
    is_refused BOOL := false;
    answer_count INT := COALESCE(array_length(answer_keys, 1), 0);
    written INT;
  BEGIN
    PERFORM set_config('synchronous_commit', 'on', true);
    IF array_length(key_ids, 1) > 0 THEN
      PERFORM pg_advisory_xact_lock(lock) FROM (
        SELECT DISTINCT hashtextextended('attempts:' || encode(g.subject, 'hex'), 0) AS lock FROM ${GUESSES} ORDER BY 1) locks;
      SELECT bool_or(f.by_all + g.before_all >= most_by_all OR f.by_key + g.before_key >= most_by_key),
          array_agg(g.subject) FILTER (WHERE k.is_known IS NULL), array_agg(g.key_id) FILTER (WHERE k.is_known IS NULL),
          array_agg(g.quota) FILTER (WHERE k.is_known IS NULL)
        INTO is_refused, new_people, new_keys, new_quotas FROM ${GUESSES} ${FAILURES} ${KNOWN};
    END IF;
    IF new_people IS NOT NULL THEN
      PERFORM pg_advisory_xact_lock(lock) FROM (
        SELECT DISTINCT hashtextextended('subjects:' || g.key_id, 0) AS lock FROM ${NEW_PEOPLE} ORDER BY 1) locks;
      is_refused := is_refused OR EXISTS (SELECT 1 FROM (
          SELECT g.key_id, MIN(g.quota) AS quota, COUNT(DISTINCT g.subject) AS added FROM ${NEW_PEOPLE} GROUP BY g.key_id) g
        ${COUNTED} WHERE COALESCE(d.subjects, 0) + g.added > g.quota);
    END IF;
    IF answer_count > 0 AND NOT is_refused
        AND NOT EXISTS (SELECT 1 FROM ${ANSWERS} ${RECORD} WHERE a.holds_record AND r.exists IS NULL) THEN
      BEGIN
        ${STORE_ANSWERS};
        is_stored := true;
      EXCEPTION WHEN unique_violation THEN
        is_stored := false;
      END;
    END IF;
    IF answer_count > 0 AND NOT is_stored THEN
      SELECT array_agg(i.is_replaceable IS NOT false AND (NOT a.holds_record OR r.exists IS NOT NULL) ORDER BY a.n)
        INTO can_store FROM ${ANSWERS} ${STORED} ${RECORD};
    END IF;
    IF is_refused OR false = ANY(can_store) THEN
      RETURN jsonb_build_object('answers', COALESCE(to_jsonb(can_store), '[]'), 'guesses', (
        SELECT COALESCE(jsonb_agg(jsonb_build_object('byAll', f.by_all, 'byKey', f.by_key, 'isKnown', k.is_known IS NOT NULL,
          'people', COALESCE(d.subjects, 0)) ORDER BY g.n), '[]') FROM ${GUESSES} ${FAILURES} ${KNOWN} ${COUNTED}));
    END IF;
    IF new_people IS NOT NULL THEN
      INSERT INTO key_subjects (key_id, day, subject) SELECT DISTINCT g.key_id, today, g.subject FROM ${NEW_PEOPLE};
      INSERT INTO key_days (key_id, day, subjects)
        SELECT g.key_id, today, COUNT(DISTINCT g.subject) FROM ${NEW_PEOPLE} GROUP BY g.key_id
        ON CONFLICT (key_id, day) DO UPDATE SET subjects = key_days.subjects + excluded.subjects;
    END IF;
    IF true = ANY(wrong) THEN
      INSERT INTO attempts (subject, key_id, at) SELECT g.subject, g.key_id, now_at FROM ${GUESSES} WHERE g.is_wrong;
    END IF;
    IF answer_count > 0 AND NOT is_stored THEN
      ${STORE_ANSWERS}
        ON CONFLICT (key_id, operation, name) DO UPDATE SET fingerprint = excluded.fingerprint, subject = excluded.subject,
          owner = excluded.owner, lease_until = 0, expires_at = excluded.expires_at, sealed = excluded.sealed
        WHERE ${IS_OVER} OR ${IS_FREE.replaceAll('a.', 'excluded.')};
      GET DIAGNOSTICS written = ROW_COUNT;
      IF written <> answer_count THEN
        RAISE EXCEPTION 'another response was stored at the same time' USING ERRCODE = 'TB409';
      END IF;
    END IF;
    RETURN NULL;
  END $$`

export const storeAtOnce = { id: 21, sql: [], postgres: [CHECK_VERIFICATIONS] } as const
