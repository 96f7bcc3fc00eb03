import { Client } from 'pg'
import { describe, expect, it } from 'vitest'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { startServer, tabbat } from './tabbat.ts'

/** A database in which a transaction holds this table, until the returned function is called. */
async function lockTable(table: string) {
  const url = await createTestDatabase()
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`)
  const settings = { TABBAT_DATABASE_URL: url, TABBAT_STORE_TIMEOUT: '1s' }
  return { settings, release: () => client.end() }
}

describe.skipIf(!hasPostgres())('a start while another transaction holds', () => {
  it('the table of chains ends, and says what is wrong', async () => {
    const { settings, release } = await lockTable('audit_chains')
    const { code, stderr } = await tabbat({ ...settings, TABBAT_PORT: '0', TABBAT_ADMIN_PORT: '0' }, 'serve')
    await release()
    expect(stderr).toMatch(
      /^error: PostgreSQL at 127\.0\.0\.1:\d+ (cannot be reached|did not execute a statement)/m,
    )
    expect(code).toBe(1)
  })

  it('the table of accounts succeeds, without what is only for the banner', async () => {
    const { settings, release } = await lockTable('accounts')
    const server = await startServer(settings)
    expect(server.banner).not.toContain('first account')
    expect((await fetch(`${server.url}/health/live`)).status).toBe(200)
    await release()
    expect(await server.stop()).toBe(0)
  })
})
