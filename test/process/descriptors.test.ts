import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { SANDBOX_KEY } from '../../src/keys/sandbox-key.ts'
import { type RunningServer, startServer, TABBAT } from './tabbat.ts'

let server: RunningServer
const silent: Socket[] = []
beforeAll(async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'tabbat-few-')), 'tabbat')
  writeFileSync(file, `#!/bin/sh\nulimit -n 256\nexec ${resolve(TABBAT.file)} "$@"\n`, { mode: 0o700 })
  server = await startServer({ TABBAT_LOG_LEVEL: 'silent' }, { file })
})
afterAll(async () => {
  for (const socket of silent) socket.destroy()
  await server.stop()
})

it('with 256 file descriptors and 250 silent clients, other callers are served', async () => {
  for (let index = 0; index < 250; index++) {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1').on('error', () => {})
    silent.push(socket)
    await once(socket, 'connect')
  }
  for (let index = 0; index < 30; index++) {
    const answer = await fetch(`${server.url}/api/v2/kyc/verify-nin`, {
      method: 'POST',
      headers: { authorization: SANDBOX_KEY, connection: 'close', 'content-type': 'application/json' },
      body: JSON.stringify({ nin: String(12_345_678_901 + index), phone: '08031234567' }),
    })
    expect([answer.status, ((await answer.json()) as { success: boolean }).success]).toEqual([200, true])
  }
  const admin = /metrics +(\S+)/.exec(server.banner)?.[1] ?? ''
  expect((await fetch(admin)).status).toBe(200)
})
