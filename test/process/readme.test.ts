import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { newDataDir, type RunningServer, startServer } from './tabbat.ts'

const blocks = [...readFileSync('README.md', 'utf8').matchAll(/```sh\n(curl [\s\S]*?)\n```/g)].map(
  ([, block = '']) => block,
)

let server: RunningServer
beforeAll(async () => {
  server = await startServer({ TABBAT_LOG_LEVEL: 'silent' })
})
afterAll(() => server.stop())

it('has a curl line for every operation', () => {
  expect(blocks.length).toBeGreaterThanOrEqual(5)
})

it('has a block for vendors that works when pasted', async () => {
  const readme = readFileSync('README.md', 'utf8')
  const [, block = ''] = /```sh\n(bin\/tabbat simulate [\s\S]*?)\n```/.exec(readme) ?? []
  const port = await findFreePort()
  const pasted = block
    .replace('simulate dojah', `simulate dojah --port ${port}`)
    .replaceAll(':9101', `:${port}`)
  // The simulated vendor runs in the background, as for a reader, and is killed at the end.
  const { stdout } = await promisify(execFile)('sh', ['-c', `${pasted}\nkill $!`], {
    env: { PATH: process.env.PATH ?? '', TABBAT_DATA_DIR: newDataDir() },
  })
  expect(stdout).toContain('everything works')
})

it('has a block for own records that ends in a live verification', async () => {
  const readme = readFileSync('README.md', 'utf8')
  const [, block = ''] = /```sh\n(bin\/tabbat import [\s\S]*?)\n```/.exec(readme) ?? []
  const port = String(await findFreePort())
  const { stdout } = await promisify(execFile)(
    'sh',
    ['-c', `${block.replace(':8080', `:${port}`)}\nkill $!`],
    {
      env: {
        PATH: process.env.PATH ?? '',
        TABBAT_DATA_DIR: newDataDir(),
        TABBAT_PORT: port,
        TABBAT_ADMIN_PORT: '0',
        TABBAT_LOG_LEVEL: 'silent',
      },
    },
  )
  expect(stdout).toContain('"verification_status":"VERIFIED"')
})

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  return port
}

it.each(blocks)('%s', async (block) => {
  const { stdout } = await promisify(execFile)('sh', [
    '-c',
    block.replaceAll('http://127.0.0.1:8080', server.url),
  ])
  expect(JSON.parse(stdout)).toMatchObject({ success: true })
})
