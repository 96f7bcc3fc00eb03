import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Call, toCurl, toPhp, toPython, toTypeScript } from '../../console/src/pages/try-it/examples.ts'

const run = promisify(execFile)

/** Each may be typed or pasted into the form, or stand in an address that somebody sends. */
const HOSTILE = [
  `it's "quoted" \\ and \`ticked\``,
  `$(touch /tmp/x) $HOME \${HOME} {$HOME} \`id\` !! ; rm -rf ~ # & | > <`,
  `';alert(1);'`,
  '</script><script>alert(1)</script> <?php exit; ?>',
  'line\nbreak\r\ttab \u0001 \u2028 \u2029 \u0000 end\\',
  'Adébáyọ̀ 漢字 👩🏾‍🦱',
  '@/etc/passwd [1-3] {a,b} %s %27 \\x27 \\u0027 \\n',
]

const toField = (name: string) => ({ name, description: '', example: '', required: true, choices: null })
const names = HOSTILE.map((_value, index) => `field_${index}`)
const headerNames = HOSTILE.map((_value, index) => `X-Header-${index}`)
const toValues = (keys: readonly string[]) =>
  Object.fromEntries(keys.map((name, index) => [name, HOSTILE[index] ?? '']))

type Sent = { method: string; url: string; headers: Record<string, string>; body: string }

let sent: Sent[] = []
/** Of a path that was moved. */
let status = 307
let server: Server
let baseUrl = ''
let folder = ''
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tabbat-examples-'))
  server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request
    if (url.startsWith('/moved')) return void response.writeHead(status, { location: '/elsewhere' }).end()
    sent.push({ method, url, headers: headers as Record<string, string>, body: await text(request) })
    // An example prints the body of a refusal as well.
    response.writeHead(422, { 'content-type': 'application/json' }).end('{"code":"refused here"}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
})
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(() => {
  sent = []
})

const LANGUAGES = [
  { name: 'curl', toText: toCurl, file: 'try.sh', program: 'sh' },
  { name: 'TypeScript', toText: toTypeScript, file: 'try.mjs', program: process.execPath },
  { name: 'PHP', toText: toPhp, file: 'try.php', program: 'php' },
  { name: 'Python', toText: toPython, file: 'try.py', program: 'python3' },
]

/** Runs the example as it is shown, with the program of its language. */
async function send(language: (typeof LANGUAGES)[number], call: Call) {
  const path = join(folder, language.file)
  writeFileSync(path, language.toText(call))
  const env = { ...process.env, TABBAT_KEY: 'from the environment', PYTHONIOENCODING: 'utf8' }
  const { stdout, stderr } = await run(language.program, [path], { env })
  expect(stdout).toContain('422')
  expect(stdout).toContain('refused here')
  expect(sent).toHaveLength(1)
  return { ...(sent[0] as Sent), stderr }
}

describe.each(LANGUAGES)('an example in $name, run by its program', (language) => {
  it('sends exactly what was entered, with the key of the environment', async () => {
    const form = {
      ...{ method: 'POST', path: '/api/v2/kyc/verify-nin', input_from: 'body' as const },
      ...{ fields: names.map(toField), headers: headerNames.map(toField) },
    }
    const call = { form, input: toValues(names), headers: toValues(headerNames), baseUrl }
    const { method, url, headers, body } = await send(language, call)
    expect([method, url, headers['content-type']]).toEqual([
      'POST',
      '/api/v2/kyc/verify-nin',
      'application/json',
    ])
    expect(headers.authorization).toBe('Bearer from the environment')
    expect(JSON.parse(body)).toEqual(toValues(names))
    // One line of ASCII, so that no value begins another header.
    expect(headerNames.map((name) => headers[name.toLowerCase()])).toEqual(
      HOSTILE.map((value) => value.replaceAll(/[^\x20-\x7e]+/g, ' ').trim() || undefined),
    )
  })

  it('fills the path, leaves out what is empty, and sends no body', async () => {
    const form = {
      ...{ method: 'GET', path: '/api/{field_0}/{field_4}/:field_6', input_from: 'path' as const },
      ...{ fields: names.map(toField), headers: [] },
    }
    const { method, url, body } = await send(language, {
      ...{ form, input: toValues(names), headers: { 'X-Purpose': 'loan' }, baseUrl },
    })
    const [first, second, third] = [0, 4, 6].map((at) => encodeURIComponent(HOSTILE[at] ?? ''))
    expect([method, url, body]).toEqual(['GET', `/api/${first}/${second}/${third}`, ''])
  })

  it.each([302, 307])('sends nothing to the place that a %i names', async (given) => {
    status = given
    const form = {
      ...{ method: 'POST', path: '/moved', input_from: 'body' as const },
      ...{ fields: names.map(toField), headers: [] },
    }
    const path = join(folder, language.file)
    writeFileSync(path, language.toText({ form, input: toValues(names), headers: {}, baseUrl }))
    const env = { ...process.env, TABBAT_KEY: 'key', PYTHONIOENCODING: 'utf8' }
    const shown = await run(language.program, [path], { env }).catch((error) => error)
    expect(`${shown.stdout}${shown.stderr}`).toMatch(new RegExp(`${given}|redirect`))
    expect(sent).toEqual([])
  })

  it('sends the input of a look-up as a query', async () => {
    const form = {
      ...{ method: 'GET', path: '/add-ons', input_from: 'body or query' as const },
      ...{ fields: [toField('type'), toField('product_code')], headers: [toField('Prefer')] },
    }
    const input = { type: 'DSTV & co', product_code: '' }
    const { url, headers } = await send(language, { form, input, headers: { Prefer: ' ' }, baseUrl })
    expect([url, headers.prefer]).toEqual(['/add-ons?type=DSTV+%26+co', undefined])
  })
})
