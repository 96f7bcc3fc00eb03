import { createHash, createSecretKey } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AuditFilter } from '../../src/audit/audit-filter.ts'
import { makeCheckpoint } from '../../src/audit/checkpoint.ts'
import type { ExtractFormat, ExtractRecord } from '../../src/audit/extract/extract-format.ts'
import { parseCsvLine, toCsvLine } from '../../src/audit/extract/extract-format.ts'
import { verifyExtract } from '../../src/audit/extract/verify-extract.ts'
import { writeExtract } from '../../src/audit/extract/write-extract.ts'
import { toPublicKey } from '../../src/audit/open-checkpoint.ts'
import { type AuditEntry, EMPTY_HEAD, linkEntries } from '../../src/audit/row.ts'
import { createSigner } from '../../src/audit/signing.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { createRandom } from './random.ts'
import { CHAINS, createSampleLog, type SampleLog } from './sample-log.ts'

const FORMULA = '=HYPERLINK("https://elsewhere.example","x")'
const MUTATIONS = 400
const OTHER = createSigner(createSecretKey(Buffer.alloc(32, 7)))

type Line = Record<string, unknown> & { record: string }

let log: SampleLog
const keyNames = new Map([
  ['key00001', FORMULA],
  ['key00002', 'loans, "app"\nLagos'],
])

type Wanted = { format?: ExtractFormat; view?: 'verifications' | 'rows'; filter?: AuditFilter }

async function addRow(from: SampleLog, entry: AuditEntry): Promise<void> {
  const { audit } = from.store
  const head = (await audit.head(CHAINS[2])) ?? EMPTY_HEAD
  await audit.append({ rows: audit.packRows(linkEntries(CHAINS[2], head, [entry])) })
}

const extract = (wanted: Wanted = {}, from = log, sign = true): Promise<string> => {
  const { store, signer, folder } = from
  const signNow = async () => void (sign && (await makeCheckpoint(store.audit, signer, folder)))
  const { format = 'ndjson', view = 'verifications', filter = {} } = wanted
  const options = { format, view, filter, shownFilter: { key: 'some' }, keyNames }
  return text(
    Readable.from(writeExtract({ store, missingArchives: 0, signer, isDemo: false, signNow }, options)),
  )
}

