import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../../src/context/store.ts'
import type { Spending } from '../../src/ledger/commit.ts'
import { createSourceCalls } from '../../src/statistics/counters.ts'
import { describeEngines, ENGINES } from '../engines.ts'
import { commitParts } from '../ledger/commit-parts.ts'
import { toErasureSubject } from '../people/erasure-subject.ts'

const DAY = 20_777
const NOW = 1_790_000_000_123

describeEngines(ENGINES, (engine) => {
  let one: Store
  let other: Store
  beforeAll(async () => {
    const place = await engine.createPlace()
    one = await place.open()
    other = await place.open()
  })
  afterAll(async () => {
    await one.close()
    await other.close()
  })

  describe('the switches of sources', () => {
    it('are seen by every node', async () => {
      expect(await one.sources.disable('dojah', NOW)).toBe(true)
      expect(await other.sources.disable('dojah', NOW)).toBe(false)
      expect(await other.sources.listDisabled()).toEqual(['dojah'])
      expect(await other.sources.enable('dojah')).toBe(true)
      expect(await one.sources.enable('dojah')).toBe(false)
      expect(await one.sources.listDisabled()).toEqual([])
    })
  })

  describe('the order of sources', () => {
    it('is seen by every node, replaced, and removed', async () => {
      await one.sourceOrders.set({ kind: 'nin', names: ['dojah', 'registry'] }, NOW)
      await other.sourceOrders.set({ kind: 'nin', names: ['registry', 'dojah'] }, NOW)
      await one.sourceOrders.set({ kind: 'bvn', names: ['prembly'] }, NOW)
      expect(await one.sourceOrders.list()).toEqual([
        { kind: 'bvn', names: ['prembly'] },
        { kind: 'nin', names: ['registry', 'dojah'] },
      ])
      await other.sourceOrders.remove('nin')
      await other.sourceOrders.remove('nin')
      expect(await one.sourceOrders.list()).toEqual([{ kind: 'bvn', names: ['prembly'] }])
    })
  })

  describe('calls to vendors', () => {
    const call = {
      source: 'dojah',
      operation: 'verify_nin',
      result: 'answered',
      class: 4,
      kobo: 5000,
    } as const
    const at = '2026-11-15T08'

    it('are added up over nodes and operations, within a period', async () => {
      const counted = { ...call, span: 'hour', at, node: 'a', count: 2 } as const
      await one.sourceCalls.add([counted, { ...counted, result: 'failed', kobo: 0, count: 1 }])
      await Promise.all([
        one.sourceCalls.add([counted]),
        other.sourceCalls.add([
          { ...counted, node: 'b' },
          { ...counted, node: 'b', operation: 'verify_bvn' },
        ]),
        other.sourceCalls.add([{ ...counted, at: '2026-11-15T09' }]),
      ])
      const list = await one.sourceCalls.list({ span: 'hour', from: at, until: at })
      expect(list.toSorted((a, b) => a.count - b.count)).toEqual([
        { at, source: 'dojah', result: 'failed', class: 4, count: 1, kobo: 0 },
        { at, source: 'dojah', result: 'answered', class: 4, count: 8, kobo: 20_000 },
      ])
    })

    it('are forgotten by span', async () => {
      await one.sourceCalls.deleteExpired({ minute: '', hour: '2026-11-15T09', day: '' })
      const list = await other.sourceCalls.list({ span: 'hour', from: '', until: '9999' })
      expect(list.map((step) => step.at)).toEqual(['2026-11-15T09'])
    })

    it('are counted in each span, and kept while they cannot be written', async () => {
      let isDown = true
      const add: typeof one.sourceCalls.add = (counts) =>
        isDown ? Promise.reject(new Error('down')) : one.sourceCalls.add(counts)
      const calls = createSourceCalls({ add }, 'node')
      const ended = {
        source: 'prembly',
        operation: 'verify_nin',
        result: 'answered',
        ms: 3,
        kobo: 100,
      } as const
      calls.count(ended)
      await calls.flush()
      isDown = false
      calls.count(ended)
      calls.count({ ...ended, result: 'cut' })
      await calls.close()
      for (const span of ['minute', 'hour', 'day'] as const) {
        const list = (await other.sourceCalls.list({ span, from: '', until: '9999' })).filter(
          ({ source }) => source === 'prembly',
        )
        const sum = (result: string) =>
          list
            .filter((step) => step.result === result)
            .reduce((all, { count, kobo }) => all + count * 1000 + kobo, 0)
        expect([span, sum('answered'), sum('cut')]).toEqual([span, 2200, 1100])
      }
    })
  })

  describe('spend', () => {
    const toCall = (name: string, kobo: number, node = 'a'): Spending => ({
      ...{ name, day: DAY, node, kobo, calls: 1, isCapped: false },
      key: { id: 'Key45678', month: '2026-10' },
    })
    /** Without a cap, so that nothing is leased. */
    const open = ({ name, day, node, kobo }: Spending) =>
      one.spend.lease({ name, day, node, kobo, capKobo: null }, NOW)
    const spend = async (store: Store, ...calls: readonly Spending[]) => {
      for (const call of calls) {
        await open(call)
        expect(await commitParts(store, [{ spending: [call] }], NOW)).toEqual([])
      }
    }
    const listSpent = async (name: string, day = DAY) =>
      (await other.sources.listSpend(day)).filter((each) => each.name === name)

    it('is the sum over all nodes, those of earlier versions and leases included', async () => {
      await spend(one, toCall('dojah', 5050), toCall('dojah', 5050, 'b'))
      await spend(other, toCall('dojah', 5050, 'b'))
      expect(await listSpent('dojah')).toEqual([{ name: 'dojah', calls: 3, kobo: 15_150 }])
      await one.database
        .prepare('INSERT INTO source_spend (name, day, calls, kobo) VALUES ($1, $2, 2, 10100)')
        .run('dojah', DAY)
      await one.spend.lease({ name: 'dojah', day: DAY, node: 'a', kobo: 5050, capKobo: 505_000 }, NOW)
      expect(await listSpent('dojah')).toEqual([{ name: 'dojah', calls: 5, kobo: 25_250 }])
    })

    it('is counted for the key and the month, and taken off again, once', async () => {
      const call = toCall('of a key', 250)
      const later = { ...call, key: { id: 'Key45678', month: '2026-12' } }
      const before = await other.sources.listKeySpend('2026-10', '2026-10')
      await spend(one, call, call, later)
      expect(await other.sources.listKeySpend('2026-12', '2026-12')).toEqual([
        { month: '2026-12', key_id: 'Key45678', calls: 1, kobo: 250 },
      ])
      const refund = { ...call, id: 'of a key' }
      expect([await one.spend.refund(refund), await other.spend.refund(refund)]).toEqual([true, false])
      const [spent] = await one.sources.listKeySpend('2026-10', '2026-10')
      expect(spent).toMatchObject({ calls: (before[0]?.calls ?? 0) + 1, kobo: (before[0]?.kobo ?? 0) + 250 })
      expect(await listSpent('of a key')).toEqual([{ name: 'of a key', calls: 2, kobo: 500 }])
    })

    it('starts at zero each day, and may exceed 32 bits', async () => {
      const call = toCall('relay', 3_000_000_000)
      await spend(one, call, call, { ...call, day: DAY + 1 })
      expect(await listSpent('relay', DAY + 1)).toEqual([{ name: 'relay', calls: 1, kobo: 3_000_000_000 }])
      expect(await listSpent('relay')).toEqual([{ name: 'relay', calls: 2, kobo: 6_000_000_000 }])
    })
  })

  describe('states', () => {
    it('are replaced by their own node and deleted when they are old', async () => {
      const state = { node: 'a', name: 'dojah', operation: 'verify_nin', state: '{"state":"open"}', at: NOW }
      await one.sources.publish([state, { ...state, node: 'b', at: NOW - 1000 }])
      await one.sources.publish([{ ...state, state: '{}' }])
      expect(await other.sources.listStates(NOW)).toEqual([{ ...state, state: '{}' }])
      await other.sources.deleteExpired({
        states: NOW,
        spendDay: DAY + 1,
        refundDay: DAY + 1,
        month: '2026-11',
      })
      expect(await one.sources.listStates(0)).toHaveLength(1)
      expect(await one.sources.listSpend(DAY)).toEqual([])
      expect(await one.database.prepare('SELECT * FROM source_refunds').all()).toEqual([])
    })
    it('of a node are deleted when it stops', async () => {
      const state = { node: 'c', name: 'dojah', operation: 'verify_nin', state: '{}', at: NOW }
      await one.sources.publish([state, { ...state, node: 'd' }])
      await one.sources.retire('c')
      const nodes = (await other.sources.listStates(NOW)).map(({ node }) => node)
      expect(nodes).toContain('d')
      expect(nodes).not.toContain('c')
    })
  })

  describe('reused results', () => {
    it('are replaced, expire, and can be erased', async () => {
      const [subject, first, second] = [randomBytes(32), randomBytes(900), randomBytes(10)]
      const keep = (sealed: Uint8Array, expiresAt: number, at: number) =>
        commitParts(one, [{ kept: { subject, sealed, expiresAt } }], at)
      await keep(first, NOW, NOW)
      await keep(second, NOW + 1000, NOW)
      expect(Buffer.from((await other.reuse.find(subject, NOW)) ?? []).equals(second)).toBe(true)
      expect(await other.reuse.find(subject, NOW + 1000)).toBeUndefined()
      await one.reuse.deleteExpired(NOW + 999)
      expect(await other.reuse.find(subject, NOW)).toBeDefined()
      expect(await other.erasure.erase(toErasureSubject(subject), NOW)).toMatchObject({ reusedResults: 1 })
      expect(await one.reuse.find(subject, NOW)).toBeUndefined()
      expect(await other.erasure.erase(toErasureSubject(subject), NOW)).toMatchObject({ reusedResults: 0 })
      // For a minute after an erasure, results of requests in progress are not stored.
      await keep(first, NOW + 90_000, NOW + 59_999)
      expect(await one.reuse.find(subject, NOW + 59_999)).toBeUndefined()
      await keep(first, NOW + 90_000, NOW + 60_000)
      expect(await one.reuse.find(subject, NOW + 60_000)).toBeDefined()
    })
  })
})
