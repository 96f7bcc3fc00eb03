import { createSecretKey, randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { AuditEntry } from '../../src/audit/row.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import type { Keyring } from '../../src/crypto/keyring.ts'
import { AppError } from '../../src/errors.ts'
import { toCaller } from '../../src/keys/caller.ts'
import { type OptionValues, withDefaults } from '../../src/keys/options.ts'
import type { CommitParts } from '../../src/ledger/commit.ts'
import type { Enqueue } from '../../src/ledger/queue-rows.ts'
import { NO_RECORD } from '../../src/sources/lookup.ts'
import { PENDING_NUMBERS } from '../../src/sources/sandbox/index.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { SourceError } from '../../src/sources/source.ts'
import { NIN } from '../../src/verification/id-type.ts'
import { sealStoredResponse } from '../../src/verification/idempotency.ts'
import { createLocalIdempotency } from '../../src/verification/open-local.ts'
import { openQuestion, sealAnswer } from '../../src/verification/queue/sealed-question.ts'
import { verify } from '../../src/verification/verify.ts'

const NUMBER = '41000000001'
const PHONE = '08031234567'
const keyring = {
  queue: createSecretKey(randomBytes(32)),
  idempotency: createSecretKey(randomBytes(32)),
} as unknown as Keyring
const record = toNinRecord(NUMBER, '8031234567')
const STORED = {
  ...{ status: 422, body: '{"success":false}', outcome: 'not_verified', reference: 'ver_0', released: null },
}
const DOWN = new AppError('source_unavailable')

type Wish = {
  readonly mode?: 'live' | 'test'
  readonly key?: Partial<OptionValues>
  readonly headers?: Record<string, string>
  readonly number?: string
  /** What the sources come to. An error is thrown. */
  readonly answer?: object | Error
  readonly pays?: number
  /** A source inside this process. */
  readonly isLocal?: boolean
  readonly commits?: readonly (string | Error | undefined)[]
  /** What is stored under the Idempotency-Key. */
  readonly stored?: object
  readonly mayWait?: boolean
  readonly isFailure?: boolean
  /** Of the queue, when it is looked at again. */
  readonly queued?: object
  readonly maxWaitMs?: number
  readonly paidBefore?: number
  readonly isStopping?: boolean
}

/** A server in memory: what it writes and tells is noted in order. */
function open(wish: Wish = {}) {
  const { mode = 'live', answer = { found: true, record } } = wish
  const notes: string[] = []
  const parts: CommitParts[] = []
  const entries: AuditEntry[] = []
  const changes: Enqueue[] = []
  const waits: number[] = []
  const commits = [...(wish.commits ?? [])]
  const commit = (written: CommitParts, recorded: readonly AuditEntry[]) => {
    parts.push(written)
    entries.push(...recorded)
    notes.push(
      `commit ${recorded.map(({ phase, outcome }) => `${phase} ${outcome ?? ''}`.trim()).join(', ')}`,
    )
    const result = commits.shift()
    return result instanceof Error ? Promise.reject(result) : Promise.resolve(result)
  }
  const find = () => {
    if (answer instanceof Error) throw answer
    return answer
  }
  const source = {
    ...{ name: 'dojah', isExternal: !wish.isLocal, findNin: async () => find() },
    ...(wish.isLocal && { local: { findNin: find } }),
  }
  const guess = { counted: false, isFailed: false }
  const deps = {
    config: { purposes: undefined },
    askNext: false,
    reuse: undefined,
    subjectKey: createSecretKey(Buffer.alloc(32, 1)),
    pictureKey: () => createSecretKey(Buffer.alloc(32, 2)),
    sources: { [mode]: { nin: [{ source }] } },
    audit: {
      owner: 'node',
      requireHealthy: () => notes.push('healthy'),
      record: async (recorded: readonly AuditEntry[]) => commit({}, recorded),
      recordWith: commit,
      recordChange: (change: Enqueue, recorded: readonly AuditEntry[], written: CommitParts = {}) => {
        changes.push(change)
        return commit(written, recorded)
      },
      reportFailure: () => wish.isFailure === true,
    },
    leases: {
      take: async (name: string) => ({ name, kobo: 1, day: 1, node: 'here', isCapped: false }),
      putBack: () => {},
      lose: () => {},
    },
    guessLimit: {
      open: () => {
        notes.push('guess')
        return guess
      },
      catchUp: async () => {},
      check: async () => void notes.push('check'),
      toReserved: () => ({}),
      leave: (_guess: unknown, isFailed: boolean) => void notes.push(`leave ${isFailed}`),
      withdrawLater: () => {},
    },
    idempotency: {
      open: () => ({
        ...{ id: { name: Buffer.alloc(32), owner: 'node:ver_1' }, isHeld: false, payer: {} },
        ...{ most: 3, used: wish.paidBefore ?? 0, lastFailure: undefined },
      }),
      begin: async () => {
        notes.push('begin')
        if (wish.stored) return { stored: wish.stored }
        return { claim: deps.idempotency.open() }
      },
      find: async () => {
        notes.push('find')
        return wish.stored
      },
      toNewClaim: () => ({}),
      complete: (_claim: unknown, { outcome }: { outcome: string }) => ({ outcome }),
      toRelease: (_claim: unknown, error: unknown, refunded: number) => ({ error, refunded }),
      release: async () => void notes.push('release'),
      releaseLater: () => {},
    },
    local: {
      idempotency: createLocalIdempotency(keyring, 'node'),
      lookups: {
        find: async ({ answer: key }: { answer?: object }) => {
          notes.push(`look up${key ? ' the answer' : ''}`)
          return { record: NO_RECORD, answer: key && wish.stored }
        },
      },
    },
    store: { erasure: { eraseLate: async () => notes.push('erase') } },
    singleFlight: {
      share: async (
        _question: unknown,
        _queries: unknown,
        given: {
          begin: () => Promise<void>
          pay: (name: string) => Promise<unknown>
          paid: { calls: number }
          sourceAttempts: unknown[]
        },
      ) => {
        notes.push('ask')
        await given.begin()
        for (let paid = 0; paid < (wish.pays ?? 0); paid++) {
          await given.pay('dojah')
          given.paid.calls += 1
        }
        return find()
      },
    },
    queue: {
      keyring,
      settings: {
        ...{ limitMs: 100_000, keepMs: 1, firstRetryMs: 4000, longestRetryMs: 40_000 },
        ...{ maxWaitMs: wish.maxWaitMs ?? 20_000, paidCalls: 3, limits: { perKey: 1, all: 2 } },
      },
      signals: {
        wake: () => notes.push('wake'),
        waitForEnd: async (_reference: string, ms: number) => {
          waits.push(ms)
          return wish.isStopping === true
        },
      },
      pace: { estimateMs: () => 0, isFull: () => false },
      table: {
        find: async (reference: string) => {
          notes.push(`read ${reference === 'ver_0' ? 'ver_0' : 'it'}`)
          return typeof wish.queued === 'function' ? wish.queued(reference) : wish.queued
        },
      },
    },
  }
  const caller = toCaller({
    ...withDefaults(wish.key ?? {}),
    ...{ id: 'new', lineage: 'first', mode, scopes: ['kyc:nin'] },
  })
  const place = wish.mayWait !== undefined && {
    mayWait: () => wish.mayWait,
    whileWaiting: (work: () => unknown) => {
      notes.push('wait')
      return work()
    },
    beforePaying: (work: () => unknown) => work(),
  }
  const incoming = {
    ...{ caller, requestId: 'req_1', origin: 'https://verify.example', headers: wish.headers ?? {} },
    ...(place && { exchange: { reference: undefined, place } }),
  }
  const run = () =>
    (async () =>
      verify(deps as never, NIN, incoming as never, { number: wish.number ?? NUMBER, phone: PHONE }))()
  return { run, notes, parts, entries, changes, waits, deps }
}

const KEY = { 'idempotency-key': 'order-1' }

describe('a verification that asks a source outside this process', () => {
  it('commits before it asks, and before it answers', async () => {
    const { run, notes, entries } = open()
    expect(await run()).toMatchObject({ status: 200, outcome: 'verified', replayed: false })
    expect(notes).toEqual([
      'healthy',
      'guess',
      'ask',
      'commit intent',
      'leave false',
      'commit outcome verified',
    ])
    expect(entries[1]).toMatchObject({ key_id: 'new', started_at: null })
  })

  it('guesses nothing in the sandbox, and wrongly where the phone differs', async () => {
    const sandbox = open({ mode: 'test' })
    await sandbox.run()
    expect(sandbox.notes).not.toContain('guess')
    const wrong = open({ answer: { found: false } })
    expect(await wrong.run()).toMatchObject({ status: 422 })
    expect(wrong.notes).toContain('leave true')
  })

  it('stores its answer under its Idempotency-Key, and looks there first the next time', async () => {
    const { run, notes, parts } = open({ headers: KEY })
    await run()
    expect(parts[1]).toMatchObject({ completion: { outcome: 'verified' }, release: undefined })
    expect(notes).not.toContain('find')
    await run()
    expect(notes.filter((note) => note === 'find')).toHaveLength(1)
  })

  it('replays what is stored under its Idempotency-Key, which is recorded', async () => {
    const { run, notes, entries } = open({ headers: KEY, commits: ['claimed'], stored: STORED })
    expect(await run()).toEqual({ ...STORED, replayed: true, headers: [] })
    expect(notes).toEqual([
      ...['healthy', 'guess', 'ask', 'commit intent', 'find', 'leave false', 'commit replay not_verified'],
    ])
    expect(entries.at(-1)).toMatchObject({ request_reference: 'ver_0', phase: 'replay' })
  })

  it('frees its Idempotency-Key after a failure, which is recorded before it is told', async () => {
    const { run, notes, parts } = open({ headers: KEY, answer: DOWN })
    await expect(run()).rejects.toBe(DOWN)
    expect(parts[1]).toMatchObject({ completion: undefined, release: { error: DOWN, refunded: 0 } })
    expect(notes.slice(-2)).toEqual(['commit outcome source_unavailable', 'leave false'].reverse())
    await expect(run()).rejects.toBe(DOWN)
    expect(notes).not.toContain('find')
  })

  it('is refused before anything is begun where too many wait', async () => {
    const { run, notes } = open({ mayWait: false })
    await expect(run()).rejects.toHaveProperty('code', 'overloaded')
    expect(notes).toEqual(['healthy'])
    const other = open({ mayWait: true })
    await other.run()
    expect(other.notes).toContain('wait')
  })

  it('fails as the log does', async () => {
    const lost = new Error('disk full')
    const failing = open({ commits: [lost], isFailure: true, headers: KEY })
    await expect(failing.run()).rejects.toMatchObject({ code: 'audit_unavailable', cause: lost })
    const mistake = open({ commits: [lost] })
    await expect(mistake.run()).rejects.toBe(lost)
  })

  it('fails at a limit, and nothing is asked', async () => {
    const { run, notes } = open({ commits: ['too_many_attempts'] })
    await expect(run()).rejects.toHaveProperty('code', 'too_many_attempts')
    expect(notes.filter((note) => note.startsWith('commit'))).toEqual(['commit intent'])
  })

  it('erases its answer where the person was erased while the source was asked', async () => {
    const virtual = { number: 'AB012345678910YZ', headers: KEY }
    const { run, notes, deps } = open(virtual)
    Object.assign((deps.sources.live as { nin: { source: object }[] }).nin[0]?.source ?? {}, {
      acceptsVirtualNin: true,
    })
    expect(await run()).toMatchObject({ status: 200 })
    expect(notes.at(-1)).toBe('erase')
    const plain = open({ headers: KEY })
    await plain.run()
    expect(plain.notes).not.toContain('erase')
  })
})

describe('a verification by a source inside this process', () => {
  const LOCAL = { isLocal: true } as const

  it('is one commit, with its guess and its time', async () => {
    const { run, notes, parts, entries } = open(LOCAL)
    expect(await run()).toMatchObject({ status: 200, replayed: false })
    expect(notes).toEqual(['healthy', 'guess', 'commit outcome verified', 'leave false'])
    expect(parts[0]).toEqual({
      guess: {
        subject: expect.stringMatching(/^[0-9a-f]{64}$/),
        ...{ keyId: 'first', isWrong: false, maxPeople: 2000, attempt: { counted: false, isFailed: false } },
      },
      answer: undefined,
    })
    expect(entries[0]?.started_at).toMatch(/Z$/)
    expect(JSON.parse(entries[0]?.sources ?? '')).toMatchObject([{ name: 'dojah', result: 'found' }])
  })

  it('counts a wrong guess, and none in the sandbox', async () => {
    const wrong = open({ ...LOCAL, answer: { found: false } })
    expect(await wrong.run()).toMatchObject({ status: 422, outcome: 'not_verified' })
    expect(wrong.parts[0]?.guess).toMatchObject({ isWrong: true, attempt: { isFailed: true } })
    expect(JSON.parse(wrong.entries[0]?.sources ?? '')).toMatchObject([{ result: 'not_found' }])
    const sandbox = open({ ...LOCAL, mode: 'test' })
    await sandbox.run()
    expect(sandbox.parts[0]?.guess).toBeUndefined()
  })

  it('stores its answer with its commit, and looks for one first when it is likely to exist', async () => {
    const { run, notes, parts } = open({ ...LOCAL, headers: KEY })
    await run()
    expect(parts[0]?.answer).toMatchObject({ keyId: 'first', owner: 'node', operation: 'verify_nin' })
    expect(notes).not.toContain('look up the answer')
    await run()
    expect(notes).toContain('look up the answer')
  })

  it('replays the answer of another process that its commit found', async () => {
    const opened = open({ ...LOCAL, headers: KEY, commits: ['changed'] })
    const { name, fingerprint } = opened.deps.local.idempotency.join({
      ...{ keyId: 'first', operation: 'verify_nin', reference: 'x', header: 'order-1', subject: '' },
      request: [NUMBER, '8031234567', ''],
    }).key
    const sealed = sealStoredResponse(keyring, name, STORED)
    const stored = { fingerprint, sealed, leaseUntil: 0, expiresAt: Date.now() + DAY_MS }
    const again = open({ ...LOCAL, headers: KEY, commits: ['changed'], stored })
    expect(await again.run()).toEqual({ ...STORED, replayed: true, headers: [] })
    expect(again.notes).toEqual([
      ...['healthy', 'guess', 'commit outcome verified', 'look up the answer', 'commit replay not_verified'],
      'leave false',
    ])
  })

  it('is given up after four tries', async () => {
    const { run, notes } = open({ ...LOCAL, commits: Array(9).fill('changed') })
    await expect(run()).rejects.toHaveProperty('code', 'idempotency_in_progress')
    expect(notes.filter((note) => note.startsWith('commit'))).toHaveLength(4)
    expect(notes.at(-1)).toBe('leave false')
  })

  it('fails at a limit', async () => {
    const { run, notes } = open({ ...LOCAL, commits: ['too_many_attempts'] })
    await expect(run()).rejects.toHaveProperty('code', 'too_many_attempts')
    expect(notes.at(-1)).toBe('leave false')
  })

  it('records a failure before it is told, and looks for an earlier answer before that', async () => {
    const failure = new SourceError('registry', 'unreachable')
    const { run, notes, entries } = open({ ...LOCAL, answer: failure, headers: KEY })
    await expect(run()).rejects.toMatchObject({ code: 'source_unavailable', cause: failure })
    expect(notes).toEqual([
      ...['healthy', 'guess', 'look up the answer', 'commit outcome source_unavailable', 'leave false'],
    ])
    expect(JSON.parse(entries[0]?.sources ?? '')).toMatchObject([{ name: 'dojah', result: 'unreachable' }])
    const mistake = open({ ...LOCAL, answer: new TypeError('a mistake') })
    await expect(mistake.run()).rejects.toThrow('a mistake')
    expect(JSON.parse(mistake.entries[0]?.sources ?? '')).toMatchObject([{ result: 'error' }])
    expect(mistake.entries[0]?.outcome).toBe('internal_error')
  })

  it('fails as the log does, and its key is free again', async () => {
    const lost = new Error('disk full')
    const { run } = open({ ...LOCAL, commits: [lost], isFailure: true, headers: KEY })
    await expect(run()).rejects.toMatchObject({ code: 'audit_unavailable', cause: lost })
    expect(await run()).toMatchObject({ status: 200 })
    await expect(open({ ...LOCAL, commits: [lost] }).run()).rejects.toBe(lost)
  })

  it('goes the other way for a key whose verifications may become pending', async () => {
    const { run, notes } = open({ ...LOCAL, key: { asyncWhenDown: true } })
    await run()
    expect(notes).toContain('ask')
  })
})

describe('a verification that is answered later', () => {
  const LATER = { headers: { prefer: 'respond-async' } }

  it('is queued with its question, and says where and when its answer will be', async () => {
    const { run, notes, changes, waits } = open(LATER)
    const { status, outcome, headers, reference, replayed } = await run()
    expect({ status, outcome, replayed }).toEqual({ status: 202, outcome: 'pending', replayed: false })
    expect(headers).toEqual([
      ...['preference-applied', 'respond-async', 'location', `/api/v2/kyc/verifications/${reference}`],
      ...['retry-after', '1'],
    ])
    expect(notes).toEqual(['healthy', 'check', 'commit queued', 'wake'])
    expect(waits).toEqual([])
    expect(changes[0]).toMatchObject({
      ...{ kind: 'enqueue', limits: { perKey: 1, all: 2 }, completion: undefined },
      row: {
        ...{
          reference,
          keyId: 'new',
          lineage: 'first',
          lane: 'single',
          mode: 'live',
          operation: 'verify_nin',
        },
        ...{ delayMs: 0, lifeMs: 100_000, paidCalls: 0, idempotency: undefined },
      },
    })
    expect(changes[0]?.row.subject).toHaveLength(32)
    const question = openQuestion(keyring, reference, changes[0]?.row.question as Uint8Array)
    expect(question).toMatchObject({ number: NUMBER, phone: '8031234567', requestId: 'req_1' })
    expect(question).not.toHaveProperty('caller')
  })

  it('waits as long as the caller prefers, and not longer than the server allows', async () => {
    const wait = async (seconds: number) => {
      const { run, waits } = open({ headers: { prefer: `respond-async, wait=${seconds}` }, maxWaitMs: 5000 })
      await run()
      return waits.map((ms) => Math.ceil(ms / 1000))
    }
    expect([await wait(0), await wait(3), await wait(9)]).toEqual([[], [3], [5]])
  })

  it('is answered at once if its answer comes in time', async () => {
    const queued = (reference: string) => ({
      ...{ state: 'answered', answer: sealAnswer(keyring, { ...STORED, reference }) },
    })
    const { run, notes } = open({ headers: { prefer: 'respond-async, wait=5' }, queued, mayWait: true })
    expect(await run()).toMatchObject({ status: 422, replayed: false, headers: [] })
    expect(notes.slice(-2)).toEqual(['wait', 'read it'])
  })

  it('is pending at once where too many wait, or when it has ended without an answer', async () => {
    const full = open({ headers: { prefer: 'respond-async, wait=5' }, mayWait: false })
    expect(await full.run()).toMatchObject({ status: 202 })
    expect(full.waits).toEqual([])
    const cancelled = open({ headers: { prefer: 'respond-async, wait=5' }, queued: { state: 'cancelled' } })
    expect(await cancelled.run()).toMatchObject({ status: 202 })
    expect(cancelled.waits).toHaveLength(1)
  })

  it('waits on when it is not answered yet, unless the server stops', async () => {
    const headers = { prefer: 'respond-async, wait=5' }
    const answers = [{ state: 'pending' }, { state: 'pending' }]
    const queued = (reference: string) =>
      answers.pop() ?? { state: 'answered', answer: sealAnswer(keyring, { ...STORED, reference }) }
    const { run, waits } = open({ headers, queued })
    expect(await run()).toMatchObject({ status: 422 })
    expect(waits).toHaveLength(3)
    const stopping = open({ headers, queued: { state: 'pending' }, isStopping: true })
    expect(await stopping.run()).toMatchObject({ status: 202 })
    expect(stopping.waits).toHaveLength(1)
  })

  it('stores "pending" under its Idempotency-Key, until a day after it may last', async () => {
    const { run, changes } = open({ headers: { ...LATER.headers, ...KEY } })
    const before = Date.now()
    await run()
    expect(changes[0]?.completion).toMatchObject({ outcome: 'pending' })
    expect(Number(changes[0]?.completion?.expiresAt) - before).toBeGreaterThanOrEqual(DAY_MS + 100_000)
    expect(changes[0]?.row.idempotency).toHaveLength(32)
  })

  it('replays what is stored, and waits again if that is pending', async () => {
    const done = open({ headers: { ...LATER.headers, ...KEY }, stored: STORED })
    expect(await done.run()).toMatchObject({ status: 422, replayed: true })
    expect(done.notes).toEqual(['healthy', 'begin', 'commit replay not_verified'])
    const pending = { ...STORED, status: 202, outcome: 'pending' }
    const still = open({
      headers: { prefer: 'respond-async, wait=5', ...KEY },
      stored: pending,
      queued: { state: 'answered', answer: sealAnswer(keyring, STORED) },
    })
    expect(await still.run()).toMatchObject({ status: 422, replayed: true })
    expect(still.notes).toEqual(['healthy', 'begin', 'read ver_0', 'commit replay not_verified'])
  })

  it.each([
    ['queue_full', 'queue_full'],
    ['claim_lost', 'idempotency_in_progress'],
  ])('is refused and gives its key back: %s', async (refusal, code) => {
    const { run, notes } = open({ headers: { ...LATER.headers, ...KEY }, commits: [refusal] })
    await expect(run()).rejects.toHaveProperty('code', code)
    expect(notes.slice(-2)).toEqual(['commit queued', 'release'])
  })

  it('fails as the log does', async () => {
    const lost = new Error('disk full')
    const failing = open({ ...LATER, commits: [lost], isFailure: true })
    await expect(failing.run()).rejects.toMatchObject({ code: 'audit_unavailable', cause: lost })
    expect(failing.notes).not.toContain('release')
  })

  it('in the sandbox takes five seconds for some numbers, lasts thirty at most, and guesses nothing', async () => {
    const [number = ''] = PENDING_NUMBERS
    const { run, notes, changes } = open({ mode: 'test', number })
    const { status, headers = [] } = await run()
    expect(status).toBe(202)
    expect(headers.slice(-2)).toEqual(['retry-after', '5'])
    expect(headers).not.toContain('preference-applied')
    expect(changes[0]?.row).toMatchObject({ delayMs: 5000, lifeMs: 30_000, mode: 'test' })
    expect(notes).not.toContain('check')
    const live = open({ number })
    await live.run().catch(() => {})
    expect(live.changes).toEqual([])
    const preferred = open({ mode: 'test', number, ...LATER })
    await preferred.run()
    expect(preferred.changes[0]?.row.delayMs).toBe(5000)
  })
})

describe('a verification that no source could answer', () => {
  const key = { asyncWhenDown: true }

  it('becomes pending for a key that allows it, under the same reference', async () => {
    const { run, notes, changes } = open({ key, answer: DOWN })
    const { status, reference, headers } = await run()
    expect(status).toBe(202)
    expect(headers).not.toContain('preference-applied')
    expect(changes[0]?.row).toMatchObject({ reference, paidCalls: 0 })
    // The first delay, less up to a quarter.
    expect(changes[0]?.row.delayMs).toBeGreaterThanOrEqual(3000)
    expect(changes[0]?.row.delayMs).toBeLessThanOrEqual(4000)
    expect(notes.slice(-3)).toEqual(['leave false', 'commit attempt source_unavailable', 'wake'])
  })

  it('is tried as late as possible after a paid call', async () => {
    const { run, changes } = open({ key, answer: DOWN, pays: 1 })
    await run()
    expect(changes[0]?.row.paidCalls).toBe(1)
    expect(changes[0]?.row.delayMs).toBeGreaterThanOrEqual(30_000)
  })

  it.each<[string, Wish]>([
    ['the key does not allow it', { answer: DOWN }],
    ['no source failed', { key, answer: new AppError('validation_failed') }],
    ['all its paid calls are made', { key, answer: DOWN, pays: 3 }],
    ['the paid calls of its Idempotency-Key are used up', { key, answer: DOWN, headers: KEY, paidBefore: 3 }],
    ['the queue is full', { key, answer: DOWN, commits: [undefined, 'queue_full'] }],
  ])('fails where %s', async (_name, wish) => {
    const { run, notes } = open(wish)
    await expect(run()).rejects.toBeInstanceOf(AppError)
    expect(notes).not.toContain('wake')
    expect(notes.filter((note) => note.startsWith('commit outcome'))).toHaveLength(1)
  })
})
