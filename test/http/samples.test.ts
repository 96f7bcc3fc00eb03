import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ERRORS } from '../../src/errors.ts'
import { OPERATIONS } from '../../src/operations/operations.ts'
import { send } from '../admin/test-console.ts'
import { openTestApp, type TestApp } from '../app.ts'
import { whyMissing } from '../cluster/programs.ts'
import { ENVIRONMENT, whyMissingPhp } from '../examples/languages.ts'

const run = promisify(execFile)
type Runner = {
  readonly language: string
  readonly missing: string | undefined
  readonly command: (file: string) => readonly [string, ...string[]]
}

/** Samples without a client print the body of the response. */
const RUNNERS: readonly Runner[] = [
  { language: 'curl', missing: whyMissing('curl'), command: (file) => ['sh', file] },
  {
    language: 'TypeScript, without a client',
    missing: undefined,
    command: (file) => [process.execPath, file],
  },
]

/** The clients of packages/, where a reader installs them. They print results, or an error that the program does not catch. */
const CLIENT_RUNNERS: readonly (Runner & {
  readonly install: (code: string) => string
  readonly verified: RegExp
})[] = [
  {
    language: 'TypeScript, with the client',
    missing: undefined,
    command: (file) => [process.execPath, file],
    install: (code) => code.replace('@tabbat/client', resolve('packages/client/src/index.ts')),
    verified: /verified: true/,
  },
  {
    language: 'PHP, with the client',
    missing: whyMissingPhp(),
    command: (file) => ['php', '-d', 'display_errors=stderr', file],
    install: (code) => code.replace('vendor/autoload.php', resolve('packages/php/autoload.php')),
    verified: /^Tabbat\\Verified Object/,
  },
  {
    language: 'Python, with the client',
    missing: whyMissing('python3'),
    command: (file) => ['python3', file],
    install: (code) => code,
    verified: /^Verified\(/,
  },
]

let server: TestApp
let page: string
let folder: string
beforeAll(async () => {
  server = await openTestApp()
  page = (await send(`${await server.app.listen({ host: '127.0.0.1', port: 0 })}/docs`)).text
  folder = mkdtempSync(join(tmpdir(), 'tabbat-samples-'))
})
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true })
})

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
const toText = (html: string) => html.replace(/&(amp|lt|gt|quot|#39);/g, (_all, name) => ENTITIES[name] ?? '')

/** The samples of a language in the section of an operation, as a reader copies them. */
function listSamples(operationId: string, language: string): string[] {
  const section = page.split(`id="${operationId}"`)[1]?.split('</section>')[0] ?? ''
  const figures = section.matchAll(/<figcaption>([^<]*)<\/figcaption><pre><code>([^<]*)<\/code>/g)
  return [...figures]
    .filter(([, title = '']) => title.startsWith(language))
    .map(([, , code = '']) => toText(code))
}

async function runSample(runner: Runner, code: string): Promise<string> {
  const file = join(folder, runner.language.startsWith('TypeScript') ? 'sample.mts' : 'sample')
  writeFileSync(file, code)
  const [program, ...args] = runner.command(file)
  return (await run(program, args, { env: { ...ENVIRONMENT, PYTHONPATH: resolve('packages/python/src') } }))
    .stdout
}

describe.each(CLIENT_RUNNERS)('the samples in $language', (runner) => {
  const { language, missing, install, verified } = runner
  if (missing !== undefined) return void it.skip(`are not run: ${missing}`)

  const runClient = (id: string) => runSample(runner, install(listSamples(id, language)[0] ?? ''))

  it.each([
    ['verifyNin', verified],
    ['verifyBvn', verified],
    ['listInternetBundles', /price\W+\d+/],
    ['listSmeBundles', /sme_data_50mb/],
    ['listTvAddOns', /add_on_product_code/],
    ['createBatch', /\bid\W+bat_/],
  ])('call %s', async (id, expected) => expect(await runClient(id)).toMatch(expected))

  // What they ask for does not exist, and 404 shows that the call is right.
  it.each(['getVerification', 'cancelVerification', 'getBatch', 'getBatchResults', 'cancelBatch'])(
    'call %s',
    async (id) => {
      await expect(runClient(id)).rejects.toThrow(ERRORS.not_found.message)
    },
  )
})

describe.each(RUNNERS)('the samples in $language', (runner) => {
  const { language, missing } = runner
  if (missing !== undefined) return void it.skip(`are not run: ${missing}`)

  it.each([...OPERATIONS.map(({ operationId }) => operationId), 'createBatch'])('call %s', async (id) => {
    const samples = listSamples(id, language)
    expect(samples).toHaveLength(language === 'curl' && id === 'listTvAddOns' ? 3 : 1)
    for (const sample of samples) expect(await runSample(runner, sample)).toContain('{"success":true,')
  })

  // What they ask for does not exist, and 404 shows that the call is right.
  it.each(['getVerification', 'cancelVerification', 'getBatch', 'getBatchResults', 'cancelBatch'])(
    'call %s',
    async (id) => {
      const [sample = ''] = listSamples(id, language)
      expect(await runSample(runner, sample)).toMatch(/"code":"\w*not_found"/)
    },
  )
})
