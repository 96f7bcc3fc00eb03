import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import { DAY_MS, MINUTE_MS } from '../../src/contract/time.ts'
import { type CommitParts, packParts } from '../../src/ledger/commit.ts'
import { POSTGRES, SQLITE } from '../engines.ts'
import { hasPostgres } from '../postgres.ts'
import { admitGuess } from './commit-parts.ts'

const NOW = 1_790_000_000_000

/**
 * Rules that both databases compute, each in its own way. Both are given the same random cases, and every answer is compared. Keys,
 * people and references of a case are new, so that the cases of a run do not meet.
 */
describe.skipIf(!hasPostgres())('SQLite and PostgreSQL answer alike', () => {
  let stores: readonly Store[] = []
  beforeAll(async () => {
    const open = async (engine: typeof SQLITE) => (await engine.createPlace()).open()
    stores = [await open(SQLITE), await open(POSTGRES)]
  })
  afterAll(async () => {
    for (const store of stores) await store.close()
  })

  /** Runs the steps of a case on both, one after another, and compares the answers. */
  const compare = async <Step>(
    steps: readonly Step[],
    run: (store: Store, step: Step, index: number) => Promise<unknown>,
  ) => {
    const answers = stores.map(() => [] as unknown[])
    for (const [index, step] of steps.entries())
      for (const [place, store] of stores.entries()) answers[place]?.push(await run(store, step, index))
    expect(answers[1]).toEqual(answers[0])
  }
  const check = <Case>(cases: fc.Arbitrary<Case>, run: (one: Case, id: string) => Promise<void>) =>
    fc.assert(
      fc.asyncProperty(cases, (one) => run(one, randomUUID())),
      { numRuns: 120 },
    )

  const person = fc.nat(3)
  const key = fc.nat(2)
  /** Low, so that a few guesses reach them, also those of one commit. */
  const limits = fc.record({
    maxByKey: fc.integer({ min: 1, max: 3 }),
    maxByAll: fc.integer({ min: 1, max: 5 }),
  })
  const steps = <Step>(step: fc.Arbitrary<Step>, most = 14) =>
    fc.array(step, { minLength: 1, maxLength: most })

  it('about guesses, the guess limit and the quota of a key', async () => {
    const guess = fc.record({
      does: fc.constantFrom('admit', 'admit', 'admit', 'check', 'withdraw', 'confirm', 'unlock'),
      person,
      key,
      /** Of the guess that a withdrawal or a confirmation is about. */
      guess: fc.nat(13),
      laterMs: fc.constantFrom(0, 1, DAY_MS - 1, DAY_MS, DAY_MS + 1),
      maxPeople: fc.nat(3),
    })
    await check(fc.record({ limits, steps: steps(guess) }), async ({ limits, steps }, id) => {
      await compare(steps, async (store, step, index) => {
        const { guesses } = store
        const at = NOW + step.laterMs
        const subject = toBytes(id, step.person)
        const asked = {
          ...limits,
          subject,
          keyId: `${id}-${step.key}`,
          at,
          since: at - DAY_MS,
          day: Math.floor(at / DAY_MS),
          maxPeople: step.maxPeople,
        }
        const about = `${id}/${step.guess}`
        const actions = {
          admit: () => admitGuess(store, { ...asked, id: `${id}/${index}` }),
          check: () => guesses.check(asked),
          withdraw: () => guesses.withdraw(subject, about),
          confirm: () => guesses.confirm(subject, about),
          unlock: () => guesses.unlock(subject),
        }
        return actions[step.does]()
      })
    })
  })

  it('about the checks of a commit, and which verifications they refuse', async () => {
    const verification = fc.record({
      person,
      key,
      isWrong: fc.boolean(),
      isLive: fc.boolean(),
      /** Undefined: without an Idempotency-Key. */
      name: fc.option(fc.nat(3), { nil: undefined }),
      fingerprint: fc.nat(1),
      /** The record of the registry does not exist. */
      isErased: fc.integer({ min: 0, max: 9 }).map((chance) => chance === 0),
      expiresInMs: fc.constantFrom(-1, 1000, DAY_MS),
    })
    const commit = fc.record({
      verifications: steps(verification, 6),
      laterMs: fc.constantFrom(0, 2000, DAY_MS),
    })
    const cases = fc.record({ commits: steps(commit, 8), maxPeople: fc.integer({ min: 1, max: 4 }), limits })
    await check(cases, async ({ commits, maxPeople, limits }, id) => {
      await compare(commits, async ({ audit }, { verifications, laterMs }) => {
        const at = NOW + laterMs
        const checks = verifications.map((each, index) =>
          toCheck(id, at, maxPeople, each, verifications.slice(0, index)),
        )
        const packed = packParts(checks, at)
        const parts = packed && { ...packed, ...limits }
        const { refused } = await audit.append({ rows: audit.packRows([]), parts })
        return refused.toSorted(([one], [other]) => one - other)
      })
    })
  })

  it('about claims and leases of the queue', async () => {
    const step = fc.record({
      does: fc.constantFrom('enqueue', 'enqueue', 'claim', 'claim', 'release', 'find', 'claimExpired'),
      row: fc.nat(7),
      key,
      lease: fc.nat(1),
      each: fc.integer({ min: 1, max: 3 }),
      /** Far from the present, so that the clocks of the databases do not matter. */
      delayMs: fc.constantFrom(-MINUTE_MS, MINUTE_MS),
      lifeMs: fc.constantFrom(-MINUTE_MS, DAY_MS),
      leaseMs: fc.constantFrom(-MINUTE_MS, MINUTE_MS),
    })
    await check(steps(step), async (steps, id) => {
      await compare(steps, async ({ queue }, { does, row, lease: lessee, ...step }, index) => {
        const now = Date.now()
        const lineage = `${id}-${step.key}`
        const reference = `${id}/${row}`
        const lease = `${id}:${lessee}`
        const kind = { lane: 'single', mode: 'live', operation: 'verify_nin' } as const
        const { leaseMs, each } = step
        const bytes = toBytes(id, index)
        const toReferences = (claimed: readonly { readonly reference: string }[]) =>
          claimed.flatMap(({ reference }) => (reference.startsWith(id) ? [reference] : [])).toSorted()
        const actions = {
          enqueue: async () => {
            const isThere = (await queue.find(reference, lineage, now)) !== undefined
            // Pending under another key, if it has not ended.
            if (isThere || (await queue.listEnded([reference])).length === 0) return 'known'
            // Each is due at another time, so that there is one order.
            const due = { delayMs: step.delayMs + index * 1000, lifeMs: step.lifeMs + index * 1000 }
            const about = { reference, keyId: lineage, lineage, subject: bytes, question: bytes }
            return queue.enqueue([{ ...kind, ...due, ...about }], { perKey: 3, all: 1_000_000 }, now)
          },
          claim: async () =>
            toReferences(await queue.claim({ ...kind, lease, leaseMs, keys: [lineage], each }, now)),
          claimExpired: async () =>
            toReferences(await queue.claimExpired({ lease, leaseMs, most: 1000 }, now)),
          release: () => queue.release([{ reference, lease }], now),
          find: async () => {
            const found = await queue.find(reference, lineage, now)
            return found && [found.state, found.isRunning, (found.dueMs ?? 0) > 0]
          },
        }
        return actions[does]()
      })
    })
  })

  it('about claims of Idempotency-Keys', async () => {
    const step = fc.record({
      does: fc.constantFrom('claim', 'claim', 'claim', 'release', 'complete'),
      name: fc.nat(1),
      owner: fc.nat(2),
      fingerprint: fc.nat(3).map((chance) => (chance === 0 ? 1 : 0)),
      leaseMs: fc.constantFrom(-MINUTE_MS, MINUTE_MS),
      expiresInMs: fc.constantFrom(-MINUTE_MS, DAY_MS),
      failure: fc.constantFrom(null, 'source_timeout'),
    })
    await check(steps(step), async (steps, id) => {
      await compare(steps, async ({ idempotency, audit }, step) => {
        const now = Date.now()
        const claim = {
          keyId: id,
          operation: 'verify_nin',
          name: toBytes(id, step.name),
          owner: `${id}:${step.owner}`,
        }
        const expiresAt = now + step.expiresInMs
        if (step.does === 'release') return idempotency.release(claim, step.failure)
        if (step.does === 'complete')
          return (
            await audit.append({
              rows: audit.packRows([]),
              parts: packParts([{ completion: { claim, sealed: Buffer.from('answer'), expiresAt } }], 0),
            })
          ).late
        const fingerprint = toBytes(id, step.fingerprint)
        const { leaseMs } = step
        const result = await idempotency.claim({
          ...claim,
          fingerprint,
          subject: null,
          now,
          leaseMs,
          expiresAt,
        })
        return 'sealed' in result ? { ...result, sealed: Buffer.from(result.sealed).toString() } : result
      })
    })
  })

  it('about the two commits of a verification that asks a vendor', async () => {
    const part = fc.record({
      does: fc.constantFrom('begin', 'begin', 'pay', 'release', 'complete', 'refund'),
      name: fc.nat(2),
      owner: fc.nat(1),
      key,
      isFailed: fc.boolean(),
      refunded: fc.nat(1),
      most: fc.integer({ min: 1, max: 2 }),
      isCapped: fc.boolean(),
    })
    // Of one verification, a commit has one part.
    const batch = fc.uniqueArray(part, {
      minLength: 1,
      maxLength: 5,
      selector: ({ name, owner, key }) => `${name} ${owner} ${key}`,
    })
    await check(steps(batch, 8), async (batches, id) => {
      const node = `${id}/node`
      for (const store of stores) {
        await store.spend.lease({ name: 'free', day: 1, node, kobo: 1, capKobo: null }, NOW)
        await store.spend.lease({ name: id, day: 1, node, kobo: 10, capKobo: 60 }, NOW)
      }
      await compare(batches, async (store, batch) => {
        const answers: unknown[] = []
        for (let rest = batch.map((each) => toVendorPart(id, each)); rest.length > 0; ) {
          const { refused, late } = await store.audit.append({
            rows: store.audit.packRows([]),
            parts: packParts(rest, NOW),
          })
          answers.push({ refused: refused.toSorted(([one], [other]) => one - other), late })
          if (refused.length === 0) break
          const positions = new Set(refused.map(([position]) => position))
          rest = rest.filter((_each, position) => !positions.has(position))
        }
        return [answers, await readWritten(store, id)]
      })
    })
  })

  it('about the leases of a rate', async () => {
    const step = fc.record({
      does: fc.constantFrom('lease', 'lease', 'giveBack'),
      key,
      wanted: fc.nat(8),
      owed: fc.nat(3),
      limit: fc.constantFrom(5, 10, 20),
    })
    await check(steps(step), async (steps, id) => {
      const ends = new Map<string, number>()
      await compare(steps, async (store, { does, key, wanted, owed, limit }) => {
        const keyId = `${id}-${key}`
        const name = `${stores.indexOf(store)} ${keyId}`
        if (does === 'giveBack') {
          const unused = { keyId, endsAt: ends.get(name) ?? 0, tokens: wanted }
          return store.rates.giveBack([unused])
        }
        const { tokens, left, endsAt } = await store.rates.lease({ keyId, limit, wanted, owed }, Date.now())
        ends.set(name, endsAt)
        return { tokens, left }
      })
    })
  })
})

