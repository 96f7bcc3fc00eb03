import { expect, it } from 'vitest'
import type { AuditEntry } from '../../src/audit/row.ts'
import type { CommitParts } from '../../src/ledger/commit.ts'
import { type Source, SourceError } from '../../src/sources/source.ts'
import { type CheckDeps, checkSource, toUnassignedNumber } from '../../src/sources/source-control.ts'

const LISTS = { internet: [], tv: [] }

function createDeps({ capped = false } = {}) {
  const steps: string[] = []
  const deps: CheckDeps = {
    audit: {
      recordWith: async ({ spending }: CommitParts, entries: readonly AuditEntry[]) => {
        for (const { name } of spending ?? []) steps.push(`spend ${name}`)
        steps.push(...entries.map(({ phase, detail }) => `${phase} ${detail}`))
        return undefined
      },
    },
    leases: {
      take: async (name: string) =>
        capped ? 'spend_cap' : { name, day: 1, node: 'here', kobo: 5000, isCapped: true },
      lose: () => void steps.push('lose'),
      refundLate: async () => void steps.push('refund'),
    },
    author: 'ada',
  }
  return { deps, steps }
}

const toSource = (steps: string[], failure?: SourceError): Source => ({
  name: 'acme',
  isExternal: true,
  findNin: async ({ nin }) => {
    steps.push(`called ${nin.slice(0, 4)}`)
    if (failure) throw failure
    return { found: false }
  },
})

it('counts and records a check before the vendor is called', async () => {
  const { deps, steps } = createDeps()
  expect(await checkSource(toSource(steps), LISTS, deps)).toMatchObject({ ok: true, result: 'not_found' })
  expect(steps).toEqual(['spend acme', 'source_checked acme; by ada', 'called 0000'])
})

it.each([
  [{ found: false, namesDiffer: true }, 'names_differ', 'other names'],
  [{ found: false }, 'not_found', 'no such record'],
] as const)('explains the answer %j of the vendor to its own test person', async (answer, result, words) => {
  const source: Source = { name: 'acme', isExternal: true, findBvn: async () => answer }
  const checked = await checkSource(source, LISTS, createDeps().deps)
  expect(checked).toMatchObject({ ok: true, result, explanation: expect.stringContaining(words) })
})

it('refunds a call that is not billed', async () => {
  const { deps, steps } = createDeps()
  const refused = new SourceError('acme', 'refused', { problem: 'credentials' })
  expect(await checkSource(toSource(steps, refused), LISTS, deps)).toMatchObject({ ok: false })
  expect(steps.at(-1)).toBe('refund')
})

it('keeps no money of a check that could not be recorded', async () => {
  const { deps, steps } = createDeps()
  const audit = { recordWith: () => Promise.reject(new Error('log unavailable')) }
  await expect(checkSource(toSource(steps), LISTS, { ...deps, audit })).rejects.toThrow('log unavailable')
  expect(steps).toEqual(['lose'])
})

it('has a reference of its own, another one for each call', async () => {
  const references: string[] = []
  const source: Source = {
    name: 'acme',
    isExternal: true,
    findNin: async (_query, { reference }) => {
      references.push(reference)
      return { found: false }
    },
  }
  for (let calls = 0; calls < 3; calls++) await checkSource(source, LISTS, createDeps().deps)
  for (const reference of references) expect(reference).toMatch(/^chk_[0-9a-f]{32}$/)
  expect(new Set(references).size).toBe(3)
})

it('makes no call above the cap, and counts no spend for lists or unavailable operations', async () => {
  const { deps, steps } = createDeps({ capped: true })
  await expect(checkSource(toSource(steps), LISTS, deps)).rejects.toThrow('exceed its daily cap')
  expect(steps).toEqual([])
  const listVendor: Source = { name: 'shop', fetchCatalogue: async () => LISTS }
  expect(await checkSource(listVendor, LISTS, deps)).toMatchObject({ result: 'listed' })
  expect(await checkSource({ name: 'none' }, LISTS, deps)).toMatchObject({ result: 'cannot' })
  expect(steps).toEqual(['source_checked shop; by ada'])
})

it('uses another unassigned number each time', () => {
  const numbers = Array.from({ length: 50 }, toUnassignedNumber)
  for (const number of numbers) expect(number).toMatch(/^0000[1-9]\d{6}$/)
  expect(new Set(numbers).size).toBeGreaterThan(40)
})
