import { SANDBOX_KEY } from '../../keys/sandbox-key.ts'
import { type Call, type Endpoint, jsonOf, toCall } from './open-api.ts'

type Sample = { readonly language: string; readonly code: string }

/** The example call in other languages. A GET is sent with a query string: many clients send no body with it. */
export function listSamples(endpoint: Endpoint): Sample[] {
  const call = toCall(endpoint)
  const sent = call.method === 'GET' ? { ...call, body: undefined } : call
  return [
    ...listClientSamples(endpoint),
    { language: 'TypeScript, without a client', code: toTypeScript(sent) },
  ]
}

const lines = (...texts: readonly (string | false)[]) => texts.filter((text) => text !== false).join('\n')

const quote = (text: string) => JSON.stringify(text)

const toTypeScript = ({ method, url, body, isIdempotent }: Call) =>
  lines(
    `const response = await fetch(${quote(url)}, {`,
    method !== 'GET' && `  method: '${method}',`,
    '  headers: {',
    `    Authorization: 'Bearer ${SANDBOX_KEY}',`,
    body !== undefined && `    'Content-Type': 'application/json',`,
    isIdempotent && `    'Idempotency-Key': crypto.randomUUID(), // the same for every retry`,
    '  },',
    body !== undefined && `  body: JSON.stringify(${JSON.stringify(body)}),`,
    body !== undefined && `  redirect: 'error', // else it may be sent to another host`,
    '})',
    'console.log(response.status, await response.text())',
  )

const quoteSingle = (text = '') => `'${text.replace(/[\\']/g, String.raw`\$&`)}'`

type Curl = { readonly title: string; readonly command: string }

/** Every form of this call. A GET with a body has two more forms, for clients that cannot send one. */
export function listCurls(endpoint: Endpoint): Curl[] {
  const { method, url, bareUrl, body } = toCall(endpoint)
  if (body === undefined) return [{ title: 'curl', command: toCommand(url, { method }) }]
  if (method !== 'GET') return [{ title: 'curl', command: toCommand(bareUrl, { method, body }) }]
  return [
    { title: 'curl: GET with a JSON body', command: toCommand(bareUrl, { method, body }) },
    { title: 'curl: GET with a query string', command: toCommand(url, { method }) },
    { title: 'curl: QUERY with a JSON body', command: toCommand(bareUrl, { method: 'QUERY', body }) },
  ]
}

function toCommand(url: string, send: { readonly method: string; readonly body?: unknown }): string {
  const lines = [`-H ${quoteForShell(`Authorization: Bearer ${SANDBOX_KEY}`)}`]
  if (send.body !== undefined)
    lines.push(`-H 'Content-Type: application/json'`, `-d ${quoteForShell(JSON.stringify(send.body))}`)
  // With -d, curl uses POST by default.
  const method = send.method === (send.body === undefined ? 'GET' : 'POST') ? '' : ` -X ${send.method}`
  // Always quoted: the server inserts its own address, and brackets as in [::1] are special in a shell.
  return [`curl -s${method} '${url}'`, ...lines].join(' \\\n  ')
}

/** Quoted for a shell, if needed. */
const quoteForShell = (text: string) =>
  /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

/** The call of the clients for an operation: a method, and what it takes. */
type ClientCall = {
  readonly method: string
  /** `fields` of the request by their names, the `rows` of the body, or the values of these parameters. */
  readonly takes: 'fields' | 'rows' | readonly string[]
  readonly isStream?: true
}

/** A test fails when one is missing. */
const CALLS: Readonly<Record<string, ClientCall>> = {
  verifyNin: { method: 'verifyNin', takes: 'fields' },
  verifyBvn: { method: 'verifyBvn', takes: 'fields' },
  listInternetBundles: { method: 'listInternetBundles', takes: ['provider'] },
  listSmeBundles: { method: 'listSmeBundles', takes: [] },
  listTvAddOns: { method: 'listTvAddOns', takes: 'fields' },
  getVerification: { method: 'pending.get', takes: ['reference'] },
  cancelVerification: { method: 'pending.cancel', takes: ['reference'] },
  createBatch: { method: 'batches.create', takes: 'rows' },
  getBatch: { method: 'batches.get', takes: ['id'] },
  getBatchResults: { method: 'batches.results', takes: ['id'], isStream: true },
  cancelBatch: { method: 'batches.cancel', takes: ['id'] },
}

