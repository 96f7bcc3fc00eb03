import { UNATTENDED_HEADER } from '../../src/contract/activity.ts'
import { beginRequest } from './activity.ts'
import { toLabel, toSentence } from './format.ts'

/** A failed request. `fields` has a sentence for each invalid input. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly fields: Readonly<Record<string, string>>

  constructor(status: number, code: string, message: string, fields: Record<string, string> = {}) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.code = code
    this.fields = fields
  }
}

export type ApiClient = {
  readonly get: <T>(path: string, signal?: AbortSignal) => Promise<T>
  /** Never retried: the change may have been made although no response arrived. */
  readonly post: <T>(path: string, body?: object) => Promise<T>
  readonly upload: <T>(path: string, file: File, options: UploadOptions) => Promise<T>
  readonly download: (path: string, body: object) => Promise<Blob>
}

/** The API key is empty for the public sandbox key. */
type UploadOptions = { readonly type: string; readonly key: string }

type Listeners = {
  readonly onSignedOut: () => void
  readonly onUnreachable: () => void
  /** The account must prove who it is. True: send the request again. */
  readonly onConfirm: () => Promise<boolean>
}

export function createApiClient({ onSignedOut, onUnreachable, onConfirm }: Listeners): ApiClient {
  const send = async (path: string, init: RequestInit, isRepeated = false): Promise<Response> => {
    const { isUnattended, count } = beginRequest(path)
    const headers = { ...init.headers, ...(isUnattended && { [UNATTENDED_HEADER]: 'true' }) }
    const sent = fetch(path, { credentials: 'same-origin', ...init, headers })
    const response = await sent.catch((thrown: unknown) => {
      if (init.signal?.aborted) throw thrown
      return undefined
    })
    if (!response || isFromProxy(response)) {
      onUnreachable()
      throw toUnreachableError(init.method === 'POST')
    }
    if (response.ok) {
      count()
      return response
    }
    const error = await readError(response)
    if (error.code === 'signed_out') {
      onSignedOut()
      throw new ApiError(error.status, error.code, 'Your session had ended. Nothing was changed: try again.')
    }
    if (error.code === 'confirm_first' && !isRepeated && (await onConfirm())) return send(path, init, true)
    throw error
  }
  return {
    get: async (path, signal) => (await send(path, signal ? { signal } : {})).json(),
    post: async (path, body = {}) => (await send(path, toPost(body))).json(),
    upload: async (path, body, { type, key }) => {
      const headers = { 'content-type': type, ...(key !== '' && { 'x-api-key': key }) }
      return (await send(path, { method: 'POST', headers, body })).json()
    },
    download: async (path, body) => (await send(path, toPost(body))).blob(),
  }
}

const toPost = (body: object): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

/** A reverse proxy reports that the server is down. Errors of the server itself are JSON. */
const isFromProxy = ({ status, headers }: Response) =>
  status >= 502 && status <= 504 && !headers.get('content-type')?.includes('json')

const toUnreachableError = (isPost: boolean) =>
  new ApiError(
    0,
    'unreachable',
    isPost
      ? 'The server did not respond. The change may have been made. Check before you try again.'
      : 'The server cannot be reached.',
  )

/** For forms that ask only for the password: the message must not mention a name. */
export function rethrowPasswordError(thrown: unknown): never {
  if (thrown instanceof ApiError && thrown.code === 'wrong_password')
    throw new ApiError(thrown.status, thrown.code, 'The password is wrong.')
  throw thrown
}

type ErrorBody = { code?: string; message?: string; errors?: Record<string, string[]> }

async function readError(response: Response): Promise<ApiError> {
  const { status, headers } = response
  const { code, message, errors } = (await response.json().catch(() => ({}))) as ErrorBody
  // The message of the API is for callers of verifications.
  if (code === 'audit_unavailable') return new ApiError(status, code, 'The database cannot be used now.')
  const fields = Object.entries(errors ?? {}).map(([name, sentences]) => [
    name,
    toFieldSentence(name, sentences[0] ?? 'is not valid'),
  ])
  return new ApiError(
    status,
    code ?? 'unknown',
    status === 429 && headers.has('retry-after')
      ? `Too many attempts. Wait ${headers.get('retry-after') ?? ''} seconds, then try again.`
      : (message ?? `The server returned status ${status} without a message.`),
    Object.fromEntries(fields),
  )
}

/** `subject.number must be 11 digits` becomes `Number must be 11 digits.` */
function toFieldSentence(name: string, text: string): string {
  if (!text.startsWith(`${name} `)) return toSentence(text)
  const plain = text
    .slice(name.length + 1)
    .replace('>=', 'at least')
    .replace('<=', 'at most')
  return toSentence(`${toLabel(name.split('.').at(-1) ?? name)} ${plain}`)
}
