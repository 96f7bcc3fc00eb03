import { expect, it } from 'vitest'
import type { AuditEntry } from '../audit/row.ts'
import { type CheckDeps, checkSource, toNobody } from './check.ts'
import { type Source, SourceError } from './source.ts'

const LISTS = { internet: [], tv: [] }

function openDesk({ capped = false } = {}) {
  const told: string[] = []
  const desk: CheckDeps = {
    audit: {
      record: async (entries: readonly AuditEntry[]) =>
        void told.push(...entries.map(({ phase, detail }) => `${phase} ${detail}`)),
    },
    spend: async () => {
      told.push('spend')
      return capped ? 'spend_cap' : { refund: async () => void told.push('refund') }
    },
  }
  return { desk, told }
}

const toSource = (told: string[], failure?: SourceError): Source => ({
  name: 'acme',
  isExternal: true,
  findNin: async ({ nin }) => {
    told.push(`asked ${nin.slice(0, 4)}`)
    if (failure) throw failure
    return { found: false }
  },
})

it('counts and records a check before the vendor is asked', async () => {
  const { desk, told } = openDesk()
  expect(await checkSource(toSource(told), LISTS, desk)).toMatchObject({ ok: true, result: 'not_found' })
  expect(told).toEqual(['spend', 'source_checked acme', 'asked 0000'])
})

it('takes back what is not billed', async () => {
  const { desk, told } = openDesk()
  const refused = new SourceError('acme', 'refused', { trouble: 'credentials' })
  expect(await checkSource(toSource(told, refused), LISTS, desk)).toMatchObject({ ok: false })
  expect(told.at(-1)).toBe('refund')
})

it('does not ask above the cap, and counts nothing for lists or for what cannot be asked', async () => {
  const { desk, told } = openDesk({ capped: true })
  await expect(checkSource(toSource(told), LISTS, desk)).rejects.toThrow('above its daily cap')
  expect(told).toEqual(['spend'])
  const shop: Source = { name: 'shop', fetchCatalogue: async () => LISTS }
  expect(await checkSource(shop, LISTS, desk)).toMatchObject({ result: 'listed' })
  expect(await checkSource({ name: 'none' }, LISTS, desk)).toMatchObject({ result: 'cannot' })
  expect(told).toEqual(['spend', 'source_checked shop'])
})

it('asks for another nobody each time: eleven digits that no NIN or BVN begins with', () => {
  const numbers = Array.from({ length: 50 }, toNobody)
  for (const number of numbers) expect(number).toMatch(/^0000[1-9]\d{6}$/)
  expect(new Set(numbers).size).toBeGreaterThan(40)
})
