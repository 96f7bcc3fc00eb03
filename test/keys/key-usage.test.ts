import { describe, expect, it } from 'vitest'
import { listKeyUsage, readMonth, toUsageCsv } from '../../src/keys/key-usage.ts'

const COUNTS = [
  { month: '2026-03', key_id: 'k2', mode: 'live', outcome: 'verified', count: 7 },
  { month: '2026-03', key_id: 'k2', mode: 'live', outcome: 'not_verified', count: 2 },
  { month: '2026-03', key_id: 'k2', mode: 'live', outcome: 'source_timeout', count: 1 },
  { month: '2026-02', key_id: 'gone', mode: 'test', outcome: 'verified', count: 3 },
]
const SPENT = [
  { month: '2026-03', key_id: 'k2', calls: 8, kobo: 40_050 },
  { month: '2026-03', key_id: 'k1', calls: 1, kobo: 5000 },
]
const KEYS = [
  { id: 'k1', name: 'Loans', mode: 'live', owner: 'Risk' },
  { id: 'k2', name: 'App', mode: 'live' },
]

const list = () =>
  listKeyUsage(
    {
      statistics: { monthsByKey: async () => COUNTS },
      sources: { listKeySpend: async () => SPENT },
      keys: { list: async () => KEYS },
    } as never,
    { from: '2026-02', to: '2026-03' },
  )

describe('the usage of keys', () => {
  it('counts outcomes and money, also of keys that are gone and of those that only paid', async () => {
    const none = { verifications: 0, verified: 0, not_verified: 0, failed: 0, paid_calls: 0, cost_naira: 0 }
    expect(await list()).toEqual([
      {
        ...none,
        month: '2026-02',
        key_id: 'gone',
        name: '',
        mode: 'test',
        owner: '',
        verifications: 3,
        verified: 3,
      },
      {
        month: '2026-03',
        key_id: 'k2',
        name: 'App',
        mode: 'live',
        owner: '',
        verifications: 10,
        verified: 7,
        not_verified: 2,
        failed: 1,
        paid_calls: 8,
        cost_naira: 400.5,
      },
      {
        ...none,
        month: '2026-03',
        key_id: 'k1',
        name: 'Loans',
        mode: 'live',
        owner: 'Risk',
        paid_calls: 1,
        cost_naira: 50,
      },
    ])
  })

  it('is a table with a line of titles', async () => {
    const [titles, first] = toUsageCsv(await list()).split(/\r?\n/)
    expect(titles).toBe(
      'month,key_id,name,mode,owner,verifications,verified,not_verified,failed,paid_calls,cost_naira',
    )
    expect(first).toBe('2026-02,gone,,test,,3,3,0,0,0,0')
  })

  it.each(['2026-11', ' 2026-01 ', '2099-12'])('takes %j for a month', (text) => {
    expect(readMonth(text)).toBe(text.trim())
  })

  it.each(['2026-13', '2026-00', '1999-01', '2026-1', '2026', '2026-011', ''])('refuses %j', (text) => {
    expect(() => readMonth(text)).toThrow('Give a month such as 2026-11.')
  })
})
