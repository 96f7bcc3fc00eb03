import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findFreePort } from '../free-port.ts'
import { newDataDir, type RunningServer, startServer } from './tabbat.ts'

const readme = readFileSync('README.md', 'utf8')
const [, block = ''] = /```sh\n(curl [\s\S]*?)\n```/.exec(readme) ?? []
/** What the calls of the table use. */
const [, variables = ''] = /```sh\n(API=[\s\S]*?)\n```/.exec(readme) ?? []
const calls = [...readme.matchAll(/\| `(curl .*)` \|$/gm)].map(([, call = '']) => call)

let server: RunningServer
beforeAll(async () => {
  server = await startServer({ TABBAT_LOG_LEVEL: 'silent' })
})
afterAll(() => server.stop())

it('has a call for every operation', () => {
  expect(calls).toHaveLength(5)
})

it('has blocks for live requests that work when pasted one after the other', async () => {
  const [, goLive = ''] = /\n## Go live\n([\s\S]*?)\n## /.exec(readme) ?? []
  const [vendor, port] = [await findFreePort(), String(await findFreePort())]
  const pasted = [...goLive.matchAll(/```sh\n([\s\S]*?)\n```/g)]
    .map(([, block = '']) => block)
    .join('\n')
    .replace('simulate dojah', `simulate dojah --port ${vendor}`)
    .replaceAll(':9101', `:${vendor}`)
    .replaceAll(':8080', `:${port}`)
  // What runs in the background is ended as the page says, whatever became of the rest.
  const { stdout } = await promisify(execFile)('bash', ['-c', `${pasted}\nkill $(jobs -p); wait`], {
    env: {
      PATH: process.env.PATH ?? '',
      TABBAT_DATA_DIR: newDataDir(),
      TABBAT_PORT: port,
      TABBAT_ADMIN_PORT: '0',
      TABBAT_LOG_LEVEL: 'silent',
      TABBAT_SHUTDOWN_DELAY: 'off',
    },
  })
  expect(stdout).toContain('everything works')
  const verified = [...stdout.matchAll(/"nin_number":"(\d+)".*?"verification_status":"VERIFIED"/g)]
  // The second one is not among the imported records: only the vendor has it.
  expect(verified.map(([, nin]) => nin)).toEqual(['70000000001', '12345678901'])
  expect(stdout).toContain('2 calls, ₦100.00')
})

it.each([block, ...calls])('%s', async (call) => {
  const { stdout } = await promisify(execFile)('sh', [
    '-c',
    `${variables}\n${call}`.replaceAll('http://127.0.0.1:8080', server.url),
  ])
  expect(JSON.parse(stdout)).toMatchObject({ success: true })
})