type Asked = {
  readonly person: number
  readonly key: number
  readonly isWrong: boolean
  readonly isLive: boolean
  readonly name: number | undefined
  readonly fingerprint: number
  readonly isErased: boolean
  readonly expiresInMs: number
}

function toCheck(
  id: string,
  at: number,
  maxPeople: number,
  asked: Asked,
  before: readonly Asked[],
): CommitParts {
  const { key, name, isWrong } = asked
  const keyId = `${id}-${key}`
  const subject = toBytes(id, asked.person).toString('hex')
  // One response under an Idempotency-Key in a commit, as the server sees to it.
  const isStored = name !== undefined && !before.some((each) => each.key === key && each.name === name)
  return {
    guess: asked.isLive ? { subject, keyId, isWrong, maxPeople, attempt: { counted: false } } : undefined,
    answer: isStored
      ? {
          keyId,
          operation: 'verify_nin',
          name: toBytes(id, 100 + name).toString('hex'),
          fingerprint: toBytes(id, asked.fingerprint).toString('hex'),
          subject,
          owner: 'node:1',
          sealed: Buffer.from('sealed'),
          expiresAt: at + asked.expiresInMs,
          record: asked.isErased ? toBytes(id, 200).toString('hex') : undefined,
        }
      : undefined,
  }
}

