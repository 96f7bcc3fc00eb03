import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { PersonReport } from '../../src/contract/person-report.ts'
import { sealEntry, sealMedia } from '../../src/registry/sealed-entry.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { toBvnRecord } from '../../src/sources/sandbox/bvn-record.ts'
import { toNinRecord } from '../../src/sources/sandbox/nin-record.ts'
import { bearer, openTestApp } from '../app.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { tabbat } from '../registry/run.ts'

const NIN = '12345678901'
const PHONE = `0${toPhoneCoreOf(NIN)}`
const BVN = '22345678901'
const REASON = 'Request of access, case 17'
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
const opened: { close: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})

const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

/** A server whose database the command reads as well. The vendor is asked although the registry has a record. */
async function openServer(engine: string) {
  const vendor = await openStandIn(dojah)
  opened.push(vendor)
  const database = engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}
  const server = await openTestApp({
    ...database,
    ...vendor.settings,
    ...{ TABBAT_NIN_SOURCES: 'dojah', TABBAT_REUSE: '24h' },
  })
  opened.push(server)
  const { keyring, store, config } = server.context
  const picture = Buffer.alloc(16, 7)
  const nin = sealEntry(keyring(), 'nin', NIN, {
    record: toNinRecord(NIN, PHONE.slice(1)),
    mediaId: picture.toString('hex'),
  })
  const bvn = sealEntry(keyring(), 'bvn', BVN, {
    record: { ...toBvnRecord(BVN, PHONE.slice(1)), name_on_card: '=HYPERLINK("http://x")' },
    mediaId: null,
  })
  const media = [sealMedia(keyring(), picture, nin.subject, PNG)]
  await store.registry.save({ records: [nin, bvn], media, at: 1_790_000_000_000 })
  const key = await server.createKey({ mode: 'live', name: 'loans <app>' })
  const verify = (headers: Record<string, string> = {}) =>
    server.app.inject({
      method: 'POST',
      url: '/api/v2/kyc/verify-nin',
      headers: { ...bearer(key), ...headers },
      payload: { nin: NIN, phone: PHONE },
    })
  const settings = { TABBAT_DATA_DIR: config.dataDir, ...database }
  const report = (args: readonly string[], input = NIN, kind = 'nin') =>
    tabbat(settings, ['person', 'report', kind, '--reason', REASON, ...args], input)
  return { ...server, verify, report, settings }
}

describe.each(engines)('a report about a person on %s', (engine) => {
  it('says what is held, who asked, and what was released', async () => {
    const { verify, report, context } = await openServer(engine)
    const consent = { 'x-consent-reference': 'shop/17', 'x-purpose': 'Loan' }
    expect((await verify({ 'idempotency-key': 'one', ...consent })).statusCode).toBe(200)
    expect((await verify({ 'idempotency-key': 'one', ...consent })).statusCode).toBe(200)
    expect((await verify({ prefer: 'respond-async', 'cache-control': 'no-cache' })).statusCode).toBe(202)
    await expect
      .poll(async () => (await context.store.people.listQueued(subjectOf())).map(({ state }) => state))
      .toEqual(['answered'])
    function subjectOf() {
      return Buffer.from(context.toSubjectHash('nin', NIN), 'hex')
    }

    const { code, stdout, stderr } = await report(['--format', 'json'])
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^Database: /)])
    const made = JSON.parse(stdout) as PersonReport
    expect(made).toMatchObject({
      kind: 'nin',
      number: '*******8901',
      reason: REASON,
      values: 'shown',
      erased_at: [],
    })
    const { held, requests } = made
    expect(held.record?.fields).toContainEqual({ name: 'nin_number', value: NIN })
    expect(held.picture).toEqual({
      media_type: 'image/png',
      bytes: PNG.length,
      base64: PNG.toString('base64'),
    })
    expect(held.kept_answers).toMatchObject([
      { key_name: 'loans <app>', outcome: 'verified', operation: 'verify_nin' },
    ])
    expect(held.kept_answers[0]?.fields).toContainEqual({ name: 'nin_number', value: NIN })
    expect(held.queued).toMatchObject([{ key_name: 'loans <app>', state: 'answered', batch: null }])
    expect(held.reused_results).toMatchObject([{ source: 'dojah' }])
    expect(requests).toHaveLength(2)
    expect(requests[0]).toMatchObject({
      ...{ key_name: 'loans <app>', mode: 'live', operation: 'verify_nin', outcome: 'verified' },
      ...{ consent_reference: 'shop/17', purpose: 'loan', sources: [{ name: 'dojah', result: 'found' }] },
    })
    expect(requests[0]?.fields_released).toContain('nin_number')
    expect(requests[0]?.replayed_at).toHaveLength(1)
    expect(made.limits.join(' ')).toContain("does not know the person's BVN")

    const rows = await context.store.audit.bySubject(context.toSubjectHash('nin', NIN))
    const own = rows.filter(({ phase }) => phase === 'person_reported')
    expect(own).toMatchObject([
      { outcome: 'ok', detail: expect.stringContaining(`nin, json; reason: ${REASON}`) },
    ])
    const second = JSON.parse((await report(['--format', 'json'])).stdout) as PersonReport
    expect(second.accesses.map(({ what }) => what)).toEqual(['person_reported'])
  })

  it('is empty for an unknown number, and after an erasure it says when that was', async () => {
    const { report, settings } = await openServer(engine)
    const unknown = JSON.parse((await report(['--format', 'json'], '70000000001')).stdout) as PersonReport
    expect(unknown.held).toMatchObject({
      record: null,
      picture: null,
      kept_answers: [],
      queued: [],
      batch_rows: [],
    })
    expect(unknown.requests).toEqual([])
    await tabbat(settings, ['person', 'erase', 'nin', '--reason', REASON, '--yes'], NIN)
    const after = JSON.parse((await report(['--format', 'json'])).stdout) as PersonReport
    expect(after.held.record).toBeNull()
    expect(after.erased_at).toHaveLength(1)
    expect(after.accesses.map(({ what }) => what)).toEqual(['record_erased'])
  })
})

