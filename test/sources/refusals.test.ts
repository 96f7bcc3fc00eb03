import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AuditEntry } from '../../src/audit/row.ts'
import type { TvFile } from '../../src/contract/bundles.ts'
import { withProducts } from '../../src/sources/price-list.ts'
import { keepProof } from '../../src/sources/proof-table.ts'
import { NO_SUCH_PERSON } from '../../src/sources/reply.ts'
import { changeOrder, toCallOrder } from '../../src/sources/source-order.ts'
import { loadVendorFile } from '../../src/sources/vendors.ts'
import { problemsOf } from '../context/problems.ts'
import { describeEngines, ENGINES } from '../engines.ts'

describe('a vendor file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-vendor-files-'))
  const load = (name: string, content: string, mode = 0o600) => {
    const path = join(folder, name)
    writeFileSync(path, content)
    chmodSync(path, mode)
    const loaded = loadVendorFile(path)
    return 'problems' in loaded ? loaded.problems.map((text) => text.replace(`${path}: `, '')) : []
  }

  it('is refused if its name, its size or its content cannot be one', () => {
    for (const name of ['Acme.json', '1acme.json', 'registry.json', 'sandbox.json', 'a.json'])
      expect(load(name, '{}')).toEqual([
        'the name of the file is the name of the vendor: small letters and digits, such as acme.json.',
      ])
    expect(load('vtpass.json', '{}')).toEqual([
      'vtpass is part of the program and cannot be replaced by a file: rename it.',
    ])
    expect(load('large.json', ' '.repeat(1024 * 1024 + 1))).toEqual(['it is larger than 1 MiB.'])
    expect(load('broken.json', '{\n"a": 1 "b"}')).toEqual(['it is not JSON: line 2, column 8.'])
    expect(loadVendorFile(folder.concat('/missing.json'))).toEqual({
      problems: [`${folder}/missing.json: there is no such file.`],
    })
  })

  it('that others may write is not trusted', () => {
    const [problem] = load('open.json', '{}', 0o666)
    expect(problem).toContain(join(folder, 'open.json'))
    expect(problem).not.toContain('it cannot be read')
  })
})

describe('the settings of sources', () => {
  it('name each source once, and only known ones', () => {
    for (const names of ['dojah,,registry', 'dojah, DOJAH'])
      expect(problemsOf({ TABBAT_NIN_SOURCES: names })).toContainEqual(
        'TABBAT_NIN_SOURCES must be names separated by commas, each at most once',
      )
    expect(problemsOf({ TABBAT_NIN_SOURCES: 'nobody' })).toContainEqual(
      expect.stringMatching(/^TABBAT_NIN_SOURCES must be names .* out of: .*\bdojah\b/),
    )
  })

  it('have texts that are not empty between the bars', () => {
    const dojah = { TABBAT_DOJAH_APP_ID: 'a', TABBAT_DOJAH_SECRET: 's' }
    expect(problemsOf({ ...dojah, TABBAT_DOJAH_NOT_FOUND: 'No such NIN| |Gone' })).toEqual([
      'TABBAT_DOJAH_NOT_FOUND must be texts separated by |, such as Record not found|No such NIN',
    ])
    expect(problemsOf({ ...dojah, TABBAT_DOJAH_NOT_FOUND: 'No such NIN | Gone' })).toEqual([])
  })
})