function toBytes(id: string, number: number): Buffer {
  const bytes = Buffer.alloc(32, number + 1)
  bytes.write(id.replaceAll('-', ''), 0, 'hex')
  return bytes
}

type VendorPart = {
  readonly does: 'begin' | 'pay' | 'release' | 'complete' | 'refund'
  readonly name: number
  readonly owner: number
  readonly key: number
  readonly isFailed: boolean
  readonly refunded: number
  readonly most: number
  readonly isCapped: boolean
}

function toVendorPart(id: string, part: VendorPart): CommitParts {
  const { does, isCapped, isFailed, refunded, most } = part
  const keyId = `${id}-${part.key}`
  const claim = {
    keyId,
    operation: 'verify_nin',
    name: toBytes(id, part.name),
    owner: `${id}:${part.owner}`,
  }
  const subject = claim.name.toString('hex')
  const guess = `${id}/${part.key}/${part.name}/${part.owner}`
  const money = {
    name: isCapped ? id : 'free',
    day: 1,
    node: `${id}/node`,
    kobo: isCapped ? 10 : 1,
    isCapped,
  }
  const key = { id: keyId, month: '2026-11' }
  const spending = [{ ...money, calls: does === 'refund' ? -1 : 1, key }] as const
  const expiresAt = NOW + DAY_MS
  const settled = { subject, id: guess, isFailed }
  const kept = { subject: claim.name, sealed: Buffer.from([part.key]), expiresAt }
  if (does === 'refund') return { spending }
  if (does === 'pay') return { spending, payment: { payer: claim, most, expiresAt, refunded } }
  if (does === 'release') return { settled, release: { claim, refunded, failure: isFailed ? 'x' : null } }
  if (does === 'complete')
    return { settled, kept, completion: { claim, sealed: Buffer.from('answer'), expiresAt } }
  return {
    guess: { subject, keyId, isWrong: true, maxPeople: 2, attempt: { counted: false }, id: guess },
    claim: { ...claim, fingerprint: claim.name, subject: null, leaseMs: MINUTE_MS, expiresAt, paidCalls: 1 },
    spending,
  }
}

/** What the commits of a case have written. */
async function readWritten({ database }: Store, id: string): Promise<unknown[]> {
  const queries = [
    `SELECT key_id, owner, paid_calls, last_failure, CASE WHEN sealed IS NULL THEN 0 ELSE 1 END AS is_sealed,
       CASE WHEN lease_until = 0 THEN 0 ELSE 1 END AS is_leased FROM idempotency WHERE key_id LIKE $1`,
    'SELECT key_id, id FROM attempts WHERE key_id LIKE $1',
    'SELECT name, calls, kobo, leased_kobo FROM spend_shares WHERE node LIKE $1',
    'SELECT key_id, name, calls, kobo FROM key_spend_shares WHERE node LIKE $1',
    'SELECT key_id, subjects FROM key_days WHERE key_id LIKE $1',
  ]
  const written: unknown[] = []
  for (const query of queries) {
    const rows = await database.prepare(query).all(`${id}%`)
    written.push(rows.map((row) => Object.values(row).map(String).join(' ')).toSorted())
  }
  return written
}
