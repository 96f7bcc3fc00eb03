import { expect, it, onTestFinished, vi } from 'vitest'
import { AppError } from '../../src/errors.ts'
import type { CommitParts } from '../../src/ledger/commit.ts'
import type { ClaimId } from '../../src/ledger/idempotency-table.ts'
import { createUnfinishedClaims } from '../../src/verification/unfinished-claims.ts'

const toClaim = (name: string): ClaimId => ({
  keyId: 'key',
  operation: 'verify_nin',
  name: Buffer.from(name),
  owner: 'a',
})
const toAnswer = (name: string, bytes = 10) => ({
  completion: { claim: toClaim(name), sealed: new Uint8Array(bytes), expiresAt: 0 },
  entry: { phase: 'outcome' } as const,
})

/** `record` is called for each answer that is written. `recover` lets waiting work run. */
function open(record: (parts: CommitParts) => Promise<undefined>) {
  const waiting = new Set<() => Promise<void>>()
  const released: string[] = []
  const erased: string[] = []
  const unfinished = createUnfinishedClaims({
    table: {
      release: async ({ name }) => void released.push(Buffer.from(name).toString()),
      isHeld: async () => true,
    },
    audit: {
      record: async () => {},
      recordWith: record,
      requireHealthy: () => {},
      onceHealthy: (work) => void waiting.add(work),
    },
    erasure: { eraseLate: async (subject) => erased.push(Buffer.from(subject).toString()) },
  })
  const recover = async () => {
    const works = [...waiting]
    waiting.clear()
    for (const work of works) await work()
  }
  return { unfinished, recover, released, erased, isWaiting: () => waiting.size > 0 }
}

it('an answer that can never be written is given up after five tries, and its key can be used again', async () => {
  let tries = 0
  const { unfinished, recover, released, isWaiting } = open(async () => {
    tries += 1
    throw new AppError('audit_unavailable')
  })
  unfinished.storeLater(toAnswer('one'))
  while (isWaiting()) await recover()
  expect(tries).toBe(5)
  await unfinished.finishEarlier(toClaim('one'))
  expect(released).toEqual(['one'])
})

it('an answer whose claim was taken over is forgotten', async () => {
  const { unfinished, recover, released, isWaiting } = open(async () => {
    throw new AppError('idempotency_in_progress')
  })
  unfinished.storeLater(toAnswer('one'))
  await recover()
  expect(isWaiting()).toBe(false)
  await unfinished.finishEarlier(toClaim('one'))
  expect(released).toEqual([])
})

it('an answer is written once, although its key is used again at the same moment', async () => {
  let written = 0
  const { unfinished, recover } = open(async () => {
    written += 1
    return undefined
  })
  unfinished.storeLater(toAnswer('one'))
  const used = unfinished.finishEarlier(toClaim('one'))
  await Promise.all([recover(), used, unfinished.finishEarlier(toClaim('one'))])
  expect(written).toBe(1)
})

it('an answer that alone tells the number of its person is stored for as long as an erasure meanwhile is noticed', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const written: string[] = []
  const { unfinished, recover, released, erased } = open(async ({ completion }) => {
    written.push(Buffer.from(completion?.claim.name ?? '').toString())
    return undefined
  })
  for (const name of ['early', 'late']) {
    const { completion, entry } = toAnswer(name)
    unfinished.storeLater({ completion: { ...completion, subject: Buffer.from(name) }, entry })
    if (name === 'early') vi.advanceTimersByTime(29_000)
    // The computer was suspended: its clock has gone on, the process has not.
    else vi.setSystemTime(Date.now() + 31_000)
    await recover()
  }
  expect(written).toEqual(['early'])
  // Its first commit may have been executed all the same.
  expect(erased).toEqual(['early', 'late'])
  await unfinished.finishEarlier(toClaim('late'))
  expect(released).toEqual(['late'])
})

it('the oldest answers are given up where all together are too large', async () => {
  let written = 0
  const { unfinished, recover, released } = open(async () => {
    written += 1
    return undefined
  })
  for (const name of ['one', 'two', 'three']) unfinished.storeLater(toAnswer(name, 30 * 1024 * 1024))
  await recover()
  expect(written).toBe(2)
  await unfinished.finishEarlier(toClaim('one'))
  expect(released).toEqual(['one'])
})
