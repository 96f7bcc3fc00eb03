import type { Invariant } from './checks.ts'
import type { Defect } from './hooks.ts'

/** A defect that must be found, and the invariant that it breaks. */
export type PlantedDefect = {
  /** What is wrong, in plain words. */
  readonly says: string
  readonly breaks: Invariant
  /** The first seed that finds it, as it was measured. */
  readonly seed: number
  readonly defect: Defect
}

/** Changes of one place each, in the text that the simulation loads: the files stay as they are. */
export const DEFECTS: Readonly<Record<string, PlantedDefect>> = {
  'backup-cuts-pages': {
    says: 'a backup has the first 60 rows of each page alone',
    breaks: 'a restored backup has what was confirmed before it',
    seed: 1,
    defect: {
      file: 'src/backup/snapshot.ts',
      find: 'yield rows.map((',
      replace: 'yield rows.slice(0, 60).map((',
    },
  },
  'backup-forgets-revocations': {
    says: 'a backup has no times of revocations',
    breaks: 'a restored backup has what was confirmed before it',
    seed: 21,
    defect: {
      file: 'src/backup/snapshot.ts',
      find: '...row }) => row)',
      replace: "...row }) => ('revoked_at' in row ? { ...row, revoked_at: null } : row))",
    },
  },
  'synchronous-off': {
    says: 'SQLite does not wait for the disk',
    breaks: 'no acknowledged verification without its rows',
    seed: 11,
    defect: {
      file: 'src/database/sqlite.ts',
      find: 'PRAGMA synchronous = FULL',
      replace: 'PRAGMA synchronous = OFF',
    },
  },
  'answer-before-outcome': {
    says: 'the caller is answered before the outcome is written',
    breaks: 'no acknowledged verification without its rows',
    seed: 5,
    defect: {
      file: 'src/verification/verify.ts',
      find: 'await recordOutcome(verification, commits, claim, decision, response)',
      replace: 'recordOutcome(verification, commits, claim, decision, response).catch(() => {})',
    },
  },
  'replay-not-awaited': {
    says: 'a repeated answer is given before its audit row is written',
    breaks: 'no acknowledged verification without its rows',
    seed: 316,
    defect: {
      file: 'src/verification/replay.ts',
      find: "await endAfter(request.trace?.startStep('commit'), audit.record([entry]))",
      replace: 'audit.record([entry]).catch(() => {})',
    },
  },
  'phone-ignored': {
    says: 'a record that was found is an answer, whatever its phone',
    breaks: 'no verified answer that no vendor gave',
    seed: 1,
    defect: {
      file: 'src/verification/match.ts',
      find: 'return answer.found && matches ? {',
      replace: 'return answer.found ? {',
    },
  },
  'phone-from-request': {
    says: 'the phone of the request stands in the record before it is compared',
    breaks: 'no verified answer that no vendor gave',
    seed: 1,
    defect: {
      file: 'src/sources/open-vendor.ts',
      find: 'const phone_number = choose(first, wanted)',
      replace: 'const phone_number = wanted || choose(first, wanted)',
    },
  },
  'failure-is-not-found': {
    says: 'a source that failed counts as one that has no record',
    breaks: 'no false "not verified"',
    seed: 1,
    defect: {
      file: 'src/sources/failover.ts',
      find: 'if (seen.hasMiss && !failed && !isSkipped) return',
      replace: 'if (!isSkipped) return',
    },
  },
  'number-not-compared': {
    says: 'the number in the answer of a vendor is not read',
    breaks: 'no false "not verified"',
    seed: 47,
    defect: {
      file: 'src/sources/vendor-file/answer.ts',
      find: 'return isMissing && mayBeMissing ? question.number : number',
      replace: 'return isMissing || mayBeMissing ? question.number : number',
    },
  },
  'unreadable-phone-is-other': {
    says: 'a phone on record that cannot be read counts as another phone',
    breaks: 'no false "not verified"',
    seed: 14,
    defect: {
      file: 'src/sources/open-vendor.ts',
      find: 'const isComparable = all.length > 0 && !all.includes(UNREADABLE)',
      replace: 'const isComparable = true',
    },
  },
  'every-not-found': {
    says: 'a vendor that does not find its own service or wallet counts as one that has no record',
    breaks: 'no false "not verified"',
    seed: 218,
    defect: {
      file: 'src/sources/vendor-file/rules.ts',
      find: 'no_such_person: createPhraseMatcher(NO_SUCH_PERSON)',
      replace: 'no_such_person: (text) => /not found/i.test(text)',
    },
  },
  'one-call-too-many': {
    says: 'an Idempotency-Key may pay for one call more (`<=` for `<`)',
    breaks: 'paid calls within the budget',
    seed: 2,
    defect: {
      file: 'src/ledger/sqlite-append.ts',
      find: 'AND paid_calls - $6 < $5',
      replace: 'AND paid_calls - $6 <= $5',
    },
  },
  'calls-forgotten': {
    says: 'a failed request deletes its Idempotency-Key together with the count of paid calls',
    breaks: 'paid calls within the budget',
    seed: 2,
    defect: {
      file: 'src/ledger/sqlite-append.ts',
      find: 'AND paid_calls <= $5',
      replace: 'AND paid_calls >= $5',
    },
  },
  'timeout-refunded': {
    says: 'a call that timed out is refunded, and the vendor bills it',
    breaks: 'spend equals the ledgers of the vendors',
    seed: 10,
    defect: {
      file: 'src/sources/guard/call-guard.ts',
      find: "sent && reason !== 'refused' && reason !== 'throttled'",
      replace: "sent && reason !== 'refused' && reason !== 'throttled' && reason !== 'timeout'",
    },
  },
  'refusal-not-refunded': {
    says: 'a call that the vendor refused stays counted',
    breaks: 'spend equals the ledgers of the vendors',
    seed: 2,
    defect: {
      file: 'src/sources/guard/call-guard.ts',
      find: 'if (failure && !isPaid(failure)) spending.refund()',
      replace: 'if (failure && !failure.sent) spending.refund()',
    },
  },
  'lease-above-cap': {
    says: 'the price of a call is leased although less is left of the daily cap',
    breaks: 'spend equals the ledgers of the vendors',
    seed: 6,
    defect: {
      file: 'src/sources/spend-table.ts',
      find: 'Math.max(part, kobo), MAX_LEASED_CALLS * kobo, room)',
      replace: 'Math.max(part, kobo), MAX_LEASED_CALLS * kobo)',
    },
  },
  'claim-taken-early': {
    says: 'an Idempotency-Key is taken from a request that is still running',
    breaks: 'one outcome per Idempotency-Key',
    seed: 4,
    defect: {
      file: 'src/ledger/idempotency-table.ts',
      find: 'AND (lease_until <= ',
      replace: 'AND (lease_until >= 0 OR lease_until <= ',
    },
  },
  'answer-forgotten': {
    says: 'the answer under an Idempotency-Key is kept as long as a lease: 30 seconds',
    breaks: 'one outcome per Idempotency-Key',
    seed: 13,
    defect: {
      file: 'src/verification/idempotency.ts',
      find: 'toRequestOwner(claim)),\n      expiresAt: steadyNow() + STORED_MS,',
      replace: 'toRequestOwner(claim)),\n      expiresAt: steadyNow() + LEASE_MS,',
    },
  },
  'unbilled-calls-kept': {
    says: 'calls that were not billed stay counted for their Idempotency-Key',
    breaks: 'every Idempotency-Key is answered when all is calm',
    seed: 181,
    defect: {
      file: 'src/verification/idempotency.ts',
      find: '({ claim: id, refunded, failure: toFailure(error) })',
      replace: '({ claim: id, refunded: 0, failure: toFailure(error) })',
    },
  },
  'claim-held-for-hours': {
    says: 'the lease of an Idempotency-Key lasts hours (a thousand times too long)',
    breaks: 'every Idempotency-Key is answered when all is calm',
    seed: 5,
    defect: {
      file: 'src/verification/idempotency.ts',
      find: 'const LEASE_MS = 30_000',
      replace: 'const LEASE_MS = 30_000_000',
    },
  },
  'claim-never-taken': {
    says: 'an Idempotency-Key stays with a process that died',
    breaks: 'every Idempotency-Key is answered when all is calm',
    seed: 5,
    defect: {
      file: 'src/ledger/idempotency-table.ts',
      find: 'AND (lease_until <= ',
      replace: 'AND (lease_until <= 0 * ',
    },
  },
  'one-guess-too-many': {
    says: 'a key may guess once more (`>` for `>=`)',
    breaks: 'no more wrong guesses than the limit',
    seed: 4,
    defect: {
      file: 'src/ledger/guess-rule.ts',
      find: 'byKey >= maxByKey',
      replace: 'byKey > maxByKey',
    },
  },
  'guesses-of-one-commit': {
    says: 'guesses that share a commit do not count each other',
    breaks: 'no more wrong guesses than the limit',
    seed: 4,
    defect: {
      file: 'src/ledger/commit.ts',
      find: 'counts.addTo(guess, facts.guesses[index] as GuessFacts)',
      replace: 'facts.guesses[index] as GuessFacts',
    },
  },
  'guess-left-open': {
    says: 'a wrong guess stays under way, and the next start of the node withdraws it',
    breaks: 'no more wrong guesses than the limit',
    seed: 5,
    defect: {
      file: 'src/verification/guess-limit.ts',
      find: 'if (!guess.counted || id === undefined) return undefined',
      replace: 'if (!guess.counted || id === undefined || isFailed) return undefined',
    },
  },
  'attempt-is-outcome': {
    says: 'an attempt that failed is written as an outcome, and another one follows',
    breaks: 'every pending question and batch row ends once',
    seed: 1,
    defect: {
      file: 'src/verification/verification.ts',
      find: "phase: 'attempt', outcome,",
      replace: "phase: 'outcome', outcome,",
    },
  },
  'lease-too-long': {
    says: 'a question whose process died is due again after hours (seconds for milliseconds)',
    breaks: 'every pending question and batch row ends once',
    seed: 1,
    defect: {
      file: 'src/ledger/queue-table.ts',
      find: 'CAST($3 AS BIGINT)\n    WHERE',
      replace: 'CAST($3 AS BIGINT) * 1000\n    WHERE',
    },
  },
  'event-not-stored': {
    says: 'the event of an ended question is not stored with its end',
    breaks: 'every webhook is delivered or waiting, in order',
    seed: 1,
    defect: {
      file: 'src/ledger/queue-changes.ts',
      find: 'endings.flatMap(({ finish: { event } }) => event ?? [])',
      replace: '[]',
    },
  },
  'refusal-is-delivery': {
    says: 'an event that the receiver refused with 404 counts as delivered',
    breaks: 'every webhook is delivered or waiting, in order',
    seed: 5,
    defect: {
      file: 'src/webhooks/attempt.ts',
      find: 'status >= 200 && status < 300) return',
      replace: 'status >= 200 && status < 500) return',
    },
  },
  'event-overtakes': {
    says: 'an event does not wait for earlier ones with the same reference',
    breaks: 'every webhook is delivered or waiting, in order',
    seed: 512,
    defect: {
      file: 'src/webhooks/delivery-table.ts',
      find: 'AND p.reference = d.reference AND p.position',
      replace: 'AND p.event_id = d.event_id AND p.position',
    },
  },
  'attempt-is-told': {
    says: 'an attempt that failed is told as the end of its question, which goes on',
    breaks: 'every webhook is delivered or waiting, in order',
    seed: 1,
    defect: {
      file: 'src/verification/queue/attempt.ts',
      find: "const change: Retry = { kind: 'retry', reference, lease, delayMs, isAttempt, question }",
      replace:
        "const change: Retry = { kind: 'retry', reference, lease, delayMs, isAttempt, question }\n  await deps.store.events.append([toEvent(asked, decision.outcome)])",
    },
  },
  'batch-told-early': {
    says: 'a batch ends, and is told to have ended, while its last row is open (`> 1` for `> 0`)',
    breaks: 'every webhook is delivered or waiting, in order',
    seed: 1,
    defect: {
      file: 'src/batches/batch-groups.ts',
      find: 'if (!isOpen || countOpenRows(batch) > 0) return',
      replace: 'if (!isOpen || countOpenRows(batch) > 1) return',
    },
  },
  'head-moved-early': {
    says: 'the head of the chain moves before a commit is known to be accepted',
    breaks: 'chains verify',
    seed: 1,
    defect: {
      file: 'src/audit/chain-writer.ts',
      find: 'requireOpen()\n    if (refused.length > 0)',
      replace: 'requireOpen()\n    this.#head = rows.at(-1) ?? this.#head\n    if (refused.length > 0)',
    },
  },
  'rows-not-linked': {
    says: 'rows of one commit all follow the row before the commit',
    breaks: 'chains verify',
    seed: 1,
    defect: {
      file: 'src/audit/row.ts',
      find: 'previous = row.hash\n    return row',
      replace: 'return row',
    },
  },
  'counts-replaced': {
    says: 'the count of a commit takes the place of the counts before it',
    breaks: 'statistics equal the audit log',
    seed: 1,
    defect: {
      file: 'src/ledger/tally.ts',
      find: 'count = statistics.count + excluded.count',
      replace: 'count = excluded.count',
    },
  },
  'replay-counted': {
    says: 'a repeated answer is counted as another verification',
    breaks: 'statistics equal the audit log',
    seed: 1,
    defect: {
      file: 'src/ledger/tally.ts',
      find: "if (row.phase !== 'outcome') continue",
      replace: "if (row.phase !== 'outcome' && row.phase !== 'replay') continue",
    },
  },
  'refund-of-key-lost': {
    says: 'a call that was not billed stays counted for its API key',
    breaks: 'spend equals the ledgers of the vendors',
    seed: 1,
    defect: {
      file: 'src/verification/commits.ts',
      find: '[...this.#refunds, { ...spending, calls: -1 }]',
      replace: '[...this.#refunds, { ...spending, calls: -1, key: undefined }]',
    },
  },
  'answer-not-erased': {
    says: 'an erasure leaves the answers under Idempotency-Keys',
    breaks: 'an erased person is found nowhere',
    seed: 10,
    defect: {
      file: 'src/people/erase-rows.ts',
      find: 'SET sealed = NULL, owner',
      replace: 'SET owner',
    },
  },
  'queued-answer-not-erased': {
    says: 'an erasure leaves the answers to pending questions',
    breaks: 'an erased person is found nowhere',
    seed: 2,
    defect: {
      file: 'src/ledger/queue-counts.ts',
      find: 'const answered = await eraseAnswered(tx, subject)',
      replace: 'const answered = 0',
    },
  },
  'record-not-erased': {
    says: "an erasure leaves the operator's own record of the person",
    breaks: 'an erased person is found nowhere',
    seed: 28,
    defect: {
      file: 'src/people/erase-rows.ts',
      find: "'DELETE FROM registry WHERE subject = $1'",
      replace: "'DELETE FROM registry WHERE subject = $1 AND sealed IS NULL'",
    },
  },
  'label-not-erased': {
    says: 'an erasure leaves the word of the caller for a row of a batch',
    breaks: 'an erased person is found nowhere',
    seed: 2,
    defect: {
      file: 'src/batches/batch-feed.ts',
      find: 'UPDATE batch_rows SET label = NULL WHERE',
      replace: 'UPDATE batch_rows SET label = label WHERE',
    },
  },
  'reused-result-not-erased': {
    says: 'an erasure leaves the result that a vendor gave for reuse',
    breaks: 'an erased person is found nowhere',
    seed: 10,
    defect: {
      file: 'src/people/erase-rows.ts',
      find: 'reusedResults: await eraseReused(tx, subject.reusedResult, now),',
      replace: 'reusedResults: 0,',
    },
  },
  'revocation-ignored': {
    says: 'the time of a revocation is compared the wrong way round',
    breaks: 'a revoked key is refused',
    seed: 87,
    defect: {
      file: 'src/keys/authenticate.ts',
      find: 'row.revokedAt !== undefined || row.mode',
      replace: '(row.revokedAt ?? 0) > wallNow() || row.mode',
    },
  },
  'key-trusted-too-long': {
    says: 'a key is trusted for minutes without a look at the database, as if the database had failed',
    breaks: 'a revoked key is refused',
    seed: 87,
    defect: {
      file: 'src/keys/authenticate.ts',
      find: 'known && known.until > now()',
      replace: 'known && known.until + UNCONFIRMED_MS > now()',
    },
  },
  'number-in-error': {
    says: 'an error has the number of the person where the id of the request belongs',
    breaks: 'nothing personal is readable',
    seed: 1,
    defect: {
      file: 'src/verification/verification.ts',
      find: 'return toNotVerified(reference, request.requestId)',
      replace: 'return toNotVerified(reference, request.number)',
    },
  },
  'number-not-hashed': {
    says: 'a pending question is stored with the number instead of its keyed hash',
    breaks: 'nothing personal is readable',
    seed: 1,
    defect: {
      file: 'src/verification/queue/verify-later.ts',
      find: 'const subject = toBlindIndexText(deps.subjectKey, idType.kind, request.number)',
      replace: "const subject = Buffer.from(request.number).toString('hex')",
    },
  },
  'person-in-log': {
    says: 'the log names the person whose call opened a breaker',
    breaks: 'nothing personal is readable',
    seed: 1,
    defect: {
      file: 'src/sources/guard/call-guard.ts',
      find: 'lastProblem = failure?.problem ?? failure?.reason ?? lastProblem',
      replace: 'lastProblem = failure ? person : lastProblem',
    },
  },
  'person-in-metrics': {
    says: 'the metrics count the failures of a source by the person who was asked about',
    breaks: 'nothing personal is readable',
    seed: 2,
    defect: {
      file: 'src/sources/guard/call-guard.ts',
      find: 'record.add(outcome, ms, counts)',
      replace:
        'record.add(outcome, ms, counts)\n        if (failure) (record.failures as Map<string, number>).set(person, 1)',
    },
  },
  'person-in-trace': {
    says: 'the span of a call names the person who is asked about',
    breaks: 'nothing personal is readable',
    seed: 1,
    defect: {
      file: 'src/sources/failover.ts',
      find: 'const span = search.trace?.startAttempt(query.name, query',
      replace: 'const span = search.trace?.startAttempt(query.name + search.person, query',
    },
  },
}
