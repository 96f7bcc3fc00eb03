/** A request of a .http file. Its title begins with the status that it should get. */
type HttpFileRequest = {
  readonly title: string
  readonly status: number
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** The part of the format that our file uses: `###`, `@name = value`, `{{name}}` and `{{$processEnv NAME}}`. */
export function readHttpFile(text: string, env: Readonly<Record<string, string>>): HttpFileRequest[] {
  const [head = '', ...parts] = text.split(/^### /m)
  const withEnv = (value: string) =>
    value.replace(/\{\{\$processEnv (\w+)\}\}/g, (_hole, name: string) => env[name] ?? fail(name))
  const variables = new Map(
    [...head.matchAll(/^@(\w+) = (.+)$/gm)].map(([, name = '', value = '']) => [name, withEnv(value)]),
  )
  const fill = (value: string) =>
    value.replace(/\{\{(\w+)\}\}/g, (_hole, name: string) => variables.get(name) ?? fail(name))
  return parts.map((part) => toRequest(fill(part)))
}

function toRequest(part: string): HttpFileRequest {
  const [head = '', body = ''] = part.trim().split(/\n\n/)
  const [title = '', line = '', ...headers] = head.split('\n')
  const [method = '', url = ''] = line.split(' ')
  return {
    title,
    status: Number.parseInt(title, 10),
    method: method === 'POST' ? 'POST' : 'GET',
    url,
    headers: Object.fromEntries(headers.map((text) => text.split(': ', 2))),
    body: body === '' ? undefined : body,
  }
}

function fail(name: string): never {
  throw new Error(`${name} has no value`)
}