describe('a text for "no such person"', () => {
  const dojah = { TABBAT_DOJAH_APP_ID: 'a', TABBAT_DOJAH_SECRET: 's' }
  const relay = { TABBAT_RELAY_URL: 'https://verify.example.com/api/v2', TABBAT_RELAY_KEY: 'k' }

  it.each([
    ...['Not Found', 'not  found !', 'NOT_FOUND', '404 Not Found', 'Merchant not found'],
    ...['Invalid API key', 'Unauthorized', 'Insufficient balance', 'Try again later', 'Endpoint unknown'],
    ...['Failed', 'Verification failed', 'Bad Request', 'An error occurred', 'Internal server error'],
  ])('cannot be %j, which may be about something else', (text) => {
    for (const [vendor, env] of [
      ['DOJAH', dojah],
      ['RELAY', relay],
    ] as const) {
      const name = `TABBAT_${vendor}_NOT_FOUND`
      expect(problemsOf({ ...env, [name]: `No such NIN|${text}` })).toEqual([
        `${name} has ${JSON.stringify(text)}, which may be about a path, an account or a failure: it cannot mean that there is no such person. Remove it; if the vendor has a code for such a person, name it in a rule: see docs/vendors.md`,
      ])
    }
  })

  it.each([
    ...['Record not found', 'No such identity', 'Unknown NIN', 'Wrong NIN Inputted', 'Unable to Validate ID'],
    ...['Invalid NIN supplied', 'We hold no entry for {number}.', ...NO_SUCH_PERSON],
  ])('can be %j', (text) => {
    expect(problemsOf({ ...dojah, TABBAT_DOJAH_NOT_FOUND: text })).toEqual([])
  })
})

describe('the order of sources', () => {
  it('has a source that was configured later at the end', () => {
    const order = ['dojah', 'gone', 'registry']
    expect(toCallOrder(['new', 'registry', 'dojah'], order, (name) => name)).toEqual([
      ...['dojah', 'registry', 'new'],
    ])
  })

  it('cannot be changed where no source is configured', async () => {
    const deps = { table: {}, audit: {} } as unknown as Parameters<typeof changeOrder>[0]
    await expect(changeOrder(deps, 'bvn', [], ['dojah'])).rejects.toThrow(
      'No source is configured for BVN. Set TABBAT_BVN_SOURCES.',
    )
    await expect(changeOrder(deps, 'nin', ['dojah', 'registry'], ['dojah'])).rejects.toThrow(
      'The order must name each configured source once: dojah, registry.',
    )
  })
})

describeEngines(ENGINES, (engine) => {
  it('keeps what a certification has proved, after its audit row, and nothing of a simulated vendor', async () => {
    const store = await (await engine.createPlace()).open()
    const rows: AuditEntry[] = []
    const audit = { record: async (entries: readonly AuditEntry[]) => void rows.push(...entries) }
    const report = {
      vendor: 'dojah',
      operation: 'nin' as const,
      file_hash: 'a'.repeat(64),
      tabbat_version: '0.3.0',
      date: '2026-11-01T12:00:00.000Z',
      proved: { rules: ['record'], fields: ['nin_number'] },
    }
    const keep = (url: string, more: object = {}) =>
      keepProof({ table: store.proofs, audit }, { ...report, ...more }, { url, by: 'ada (cli)' })
    expect(await keep('http://127.0.0.1:9101')).toBe(false)
    expect(await keep('https://api.dojah.io', { proved: { rules: [], fields: [] } })).toBe(false)
    expect([rows, await store.proofs.list()]).toEqual([[], []])
    expect(await keep('https://api.dojah.io:8443/v1')).toBe(true)
    expect(rows).toEqual([
      {
        phase: 'vendor_certified',
        detail: 'dojah nin at api.dojah.io:8443; rules: 1, fields: 1; file aaaaaaaaaaaa; proved by ada (cli)',
      },
    ])
    expect(await store.proofs.list()).toEqual([
      {
        ...{ vendor: 'dojah', operation: 'nin', fileHash: 'a'.repeat(64), host: 'api.dojah.io:8443' },
        ...{ rules: ['record'], fields: ['nin_number'], version: '0.3.0', provedBy: 'ada (cli)' },
        provedAt: Date.parse('2026-11-01T12:00:00.000Z'),
      },
    ])
    await store.close()
  })
})

it('a list with new products has add-ons only of products that still exist', () => {
  const list: TvFile = {
    ...{ as_of: '2026-01-01', type: 'DSTV', note: 'old' },
    products: [{ code: 'A', name: 'A', price: '1' }],
    add_ons: [{ code: 'X', name: 'X', price: '2', products: ['A', 'B'] }],
  }
  const products = [{ code: 'B', name: 'B', price: '3' }]
  expect(withProducts(list, products, 'new')).toEqual({
    ...list,
    note: 'new',
    products,
    add_ons: [{ code: 'X', name: 'X', price: '2', products: ['B'] }],
  })
})
