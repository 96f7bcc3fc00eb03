import { SANDBOX_KEY } from '../../keys/sandbox-key.ts'
import { type Call, toCall } from './call.ts'
import { toClientSample } from './client-sample.ts'
import type { Endpoint } from './open-api.ts'

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
    `$curl = curl_init(${quotePhp(url)});`,
    'curl_setopt_array($curl, [',
    `    CURLOPT_CUSTOMREQUEST => '${method}',`,
    '    CURLOPT_RETURNTRANSFER => true,',
    '    CURLOPT_HTTPHEADER => [',
    `        'Authorization: Bearer ${SANDBOX_KEY}',`,
    body !== undefined && `        'Content-Type: application/json',`,
    isIdempotent && `        'Idempotency-Key: ' . bin2hex(random_bytes(16)), // the same for every retry`,
    '    ],',
    body !== undefined && `    CURLOPT_POSTFIELDS => ${quotePhp(JSON.stringify(body))},`,
    ']);',
    '$text = curl_exec($curl);',
    `echo curl_getinfo($curl, CURLINFO_RESPONSE_CODE), ' ', $text, "\\n";`,
  )

const quotePhp = (text: string) => `'${text.replace(/[\\']/g, String.raw`\$&`)}'`

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
