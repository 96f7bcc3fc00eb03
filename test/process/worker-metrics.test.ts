import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

it('a scrape does not wait for a worker that is still starting', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['test/process/metrics-cluster.ts'])
  expect(JSON.parse(stdout)).toEqual(['test_primary'])
})
