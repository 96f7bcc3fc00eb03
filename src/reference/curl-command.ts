import { OPERATIONS, RESOURCE_OPERATIONS } from '../operations/operations.ts'

/**
 * The request of an operation as a command to be completed: the key comes from $TABBAT_KEY, and values are place-holders,
 * because the request log has none.
 */
export function toCurlCommand(operation: string, origin: string): string | undefined {
  const call = toCall(operation)
  if (!call) return undefined
  const { method, path, body } = call
  const lines = [`-H "Authorization: Bearer $TABBAT_KEY"`]
  if (body) lines.push(`-H 'Content-Type: ${body.type}'`, `--data '${body.text}'`)
  // With --data, curl uses POST by default.
  const flag = method === (body ? 'POST' : 'GET') ? '' : ` -X ${method}`
  return [`curl -i${flag} '${origin}${path}'`, ...lines].join(' \\\n  ')
}

/** Every operation that has a command. */
export const listCurlCommands = (origin: string): Record<string, string> =>
  Object.fromEntries(
    [...OPERATIONS, ...RESOURCE_OPERATIONS].map(({ name }) => [name, toCurlCommand(name, origin) as string]),
  )

type Call = {
  readonly method: string
  readonly path: string
  readonly body?: { readonly type: string; readonly text: string }
}

function toCall(name: string): Call | undefined {
  const operation = OPERATIONS.find((each) => each.name === name)
  if (operation) {
    const { method, path, inputFrom, request } = operation
    const { required = [] } = request as { required?: readonly string[] }
    const values = required.map((field): [string, string] => [field, toPlaceholder(field)])
    if (inputFrom === 'path') return { method, path: toPath(path) }
    if (inputFrom !== 'body')
      return { method, path: `${path}?${values.map((pair) => pair.join('=')).join('&')}` }
    return {
      method,
      path,
      body: { type: 'application/json', text: JSON.stringify(Object.fromEntries(values)) },
    }
  }
  const resource = RESOURCE_OPERATIONS.find((each) => each.name === name)
  if (!resource) return undefined
  const { method, path, requestBody } = resource
  // The rows of a batch are in a file.
  const body = requestBody && { type: 'application/x-ndjson', text: '@<file>' }
  return { method, path: toPath(path), ...(body && { body }) }
}

const toPath = (path: string) => path.replace(/:([a-z_]+)/g, (_whole, name: string) => toPlaceholder(name))
const toPlaceholder = (name: string) => `<${name}>`
