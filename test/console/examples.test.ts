import { execFileSync, spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { type Call, toCurl, toPython, toTypeScript } from '../../console/src/pages/try-it/examples.ts'

const HOSTILE = [
  `it's "quoted" \\ and \`ticked\``,
  `$(touch /tmp/x) $HOME \${HOME} \`id\` !! ; rm -rf ~ # & | > <`,
  `';alert(1);'`,
  '</script><script>alert(1)</script>',
  'line\nbreak\r\ttab \u0001 \u2028 \u2029 \u0000 end',
  'Adébáyọ̀ 漢字 👩🏾‍🦱',
  '@/etc/passwd [1-3] {a,b} %s %27 \\x27 \\u0027',
]

const field = (name: string) => ({ name, description: '', example: '', required: true, choices: null })

const post = (value: string): Call => ({
  form: { method: 'POST', path: '/api/v2/kyc/verify-nin', input_from: 'body', fields: [field('nin')] },
  input: { nin: value },
  baseUrl: 'http://127.0.0.1:8080/',
  publicKey: 'tbt_test_public',
})
const get = (value: string): Call => ({
  form: {
    method: 'GET',
    path: '/api/v2/internet/data/{provider}/lookup',
    input_from: 'path',
    fields: [field('provider')],
  },
  input: { provider: value },
  baseUrl: 'http://127.0.0.1:8080',
})
const URL_OF_POST = 'http://127.0.0.1:8080/api/v2/kyc/verify-nin'
const toUrlOfGet = (value: string) =>
  `http://127.0.0.1:8080/api/v2/internet/data/${encodeURIComponent(value)}/lookup`

/** The arguments that a shell passes to curl. */
function readCurl(text: string): string[] {
  const script = `curl() { for word; do printf '%s\\0' "$word"; done; }\n${text}`
  const env = { ...process.env, TABBAT_KEY: 'from the environment' }
  return execFileSync('sh', ['-c', script], { encoding: 'utf8', env }).split('\0').slice(0, -1)
}

type SentRequest = { url: string; headers: Record<string, string>; body?: string }

/** The request that the program makes with fetch. */
async function readTypeScript(text: string): Promise<SentRequest> {
  const sent: SentRequest[] = []
  const fetch = async (url: string, init: SentRequest) => {
    sent.push({ ...init, url })
    return { status: 200, json: async () => ({}) }
  }
  const process = { env: { TABBAT_KEY: 'from the environment' } }
  const run = new Function('fetch', 'process', 'console', `return (async () => { ${text} })()`)
  await run(fetch, process, { log: () => {} })
  expect(sent).toHaveLength(1)
  return sent[0] as SentRequest
}

const hasPython = spawnSync('python3', ['--version']).status === 0
const STUB = `
import json, sys, types
asked = []
def ask(url, headers, timeout, json=None):
    asked.append({"url": url, "headers": headers, "body": json})
    return types.SimpleNamespace(status_code=200, json=lambda: {})
sys.modules["requests"] = types.SimpleNamespace(get=ask, post=ask)
for text in json.load(sys.stdin):
    exec(compile(text, "example", "exec"), {"print": lambda *_: None})
json.dump(asked, sys.stdout)
`

type PythonRequest = { url: string; headers: Record<string, string>; body: unknown }

/** The requests that the programs make. */
function readPython(texts: readonly string[]): PythonRequest[] {
  const env = { ...process.env, TABBAT_KEY: 'from the environment' }
  return JSON.parse(
    execFileSync('python3', ['-c', STUB], { input: JSON.stringify(texts), encoding: 'utf8', env }),
  )
}

describe('an example contains exactly what was entered', () => {
  it.each(HOSTILE)('curl: %j', (value) => {
    const words = readCurl(toCurl(post(value)))
    expect(words.slice(0, 3)).toEqual(['-X', 'POST', URL_OF_POST])
    expect(words).toContain('Authorization: Bearer tbt_test_public')
    expect(JSON.parse(words.at(-1) ?? '')).toEqual({ nin: value })
    expect(readCurl(toCurl(get(value)))[2]).toBe(toUrlOfGet(value))
  })

  it.each(HOSTILE)('TypeScript: %j', async (value) => {
    const { url, headers, body } = await readTypeScript(toTypeScript(post(value)))
    expect([url, headers.Authorization]).toEqual([URL_OF_POST, 'Bearer tbt_test_public'])
    expect(JSON.parse(body ?? '')).toEqual({ nin: value })
    expect((await readTypeScript(toTypeScript(get(value)))).url).toBe(toUrlOfGet(value))
  })

  it.skipIf(!hasPython)('Python', () => {
    expect(readPython(HOSTILE.map((value) => toPython(post(value))))).toEqual(
      HOSTILE.map((value) => ({
        url: URL_OF_POST,
        headers: { Authorization: 'Bearer tbt_test_public' },
        body: { nin: value },
      })),
    )
    expect(readPython(HOSTILE.map((value) => toPython(get(value)))).map(({ url }) => url)).toEqual(
      HOSTILE.map(toUrlOfGet),
    )
  })
})

describe('an example without a public key', () => {
  const call = get('smile')

  it('reads the key from the environment', async () => {
    const authorization = 'Bearer from the environment'
    expect(readCurl(toCurl(call))).toContain(`Authorization: ${authorization}`)
    expect((await readTypeScript(toTypeScript(call))).headers.Authorization).toBe(authorization)
    if (hasPython) expect(readPython([toPython(call)])[0]?.headers.Authorization).toBe(authorization)
  })

  it('omits empty fields, and adds a query to the URL', () => {
    const fields = [field('type'), field('product_code')]
    const form = { method: 'GET', path: '/add-ons', input_from: 'body or query', fields } as const
    const words = readCurl(
      toCurl({ form, input: { type: 'DSTV & co', product_code: '' }, baseUrl: 'http://x' }),
    )
    expect(words[2]).toBe('http://x/add-ons?type=DSTV+%26+co')
  })
})
