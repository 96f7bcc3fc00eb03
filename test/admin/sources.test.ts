import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { VendorDescription } from '../../src/admin/sources.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { CANARY } from '../../src/simulator/faults.ts'
import { openStandIn, type StandIn } from '../../src/simulator/stand-in.ts'
import { toFileHash } from '../../src/sources/proof-table.ts'
import type { VendorFile } from '../../src/sources/vendor-file/schema.ts'
import { type LoadedFile, toFileVendor, type VendorInUse } from '../../src/sources/vendors.ts'
import { useShippedFile } from '../sources/shipped-file.ts'
import { readRows } from './audit-rows.ts'
import { openTestConsole, type TestConsole } from './test-console.ts'

let at: TestConsole
let vendor: StandIn
let viewer: string
let operator: string
beforeAll(async () => {
  vendor = await openStandIn(dojah)
  at = await openTestConsole({
    TABBAT_NIN_SOURCES: 'registry,dojah',
    TABBAT_DOJAH_PRICE: '50',
    TABBAT_DOJAH_DAILY_CAP: '150',
    ...vendor.settings,
  })
  viewer = await at.openSession('viewer')
  operator = await at.openSession('operator', 'bola')
})
afterAll(async () => {
  await at.close()
  await vendor.close()
})

const post = (path: string) => at.request(`/admin/sources/${path}`, { cookie: operator, body: {} })
const list = async () => (await at.request('/admin/sources', { cookie: viewer })).json()

