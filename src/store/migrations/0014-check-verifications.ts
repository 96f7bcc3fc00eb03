/**
 * One statement for a batch of verifications that ask no source outside the process: see postgres-checks.ts. It asserts the
 * guess limit, the quota of people per day and the uniqueness of stored responses, and writes what they count. NULL when all
 * passed. Otherwise nothing is written, and it returns the facts by which the caller decides which ones are refused.
 *
 * Locks are taken in one order: people, then API keys, then Idempotency-Keys, each sorted.
 */
const PERSON = 'substring(subjects FROM (32 * n - 31)::int FOR 32)'
const GUESSES = `(SELECT g.*, ${PERSON} AS subject FROM
  unnest(key_ids, wrong, quotas, before_all, before_key) WITH ORDINALITY
    AS g(key_id, is_wrong, quota, before_all, before_key, n)) g`
const cut = (part: number) => `substring(hashes FROM (128 * n - ${127 - 32 * part})::int FOR 32)`
const ANSWERS = `(SELECT a.*, ${cut(0)} AS name, ${cut(1)} AS fingerprint, ${cut(2)} AS subject, ${cut(3)} AS record,
    substring(sealed FROM a.start FOR a.size) AS sealed FROM
  unnest(answer_keys, operations, owners, starts, sizes, expiries, holds) WITH ORDINALITY
    AS a(key_id, operation, owner, start, size, expires_at, holds_record, n)) a`
const FAILURES = `CROSS JOIN LATERAL (
    SELECT COUNT(*) AS by_all, COUNT(*) FILTER (WHERE t.key_id = g.key_id) AS by_key
    FROM attempts t WHERE t.subject = g.subject AND t.at > since) f`
const IS_KNOWN = `EXISTS (SELECT 1 FROM key_subjects k WHERE k.key_id = g.key_id AND k.day = today AND k.subject = g.subject)`
const IS_OVER = 'i.expires_at <= now_at AND (i.sealed IS NOT NULL OR i.lease_until <= now_at)'
const IS_FREE = `i.sealed IS NULL AND i.lease_until <= now_at AND i.fingerprint = a.fingerprint`

export const checkVerifications = {
  id: 14,
  sql: [],
  postgres: [
    `CREATE FUNCTION check_verifications(
       now_at BIGINT, since BIGINT, today BIGINT, most_by_key BIGINT, most_by_all BIGINT,
       subjects BYTEA, key_ids TEXT[], wrong BOOL[], quotas BIGINT[], before_all INT[], before_key INT[],
       hashes BYTEA, answer_keys TEXT[], operations TEXT[], owners TEXT[], starts INT[], sizes INT[], expiries BIGINT[],
       holds BOOL[], sealed BYTEA
     ) RETURNS JSONB LANGUAGE plpgsql AS $$
     #variable_conflict use_column
     DECLARE
       new_people BIGINT[];
       can_store BOOL[];
       is_refused BOOL := false;
       answer_count INT := COALESCE(array_length(answer_keys, 1), 0);
       written INT;
     BEGIN
       PERFORM set_config('synchronous_commit', 'on', true);
       IF array_length(key_ids, 1) > 0 THEN
         PERFORM pg_advisory_xact_lock(lock) FROM (
           SELECT DISTINCT hashtextextended('attempts:' || encode(g.subject, 'hex'), 0) AS lock FROM ${GUESSES} ORDER BY 1) locks;
         SELECT array_agg(g.n) INTO new_people FROM ${GUESSES} WHERE NOT ${IS_KNOWN};
         PERFORM pg_advisory_xact_lock(lock) FROM (
           SELECT DISTINCT hashtextextended('subjects:' || g.key_id, 0) AS lock FROM ${GUESSES}
           WHERE g.n = ANY(new_people) ORDER BY 1) locks;
         is_refused := EXISTS (SELECT 1 FROM ${GUESSES} ${FAILURES}
             WHERE f.by_all + g.before_all >= most_by_all OR f.by_key + g.before_key >= most_by_key)
           OR EXISTS (SELECT 1 FROM (
               SELECT g.key_id, MIN(g.quota) AS quota, COUNT(DISTINCT g.subject) AS added FROM ${GUESSES}
               WHERE g.n = ANY(new_people) GROUP BY g.key_id) p
             LEFT JOIN key_days d ON d.key_id = p.key_id AND d.day = today
             WHERE COALESCE(d.subjects, 0) + p.added > p.quota);
       END IF;
       IF answer_count > 0 THEN
         SELECT array_agg(
             NOT EXISTS (SELECT 1 FROM idempotency i WHERE i.key_id = a.key_id AND i.operation = a.operation AND i.name = a.name
               AND NOT (${IS_OVER}) AND NOT (${IS_FREE}))
             AND (NOT a.holds_record OR EXISTS (SELECT 1 FROM registry r WHERE r.subject = a.record)) ORDER BY a.n)
           INTO can_store FROM ${ANSWERS};
       END IF;
       IF is_refused OR false = ANY(can_store) THEN
         RETURN jsonb_build_object('answers', COALESCE(to_jsonb(can_store), '[]'), 'guesses', (
           SELECT COALESCE(jsonb_agg(jsonb_build_object('byAll', f.by_all, 'byKey', f.by_key, 'isKnown', ${IS_KNOWN},
             'people', COALESCE((SELECT d.subjects FROM key_days d WHERE d.key_id = g.key_id AND d.day = today), 0)) ORDER BY g.n), '[]')
           FROM ${GUESSES} ${FAILURES}));
       END IF;
       IF new_people IS NOT NULL THEN
         INSERT INTO key_subjects (key_id, day, subject)
           SELECT DISTINCT g.key_id, today, g.subject FROM ${GUESSES} WHERE g.n = ANY(new_people);
         INSERT INTO key_days (key_id, day, subjects)
           SELECT g.key_id, today, COUNT(DISTINCT g.subject) FROM ${GUESSES} WHERE g.n = ANY(new_people) GROUP BY g.key_id
           ON CONFLICT (key_id, day) DO UPDATE SET subjects = key_days.subjects + excluded.subjects;
       END IF;
       IF true = ANY(wrong) THEN
         INSERT INTO attempts (subject, key_id, at) SELECT g.subject, g.key_id, now_at FROM ${GUESSES} WHERE g.is_wrong;
       END IF;
       IF answer_count > 0 THEN
         INSERT INTO idempotency AS i (key_id, operation, name, fingerprint, subject, owner, lease_until, expires_at, sealed)
           SELECT a.key_id, a.operation, a.name, a.fingerprint, a.subject, a.owner, 0, a.expires_at, a.sealed
           FROM ${ANSWERS} ORDER BY a.name
           ON CONFLICT (key_id, operation, name) DO UPDATE SET fingerprint = excluded.fingerprint, subject = excluded.subject,
             owner = excluded.owner, lease_until = 0, expires_at = excluded.expires_at, sealed = excluded.sealed
           WHERE ${IS_OVER} OR ${IS_FREE.replaceAll('a.', 'excluded.')};
         GET DIAGNOSTICS written = ROW_COUNT;
         IF written <> answer_count THEN
           RAISE EXCEPTION 'another response was stored at the same time' USING ERRCODE = 'TB409';
         END IF;
       END IF;
       RETURN NULL;
     END $$`,
  ],
} as const
