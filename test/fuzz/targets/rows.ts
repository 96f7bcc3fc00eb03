import { isUtf8 } from 'node:buffer'
import { createSecretKey } from 'node:crypto'
import { createCheckRow } from '../../../src/batches/batch-row.ts'
import { type BatchFormat, type InputRow, readRows } from '../../../src/batches/read-rows.ts'
import { SCOPES } from '../../../src/contract/scope.ts'
import { openKeyring } from '../../../src/crypto/keyring.ts'
import type { Kind } from '../../../src/crypto/mac.ts'
import { AppError, UserError } from '../../../src/errors.ts'
import { createRowCleaner } from '../../../src/registry/import/clean-row.ts'
import { type Column, readHeader, toGivenRow } from '../../../src/registry/import/csv.ts'
import { BadRow } from '../../../src/registry/import/record-fields.ts'
import { type Format, readRow, splitRows } from '../../../src/registry/import/rows.ts'
import { createChunkSealer } from '../../../src/registry/import/seal-chunk.ts'
import { unpackRows } from '../../../src/registry/import/sealed-rows.ts'
import { unsealEntry } from '../../../src/registry/sealed-entry.ts'
import { toBvnRecord } from '../../../src/sources/sandbox/bvn-record.ts'
import { toNinRecord } from '../../../src/sources/sandbox/nin-record.ts'
import { NAMES, NUMBER, PHONE_CORE, refusePersonal, type Target } from '../target.ts'

const BATCH_FORMATS: readonly BatchFormat[] = ['ndjson', 'csv', 'json']
const ROW = {
  ...{ operation: 'verify_nin', nin: NUMBER, phone: `0${PHONE_CORE}`, reference: 'row 1' },
  ...{ first_name: NAMES[0], last_name: NAMES[1], date_of_birth: '1990-01-05' },
}
const BVN_ROW = { operation: 'verify_bvn', bvn: NUMBER, phone: `0${PHONE_CORE}`, amount: '1' }
const CSV = `operation,nin,phone,reference\nverify_nin,${NUMBER},0${PHONE_CORE},"row, ""1"""\r\n`

const check = createCheckRow(new Set(SCOPES))

function checkRow(row: InputRow): void {
  if ('problem' in row) refusePersonal(row.problem)
  const checked = check(row)
  if ('refusals' in checked) for (const { message } of checked.refusals) refusePersonal(message)
  else if (!/^\d{11}$|^[A-Z0-9]{16}$/.test(checked.number)) throw new Error('accepted a wrong number')
}

/** The first byte says which format it is. The same bytes in other pieces give the same rows. */
export function openBatchTarget(): Target {
  const read = async (format: BatchFormat, body: Buffer, size: number): Promise<string> => {
    try {
      const rows = await Array.fromAsync(readRows(format, toPieces(body, size)))
      for (const row of rows) checkRow(row)
      return JSON.stringify(rows)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      refusePersonal(JSON.stringify(error.errors ?? ''))
      return error.code
    }
  }
  return {
    seeds: [
      Buffer.from(`0${JSON.stringify(ROW)}\n${JSON.stringify(BVN_ROW)}\n`),
      Buffer.from(`1${CSV}`),
      Buffer.from(`2${JSON.stringify([ROW, BVN_ROW])}`),
    ],
    words: ['operation', 'verify_bvn', 'reference', 'consent_reference', '""', '\r\n', '\ufeff', '[[', '}]'],
    run: async (input) => {
      const format = BATCH_FORMATS[(input[0] ?? 0) % BATCH_FORMATS.length] as BatchFormat
      const body = input.subarray(1)
      const whole = await read(format, body, body.length || 1)
      for (const size of [1, 7, 64])
        if ((await read(format, body, size)) !== whole)
          throw new Error(`pieces of ${size} bytes are read differently`)
    },
  }
}

async function* toPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield Buffer.from(bytes.subarray(at, at + size))
}

const derive = (label: string) => createSecretKey(Buffer.alloc(32, label))
const keyring = openKeyring(
  { candidates: [{ fingerprint: 'fuzz', derive }], origin: 'setting', where: 'the fuzzer' },
  { fingerprint: 'fuzz', version: 1, previousFingerprint: undefined, carried: undefined },
)

