import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { AppError } from '../../src/errors.ts'
import type { CommitParts, Refusal } from '../../src/ledger/commit.ts'
import { createSpendLeases } from '../../src/sources/spend-leases.ts'
import { Commits } from '../../src/verification/commits.ts'

const PRICE = 100

/** A verification with a daily cap of four calls, and a log that answers as the test says. */
function open(record: (parts: CommitParts) => Promise<Refusal | undefined>) {
  let leasedKobo = 0
  const table = {
    lease: async () => {
      const granted = 4 * PRICE - leasedKobo
      leasedKobo += granted
      return granted
    },
    giveBack: async () => {
      leasedKobo = 0
    },
    refund: async () => true,
  }
  const leases = createSpendLeases(table as never, { dojah: { price: PRICE, dailyCap: 4 * PRICE } }, 'here')
  const guessLimit = { catchUp: () => undefined }
  const verification = {
    deps: { audit: { recordWith: record }, leases, guessLimit },
    idType: { kind: 'nin' },
    request: { caller: { keyId: 'key' } },
    auditFields: {},
    startedAt: '',
  }
  return { leases, commits: new Commits(verification as never, { guess: undefined }) }
}

const END = { entry: { phase: 'outcome' }, guess: 'withdrawn' } as const

describe('the commits of a verification', () => {
  it('end although the store refuses the money of a call again and again', async () => {
    const { promise: hasRefused, resolve: refuse } = Promise.withResolvers<void>()
    let refusals = 0
    const { commits } = open(async ({ spending }) => {
      if (!spending) return undefined
      await nextTurn()
      refusals += 1
      if (refusals === 3) refuse()
      return 'money_lost'
    })
    const paying = commits.pay('dojah').catch((error) => error.code)
    await hasRefused
    expect(await commits.end(END)).toBeUndefined()
    expect(await paying).toBe('source_timeout')
  })

  it('put back the money of a further call that the log refused to write', async () => {
    let isHealthy = true
    const { commits, leases } = open((): Promise<undefined> => {
      if (!isHealthy) throw new AppError('audit_unavailable')
      return Promise.resolve(undefined)
    })
    expect(await commits.pay('dojah')).toHaveProperty('refund')
    isHealthy = false
    for (let count = 0; count < 5; count++)
      await expect(commits.pay('dojah')).rejects.toHaveProperty('code', 'audit_unavailable')
    isHealthy = true
    for (let count = 0; count < 3; count++) expect(await leases.take('dojah')).toHaveProperty('kobo', PRICE)
    expect(await leases.take('dojah')).toBe('spend_cap')
  })
})
