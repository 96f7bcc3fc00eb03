import { createHmac } from 'node:crypto'
import { expect, it } from 'vitest'
import { FORMAT, FORMAT_VERSION, toBackupKey, toMacText } from '../../src/backup/format.ts'
import { parseBackup } from '../../src/backup/read-backup.ts'
import { createRootKeyText, parseRootKey, type RootKeys } from '../../src/crypto/root-key.ts'
import { SCHEMA_VERSION } from '../../src/database/migrate.ts'

const MIB = 1024 * 1024

it('gives long rows in small pages, because a forged file is known only at its end', async () => {
  const rootKeys: RootKeys = {
    candidates: [parseRootKey(createRootKeyText(), '')],
    origin: 'file',
    where: '',
  }
  const header = {
    format: FORMAT,
    version: FORMAT_VERSION,
    schema: SCHEMA_VERSION,
    root_fingerprint: rootKeys.candidates[0]?.fingerprint ?? '',
    created_at: new Date().toISOString(),
  } as const
  const row = JSON.stringify([...Array.from({ length: 2 }, () => 'x'.repeat(4 * MIB))])
  async function* write() {
    const mac = createHmac('sha256', toBackupKey(rootKeys, header))
    const columns = { table: 'api_keys', columns: ['id', 'name'] }
    for (const line of [JSON.stringify(header), JSON.stringify(columns), ...Array<string>(20).fill(row)]) {
      mac.update(`${line}\n`)
      yield Buffer.from(`${line}\n`)
    }
    const end = '{"end":true,"counts":{"api_keys":20}'
    yield Buffer.from(`${end}${toMacText(mac.update(end).digest('hex'))}\n`)
  }
  const pages: number[] = []
  const { counts } = await parseBackup(write(), rootKeys, async ({ rows }) => void pages.push(rows.length))
  expect(counts).toEqual({ api_keys: 20 })
  expect(Math.max(...pages)).toBe(2)
})
