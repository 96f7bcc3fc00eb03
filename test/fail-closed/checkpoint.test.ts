import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createPlace, toNin } from '../battery/place.ts'
import { newDataDir } from '../process/tabbat.ts'
import { startSpawned } from './spawned.ts'

it('a checkpoint that cannot be written is logged, and the audit log stays in use', async () => {
  const blocked = join(newDataDir(), 'a-file')
  writeFileSync(blocked, '')
  const place = await createPlace()
  const { settings } = place
  const server = await startSpawned({
    ...place,
    settings: { ...settings, TABBAT_LOG_LEVEL: 'info', TABBAT_CHECKPOINT_DIR: blocked },
  })
  onTestFinished(() => {
    server.stop()
    rmSync(settings.TABBAT_DATA_DIR ?? '', { recursive: true })
  })
  expect((await server.verifyNin(toNin(0)))?.status).toBe(200)
  expect((await server.get('/health/ready'))?.status).toBe(200)
  // A checkpoint is made at shutdown while webhooks can still be sent. It fails, so the close of the log tries again.
  server.child.kill('SIGTERM')
  expect(await server.ended).toBe(0)
  const { text, events } = await server.log()
  expect(events.filter((event) => event === 'checkpoint_failed')).toHaveLength(2)
  expect(events).not.toContain('audit_unavailable')
  expect(text).toMatch(/Error (EEXIST|ENOTDIR)/)
})
