import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { FORMAT, FORMAT_VERSION, type Header, toBackupKey, toMacText } from '../../../src/backup/format.ts'
import { readBackup } from '../../../src/backup/read-backup.ts'
import { parseRootKey, type RootKeys } from '../../../src/crypto/root-key.ts'
import { UserError } from '../../../src/errors.ts'
import { NAMES, refusePersonal, type Target } from '../target.ts'

const rootKeys: RootKeys = {
  candidates: [parseRootKey(Buffer.alloc(32, 7).toString('base64'), '')],
  origin: 'file',
  where: '',
}

/** A fixed one: the corpus has this backup, and one of an older schema is accepted too. */
const SCHEMA = 3

/** Only what was written under the root key is accepted, with every row as it was. Input without the mark of gzip is packed first. */
export function openBackupTarget(): Target {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-fuzz-'))
  const file = join(folder, 'fuzz.backup')
  const genuine = writeBackup()
  const read = async (bytes: Buffer): Promise<string | undefined> => {
    writeFileSync(file, bytes)
    const pages: unknown[] = []
    try {
      const { header, counts } = await readBackup(file, rootKeys, { onRows: (rows) => void pages.push(rows) })
      return JSON.stringify([header, counts, pages])
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      refusePersonal(error.message)
      return undefined
    }
  }
  let wanted: string | undefined
  return {
    seeds: [Buffer.from(genuine), gzipSync(genuine)],
    words: [
      '"end":true',
      '"mac":',
      '"counts":',
      '"table":',
      '"columns":',
      'api_keys',
      '\u001f\u008b',
      'accounts',
    ],
    run: async (input) => {
      wanted ??= await read(gzipSync(genuine))
      if (wanted === undefined) throw new Error('the genuine backup is refused')
      const isPacked = input[0] === 0x1f && input[1] === 0x8b
      const found = await read(isPacked ? input : gzipSync(input))
      if (found !== undefined && found !== wanted) throw new Error('a changed backup is accepted')
    },
    close: async () => rmSync(folder, { recursive: true }),
  }
}

function writeBackup(): string {
  const header: Header = {
    format: FORMAT,
    version: FORMAT_VERSION,
    schema: SCHEMA,
    root_fingerprint: rootKeys.candidates[0]?.fingerprint ?? '',
    created_at: '2026-01-05T09:30:00.000Z',
  }
  const rows = [
    ['ada', 'viewer', NAMES[0], null],
    ['obi', 'owner', NAMES[1], { base64: Buffer.from('bytes').toString('base64') }],
  ]
  const lines = [
    header,
    { table: 'accounts', columns: ['name', 'role', 'password', 'created_at'] },
    ...rows,
    { table: 'api_keys', columns: ['id', 'name'] },
    ['Ab12Cd34', 'shop'],
  ].map((line) => `${JSON.stringify(line)}\n`)
  const end = '{"end":true,"counts":{"accounts":2,"api_keys":1}'
  const mac = createHmac('sha256', toBackupKey(rootKeys, header)).update(lines.join('')).update(end)
  return `${lines.join('')}${end}${toMacText(mac.digest('hex'))}\n`
}