/** In pieces of an odd size, as a file is read. */
async function* toPieces(content: string | Uint8Array, size = 1009) {
  const bytes = Buffer.from(content as string)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
const verify = (content: string | Uint8Array, publicKey = log.publicKey) =>
  verifyExtract(toPieces(content), publicKey)

const toLines = (content: string) => content.trimEnd().split('\n')
const parse = (content: string) => toLines(content).map((line) => JSON.parse(line) as Line)
const join = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('')

beforeAll(async () => {
  log = await createSampleLog()
  await addRow(log, {
    phase: 'key_created',
    key_id: 'key00001',
    detail: `${FORMULA}; by "ada",\r\nthe first`,
  })
  await addRow(log, { phase: 'key_created', detail: '' })
})
afterAll(() => log.close())

describe.each(['ndjson', 'csv'] as const)('an extract as %s', (format) => {
  it('is good with the public key alone, and has every row once, each proved', async () => {
    const result = await verify(await extract({ format, view: 'rows' }))
    const { rows } = await log.store.audit
      .chains()
      .then((chains) => Promise.all(chains.map(({ chain }) => log.store.audit.page(chain, 0, 10_000))))
      .then((pages) => ({ rows: pages.flat().length }))
    expect(result).toMatchObject({ sound: true, rows, unproved: 0, about: { filter: { key: 'some' } } })
  })

  it('has all rows of the verifications that fit, and no other', async () => {
    const ndjson = parse(await extract({ filter: { key_ids: ['key00002'] } }))
    const rows = ndjson.filter(({ record }) => record === 'row')
    expect(new Set(rows.map(({ key_id }) => key_id))).toEqual(new Set(['key00002']))
    const references = new Set(rows.map(({ request_reference }) => request_reference))
    expect(references.size).toBe(log.references.filter((_each, index) => (index + 1) % 5 === 2).length)
    expect(rows).toHaveLength(references.size * 2)
    const result = await verify(await extract({ format, filter: { key_ids: ['key00002'] } }))
    expect(result).toMatchObject({ sound: true, rows: rows.length })
  })

  it('is good without any row', async () => {
    const result = await verify(await extract({ format, filter: { key_ids: ['nobody'] } }))
    expect(result).toMatchObject({ sound: true, rows: 0, checkpoints: 0 })
  })

  it('is not good with another key', async () => {
    const other = toPublicKey(OTHER.publicKey, 'The key')
    expect(await verify(await extract({ format }), other)).toMatchObject({
      sound: false,
      reason: expect.stringContaining('signature'),
    })
  })

  it('is not good when any byte is changed', async () => {
    const good = Buffer.from(await extract({ format, filter: { key_ids: ['key00003'] } }))
    expect((await verify(good)).sound).toBe(true)
    const { below } = createRandom(11)
    for (let turn = 0; turn < MUTATIONS; turn++) {
      const bad = Buffer.from(good)
      const at = below(bad.length)
      bad[at] = (bad[at] ?? 0) ^ (1 << below(8))
      expect([at, (await verify(bad)).sound]).toEqual([at, false])
    }
  })

  it('is not good when it is cut anywhere, or when something follows', async () => {
    const good = Buffer.from(await extract({ format, filter: { key_ids: ['key00003'] } }))
    const { below } = createRandom(12)
    for (let turn = 0; turn < 200; turn++)
      expect((await verify(good.subarray(0, below(good.length)))).sound).toBe(false)
    for (const rest of ['\n', ' ', '{}\n', 'row\r\n'])
      expect((await verify(Buffer.concat([good, Buffer.from(rest)]))).sound).toBe(false)
  })
})

it('a long line in small pieces is joined once, not with each piece', async () => {
  const line = Buffer.alloc(4 * 1024 * 1024, 'a')
  // Joining with each piece would copy 130 GB.
  for (const start of ['{', '"'])
    expect(
      await verifyExtract(toPieces(Buffer.concat([Buffer.from(start), line]), 64), log.publicKey),
    ).toMatchObject({ sound: false, line: 1 })
})

describe('an extract that was changed', () => {
  let lines: string[]
  beforeAll(async () => {
    lines = toLines(await extract({ filter: { outcome: 'verified' } }))
  })
  const rowAt = () => lines.findIndex((line) => line.startsWith('{"record":"row"'))
  const change = (edit: (row: Line) => Line) =>
    join(lines.map((line, at) => (at === rowAt() ? JSON.stringify(edit(JSON.parse(line) as Line)) : line)))

  it('by an edit of a row is found, with its line', async () => {
    const result = await verify(change((row) => ({ ...row, outcome: 'not_verified' })))
    expect(result).toEqual({
      sound: false,
      line: rowAt() + 1,
      reason: 'the hash of the row does not match its content: the row was changed',
    })
  })

  it.each([
    ['another path', { path: 'ab'.repeat(32) }, 'the path does not lead from the row to the signed root'],
    ['no path', { path: '' }, 'the path does not lead from the row to the signed root'],
    ['another checkpoint', { checkpoint: 99 }, 'the checkpoint does not cover this row'],
  ])('is found, with the line and the reason: %s', async (_what, edit, reason) => {
    const result = await verify(change((row) => ({ ...row, ...edit })))
    expect(result).toEqual({ sound: false, line: rowAt() + 1, reason })
  })

  it('by an edit of a value that is not hashed is found', async () => {
    const result = await verify(change((row) => ({ ...row, key_name: 'another name' })))
    expect(result).toMatchObject({
      sound: false,
      reason: expect.stringContaining('not the file that was signed'),
    })
    const released = await verify(change((row) => ({ ...row, released: 'nin_number' })))
    expect(released).toMatchObject({ sound: false, reason: expect.stringContaining('released fields') })
  })

  it.each<[string, (all: readonly string[], at: number) => string[]]>([
    ['a removed row', (all, at) => all.toSpliced(at, 1)],
    ['a row that is there twice', (all, at) => all.toSpliced(at, 0, all[at] ?? '')],
    ['two swapped rows', (all, at) => all.toSpliced(at, 2, all[at + 1] ?? '', all[at] ?? '')],
    ['another filter', (all) => [all[0]?.replace('some', 'none') ?? '', ...all.slice(1)]],
  ])('is found: %s', async (_what, edit) => {
    expect(await verify(join(edit(lines, rowAt())))).toEqual({
      sound: false,
      line: null,
      reason:
        'it is not the file that was signed: a row was removed, added or moved, or other content was changed',
    })
  })

  it('by a row of another extract is found, although the row is real', async () => {
    const others = toLines(await extract({ view: 'rows', filter: { phase: 'intent' } }))
    const added = others.find((line) => line.startsWith('{"record":"row"')) ?? ''
    const { checkpoint } = JSON.parse(added) as { checkpoint: number }
    const number = lines.filter((line) => line.startsWith('{"record":"checkpoint"')).length + 1
    const proof = others.filter((line) => line.startsWith('{"record":"checkpoint"'))[checkpoint - 1] ?? ''
    const moved = [proof, added].map((line) =>
      JSON.stringify({ ...(JSON.parse(line) as object), checkpoint: number }),
    )
    const result = await verify(join(lines.toSpliced(-1, 0, ...moved)))
    expect(result).toMatchObject({
      sound: false,
      reason: expect.stringContaining('a row was removed, added'),
    })
  })

  it('and signed again by another key is found', async () => {
    const body = (JSON.parse(lines.at(-1) ?? '') as { body: string }).body
    const end = JSON.stringify({ record: 'end', body, signature: OTHER.sign(body) })
    const result = await verify(join(lines.toSpliced(-1, 1, end)))
    expect(result).toMatchObject({ sound: false, reason: expect.stringContaining('no valid signature') })
  })

  it('by the end of another extract is found', async () => {
    const other = toLines(await extract({ filter: { outcome: 'none' } })).at(-1) ?? ''
    expect(await verify(join(lines.toSpliced(-1, 1, other)))).toMatchObject({ sound: false })
  })

  it.each(['', 'hello\n', '{}\n', '[1]\n', '{"record":"row"}\n', 'record,time\r\n'])(
    'into something else is refused: %j',
    async (content) => {
      expect(await verify(content)).toMatchObject({
        sound: false,
        reason: expect.stringMatching(/^this is not/),
      })
    },
  )
})

describe('the purpose of a verification', () => {
  beforeAll(() =>
    addRow(log, {
      phase: 'outcome',
      request_reference: 'ver_loan',
      outcome: 'verified',
      detail: 'purpose: loan',
    }),
  )

  it('is a column, which cannot differ from the row', async () => {
    const content = await extract({ filter: { request_reference: 'ver_loan' } })
    expect(parse(content).find(({ record }) => record === 'row')).toMatchObject({ purpose: 'loan' })
    expect(await verify(content.replace('"purpose":"loan"', '"purpose":"card"'))).toMatchObject({
      sound: false,
      reason: 'the purpose is not the one that the row has in its detail',
    })
  })

  it.each(['csv', 'ndjson'] as const)(
    'is not in an extract of 0.3, which is still good (%s)',
    async (format) => {
      const content = await extract({ format, filter: { request_reference: 'ver_loan' } })
      expect((await verify(toEarlier(content, format))).sound).toBe(true)
      expect((await verify(toEarlier(content, format).replace('ver_loan', 'ver_moan'))).sound).toBe(false)
    },
  )

  /** As 0.3 wrote it: without the purpose, and signed so. */
  function toEarlier(content: string, format: ExtractFormat): string {
    const isCsv = format === 'csv'
    const lines = content.trimEnd().split(isCsv ? '\r\n' : '\n')
    const at = lines[0]?.split(',').indexOf('purpose') ?? -1
    const records = lines
      .slice(isCsv ? 1 : 0)
      .map((line) => (isCsv ? parseCsvLine(`${line}\r\n`) : JSON.parse(line)))
    const columns = lines[0]?.split(',').toSpliced(at, 1)
    const toLine = ({ purpose: _, ...record }: Line) =>
      isCsv ? toCsvLine(record as unknown as ExtractRecord, columns) : `${JSON.stringify(record)}\n`
    const before = `${isCsv ? `${columns?.join(',')}\r\n` : ''}${records.slice(0, -1).map(toLine).join('')}`
    const statement = {
      ...JSON.parse(records.at(-1).body),
      sha256: createHash('sha256').update(before).digest('hex'),
    }
    const body = JSON.stringify(statement)
    return `${before}${toLine({ record: 'end', body, signature: log.signer.sign(body) })}`
  }
})

describe('a CSV file', () => {
  it('has no cell that a spreadsheet would run as a formula', async () => {
    const content = await extract({ format: 'csv', view: 'rows' })
    expect(content).toContain(`"'=HYPERLINK(""https://elsewhere.example"",""x"")"`)
    const cells = content.match(/(?<=^|,|\n)("[^"]*(?:""[^"]*)*"|[^",\r\n]*)/g) ?? []
    expect(cells.length).toBeGreaterThan(5000)
    expect(cells.filter((cell) => /^"?[=+\-@\t\r]/.test(cell))).toEqual([])
    expect((await verify(content)).sound).toBe(true)
  })

  it('keeps every value: null and empty texts, quotes, line breaks, apostrophes', () => {
    const { below } = createRandom(3)
    const letters = ['=', '+', '-', '@', "'", '"', ',', '\r', '\n', '\t', 'a', '\u{ff1d}', 'é', ' ']
    const toText = () => Array.from({ length: below(6) }, () => letters[below(letters.length)]).join('')
    for (let turn = 0; turn < 3000; turn++) {
      const record = {
        record: 'row',
        detail: below(5) === 0 ? null : toText(),
        key_name: toText(),
        sequence: 3,
      }
      expect(parseCsvLine(toCsvLine(record as unknown as ExtractRecord))).toMatchObject(record)
    }
  })
})

describe.each(hasPostgres() ? ['sqlite', 'postgres'] : ['sqlite'])(
  'rows without a checkpoint on %s',
  (engine) => {
    let fresh: SampleLog
    beforeAll(async () => {
      fresh = await createSampleLog(engine === 'postgres' ? await createTestDatabase() : undefined)
    })
    afterAll(() => fresh.close())

    it('get one, once for each extract', async () => {
      const before = (await fresh.store.audit.listCheckpoints()).length
      await addRow(fresh, { phase: 'outcome', request_reference: 'ver_new', outcome: 'verified' })
      await addRow(fresh, { phase: 'outcome', request_reference: 'ver_newer', outcome: 'verified' })
      expect(await verify(await extract({}, fresh))).toMatchObject({ sound: true, unproved: 0 })
      expect(await fresh.store.audit.listCheckpoints()).toHaveLength(before + 1)
    })

    it.skipIf(engine === 'postgres')('are those beside a row that was deleted', async () => {
      const damaged = await createSampleLog()
      const database = new DatabaseSync(damaged.store.file)
      database.exec(
        `DROP TRIGGER audit_no_delete; DELETE FROM audit WHERE request_reference = '${damaged.references[0]}'`,
      )
      database.close()
      const filter = { request_reference: damaged.references[1] ?? '' }
      expect(await verify(await extract({ filter }, damaged))).toMatchObject({
        sound: true,
        rows: 2,
        unproved: 2,
      })
      await damaged.close()
    })

    it('are counted when none can be made', async () => {
      await addRow(fresh, { phase: 'outcome', request_reference: 'ver_newest', outcome: 'verified' })
      const content = await extract({ filter: { request_reference: 'ver_newest' } }, fresh, false)
      expect(await verify(content)).toMatchObject({ sound: true, rows: 1, unproved: 1 })
    })
  },
)