describe('the sources', () => {
  it('are listed in call order, with state and spend', async () => {
    expect(await list()).toMatchObject({
      nin_order: ['registry', 'dojah'],
      bvn_order: ['registry'],
      can_check: ['dojah'],
      sources: [
        {
          source: 'dojah',
          operation: 'verify_nin',
          state: 'closed',
          disabled: false,
          calls: 0,
          calls_today: 0,
          spent_kobo_today: 0,
          cap_kobo: 15_000,
        },
      ],
    })
  })

  it('say where a vendor is described, and what is proved of it for the present file', async () => {
    const [described] = (await list()).vendors as VendorDescription[]
    expect(described).toMatchObject({
      name: 'dojah',
      title: 'Dojah',
      origin: 'built_in',
      path: null,
      documentation_url: 'https://docs.dojah.io',
      documentation_read: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    })
    expect(described?.proofs.map(({ operation, last }) => [operation, last])).toEqual([
      ['nin', null],
      ['virtual_nin', null],
      ['bvn', null],
    ])
    const { file } = useShippedFile('dojah')
    const proof = { vendor: 'dojah', rules: ['record'], fields: ['nin_number'], version: '0.4.0' }
    const by = { provedBy: 'ada', host: 'api.dojah.io', provedAt: Date.parse('2026-11-17T08:00:00Z') }
    const { proofs } = at.context.store
    await proofs.add({ ...proof, ...by, operation: 'nin', fileHash: toFileHash(file) })
    await proofs.add({ ...proof, ...by, operation: 'bvn', fileHash: 'of an earlier file' })
    const last = { by: 'ada', at: '2026-11-17T08:00:00.000Z', host: 'api.dojah.io' }
    expect(await list()).toMatchObject({
      vendors: [
        {
          proofs: [
            { proved_rules: ['record'], proved_fields: 1, last: { ...last, is_of_earlier_file: false } },
            { proved_rules: [], proved_fields: 0, last: null },
            { proved_rules: [], proved_fields: 0, last: { ...last, is_of_earlier_file: true } },
          ],
        },
      ],
    })
  })

  it('can be disabled and enabled, and the audit names the account', async () => {
    expect((await post('dojah/disable')).json()).toEqual({ ok: true })
    expect(await list()).toMatchObject({ sources: [{ state: 'disabled', disabled: true }] })
    expect((await post('dojah/check')).json().message).toContain('is disabled')
    expect((await post('dojah/enable')).json()).toEqual({ ok: true })
    expect(await list()).toMatchObject({ sources: [{ disabled: false }] })
    const rows = await readRows(at, 'source_disabled', 'source_enabled')
    expect(rows.map(({ phase, detail }) => `${phase} ${detail}`)).toEqual([
      'source_disabled dojah; by bola',
      'source_enabled dojah; by bola',
    ])
  })

  it('can be called in another order, and the audit names the account', async () => {
    const order = (body: object) => at.request('/admin/sources/order', { cookie: operator, body })
    const chain = () => at.context.sources.live.nin.map(({ source }) => source.name)
    expect((await order({ kind: 'nin', names: ['dojah', 'registry'] })).json()).toEqual({ ok: true })
    expect(await list()).toMatchObject({ nin_order: ['dojah', 'registry'], changed_orders: ['nin'] })
    await expect.poll(chain).toEqual(['dojah', 'registry'])
    expect((await order({ kind: 'nin' })).json()).toEqual({ ok: true })
    expect(await list()).toMatchObject({ nin_order: ['registry', 'dojah'], changed_orders: [] })
    await expect.poll(chain).toEqual(['registry', 'dojah'])
    const rows = await readRows(at, 'source_order_changed')
    expect(rows.map(({ detail }) => detail)).toEqual([
      'nin: dojah, registry; before: registry, dojah; by bola',
      'nin: registry, dojah; before: dojah, registry; reset to the setting; by bola',
    ])
  })

  it.each([[['dojah']], [['dojah', 'dojah']], [['registry', 'dojah', 'prembly']], [[]]])(
    'cannot be called in an order that does not name each once: %j',
    async (names) => {
      const answer = await at.request('/admin/sources/order', {
        cookie: operator,
        body: { kind: 'nin', names },
      })
      expect([answer.status, answer.json().message]).toEqual([
        409,
        'The order must name each configured source once: registry, dojah.',
      ])
      expect(await list()).toMatchObject({ nin_order: ['registry', 'dojah'], changed_orders: [] })
    },
  )

  it('can be checked with a real call, which is counted and explained', async () => {
    expect((await post('dojah/check')).json()).toMatchObject({ ok: true, asked: 'a NIN', result: 'found' })
    expect(await list()).toMatchObject({ sources: [{ calls_today: 1, spent_kobo_today: 5000 }] })
    vendor.fail('unauthorised')
    const bad = await post('dojah/check')
    vendor.fail(undefined)
    expect(bad.json()).toMatchObject({ ok: false, explanation: expect.stringContaining('credentials') })
    expect(bad.text).not.toContain(CANARY)
    const rows = await readRows(at, 'source_checked')
    expect(rows.map(({ detail }) => detail)).toEqual(['dojah; by bola', 'dojah; by bola'])
  })

  it('are checked with the file that was read last', async () => {
    const { config, sourceChain } = at.context
    const inUse = config.vendors.dojah as VendorInUse
    const loaded = inUse.vendor.loaded as LoadedFile
    const file = JSON.parse(JSON.stringify(loaded.file).replaceAll('"found"', '"refused"')) as VendorFile
    const other = { ...inUse, vendor: toFileVendor({ ...loaded, file }) }
    await sourceChain.reload({ ...config, vendors: { dojah: other } })
    expect((await post('dojah/check')).json()).toMatchObject({ ok: false })
    await sourceChain.reload(config)
    expect((await post('dojah/check')).json()).toMatchObject({ ok: true })
  })

  it.each(['registry', 'unknown', '__proto__'])(
    'are not switched where there is no such vendor: %s',
    async (name) => {
      for (const action of ['disable', 'enable', 'check'])
        expect((await post(`${name}/${action}`)).status).toBe(404)
    },
  )

  it('cannot be checked without settings', async () => {
    const answer = await post('prembly/check')
    expect([answer.status, answer.json().message]).toEqual([
      409,
      expect.stringContaining('is not configured'),
    ])
  })
})
