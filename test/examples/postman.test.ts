import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { listEndpoints, readOpenApi } from '../../src/reference/docs-page/open-api.ts'
import { openTestApp, type TestApp } from '../app.ts'
import { whyMissing } from '../cluster/programs.ts'
import { ENVIRONMENT } from './languages.ts'

const FILE = 'examples/postman.json'
const collection = JSON.parse(readFileSync(FILE, 'utf8'))
const missing = whyMissing('newman')

type Item = { readonly name: string; readonly request: { readonly url: string; readonly method: string } }
type Execution = { readonly item: Item; readonly response: { readonly code: number } }
const items = collection.item.flatMap(({ item }: { item: Item[] }) => item) as Item[]

it('has an item for every operation, and one for a verification that is pending', () => {
  const endpoints = listEndpoints(readOpenApi(JSON.parse(readFileSync('openapi.json', 'utf8'))))
  const names = ['Verify a NIN later', ...endpoints.map(({ summary }) => summary)]
  expect(items.map(({ name }) => name).sort()).toEqual(names.sort())
})

it('has the address and the key in variables only', () => {
  for (const { request } of items) expect(request.url).toMatch(/^\{\{baseUrl\}\}\/api\/v2\//)
  expect(JSON.stringify(collection.item)).not.toContain('tbt_test_')
})

describe('newman', () => {
  if (missing !== undefined) return void it.skip(`does not run the collection: ${missing}`)

  let server: TestApp
  let url: string
  let folder: string
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tabbat-postman-'))
    server = await openTestApp()
    url = await server.app.listen({ host: '127.0.0.1', port: 0 })
  })
  afterAll(async () => {
    await server.close()
    rmSync(folder, { recursive: true })
  })

  it('runs every item against a server', async () => {
    const report = join(folder, 'report.json')
    const args = [
      'run',
      FILE,
      '--env-var',
      `baseUrl=${url}`,
      '--reporters',
      'json',
      '--reporter-json-export',
      report,
    ]
    await promisify(execFile)('newman', args, { env: ENVIRONMENT, maxBuffer: 64e6 })
    const { run } = JSON.parse(readFileSync(report, 'utf8'))
    expect(run.failures).toEqual([])
    const statuses = run.executions.map((each: Execution) => [each.item.name, each.response.code])
    expect(statuses).toContainEqual(['Read the answer of a pending verification', 202])
    expect(statuses).toContainEqual(['Cancel a pending verification', 204])
    expect(run.stats.requests).toMatchObject({ total: items.length, failed: 0 })
    expect(run.stats.assertions).toMatchObject({ total: items.length, failed: 0 })
  })
})