describe('a report in a file', () => {
  it('is readable by its owner only, is not replaced unasked, and formulas and markup are harmless', async () => {
    const { report, verify, context } = await openServer('SQLite')
    await verify({ 'idempotency-key': 'one' })
    const folder = context.config.dataDir
    const [csv, html] = [join(folder, 'r.csv'), join(folder, 'r.html')]
    expect(await report(['--format', 'csv', '--out', csv], BVN, 'bvn')).toMatchObject({ code: 0 })
    expect(statSync(csv).mode & 0o777).toBe(0o600)
    expect(readFileSync(csv, 'utf8')).toContain(`"'=HYPERLINK(""http://x"")"`)
    const again = await report(['--format', 'csv', '--out', csv], BVN, 'bvn')
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('exists. Give another name')])
    expect(await report(['--format', 'html', '--out', html])).toMatchObject({ code: 0 })
    const page = readFileSync(html, 'utf8')
    expect(page).toContain('loans &lt;app&gt;')
    expect(page).not.toContain('<app>')
    expect(page).toContain(`data:image/png;base64,${PNG.toString('base64')}`)
    expect(page).not.toMatch(/<script|https?:/)
    expect(page).toContain('@media print')
    const text = await report([])
    expect(text.stdout).toContain('Who asked')
    expect(text.stdout).toContain('loans <app>')
  })
})

describe('tabbat person', () => {
  it('refuses what it cannot use, without repeating a number, and before an audit row', async () => {
    const { settings, context } = await openServer('SQLite')
    const run = (args: readonly string[], input = '') => tabbat(settings, ['person', ...args], input)
    const refused = await Promise.all([
      run(['report', 'nin', '--reason', REASON], '123'),
      run(['report', 'nin', '--reason', `about ${NIN}`], NIN),
      run(['report', 'nin'], NIN),
      run(['report', 'nin', NIN, '--reason', REASON]),
      run(['erase', 'nin', '--reason', 'short', '--yes'], NIN),
      run(['erase', 'nin', '--reason', REASON], NIN),
      run(['report', 'bvn', '--reason', REASON], 'AB012345678910YZ'),
      run(['report', 'nin', '--reason', REASON, '--number-file', '/nowhere']),
      run(['report', 'nin', '--reason', REASON, '--format', 'pdf'], NIN),
      run(['report', 'nin', '--reason', REASON, '--out', '/nowhere/report.txt'], NIN),
    ])
    expect(refused.at(-1)?.stderr).toContain('There is no folder /nowhere.')
    for (const { code, stdout, stderr } of refused) {
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).not.toMatch(/\d{9}/)
    }
    const rows = await context.store.audit.bySubject(context.toSubjectHash('nin', NIN))
    expect(rows).toEqual([])
  })
})
