import { BY_INDEX, COUNTED, FAILURES, IS_FREE, IS_OVER, KNOWN, RECORD, STORED } from './0018-index-plans.ts'

/**
 * PostgreSQL receives the audit rows and the checks of a batch as arrays of records in binary: see postgres-records.ts. The
 * function of migration 21 stays for nodes of earlier versions, and this one has the same result, in fewer steps:
 * - It looks for the registry record of a response in the statement that stores the response, not in one of its own.
 * - Failures are counted only if there is one. Most people have none, so that one probe of the index answers for them.
 * - People are distinct when they arrive: `quota` is null where an earlier guess of the batch has the same person and key. The
 *   new ones of each key are counted once, for the lock, the quota and the count of the day.
 *
 * The people of a key have one index instead of two, which finds them by the keyed hash, and old days by their beginning. It may
 * have been created beforehand, without blocking anything: see docs/upgrading.md.
 */
const TYPES = [
  `CREATE TYPE audit_entry AS (chain TEXT, sequence TEXT, time TEXT, phase TEXT, request_reference TEXT, key_id TEXT, mode TEXT,
    operation TEXT, subject TEXT, outcome TEXT, sources TEXT, amount TEXT, consent_reference TEXT, fields_released TEXT,
    detail TEXT, started_at TEXT, format SMALLINT, previous_hash BYTEA, hash BYTEA)`,
  `CREATE TYPE checked_guess AS (subject BYTEA, key_id TEXT, is_wrong BOOL, quota BIGINT, before_all INT, before_key INT)`,
  `CREATE TYPE checked_answer AS (key_id TEXT, operation TEXT, name BYTEA, fingerprint BYTEA, subject BYTEA, owner TEXT,
    expires_at BIGINT, sealed BYTEA, record BYTEA)`,
] as const

const INDEX = [
  // Before anything else: a node of an earlier version that has read the table, and then adds a person, would be a deadlock.
  'LOCK TABLE key_subjects IN ACCESS EXCLUSIVE MODE',
  'CREATE UNIQUE INDEX IF NOT EXISTS key_subjects_day_first ON key_subjects (day, subject, key_id)',
  `ALTER TABLE key_subjects DROP CONSTRAINT key_subjects_pkey,
    ADD CONSTRAINT key_subjects_pkey PRIMARY KEY USING INDEX key_subjects_day_first`,
  'DROP INDEX key_subjects_day',
] as const

const GUESSES = `unnest(guesses) WITH ORDINALITY
  AS g(subject, key_id, is_wrong, quota, before_all, before_key, n)`
const ANSWERS = `unnest(answers) WITH ORDINALITY
  AS a(key_id, operation, name, fingerprint, subject, owner, expires_at, sealed, record, n)`
const FAILED = `LEFT JOIN LATERAL (SELECT true AS has_failed FROM attempts t
    WHERE t.subject = g.subject AND t.at > since LIMIT 1) t ON true`
const ARE_NEW = 'FILTER (WHERE k.is_known IS NULL AND g.quota IS NOT NULL)'
const HAS_RECORD = '(a.record IS NULL OR r.exists IS NOT NULL)'

/** A unique violation if another node stores one at the same moment. */
const toStore = (from: string) => `INSERT INTO idempotency AS i
        (key_id, operation, name, fingerprint, subject, owner, lease_until, expires_at, sealed)
        SELECT a.key_id, a.operation, a.name, a.fingerprint, a.subject, a.owner, 0, a.expires_at, a.sealed
        FROM ${from} ORDER BY a.name`

const CHECK_VERIFICATIONS = `CREATE FUNCTION check_verifications(
    now_at BIGINT, since BIGINT, today BIGINT, most_by_key BIGINT, most_by_all BIGINT,
    guesses checked_guess[], answers checked_answer[]
  ) RETURNS JSONB LANGUAGE plpgsql ${BY_INDEX} AS $$
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
        SELECT hashtextextended('attempts:' || encode(g.subject, 'hex'), 0) AS lock FROM ${GUESSES} ORDER BY 1) locks;
      SELECT bool_or(t.has_failed OR g.before_all >= most_by_all OR g.before_key >= most_by_key), bool_or(g.is_wrong),
          array_agg(g.subject) ${ARE_NEW}, array_agg(g.key_id) ${ARE_NEW}, array_agg(g.quota) ${ARE_NEW}
        INTO has_failures, has_wrong, new_people, new_keys, new_quotas FROM ${GUESSES} ${FAILED} ${KNOWN};
    END IF;
    IF has_failures THEN
      SELECT bool_or(f.by_all + g.before_all >= most_by_all OR f.by_key + g.before_key >= most_by_key)
        INTO is_refused FROM ${GUESSES} ${FAILURES};
    END IF;
    IF new_people IS NOT NULL THEN
      SELECT array_agg(n.key_id), array_agg(n.added), array_agg(n.quota) INTO counted_keys, counts, quotas FROM (
        SELECT g.key_id, COUNT(*) AS added, MIN(g.quota) AS quota FROM unnest(new_keys, new_quotas) AS g(key_id, quota)
        GROUP BY g.key_id) n;
      PERFORM pg_advisory_xact_lock(lock) FROM (
        SELECT hashtextextended('subjects:' || key_id, 0) AS lock FROM unnest(counted_keys) AS key_id ORDER BY 1) locks;
      is_refused := is_refused OR EXISTS (SELECT 1 FROM unnest(counted_keys, counts, quotas) AS g(key_id, added, quota)
        ${COUNTED} WHERE COALESCE(d.subjects, 0) + g.added > g.quota);
    END IF;
    IF answer_count > 0 AND NOT is_refused THEN
      BEGIN
        ${toStore(`${ANSWERS} ${RECORD} WHERE ${HAS_RECORD}`)};
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
      SELECT array_agg(i.is_replaceable IS NOT false AND ${HAS_RECORD} ORDER BY a.n)
        INTO can_store FROM ${ANSWERS} ${STORED} ${RECORD};
    END IF;
    IF is_refused OR false = ANY(can_store) THEN
      RETURN jsonb_build_object('answers', COALESCE(to_jsonb(can_store), '[]'), 'guesses', (
        SELECT COALESCE(jsonb_agg(jsonb_build_object('byAll', f.by_all, 'byKey', f.by_key, 'isKnown', k.is_known IS NOT NULL,
          'people', COALESCE(d.subjects, 0)) ORDER BY g.n), '[]') FROM ${GUESSES} ${FAILURES} ${KNOWN} ${COUNTED}));
    END IF;
    IF new_people IS NOT NULL THEN
      INSERT INTO key_subjects (key_id, day, subject)
        SELECT g.key_id, today, g.subject FROM unnest(new_keys, new_people) AS g(key_id, subject);
      INSERT INTO key_days (key_id, day, subjects)
        SELECT g.key_id, today, g.added FROM unnest(counted_keys, counts) AS g(key_id, added)
        ON CONFLICT (key_id, day) DO UPDATE SET subjects = key_days.subjects + excluded.subjects;
    END IF;
    IF has_wrong THEN
      INSERT INTO attempts (subject, key_id, at) SELECT g.subject, g.key_id, now_at FROM ${GUESSES} WHERE g.is_wrong;
    END IF;
    IF answer_count > 0 AND NOT is_stored THEN
      ${toStore(ANSWERS)}
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

export const records = { id: 53, sql: [], postgres: [...INDEX, ...TYPES, CHECK_VERIFICATIONS] } as const
