-- Everything that verifications write beside their audit rows, for all that share a commit: see ledger/commit.ts. First it asserts
-- the guess limit, the quota of people per day, that Idempotency-Keys are free, that a payer has paid calls left and that the node has
-- leased the money it spends. NULL when all passed and was written. When one is refused, nothing is written, and `refused` has the facts by
-- which the caller decides which ones. `late` has the positions of responses whose claim another request has taken.
--
-- Locks are taken in one order: people, then API keys, then Idempotency-Keys, each sorted, then the node's own rows (of sources, then of
-- API keys), then results for reuse, sorted. Most people have no failures, so that one probe of the index answers for them. Every table is
-- read by its index: PostgreSQL plans a statement once per connection, when the tables may still be empty, and LIMIT 1 keeps it from
-- turning a probe into a join of whole tables.
CREATE OR REPLACE FUNCTION commit_verifications(
    now_at BIGINT, since BIGINT, today BIGINT, max_by_key BIGINT, max_by_all BIGINT,
    guesses commit_guess[], answers checked_answer[], claims commit_claim[], payments commit_payment[], money JSONB,
    ends commit_end[], releases commit_release[], settled commit_settled[], kept commit_kept[]
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
    is_free BOOL[];
    can_pay BOOL[];
    has_money BOOL[];
    late BIGINT[];
    is_refused BOOL := false;
    has_failures BOOL := false;
    has_wrong BOOL := false;
    answer_count INT := COALESCE(array_length(answers, 1), 0);
    claim_count INT := COALESCE(array_length(claims, 1), 0);
    payment_count INT := COALESCE(array_length(payments, 1), 0);
    share_count INT := COALESCE(jsonb_array_length(money->'shares'), 0);
    written INT;
    more INT;
  BEGIN
    IF guesses IS NOT NULL THEN
      PERFORM pg_advisory_xact_lock(lock) FROM (
        SELECT hashtextextended('attempts:' || encode(g.subject, 'hex'), 0) AS lock
        FROM unnest(guesses) WITH ORDINALITY AS g(subject, key_id, is_wrong, quota, before_all, before_key, id, n) ORDER BY 1) locks;
      SELECT bool_or(t.has_failed OR g.before_all >= max_by_all OR g.before_key >= max_by_key), bool_or(g.is_wrong),
          array_agg(g.subject) FILTER (WHERE k.is_known IS NULL AND g.quota IS NOT NULL),
          array_agg(g.key_id) FILTER (WHERE k.is_known IS NULL AND g.quota IS NOT NULL),
          array_agg(g.quota) FILTER (WHERE k.is_known IS NULL AND g.quota IS NOT NULL)
        INTO has_failures, has_wrong, new_people, new_keys, new_quotas
        FROM unnest(guesses) WITH ORDINALITY AS g(subject, key_id, is_wrong, quota, before_all, before_key, id, n)
        LEFT JOIN LATERAL (SELECT true AS has_failed FROM attempts t
          WHERE t.subject = g.subject AND t.at > since LIMIT 1) t ON true
        LEFT JOIN LATERAL (SELECT true AS is_known FROM key_subjects k
          WHERE k.key_id = g.key_id AND k.day = today AND k.subject = g.subject LIMIT 1) k ON true;
    END IF;
    IF has_failures THEN
      SELECT bool_or(f.by_all + g.before_all >= max_by_all OR f.by_key + g.before_key >= max_by_key)
        INTO is_refused
        FROM unnest(guesses) WITH ORDINALITY AS g(subject, key_id, is_wrong, quota, before_all, before_key, id, n)
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
    -- What another process may have taken is written first, and undone as a whole if one of it was taken. The second time, stored
    -- responses that have expired are replaced.
    FOR try IN 1..2 LOOP
      EXIT WHEN answer_count + claim_count + payment_count + share_count = 0;
      BEGIN
        -- Limits refuse one: the others are looked at all the same, because a stored response comes before a limit.
        IF is_refused THEN
          RAISE EXCEPTION 'refused' USING ERRCODE = 'TB410';
        END IF;
        IF answer_count > 0 AND try = 1 THEN
          INSERT INTO idempotency (key_id, operation, name, fingerprint, subject, owner, lease_until, expires_at, sealed)
            SELECT a.key_id, a.operation, a.name, a.fingerprint, a.subject, a.owner, 0, a.expires_at, a.sealed
            FROM unnest(answers) WITH ORDINALITY
              AS a(key_id, operation, name, fingerprint, subject, owner, expires_at, sealed, record, n)
            LEFT JOIN LATERAL (SELECT true AS exists FROM registry WHERE registry.subject = a.record LIMIT 1) r ON true
            WHERE (a.record IS NULL OR r.exists IS NOT NULL) ORDER BY a.name, a.key_id, a.operation;
        ELSIF answer_count > 0 THEN
          INSERT INTO idempotency AS i (key_id, operation, name, fingerprint, subject, owner, lease_until, expires_at, sealed)
            SELECT a.key_id, a.operation, a.name, a.fingerprint, a.subject, a.owner, 0, a.expires_at, a.sealed
            FROM unnest(answers) WITH ORDINALITY
              AS a(key_id, operation, name, fingerprint, subject, owner, expires_at, sealed, record, n)
            ORDER BY a.name, a.key_id, a.operation
            ON CONFLICT (key_id, operation, name) DO UPDATE SET fingerprint = excluded.fingerprint, subject = excluded.subject,
              owner = excluded.owner, lease_until = 0, expires_at = excluded.expires_at, sealed = excluded.sealed
            WHERE i.expires_at <= now_at AND (i.sealed IS NOT NULL OR i.lease_until <= now_at)
              OR i.sealed IS NULL AND i.lease_until <= now_at AND i.fingerprint = excluded.fingerprint;
        END IF;
        GET DIAGNOSTICS written = ROW_COUNT;
        IF answer_count > 0 AND written <> answer_count THEN
          RAISE EXCEPTION 'a response cannot be stored' USING ERRCODE = 'TB410';
        END IF;
        IF claim_count > 0 THEN
          INSERT INTO idempotency
            (key_id, operation, name, fingerprint, subject, owner, lease_until, expires_at, paid_calls)
            SELECT c.key_id, c.operation, c.name, c.fingerprint, c.subject, c.owner, shared_clock(now_at) + c.lease_ms, c.expires_at,
              c.paid_calls
            FROM unnest(claims) AS c ORDER BY c.name, c.key_id, c.operation;
        END IF;
        IF payment_count > 0 THEN
          UPDATE idempotency i SET paid_calls = i.paid_calls + 1 - p.refunded, expires_at = GREATEST(i.expires_at, p.expires_at)
            FROM unnest(payments) AS p
            WHERE i.key_id = p.key_id AND i.operation = p.operation AND i.name = p.name AND i.owner = p.owner
              AND i.sealed IS NULL AND i.paid_calls - p.refunded < p.max_calls;
          GET DIAGNOSTICS written = ROW_COUNT;
          UPDATE queued_verifications q SET paid_calls = q.paid_calls + 1 - p.refunded
            FROM unnest(payments) AS p
            WHERE p.key_id IS NULL AND q.reference = p.operation AND q.lease = p.owner AND q.due_at IS NOT NULL
              AND q.paid_calls - p.refunded < p.max_calls;
          GET DIAGNOSTICS more = ROW_COUNT;
          IF written + more <> payment_count THEN
            RAISE EXCEPTION 'a payer has no paid calls left' USING ERRCODE = 'TB410';
          END IF;
        END IF;
        IF share_count > 0 THEN
          UPDATE spend_shares s SET calls = s.calls + (given.share->>2)::bigint, kobo = s.kobo + (given.share->>3)::bigint
            FROM jsonb_array_elements(money->'shares') AS given(share)
            WHERE s.name = given.share->>0 AND s.day = (given.share->>1)::bigint AND s.node = given.share->>5
              AND ((given.share->>3)::bigint <= 0 OR NOT (given.share->>4)::bool
                OR s.kobo + (given.share->>3)::bigint <= s.leased_kobo);
          GET DIAGNOSTICS written = ROW_COUNT;
          IF written <> share_count THEN
            RAISE EXCEPTION 'the lease of the money was taken back' USING ERRCODE = 'TB410';
          END IF;
        END IF;
        EXIT;
      EXCEPTION WHEN unique_violation OR SQLSTATE 'TB410' THEN
        IF try = 2 THEN
          RAISE EXCEPTION 'another commit changed the same rows at the same time' USING ERRCODE = 'TB409';
        END IF;
      END;
      SELECT array_agg(i.is_replaceable IS NOT false AND (a.record IS NULL OR r.exists IS NOT NULL) ORDER BY a.n)
        INTO can_store
        FROM unnest(answers) WITH ORDINALITY
          AS a(key_id, operation, name, fingerprint, subject, owner, expires_at, sealed, record, n)
        LEFT JOIN LATERAL (
          SELECT i.expires_at <= now_at AND (i.sealed IS NOT NULL OR i.lease_until <= now_at)
            OR i.sealed IS NULL AND i.lease_until <= now_at AND i.fingerprint = a.fingerprint AS is_replaceable
          FROM idempotency i WHERE i.key_id = a.key_id AND i.operation = a.operation AND i.name = a.name LIMIT 1) i ON true
        LEFT JOIN LATERAL (SELECT true AS exists FROM registry WHERE registry.subject = a.record LIMIT 1) r ON true;
      -- Of several claims of one key, the first one is free.
      SELECT array_agg(i.taken IS NULL AND c.nth = 1 ORDER BY c.n) INTO is_free
        FROM (SELECT key_id, operation, name, n, row_number() OVER (PARTITION BY key_id, operation, name ORDER BY n) AS nth
          FROM unnest(claims) WITH ORDINALITY
            AS given(key_id, operation, name, fingerprint, subject, owner, lease_ms, expires_at, paid_calls, n)) c
        LEFT JOIN LATERAL (SELECT true AS taken FROM idempotency i
          WHERE i.key_id = c.key_id AND i.operation = c.operation AND i.name = c.name LIMIT 1) i ON true;
      SELECT array_agg(i.can IS NOT NULL OR q.can IS NOT NULL ORDER BY p.n) INTO can_pay
        FROM unnest(payments) WITH ORDINALITY AS p(key_id, operation, name, owner, max_calls, expires_at, refunded, n)
        LEFT JOIN LATERAL (SELECT true AS can FROM idempotency i
          WHERE i.key_id = p.key_id AND i.operation = p.operation AND i.name = p.name AND i.owner = p.owner
            AND i.sealed IS NULL AND i.paid_calls - p.refunded < p.max_calls LIMIT 1) i ON true
        LEFT JOIN LATERAL (SELECT true AS can FROM queued_verifications q
          WHERE p.key_id IS NULL AND q.reference = p.operation AND q.lease = p.owner AND q.due_at IS NOT NULL
            AND q.paid_calls - p.refunded < p.max_calls LIMIT 1) q ON true;
      SELECT array_agg(s.can IS NOT NULL ORDER BY given.n) INTO has_money
        FROM jsonb_array_elements(money->'shares') WITH ORDINALITY AS given(share, n)
        LEFT JOIN LATERAL (SELECT true AS can FROM spend_shares s
          WHERE s.name = given.share->>0 AND s.day = (given.share->>1)::bigint AND s.node = given.share->>5
            AND ((given.share->>3)::bigint <= 0 OR NOT (given.share->>4)::bool
              OR s.kobo + (given.share->>3)::bigint <= s.leased_kobo) LIMIT 1) s ON true;
      is_refused := is_refused OR COALESCE(false = ANY(can_store), false) OR COALESCE(false = ANY(is_free), false)
        OR COALESCE(false = ANY(can_pay), false) OR COALESCE(false = ANY(has_money), false);
      EXIT WHEN is_refused;
    END LOOP;
    IF is_refused THEN
      RETURN jsonb_build_object('refused', jsonb_build_object(
        'answers', COALESCE(to_jsonb(can_store), '[]'), 'claims', COALESCE(to_jsonb(is_free), '[]'),
        'payments', COALESCE(to_jsonb(can_pay), '[]'), 'shares', COALESCE(to_jsonb(has_money), '[]'), 'guesses', (
        SELECT COALESCE(jsonb_agg(jsonb_build_object('byAll', f.by_all, 'byKey', f.by_key, 'isKnown', k.is_known IS NOT NULL,
          'people', COALESCE(d.subjects, 0)) ORDER BY g.n), '[]')
        FROM unnest(guesses) WITH ORDINALITY AS g(subject, key_id, is_wrong, quota, before_all, before_key, id, n)
        CROSS JOIN LATERAL (SELECT COUNT(*) AS by_all, COUNT(*) FILTER (WHERE t.key_id = g.key_id) AS by_key
          FROM attempts t WHERE t.subject = g.subject AND t.at > since) f
        LEFT JOIN LATERAL (SELECT true AS is_known FROM key_subjects k
          WHERE k.key_id = g.key_id AND k.day = today AND k.subject = g.subject LIMIT 1) k ON true
        LEFT JOIN LATERAL (SELECT d.subjects FROM key_days d
          WHERE d.key_id = g.key_id AND d.day = today LIMIT 1) d ON true)));
    END IF;
    IF new_people IS NOT NULL THEN
      INSERT INTO key_subjects (key_id, day, subject)
        SELECT g.key_id, today, g.subject FROM unnest(new_keys, new_people) AS g(key_id, subject);
      INSERT INTO key_days (key_id, day, subjects)
        SELECT g.key_id, today, g.added FROM unnest(counted_keys, counts) AS g(key_id, added)
        ON CONFLICT (key_id, day) DO UPDATE SET subjects = key_days.subjects + excluded.subjects;
    END IF;
    IF has_wrong THEN
      INSERT INTO attempts (subject, key_id, at, id) SELECT g.subject, g.key_id, now_at, g.id
        FROM unnest(guesses) AS g WHERE g.is_wrong;
    END IF;
    IF settled IS NOT NULL THEN
      DELETE FROM attempts t USING unnest(settled) AS s WHERE NOT s.is_failed AND t.subject = s.subject AND t.id = s.id;
      UPDATE attempts t SET id = NULL FROM unnest(settled) AS s WHERE s.is_failed AND t.subject = s.subject AND t.id = s.id;
    END IF;
    IF money IS NOT NULL THEN
      UPDATE spend_shares s SET calls = s.calls + (given.share->>2)::bigint, kobo = s.kobo + (given.share->>3)::bigint
        FROM jsonb_array_elements(money->'refunds') AS given(share)
        WHERE s.name = given.share->>0 AND s.day = (given.share->>1)::bigint AND s.node = given.share->>5;
      INSERT INTO key_spend_shares (month, key_id, name, node, calls, kobo)
        SELECT k->>0, k->>1, k->>2, k->>5, (k->>3)::bigint, (k->>4)::bigint FROM jsonb_array_elements(money->'keys') AS k
        ON CONFLICT (month, key_id, name, node) DO UPDATE SET
          calls = key_spend_shares.calls + excluded.calls, kobo = key_spend_shares.kobo + excluded.kobo;
    END IF;
    IF releases IS NOT NULL THEN
      DELETE FROM idempotency i USING unnest(releases) AS r
        WHERE i.key_id = r.key_id AND i.operation = r.operation AND i.name = r.name AND i.owner = r.owner
          AND i.sealed IS NULL AND i.paid_calls <= r.refunded;
      UPDATE idempotency i SET lease_until = 0, paid_calls = i.paid_calls - r.refunded, last_failure = COALESCE(r.failure, i.last_failure)
        FROM unnest(releases) AS r
        WHERE i.key_id = r.key_id AND i.operation = r.operation AND i.name = r.name AND i.owner = r.owner AND i.sealed IS NULL;
    END IF;
    IF ends IS NOT NULL THEN
      UPDATE idempotency i SET sealed = e.sealed, expires_at = e.expires_at, subject = COALESCE(e.subject, i.subject)
        FROM unnest(ends) AS e
        WHERE i.key_id = e.key_id AND i.operation = e.operation AND i.name = e.name AND i.owner = e.owner;
      GET DIAGNOSTICS written = ROW_COUNT;
      IF written <> array_length(ends, 1) THEN
        SELECT array_agg(e.n - 1 ORDER BY e.n) INTO late
          FROM unnest(ends) WITH ORDINALITY AS e(key_id, operation, name, owner, sealed, expires_at, subject, n)
          LEFT JOIN LATERAL (SELECT true AS held FROM idempotency i
            WHERE i.key_id = e.key_id AND i.operation = e.operation AND i.name = e.name AND i.owner = e.owner LIMIT 1) i ON true
          WHERE i.held IS NULL;
      END IF;
    END IF;
    IF kept IS NOT NULL THEN
      INSERT INTO reused_results AS r (subject, sealed, expires_at) SELECT k.subject, k.sealed, k.expires_at FROM unnest(kept) AS k
        ORDER BY k.subject
        ON CONFLICT (subject) DO UPDATE SET sealed = excluded.sealed, expires_at = excluded.expires_at
        WHERE length(r.sealed) > 0 OR r.expires_at <= now_at;
    END IF;
    RETURN CASE WHEN late IS NULL THEN NULL ELSE jsonb_build_object('late', to_jsonb(late)) END;
  END $$;
