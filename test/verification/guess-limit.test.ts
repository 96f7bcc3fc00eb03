import { createSecretKey } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Caller } from '../../src/keys/caller.ts'
import type { GuessTable } from '../../src/ledger/guess-table.ts'
import {
  createGuessLimit,
  limitError,
  openGuessLimit,
  unlockNumber,
} from '../../src/verification/guess-limit.ts'
import { toGuess } from '../../src/verification/verification-request.ts'

const CALLER = { keyId: 'one', lineage: 'one', subjectsPerDay: 10 } as Caller

/** A table that records what is written, and can be unavailable. */
function createTable() {
  const written: string[] = []
  const state = { isUnavailable: false }
  const write = (what: string) => async (_subject: Uint8Array, id: string) => {
    if (state.isUnavailable) throw new Error('store unavailable')
    written.push(`${what} ${id.split('/').at(-1)}`)
  }
  const table = {
    withdraw: write('withdraw'),
    confirm: write('confirm'),
  } as Partial<GuessTable> as GuessTable
  return { table, written, state }
}

/** As the commit does. */
const count = (guess: { counted: boolean }) => {
  guess.counted = true
}

it('identical guesses at the same time are one guess, which fails if one of them does', () => {
  const guessLimit = createGuessLimit(createTable().table)
  const [one, same] = [1, 2].map(() => guessLimit.open(CALLER, 'aa', '8031234567'))
  const other = guessLimit.open(CALLER, 'aa', '8031234568')
  if (!one || !same) throw new Error('unreachable')
  expect(same).toBe(one)
  expect(other).not.toBe(one)
  const { id } = guessLimit.toReserved(CALLER, one)
  expect(guessLimit.toReserved(CALLER, same).id).toBe(id)
  count(one)
  const last = guessLimit.open(CALLER, 'aa', '8031234567')
  expect(guessLimit.leave(one, false)).toBeUndefined()
  // Before the answer, so that a crash does not withdraw it.
  expect(guessLimit.leave(same, true)).toEqual({ subject: 'aa', id, isFailed: true })
  expect(guessLimit.leave(last, false)).toEqual({ subject: 'aa', id, isFailed: true })
  // It was never counted.
  guessLimit.toReserved(CALLER, other)
  expect(guessLimit.leave(other, false)).toBeUndefined()
  // The same guess later is another one.
  expect(guessLimit.open(CALLER, 'aa', '8031234567')).not.toBe(one)
})

it('what cannot be written is written before the next guess is counted', async () => {
  const { table, written, state } = createTable()
  const guessLimit = createGuessLimit(table)
  const guess = guessLimit.open(CALLER, 'aa', '8031234567')
  guessLimit.toReserved(CALLER, guess)
  count(guess)
  const settled = guessLimit.leave(guess, false)
  if (!settled) throw new Error('unreachable')
  state.isUnavailable = true
  await expect(guessLimit.settle(settled)).rejects.toThrow('unavailable')
  const doubtful = guessLimit.open(CALLER, 'bb', '8031234567')
  guessLimit.toReserved(CALLER, doubtful)
  guessLimit.withdrawLater(doubtful)
  await expect(guessLimit.catchUp()).rejects.toThrow('unavailable')
  expect(written).toEqual([])
  state.isUnavailable = false
  await guessLimit.catchUp()
  expect(written).toEqual(['withdraw 1', 'withdraw 2'])
  expect(guessLimit.catchUp()).toBeUndefined()
})

it('a guess stays one guess as long as one of its requests runs, and is another one afterwards', () => {
  const guessLimit = createGuessLimit(createTable().table)
  const open = () => guessLimit.open(CALLER, 'aa', '8031234567')
  const first = open()
  open()
  guessLimit.leave(first, false)
  expect(open()).toBe(first)
  guessLimit.leave(first, false)
  guessLimit.leave(first, false)
  expect(open()).not.toBe(first)
})

it('what is written of a guess is about its person', async () => {
  const people: string[] = []
  const write = async (subject: Uint8Array) => void people.push(Buffer.from(subject).toString('hex'))
  const guessLimit = createGuessLimit({ confirm: write, withdraw: write } as never)
  for (const isFailed of [true, false]) await guessLimit.settle({ subject: 'ab01', id: 'x', isFailed })
  expect(people).toEqual(['ab01', 'ab01'])
})

