import { describe, expect, it } from 'vitest'
import { createPlace, readAudit, toNin } from '../battery/place.ts'
import { DISK_FAILURES } from './causes.ts'
import { startSpawned } from './spawned.ts'

const MOST_ASKS = 20_000

describe.concurrent('a server whose disk fails, because', () => {
  for (const { name, missing, prepare } of DISK_FAILURES)
    it.skipIf(missing)(
      `${name}${missing ? ` (skipped: ${missing})` : ''}, refuses, ends with 1, and does not come back by itself`,
      { timeout: 60_000 },
      async () => {
        const { settings, begin, tidy } = await prepare()
        const place = await createPlace({ ...settings, TABBAT_LOG_LEVEL: 'info' })
        const server = await startSpawned(place)
        try {
          const first = await server.verifyNin(toNin(0))
          expect(first?.status).toBe(200)
          const end = await begin(server.pid)
          // The cause goes when the first caller was refused: the server must not take that for an all-clear.
          let gone = false
          for (let index = 0; index < MOST_ASKS && server.child.exitCode === null; index++) {
            const reply = await server.verifyNin(toNin(1))
            expect([503, undefined]).toContain(reply?.status)
            if (!gone) await end().catch(() => {})
            gone = true
            if (!reply) break
          }
          expect(await server.ended).toBe(1)
          const { events } = await server.log()
          expect(events.filter((event) => event === 'disk_failed')).toHaveLength(1)
          const reference = JSON.parse(first?.body ?? '').data.request_reference
          const rows = await readAudit(place)
          expect(rows.some((row) => row.request_reference === reference)).toBe(true)
        } finally {
          server.stop()
          await tidy()
        }
      },
    )
})
