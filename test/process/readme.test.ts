import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RunningServer, startServer } from './tabbat.ts'

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

it.each(blocks)('%s', async (block) => {
  const { stdout } = await promisify(execFile)('sh', [
    '-c',
    block.replaceAll('http://127.0.0.1:8080', server.url),
  ])
  expect(JSON.parse(stdout)).toMatchObject({ success: true })
})
