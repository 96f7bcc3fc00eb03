/**
 * The statements of a verification as functions that read every table by its index. PostgreSQL plans a statement once per
 * connection, when the tables may still be empty. It then joined by reading whole tables, and went on doing so while they
 * grew, until they were analysed: a verification cost more with every person that its key had asked about that day.
 *
 * `check_verifications` asserts the guess limit, the quota of people per day and the uniqueness of stored responses for a
 * batch, and writes what they count: see postgres-checks.ts. It replaces the function of migration 14, with the same
 * parameters. NULL when all passed. Otherwise nothing is written, and it returns the facts by which the caller decides which
 * ones are refused. Locks are taken in one order: people, then API keys, then Idempotency-Keys, each sorted.
 *
 * `look_up_verifications` reads two registry rows for each question, of which one exists, and the stored response: see
 * lookup-batches.ts.
 */
export const BY_INDEX = [
  'SET plan_cache_mode = force_generic_plan',
  ...['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin'].map((plan) => `SET enable_${plan} = off`),
].join(' ')

const PERSON = 'substring(subjects FROM (32 * n - 31)::int FOR 32)'
export const GUESSES = `(SELECT g.*, ${PERSON} AS subject FROM
  unnest(key_ids, wrong, quotas, before_all, before_key) WITH ORDINALITY
    AS g(key_id, is_wrong, quota, before_all, before_key, n)) g`
export const NEW_PEOPLE = 'unnest(new_people, new_keys, new_quotas) AS g(subject, key_id, quota)'
const cut = (part: number) => `substring(hashes FROM (128 * n - ${127 - 32 * part})::int FOR 32)`
export const ANSWERS = `(SELECT a.*, ${cut(0)} AS name, ${cut(1)} AS fingerprint, ${cut(2)} AS subject, ${cut(3)} AS record,
    substring(sealed FROM a.start FOR a.size) AS sealed FROM
  unnest(answer_keys, operations, owners, starts, sizes, expiries, holds) WITH ORDINALITY
    AS a(key_id, operation, owner, start, size, expires_at, holds_record, n)) a`

/** LIMIT 1 keeps the planner from turning a probe of an index into a join of whole tables. */
export const FAILURES = `CROSS JOIN LATERAL (
    SELECT COUNT(*) AS by_all, COUNT(*) FILTER (WHERE t.key_id = g.key_id) AS by_key
    FROM attempts t WHERE t.subject = g.subject AND t.at > since) f`
export const KNOWN = `LEFT JOIN LATERAL (SELECT true AS is_known FROM key_subjects k
    WHERE k.key_id = g.key_id AND k.day = today AND k.subject = g.subject LIMIT 1) k ON true`
export const COUNTED = `LEFT JOIN LATERAL (SELECT d.subjects FROM key_days d
    WHERE d.key_id = g.key_id AND d.day = today LIMIT 1) d ON true`
export const IS_OVER = 'i.expires_at <= now_at AND (i.sealed IS NOT NULL OR i.lease_until <= now_at)'
export const IS_FREE = 'i.sealed IS NULL AND i.lease_until <= now_at AND i.fingerprint = a.fingerprint'
export const STORED = `LEFT JOIN LATERAL (SELECT ${IS_OVER} OR ${IS_FREE} AS is_replaceable FROM idempotency i
    WHERE i.key_id = a.key_id AND i.operation = a.operation AND i.name = a.name LIMIT 1) i ON true`
export const RECORD = `LEFT JOIN LATERAL (SELECT true AS exists FROM registry WHERE registry.subject = a.record LIMIT 1) r ON true`
/** A unique violation if another node stores one at the same moment. */
export const STORE_ANSWERS = `INSERT INTO idempotency AS i
        (key_id, operation, name, fingerprint, subject, owner, lease_until, expires_at, sealed)
        SELECT a.key_id, a.operation, a.name, a.fingerprint, a.subject, a.owner, 0, a.expires_at, a.sealed
        FROM ${ANSWERS} ORDER BY a.name`

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
    replaces BOOL := false;
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
    IF answer_count > 0 THEN
      SELECT array_agg(i.is_replaceable IS NOT false AND (NOT a.holds_record OR r.exists IS NOT NULL) ORDER BY a.n),
          COALESCE(bool_or(i.is_replaceable), false)
        INTO can_store, replaces FROM ${ANSWERS} ${STORED} ${RECORD};
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
    IF answer_count > 0 AND NOT replaces THEN
      ${STORE_ANSWERS};
    ELSIF answer_count > 0 THEN
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

const findRow = (subject: string) =>
  `LEFT JOIN LATERAL (SELECT registry.key_version, registry.sealed FROM registry WHERE registry.subject = ${subject} LIMIT 1)`
const QUESTIONS = `SELECT n, ${cut(0)} AS subject, ${cut(1)} AS reversed, ${cut(2)} AS decoy, ${cut(3)} AS name
  FROM generate_series(1, question_count) AS n`
const ROWS = `${findRow('q.subject')} r ON true
  ${findRow('CASE WHEN r.sealed IS NULL THEN q.decoy ELSE q.reversed END')} o ON true`

const LOOK_UP_VERIFICATIONS = `CREATE FUNCTION look_up_verifications(
    hashes BYTEA, question_count INT, key_ids TEXT[], operations TEXT[]
  ) RETURNS TABLE (key_version BIGINT, sealed BYTEA, other_version BIGINT, other_sealed BYTEA,
    fingerprint BYTEA, answer BYTEA, lease_until BIGINT, expires_at BIGINT) LANGUAGE plpgsql STABLE ${BY_INDEX} AS $$
  #variable_conflict use_column
  BEGIN
    IF key_ids IS NULL THEN
      RETURN QUERY SELECT r.key_version, r.sealed, o.key_version, o.sealed, NULL::bytea, NULL::bytea, NULL::bigint, NULL::bigint
        FROM (${QUESTIONS}) q ${ROWS} ORDER BY q.n;
    ELSE
      RETURN QUERY SELECT r.key_version, r.sealed, o.key_version, o.sealed, i.fingerprint, i.sealed, i.lease_until, i.expires_at
        FROM (${QUESTIONS}) q ${ROWS}
        LEFT JOIN LATERAL (SELECT s.fingerprint, s.sealed, s.lease_until, s.expires_at FROM idempotency s
          WHERE s.key_id = key_ids[q.n] AND s.operation = operations[q.n] AND s.name = q.name LIMIT 1) i ON true
        ORDER BY q.n;
    END IF;
  END $$`

/** The guess limit of verifications that ask a source outside the process: see migration 6. */
const ADMIT_GUESS = `ALTER FUNCTION admit_guess(BYTEA, TEXT, TEXT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT, BIGINT) ${BY_INDEX}`

export const indexPlans = {
  id: 18,
  sql: [],
  postgres: [CHECK_VERIFICATIONS, LOOK_UP_VERIFICATIONS, ADMIT_GUESS],
} as const