/** The first byte says kind and format. The quick reader of usual rows and the careful one must agree. */
export function openImportTarget(): Target {
  const nin = { ...toNinRecord(NUMBER, PHONE_CORE) }
  const bvn = { ...toBvnRecord(NUMBER, PHONE_CORE) }
  const lines = (record: object) => `${JSON.stringify(record)}\n`.repeat(3)
  const header = 'nin_number,personal_info.phone_number,personal_info.first_name,personal_info.date_of_birth'
  const row = `${NUMBER},0${PHONE_CORE},${NAMES[0]},05-01-1990\r\n`
  return {
    seeds: [
      Buffer.from(`0${lines(nin)}`),
      Buffer.from(`1${lines(bvn)}`),
      Buffer.from(`2${header}\n${row}${row}`),
      Buffer.from(`3${header.replace('nin_', 'bvn_')}\n${row}`),
    ],
    words: [...Object.keys(nin), ...Object.keys(nin.personal_info), 'picture', '\\u0041', '1990-01-05', '""'],
    run: (input) => {
      const at = (input[0] ?? 0) % 4
      importAll(at % 2 === 0 ? 'nin' : 'bvn', at < 2 ? 'ndjson' : 'csv', input.subarray(1))
    },
  }
}

const CLEANERS = { nin: createRowCleaner('nin'), bvn: createRowCleaner('bvn') } as const
/** Creating one takes far longer than reading a row. */
const sealers = new Map<string, ReturnType<typeof createChunkSealer>>()
const MAX_SEALERS = 200

function importAll(kind: Kind, format: Format, file: Buffer): void {
  const first = readRow(format, file, 0)
  const columns = format === 'csv' ? readColumns(kind, first.bytes) : []
  if (!columns) return
  const body = format === 'csv' ? file.subarray(first.end) : file
  const name = JSON.stringify([kind, format, columns])
  const seal = sealers.get(name) ?? createChunkSealer(keyring, { kind, format, columns, strict: false })
  if (sealers.size < MAX_SEALERS) sealers.set(name, seal)
  const quick = open(kind, seal(body))
  const careful = [...splitRows(format, body)].flatMap(({ bytes }) =>
    readCarefully(kind, columns, format, bytes),
  )
  for (const reason of quick.rejects) refusePersonal(reason)
  const records = careful.filter((each) => typeof each !== 'string')
  const rejects = careful.filter((each) => typeof each === 'string')
  if (JSON.stringify(records) !== JSON.stringify(quick.records))
    throw new Error('the two readers give other records')
  if (JSON.stringify(rejects) !== JSON.stringify(quick.rejects))
    throw new Error('the two readers reject other rows')
}

/** The record of a row, or why it is rejected; nothing for a blank line. */
function readCarefully(
  kind: Kind,
  columns: readonly Column[],
  format: Format,
  bytes: Buffer,
): (string | object)[] {
  const text = bytes.toString()
  if (/^\s*$/.test(text)) return []
  try {
    if (!isUtf8(bytes)) throw new BadRow('the row is not UTF-8')
    const { record, picture } = CLEANERS[kind](format === 'csv' ? toGivenRow(columns, text) : parseRow(text))
    return [{ content: record, hasPicture: picture !== undefined }]
  } catch (error) {
    if (!(error instanceof BadRow)) throw error
    return [error.message]
  }
}

function parseRow(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new BadRow('the row is not JSON')
  }
}

function readColumns(kind: Kind, header: Buffer) {
  try {
    return readHeader(kind, header.toString(), 'people.csv')
  } catch (error) {
    if (!(error instanceof UserError || error instanceof BadRow)) throw error
    refusePersonal(error.message)
    return undefined
  }
}

function open(kind: Kind, { packed, rejects }: ReturnType<ReturnType<typeof createChunkSealer>>) {
  const records = [...unpackRows(kind, keyring.version, packed)].map(({ record, media }) => {
    const { record: content } = unsealEntry(keyring, kind, record.subject, record)
    return { content, hasPicture: media !== undefined }
  })
  return { records, rejects: rejects.map(({ reason }) => reason) }
}
