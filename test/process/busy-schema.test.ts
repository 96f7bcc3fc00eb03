import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Client } from 'pg'
import { expect, it } from 'vitest'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { newDataDir, TABBAT, tabbat } from './tabbat.ts'

/** Older functions, which the next command replaces, and a transaction that keeps it from that until the returned function is called. */
async function holdOlderSchema(databaseUrl: string): Promise<() => Promise<void>> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  await client.query("UPDATE schema_state SET functions = 'older'")
  await client.query('BEGIN; LOCK TABLE schema_state IN SHARE MODE')
  return async () => {
    await client.query('COMMIT')
    await client.end()
  }
}

it.skipIf(!hasPostgres())(
  'a restore says that it waits for a transaction that uses the tables, and goes on after it',
  async () => {
    const dir = newDataDir()
    const backup = join(dir, 'tabbat.backup')
    await tabbat({ TABBAT_DATA_DIR: dir }, 'keys', 'create', '--name', 'shop', '--mode', 'test')
    await tabbat({ TABBAT_DATA_DIR: dir }, 'backup', backup)
    const databaseUrl = await createTestDatabase()
    const release = await holdOlderSchema(databaseUrl)
    const env = { PATH: process.env.PATH ?? '', TABBAT_DATA_DIR: dir, TABBAT_DATABASE_URL: databaseUrl }
    const child = spawn(TABBAT.file, ['restore', backup], { env, stdio: ['ignore', 'ignore', 'pipe'] })
    const closed = once(child, 'close')
    let stderr = ''
    let released: Promise<void> | undefined
    for await (const piece of child.stderr) {
      stderr += piece
      if (stderr.includes('Waiting for it')) released ??= release()
    }
    await released
    expect(stderr).toMatch(/^warning: the tables must be changed for this version, .*up to ten minutes\.$/m)
    expect([await closed, stderr]).toEqual([[0, null], stderr])
  },
)