it('a start withdraws what its own worker left, and nothing of others on the same data', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'tabbat-guesses-'))
  const reserved: string[] = []
  const kept = () => reserved.map((id) => id.split('/')[0]?.slice(node.length))
  const withdrawAll = async (prefix: string) => {
    for (const id of reserved.splice(0)) if (!id.startsWith(prefix)) reserved.push(id)
  }
  const open = async (worker: number) => {
    const limit = await openGuessLimit({ dataDir }, { guesses: { withdrawAll } as never }, worker)
    reserved.push(limit.toReserved(CALLER, limit.open(CALLER, 'aa', '8031234567')).id ?? '')
  }
  await open(1)
  const node = reserved[0]?.split('/')[0] ?? ''
  for (const worker of [2, 12, 0]) await open(worker)
  expect(kept()).toEqual(['', '.2', '.12', '.0'])
  // Commands have the number 0, and several may run.
  for (const worker of [1, 0]) await open(worker)
  expect(kept()).toEqual(['.2', '.12', '.0', '', '.0'])
})

it('no guess waits until one that was left unanswered is kept', async () => {
  const { promise: written, resolve: write } = Promise.withResolvers<void>()
  const names: string[] = []
  const keepOnce = async (_subject: Uint8Array, _id: string, name: string) => {
    names.push(name)
    await written
  }
  const guessLimit = createGuessLimit({ keepOnce } as never)
  const guess = guessLimit.open(CALLER, 'aa', '8031234567')
  guessLimit.toReserved(CALLER, guess)
  count(guess)
  expect(guessLimit.leave(guess, false, 'its hash')).toBeUndefined()
  guessLimit.keepUnanswered()
  expect([names, guessLimit.catchUp()]).toEqual([['its hash'], undefined])
  write()
  await guessLimit.finish()
  expect(names).toEqual(['its hash'])
})

it('a guess that was never reserved needs no withdrawal', async () => {
  const { table, written } = createTable()
  const guessLimit = createGuessLimit(table)
  guessLimit.withdrawLater(guessLimit.open(CALLER, 'aa', '8031234567'))
  expect(guessLimit.catchUp()).toBeUndefined()
  expect(written).toEqual([])
})

it('a failed guess is kept, a right one is withdrawn, each under an id of its own', async () => {
  const { table, written } = createTable()
  const guessLimit = createGuessLimit(table)
  for (const isFailed of [true, false]) {
    const guess = guessLimit.open(CALLER, 'aa', `803123456${Number(isFailed)}`)
    guessLimit.toReserved(CALLER, guess)
    count(guess)
    const settled = guessLimit.leave(guess, isFailed)
    if (settled) await guessLimit.settle(settled)
  }
  expect(written).toEqual(['confirm 1', 'withdraw 2'])
})

it('what could not be written is tried once more at the end, and an error then is no failure', async () => {
  const { table, written, state } = createTable()
  const guessLimit = createGuessLimit(table)
  const guess = guessLimit.open(CALLER, 'aa', '8031234567')
  guessLimit.toReserved(CALLER, guess)
  guessLimit.withdrawLater(guess)
  state.isUnavailable = true
  await guessLimit.finish()
  state.isUnavailable = false
  await guessLimit.finish()
  expect(written).toEqual(['withdraw 1'])
})

it('a reservation names the key by its first id, the person and the limit of the key', () => {
  const guessLimit = createGuessLimit(createTable().table, 'node-7')
  const caller = { ...CALLER, keyId: 'rolled', lineage: 'first' } as Caller
  const guess = guessLimit.open(caller, 'aa', '8031234567')
  const reserved = guessLimit.toReserved(caller, guess)
  expect(reserved).toMatchObject({
    subject: 'aa',
    keyId: 'first',
    isWrong: true,
    maxPeople: 10,
    attempt: guess,
  })
  expect(reserved.id).toMatch(/^node-7\/.+\/1$/)
})

it('guesses that were under way when this node died are withdrawn, and no others', async () => {
  const prefixes: string[] = []
  const table = { withdrawAll: async (prefix: string) => void prefixes.push(prefix) } as never
  await createGuessLimit(table, 'node-7').recover()
  expect(prefixes).toEqual(['node-7/'])
})

