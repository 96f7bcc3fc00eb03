import type { TryForm } from '../../../../src/admin/try.ts'

/** A call to show as code. The examples read the key from the environment variable TABBAT_KEY: none contains one. */
export type Call = {
  readonly form: Pick<TryForm, 'method' | 'path' | 'input_from' | 'fields' | 'headers'>
  readonly input: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
  readonly baseUrl: string
}

type Pair = readonly [name: string, value: string]

type RequestParts = {
  readonly url: string
  /** Without the key. */
  readonly headers: readonly Pair[]
  readonly body: readonly Pair[] | undefined
}

function toParts({ form, input, headers, baseUrl }: Call): RequestParts {
  const given = form.fields.flatMap(({ name }): Pair[] => (input[name] ? [[name, input[name]]] : []))
  const values = Object.fromEntries(given)
  const path = form.path.replace(/:(\w+)|\{(\w+)\}/g, (_all, colon?: string, braces?: string) =>
    encodeURIComponent(values[(colon ?? braces) as string] ?? ''),
  )
  const own = form.headers.flatMap(({ name }): Pair[] => {
    const value = toHeaderValue(headers[name] ?? '')
    return value === '' ? [] : [[name, value]]
  })
  const url = baseUrl.replace(/\/$/, '') + path
  if (form.input_from === 'path' || given.length === 0) return { url, headers: own, body: undefined }
  if (form.method === 'GET')
    return { url: `${url}?${new URLSearchParams(values)}`, headers: own, body: undefined }
  return { url, headers: [['Content-Type', 'application/json'], ...own], body: given }
}

/** A header is one line of ASCII; the API refuses all else in these. A line break would begin another header. */
const toHeaderValue = (text: string) => text.replaceAll(/[^\x20-\x7e]+/g, ' ').trim()

/** Inside single quotes, only the single quote is special to a shell. */
const toShellWord = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

export function toCurl(call: Call): string {
  const { url, headers, body } = toParts(call)
  return [
    `curl -i -X ${call.form.method} ${toShellWord(url)}`,
    '  -H "Authorization: Bearer $TABBAT_KEY"',
    ...headers.map(([name, value]) => `  -H ${toShellWord(`${name}: ${value}`)}`),
    ...(body ? [`  --data-raw ${toShellWord(JSON.stringify(Object.fromEntries(body)))}`] : []),
  ].join(' \\\n')
}

/** A JSON string is a valid literal in TypeScript and in Python. */
const toLiteral = (value: string) => JSON.stringify(value)

const toLines = (pairs: readonly Pair[], indent: string, mark: string, toText = toLiteral) =>
  pairs.map(([name, value]) => `${indent}${toText(name)}${mark} ${toText(value)},`)

export function toTypeScript(call: Call): string {
  const { url, headers, body } = toParts(call)
  return [
    `const response = await fetch(${toLiteral(url)}, {`,
    `  method: ${toLiteral(call.form.method)},`,
    '  redirect: "error",',
    '  headers: {',
    '    "Authorization": "Bearer " + process.env.TABBAT_KEY,',
    ...toLines(headers, '    ', ':'),
    '  },',
    ...(body ? ['  body: JSON.stringify({', ...toLines(body, '    ', ':'), '  }),'] : []),
    '})',
    'console.log(response.status, await response.json())',
  ].join('\n')
}

export function toPython(call: Call): string {
  const { url, headers, body } = toParts(call)
  return [
    'import json',
    'import os',
    'import urllib.error',
    'import urllib.request',
    '',
    '',
    'class NoRedirect(urllib.request.HTTPRedirectHandler):',
    '    def redirect_request(self, *args):',
    '        return None',
    '',
    '',
    'request = urllib.request.Request(',
    `    ${toLiteral(url)},`,
    `    method=${toLiteral(call.form.method)},`,
    '    headers={',
    '        "Authorization": "Bearer " + os.environ["TABBAT_KEY"],',
    ...toLines(headers, '        ', ':'),
    '    },',
    ...(body ? ['    data=json.dumps({', ...toLines(body, '        ', ':'), '    }).encode(),'] : []),
    ')',
    'try:',
    '    with urllib.request.build_opener(NoRedirect).open(request, timeout=30) as response:',
    '        print(response.status, json.load(response))',
    'except urllib.error.HTTPError as error:',
    '    print(error.code, error.read().decode())',
  ].join('\n')
}

export function toPhp(call: Call): string {
  const { url, headers, body } = toParts(call)
  return [
    '<?php',
    `$request = curl_init(${toPhpLiteral(url)});`,
    'curl_setopt_array($request, [',
    `    CURLOPT_CUSTOMREQUEST => ${toPhpLiteral(call.form.method)},`,
    '    CURLOPT_HTTPHEADER => [',
    "        'Authorization: Bearer ' . getenv('TABBAT_KEY'),",
    ...headers.map(([name, value]) => `        ${toPhpLiteral(`${name}: ${value}`)},`),
    '    ],',
    ...(body
      ? [
          '    CURLOPT_POSTFIELDS => json_encode([',
          ...toLines(body, '        ', ' =>', toPhpLiteral),
          '    ], JSON_THROW_ON_ERROR),',
        ]
      : []),
    '    CURLOPT_RETURNTRANSFER => true,',
    '    CURLOPT_TIMEOUT => 30,',
    ']);',
    '$body = curl_exec($request);',
    'if ($body === false) {',
    '    exit(curl_error($request) . "\\n");',
    '}',
    'echo curl_getinfo($request, CURLINFO_RESPONSE_CODE), " ", $body, "\\n";',
  ].join('\n')
}

/** Inside single quotes, only the single quote and the backslash are special to PHP. Control characters are written as escapes. */
function toPhpLiteral(text: string): string {
  if (!/\p{Cc}/u.test(text)) return `'${text.replaceAll(/['\\]/g, '\\$&')}'`
  const escaped = text
    .replaceAll(/["\\$]/g, '\\$&')
    .replaceAll(/\p{Cc}/gu, (sign) => `\\u{${sign.charCodeAt(0).toString(16)}}`)
  return `"${escaped}"`
}