type Fields = readonly (readonly [name: string, value: string])[]
type Input =
  | { readonly values: readonly string[] }
  | { readonly fields: Fields }
  | { readonly rows: readonly Fields[] }

/** How a language writes a call of its client. The clients make Idempotency-Keys and retry by themselves. */
type ClientLanguage = {
  readonly language: string
  readonly toInput: (input: Input) => string
  readonly toCode: (call: string, input: string, isStream: boolean, server: string) => string
}

const toFields = (value: unknown): Fields =>
  Object.entries(Object(value)).map(([name, each]) => [name, String(each)])

const toObject = (fields: Fields) =>
  `{ ${fields.map(([name, value]) => `${name}: ${quoteSingle(value)}`).join(', ')} }`

const toSnakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const CLIENT_LANGUAGES: readonly ClientLanguage[] = [
  {
    language: 'TypeScript',
    toInput: (input) => {
      if ('values' in input) return input.values.map(quoteSingle).join(', ')
      return 'fields' in input ? toObject(input.fields) : `[${input.rows.map(toObject).join(', ')}]`
    },
    toCode: (method, input, isStream, server) =>
      lines(
        "import { createTabbat } from '@tabbat/client' // packages/client of the source",
        '',
        `const tabbat = createTabbat({ key: ${quoteSingle(SANDBOX_KEY)}, baseUrl: ${quoteSingle(server)} })`,
        isStream
          ? `for await (const row of tabbat.${method}(${input})) console.log(row)`
          : `console.log(await tabbat.${method}(${input}))`,
      ),
  },
  {
    language: 'PHP',
    toInput: (input) => {
      const toPairs = (fields: Fields, toPair: (name: string, value: string) => string) =>
        fields.map(([name, value]) => toPair(name, quoteSingle(value))).join(', ')
      if ('values' in input) return input.values.map(quoteSingle).join(', ')
      if ('fields' in input) return toPairs(input.fields, (name, value) => `${name}: ${value}`)
      const rows = input.rows.map((row) => `[${toPairs(row, (name, value) => `'${name}' => ${value}`)}]`)
      return `[${rows.join(', ')}]`
    },
    toCode: (method, input, isStream, server) => {
      const call = `$tabbat->${method.replace('.', '->')}(${input})`
      return lines(
        '<?php',
        "require 'vendor/autoload.php'; // with tabbat/client: packages/php of the source",
        '',
        `$tabbat = new Tabbat\\Tabbat(key: ${quoteSingle(SANDBOX_KEY)}, baseUrl: ${quoteSingle(server)});`,
        isStream ? `foreach (${call} as $row) print_r($row);` : `print_r(${call});`,
      )
    },
  },
  {
    language: 'Python',
    toInput: (input) => {
      if ('values' in input) return input.values.map(quote).join(', ')
      if ('fields' in input)
        return input.fields.map(([name, value]) => `${toSnakeCase(name)}=${quote(value)}`).join(', ')
      return JSON.stringify(input.rows.map((row) => Object.fromEntries(row)))
    },
    toCode: (method, input, isStream, server) => {
      const call = `tabbat.${toSnakeCase(method)}(${input})`
      return lines(
        'from tabbat import Tabbat  # packages/python of the source',
        '',
        `tabbat = Tabbat(key=${quote(SANDBOX_KEY)}, base_url=${quote(server)})`,
        isStream ? `for row in ${call}:\n    print(row)` : `print(${call})`,
      )
    },
  },
]

/** The example call with each client. None if the clients have no such call. */
function listClientSamples({ operationId, server, parameters = [], requestBody }: Endpoint): Sample[] {
  const call = CALLS[operationId]
  if (!call) return []
  const { method, takes, isStream = false } = call
  const body = jsonOf(requestBody)?.example
  const given = parameters.map(({ name, schema }) => [name, String(schema?.examples?.[0] ?? '')] as const)
  const input: Input =
    takes === 'fields'
      ? { fields: toFields(body ?? Object.fromEntries(given)) }
      : takes === 'rows'
        ? { rows: (Array.isArray(body) ? body : []).map(toFields) }
        : { values: takes.map((name) => Object.fromEntries(given)[name] ?? '') }
  return CLIENT_LANGUAGES.map(({ language, toInput, toCode }) => ({
    language: `${language}, with the client`,
    code: toCode(method, toInput(input), isStream, server),
  }))
}