describe('a refusal', () => {
  const NOON = Date.UTC(2026, 10, 17, 12)
  const openWith = (answer: string) => {
    const asked: unknown[] = []
    const table = {
      check: async (guess: unknown) => {
        asked.push(guess)
        return answer
      },
      deleteExpired: async (...limits: number[]) => {
        asked.push(limits)
        return 3
      },
    } as never
    return { asked, guessLimit: createGuessLimit(table, 'here', () => NOON) }
  }

  it('is asked of the store with the limits of this moment', async () => {
    const { asked, guessLimit } = openWith('admitted')
    await guessLimit.check(CALLER, 'ab01')
    expect(asked).toEqual([
      {
        at: NOON,
        since: NOON - 86_400_000,
        day: Math.floor(NOON / 86_400_000),
        maxByKey: 5,
        maxByAll: 20,
        subject: Buffer.from('ab01', 'hex'),
        keyId: 'one',
        maxPeople: 10,
      },
    ])
  })

  it('says that there were too many attempts, or when the quota of the day begins anew', async () => {
    await expect(openWith('too_many_attempts').guessLimit.check(CALLER, 'ab')).rejects.toMatchObject({
      code: 'too_many_attempts',
    })
    await expect(openWith('quota_exceeded').guessLimit.check(CALLER, 'ab')).rejects.toMatchObject({
      code: 'quota_exceeded',
      headers: { 'retry-after': String(11 * 3600) },
    })
    expect(limitError('too_many_attempts', NOON).headers ?? {}).not.toMatchObject({ 'retry-after': '39600' })
  })

  it('is forgotten with what is older than the limits look back', async () => {
    const { asked, guessLimit } = openWith('admitted')
    expect(await guessLimit.deleteExpired()).toBe(3)
    expect(asked).toEqual([[NOON - 86_400_000, Math.floor(NOON / 86_400_000)]])
  })
})

describe('unlocking a number', () => {
  const open = (isAuditBroken: boolean) => {
    const done: unknown[] = []
    const deps = {
      keyring: { subject: createSecretKey(Buffer.alloc(32, 1)) },
      audit: {
        record: async (entries: readonly unknown[]) => {
          if (isAuditBroken) throw new Error('audit unavailable')
          done.push(...entries)
        },
      },
      store: {
        audit: {
          subjectOf: async (reference: string) => (reference === 'ver_1' ? 'abcd' : undefined),
        },
        guesses: {
          unlock: async (subject: Uint8Array) => {
            done.push(Buffer.from(subject).toString('hex'))
            return 4
          },
        },
      },
    } as never
    return {
      done,
      unlock: () => unlockNumber(deps, { kind: 'nin', number: '12345678901' }, 'a call'),
      unlockReference: (reference: string) => unlockNumber(deps, { reference }, 'a call'),
    }
  }

  it('writes who asked for it first, without the number, and then forgets the failed matches', async () => {
    const { done, unlock } = open(false)
    expect(await unlock()).toBe(4)
    expect(done).toEqual([
      { phase: 'number_unlocked', subject: done[1], outcome: 'ok', detail: 'nin; reason: a call' },
      expect.stringMatching(/^[0-9a-f]{64}$/),
    ])
  })

  it('takes the number from a verification of it, and does nothing where there is none', async () => {
    const { done, unlockReference } = open(false)
    expect(await unlockReference('ver_1')).toBe(4)
    expect(done).toEqual([
      { phase: 'number_unlocked', subject: 'abcd', outcome: 'ok', detail: 'ver_1; reason: a call' },
      'abcd',
    ])
    expect(await unlockReference('ver_2')).toBeUndefined()
    expect(done).toHaveLength(2)
  })

  it('does nothing when it cannot be written down', async () => {
    const { done, unlock } = open(true)
    await expect(unlock()).rejects.toThrow('audit unavailable')
    expect(done).toEqual([])
  })
})

it('another phone, name or day of birth is another guess', () => {
  const phone = '8031234567'
  const guesses = [
    toGuess({ phone, details: undefined }),
    toGuess({ phone: '8031234568', details: undefined }),
    toGuess({ phone, details: { first_name: 'Ada' } }),
    toGuess({ phone, details: { first_name: 'Obi' } }),
    toGuess({ phone, details: { first_name: 'Ada', date_of_birth: '1990-01-05' } }),
  ]
  expect(new Set(guesses).size).toBe(guesses.length)
})
