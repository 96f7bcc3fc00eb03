import type { TryForm } from '../../../../src/admin/try.ts'

/** A call to show as code. Without a public key, the examples read the key from the environment. */
export type Call = {
  readonly form: Pick<TryForm, 'method' | 'path' | 'input_from' | 'fields'>
  readonly input: Readonly<Record<string, string>>
  readonly baseUrl: string
  readonly publicKey?: string
}

type RequestParts = { readonly url: string; readonly body: Record<string, string> | undefined }

function toParts({ form, input, baseUrl }: Call): RequestParts {
  const given = form.fields.flatMap(({ name }) => (input[name] ? [[name, input[name]] as const] : []))
  const values = Object.fromEntries(given)
  const path = form.path.replace(/:(\w+)|\{(\w+)\}/g, (_all, colon?: string, braces?: string) =>
    encodeURIComponent(values[(colon ?? braces) as string] ?? ''),
  )
  const url = baseUrl.replace(/\/$/, '') + path
  if (form.input_from === 'path' || given.length === 0) return { url, body: undefined }
  if (form.method === 'GET') return { url: `${url}?${new URLSearchParams(values)}`, body: undefined }
  return { url, body: values }
}

/** Inside single quotes, only the single quote is special to a shell. */
const toShellWord = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

export function toCurl(call: Call): string {
  const { url, body } = toParts(call)
  const authorization = call.publicKey
    ? toShellWord(`Authorization: Bearer ${call.publicKey}`)
    : '"Authorization: Bearer $TABBAT_KEY"'
  const lines = [`curl -X ${call.form.method} ${toShellWord(url)}`, `  -H ${authorization}`]
  if (body) lines.push("  -H 'Content-Type: application/json'", `  -d ${toShellWord(JSON.stringify(body))}`)
  return lines.join(' \\\n')
}

/** A JSON string is a valid literal in both languages. */
const toLiteral = (value: string) => JSON.stringify(value)

export function toTypeScript(call: Call): string {
  const { url, body } = toParts(call)
  const key = call.publicKey ? call.publicKey : `\${process.env.TABBAT_KEY}`
  const authorization = call.publicKey ? toLiteral(`Bearer ${key}`) : `\`Bearer ${key}\``
  const headers = [`    Authorization: ${authorization},`]
  if (body) headers.push("    'Content-Type': 'application/json',")
  return [
    `const response = await fetch(${toLiteral(url)}, {`,
    `  method: '${call.form.method}',`,
    '  headers: {',
    ...headers,
    '  },',
    ...(body ? [`  body: JSON.stringify(${toObject(body, '  ')}),`] : []),
    '})',
    'console.log(response.status, await response.json())',
  ].join('\n')
}

export function toPython(call: Call): string {
  const { url, body } = toParts(call)
  const key = call.publicKey ? toLiteral(`Bearer ${call.publicKey}`) : '"Bearer " + os.environ["TABBAT_KEY"]'
  return [
    ...(call.publicKey ? [] : ['import os', '']),
    'import requests',
    '',
    `response = requests.${call.form.method.toLowerCase()}(`,
    `    ${toLiteral(url)},`,
    `    headers={"Authorization": ${key}},`,
    ...(body ? [`    json=${toObject(body, '    ', true)},`] : []),
    '    timeout=20,',
    ')',
    'print(response.status_code, response.json())',
  ].join('\n')
}

function toObject(body: Record<string, string>, indent: string, isQuoted = false): string {
  const step = isQuoted ? '    ' : '  '
  const lines = Object.entries(body).map(
    ([name, value]) => `${indent}${step}${isQuoted ? toLiteral(name) : name}: ${toLiteral(value)},`,
  )
  return ['{', ...lines, `${indent}}`].join('\n')
}
