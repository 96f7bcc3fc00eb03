import { SANDBOX_KEY } from '../../keys/sandbox-key.ts'
import { type Call, type Endpoint, jsonOf, toCall } from './open-api.ts'

const CLIENT = 'Typed client (TypeScript)'

type Sample = { readonly language: string; readonly code: string }

/** The example call in other languages. A GET is sent with a query string: many clients send no body with it. */
export function listSamples(endpoint: Endpoint): Sample[] {
  const call = toCall(endpoint)
  const sent = call.method === 'GET' ? { ...call, body: undefined } : call
  const client = toClientSample(endpoint)
  return [
    ...(client === undefined ? [] : [{ language: CLIENT, code: client }]),
    { language: 'TypeScript', code: toTypeScript(sent) },
    { language: 'PHP', code: toPhp(sent) },
    { language: 'Python', code: toPython(sent) },
  ]
}

const lines = (...texts: readonly (string | false)[]) => texts.filter((text) => text !== false).join('\n')

/** Valid in TypeScript and Python. */
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
    '})',
    'console.log(response.status, await response.text())',
  )

const toPhp = ({ method, url, body, isIdempotent }: Call) =>
  lines(
    '<?php',
    `$curl = curl_init(${quoteSingle(url)});`,
    'curl_setopt_array($curl, [',
    `    CURLOPT_CUSTOMREQUEST => '${method}',`,
    '    CURLOPT_RETURNTRANSFER => true,',
    '    CURLOPT_HTTPHEADER => [',
    `        'Authorization: Bearer ${SANDBOX_KEY}',`,
    body !== undefined && `        'Content-Type: application/json',`,
    isIdempotent && `        'Idempotency-Key: ' . bin2hex(random_bytes(16)), // the same for every retry`,
    '    ],',
    body !== undefined && `    CURLOPT_POSTFIELDS => ${quoteSingle(JSON.stringify(body))},`,
    ']);',
    '$text = curl_exec($curl);',
    `echo curl_getinfo($curl, CURLINFO_RESPONSE_CODE), ' ', $text, "\\n";`,
  )

const quoteSingle = (text = '') => `'${text.replace(/[\\']/g, String.raw`\$&`)}'`

const toPython = ({ method, url, body, isIdempotent }: Call) =>
  lines(
    isIdempotent && 'import uuid\n',
    'import requests\n',
    'response = requests.request(',
    `    "${method}",`,
    `    ${quote(url)},`,
    '    headers={',
    `        "Authorization": "Bearer ${SANDBOX_KEY}",`,
    isIdempotent && `        "Idempotency-Key": str(uuid.uuid4()),  # the same for every retry`,
    '    },',
    body !== undefined && `    json=${JSON.stringify(body)},`,
    '    timeout=30,',
    ')',
    'print(response.status_code, response.text)',
  )

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

type Inputs = Readonly<Record<string, string>>
type ToCall = (inputs: Inputs, body: string) => string

/** The call of the typed client for each operation. A test fails when one is missing. */
const CALLS: Readonly<Record<string, ToCall>> = {
  verifyNin: (_inputs, body) => `await tabbat.verifyNin(${body})`,
  verifyBvn: (_inputs, body) => `await tabbat.verifyBvn(${body})`,
  listInternetBundles: ({ provider }) => `await tabbat.listInternetBundles(${quoteSingle(provider)})`,
  listSmeBundles: () => 'await tabbat.listSmeBundles()',
  listTvAddOns: ({ type, productCode }) =>
    `await tabbat.listTvAddOns({ type: ${quoteSingle(type)}, productCode: ${quoteSingle(productCode)} })`,
  getVerification: ({ reference }) => `await tabbat.pending.get(${quoteSingle(reference)})`,
  cancelVerification: ({ reference }) => `await tabbat.pending.cancel(${quoteSingle(reference)})`,
  createBatch: (_inputs, body) => `await tabbat.batches.create(${body})`,
  getBatch: ({ id }) => `await tabbat.batches.get(${quoteSingle(id)})`,
  getBatchResults: ({ id }) =>
    `for await (const row of tabbat.batches.results(${quoteSingle(id)})) console.log(row)`,
  cancelBatch: ({ id }) => `await tabbat.batches.cancel(${quoteSingle(id)})`,
}

/** The example call with the typed client, which makes Idempotency-Keys and retries by itself. Undefined if it has no such call. */
function toClientSample({ operationId, server, parameters = [], requestBody }: Endpoint): string | undefined {
  const toCall = CALLS[operationId]
  if (!toCall) return undefined
  const inputs = Object.fromEntries(
    parameters.map(({ name, schema }) => [name, String(schema?.examples?.[0] ?? '')]),
  )
  const call = toCall(inputs, toLiteral(jsonOf(requestBody)?.example))
  return [
    "import { createTabbat } from '@tabbat/client' // packages/client of the source",
    '',
    `const tabbat = createTabbat({ key: ${quoteSingle(SANDBOX_KEY)}, baseUrl: ${quoteSingle(server)} })`,
    call.startsWith('for ') ? call : `console.log(${call})`,
  ].join('\n')
}

/** As a person writes it: names without quotes. */
const toLiteral = (value: unknown): string =>
  Array.isArray(value)
    ? `[${value.map(toLiteral).join(', ')}]`
    : `{ ${Object.entries(Object(value))
        .map(([name, each]) => `${name}: ${quoteSingle(String(each))}`)
        .join(', ')} }`
