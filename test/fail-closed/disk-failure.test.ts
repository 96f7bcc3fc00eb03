import { describe, expect, it } from 'vitest'
import { createPlace, readAudit, toNin } from '../battery/place.ts'
import { DISK_FAILURES } from './causes.ts'
import { startSpawned } from './spawned.ts'

const MAX_REQUESTS = 20_000

describe.concurrent('a server whose disk fails, because', () => {
  for (const { name, missing, prepare } of DISK_FAILURES)
    it.skipIf(missing)(
      `${name}${missing ? ` (skipped: ${missing})` : ''}, refuses requests, exits with 1, and does not recover by itself`,
      async () => {
        const { settings, begin, cleanUp } = await prepare()
        const place = await createPlace({ ...settings, TABBAT_LOG_LEVEL: 'info' })
        const server = await startSpawned(place)
        try {
          const first = await server.verifyNin(toNin(0))
          expect(first?.status).toBe(200)
          const end = await begin(server.pid)
          // The cause ends after the first refusal. The server must not continue then.
          let isEnded = false
          for (let index = 0; index < MAX_REQUESTS && server.child.exitCode === null; index++) {
            const reply = await server.verifyNin(toNin(1))
            expect([503, undefined]).toContain(reply?.status)
            if (!isEnded) await end().catch(() => {})
            isEnded = true
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
          await cleanUp()
        }
      },
    )
})
