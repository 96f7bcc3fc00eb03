import { setImmediate as nextTurn } from 'node:timers/promises'
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

it('answers share commits, and one that can never be written takes no other with it', async () => {
  const commits: string[][] = []
  let names: string[] = []
  let commit: Promise<undefined> | undefined
  const { unfinished, recover, isWaiting } = open(({ completion }) => {
    names.push(Buffer.from(completion?.claim.name ?? '').toString())
    commit ??= nextTurn().then(() => {
      commits.push(names)
      const isRefused = names.includes('bad')
      names = []
      commit = undefined
      if (isRefused) throw new AppError('audit_unavailable')
      return undefined
    })
    return commit
  })
  const good = Array.from({ length: 99 }, (_, index) => `good-${index}`)
  for (const name of ['bad', ...good]) unfinished.storeLater(toAnswer(name))
  while (isWaiting()) await recover()
  expect(commits.filter((each) => !each.includes('bad')).flat()).toEqual(good)
  for (const name of good) unfinished.storeLater(toAnswer(name))
  await recover()
  expect(commits.slice(-2).map(({ length }) => length)).toEqual([64, 35])
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
