import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toCommandsPage } from '../src/cli/commands-page.ts'
import { createFullProgram } from '../src/cli/program.ts'
import { ERRORS } from '../src/errors.ts'
import { OPERATIONS } from '../src/operations/operations.ts'
import { askExample, toGeneratedFiles } from '../src/server/generate.ts'
import { openTestApp, type TestApp } from './app.ts'

type OpenApi = {
  paths: Record<string, Record<string, { operationId: string; responses: Record<string, Response> }>>
}
type Response = { content: { 'application/json': { example?: unknown } } }

let server: TestApp
beforeAll(async () => {
  server = await openTestApp()
})
afterAll(() => server.close())

describe('generated files', () => {
  it('are up to date (if not: npm run generate)', async () => {
    for (const [name, content] of Object.entries(await toGeneratedFiles()))
      expect(readFileSync(name, 'utf8') === content, `${name} is stale`).toBe(true)
    const commands = toCommandsPage(await createFullProgram())
    expect(readFileSync('docs/commands.md', 'utf8') === commands, 'docs/commands.md is stale').toBe(true)
  })
})

/** What npm would print a warning about in every installation. */
describe('package-lock.json', () => {
  type Entry = { readonly engines?: object; readonly hasInstallScript?: true; readonly optional?: true }
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, Entry>
  }
  const dependencies = Object.entries(packages).filter(([path]) => path.startsWith('node_modules/'))

  it('has no engines of dependencies (if it has: node build/lock-file.ts)', () => {
    expect(dependencies.filter(([, { engines }]) => engines).map(([path]) => path)).toEqual([])
  })

  it('has no install script that allowScripts does not decide', () => {
    const { allowScripts } = JSON.parse(readFileSync('package.json', 'utf8'))
    const undecided = dependencies
      .filter(([, { hasInstallScript, optional }]) => hasInstallScript && !optional)
      .map(([path]) => path.replace(/^.*node_modules\//, ''))
      .filter((name) => !(name in allowScripts))
    expect(undecided).toEqual([])
  })
})

describe('openapi.json', () => {
  const openApi = JSON.parse(readFileSync('openapi.json', 'utf8')) as OpenApi

  it('is what the server serves', async () => {
    const headers = { host: '127.0.0.1:8080' }
    const answer = await server.app.inject({ method: 'GET', url: '/openapi.json', headers })
    expect(answer.json()).toEqual(openApi)
  })

  it.each(OPERATIONS.map((operation) => [operation.operationId, operation] as const))(
    'shows for %s an example that the server answers in just this way',
    async (operationId, operation) => {
      const documented = Object.values(openApi.paths)
        .flatMap((item) => Object.values(item))
        .find((found) => found.operationId === operationId)
      expect(documented?.responses['200']?.content['application/json'].example).toEqual(
        await askExample(server.app, operation),
      )
    },
  )

  it('marks personal fields', () => {
    expect(JSON.stringify(openApi).match(/"x-pii":true/g)?.length).toBeGreaterThan(60)
  })

  it('knows every error that an operation can answer', () => {
    const text = JSON.stringify(openApi.paths)
    const elsewhere = [
      'not_found',
      'method_not_allowed',
      'request_timeout',
      'headers_too_large',
      'malformed_request',
    ]
    for (const code of Object.keys(ERRORS).filter((each) => !elsewhere.includes(each)))
      expect(text).toContain(`"${code}"`)
  })
})
