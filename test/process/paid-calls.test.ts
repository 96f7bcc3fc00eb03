import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { openStore } from '../../src/context/store.ts'
import { dojah } from '../../src/simulator/dojah.ts'
import { toPhoneCoreOf } from '../../src/simulator/people.ts'
import { openStandIn } from '../../src/simulator/stand-in.ts'
import { createTestDatabase, hasPostgres } from '../postgres.ts'
import { newDataDir, type Settings, startServer, tabbat } from './tabbat.ts'

const NIN = '12345678901'
const engines = hasPostgres() ? ['SQLite', 'PostgreSQL'] : ['SQLite']

/** Ends the lease, so that the claim of a dead process can be taken over. */
async function endLeases({
  TABBAT_DATA_DIR = '',
  TABBAT_DATABASE_URL: databaseUrl,
}: Settings): Promise<void> {
  const store = await openStore({ dataDir: TABBAT_DATA_DIR, databaseUrl })
  await store.database.prepare('UPDATE idempotency SET lease_until = 1').run()
  await store.close()
}

describe.concurrent.each(engines)('kill -9 during a call to a vendor, on %s', (engine) => {
  it('does not give an Idempotency-Key more than two paid calls', async ({ onTestFinished }) => {
    const vendor = await openStandIn(dojah)
    onTestFinished(vendor.close)
    vendor.fail('slow_headers')
    const settings: Settings = {
      ...vendor.settings,
      TABBAT_DATA_DIR: newDataDir(),
      TABBAT_NIN_SOURCES: 'dojah',
      TABBAT_LOG_LEVEL: 'silent',
      ...(engine === 'PostgreSQL' ? { TABBAT_DATABASE_URL: await createTestDatabase() } : {}),
    }
    const made = await tabbat(settings, 'keys', 'create', '--name', 'x', '--mode', 'live', '--json')
    const { key } = JSON.parse(made.stdout) as { key: string }
    const verify = (url: string) =>
      fetch(`${url}/api/v2/kyc/verify-nin`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'idempotency-key': 'order-1',
        },
        body: JSON.stringify({ nin: NIN, phone: `0${toPhoneCoreOf(NIN)}` }),
      })
    for (const calls of [1, 2]) {
      const server = await startServer(settings)
      onTestFinished(() => void server.child.kill('SIGKILL'))
      const lost = verify(server.url).catch(() => 'lost')
      await expect.poll(vendor.count).toBe(calls)
      const ended = once(server.child, 'exit')
      server.child.kill('SIGKILL')
      await ended
      expect(await lost).toBe('lost')
      await endLeases(settings)
    }
    vendor.fail(undefined)
    const server = await startServer(settings)
    onTestFinished(() => void server.child.kill('SIGKILL'))
    const answer = await verify(server.url)
    expect(answer.status).toBe(503)
    expect(await answer.json()).toMatchObject({ code: 'source_unavailable', retryable: false })
    expect(vendor.count()).toBe(2)
    expect(await server.stop()).toBe(0)
  })
})
