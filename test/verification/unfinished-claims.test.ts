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
function open(
  record: (parts: CommitParts) => Promise<undefined>,
  store: { isHeld?: boolean; fails?: boolean } = {},
) {
  const waiting = new Set<() => Promise<void>>()
  const released: string[] = []
  const erased: string[] = []
  const unfinished = createUnfinishedClaims({
    table: {
      release: async ({ name }, failure) => {
        if (store.fails) throw new Error('lost')
        const text = Buffer.from(name).toString()
        released.push(failure === null ? text : `${text} ${failure}`)
      },
      isHeld: async () => store.isHeld ?? true,
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

it('a claim that could not be released is released with its failure before its key is used again, once', async () => {
  const store = { fails: true }
  const { unfinished, released } = open(async () => undefined, store)
  await expect(unfinished.release(toClaim('one'), 'source_timeout')).rejects.toThrow('lost')
  unfinished.releaseLater(toClaim('two'))
  store.fails = false
  await unfinished.finishEarlier(toClaim('three'))
  expect(released).toEqual([])
  await unfinished.finishEarlier(toClaim('one'))
  await unfinished.finishEarlier(toClaim('one'))
  await unfinished.finishEarlier(toClaim('two'))
  expect(released).toEqual(['one source_timeout', 'two'])
  await unfinished.release(toClaim('four'), null)
  await unfinished.finishEarlier(toClaim('four'))
  expect(released.slice(2)).toEqual(['four'])
  unfinished.releaseLater(toClaim('five'))
  unfinished.forgetReleases()
  await unfinished.finishEarlier(toClaim('five'))
  expect(released.slice(3)).toEqual([])
})

it('ten thousand claims wait for their release, and of more the oldest ends with its lease', async () => {
  const { unfinished, released } = open(async () => undefined)
  for (let count = 0; count < 10_000; count++) unfinished.releaseLater(toClaim(`n${count}`))
  await unfinished.finishEarlier(toClaim('n0'))
  expect(released).toEqual(['n0'])
  for (const name of ['n0', 'more']) unfinished.releaseLater(toClaim(name))
  await unfinished.finishEarlier(toClaim('n1'))
  await unfinished.finishEarlier(toClaim('n2'))
  expect(released.slice(1)).toEqual(['n2'])
})

it('an answer is not written when its claim is no longer held', async () => {
  let written = 0
  const { unfinished, recover, isWaiting } = open(
    async () => {
      written += 1
      return undefined
    },
    { isHeld: false },
  )
  unfinished.storeLater(toAnswer('one'))
  await recover()
  expect([written, isWaiting()]).toEqual([0, false])
})

it('a later answer under the same key replaces the earlier one, also in what both weigh', async () => {
  const written: number[] = []
  const { unfinished, recover, released } = open(async ({ completion }) => {
    written.push(completion?.sealed.length ?? 0)
    return undefined
  })
  const half = 32 * 1024 * 1024
  unfinished.storeLater(toAnswer('one', half + 1))
  unfinished.storeLater(toAnswer('one', half))
  unfinished.storeLater(toAnswer('two', half))
  await recover()
  expect(written).toEqual([half, half])
  // What was written weighs nothing.
  unfinished.storeLater(toAnswer('three', half))
  unfinished.storeLater(toAnswer('four', half))
  await recover()
  expect(written).toHaveLength(4)
  await unfinished.finishEarlier(toClaim('three'))
  expect(released).toEqual([])
  // 64 MiB are kept, and not a byte more.
  unfinished.storeLater(toAnswer('five', half))
  unfinished.storeLater(toAnswer('six', half + 1))
  await recover()
  expect(written).toHaveLength(5)
  await unfinished.finishEarlier(toClaim('five'))
  expect(released).toEqual(['five'])
})

it('answers are written once more when the server stops', async () => {
  let written = 0
  const { unfinished } = open(async () => {
    written += 1
    return undefined
  })
  unfinished.storeLater(toAnswer('one'))
  await unfinished.close()
  expect(written).toBe(1)
})
