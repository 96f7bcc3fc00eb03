import type { Actor, Role } from '../contract/role.ts'
import type { Static, TObject, TSchema } from '../contract/schema.ts'
import type { Exchange } from '../http/exchange.ts'
import type { AdminDeps } from './admin-deps.ts'

/** The pages of the console; the OpenAPI tags. */
export type Tag =
  | 'Session'
  | 'Accounts'
  | 'Tokens'
  | 'Overview'
  | 'Try it'
  | 'Batches'
  | 'Keys'
  | 'Webhooks'
  | 'Incidents'
  | 'Audit'
  | 'Requests'
  | 'Catalogue'
  | 'Sources'
  | 'Records'
  | 'People'
  | 'Settings'

type AdminRequest<Input> = {
  /** The body of a POST or the query of a GET, validated. */
  readonly input: Input
  readonly params: Readonly<Record<string, string>>
  readonly actor: Actor
  readonly exchange: Exchange
  /** Whether the session or the token is still valid and has the role, for streams. */
  readonly isStillAllowed: () => Promise<boolean>
}

/** One route of the admin API. The OpenAPI document and the role checks are made from the list of routes. */
export type AdminRoute<Input extends TObject = TObject, Output extends TSchema = TSchema> = {
  readonly name: string
  readonly tag: Tag
  readonly method: 'GET' | 'POST'
  /** Starts with /admin/. */
  readonly path: string
  readonly summary: string
  /** The required role; `anyone` needs no session. */
  readonly role: Role | 'anyone'
  readonly input?: Input
  readonly output: Output
  /** The content type of a streamed response. */
  readonly stream?: 'application/x-ndjson' | 'text/event-stream' | 'text/csv' | 'application/x-pem-file'
  /** Reads much of the audit log or the request log: two of a session run at a time. */
  readonly isSearch?: boolean
  /** The body is a file, which `run` reads itself. */
  readonly isUpload?: boolean
  /** Changes who has access: refused unless the account proved who it is in the last 10 minutes. */
  readonly isSensitive?: boolean
  /** The same for live keys, which `run` checks. Tokens may call it for test keys. */
  readonly isSensitiveIfLive?: boolean
  /** Allowed before an account has the second factor that its role requires. */
  readonly isForSetup?: boolean
  /** In bytes; 16 KiB if not set. */
  readonly bodyLimit?: number
  /** Also answered while the store cannot be read, for sessions that this process has seen open. */
  readonly worksWithoutStore?: boolean
  readonly run: (
    deps: AdminDeps,
    request: AdminRequest<Static<Input>>,
  ) => Promise<Static<Output> | WithHeaders<Static<Output> | AsyncIterable<string>> | AsyncIterable<string>>
}

const ACCESS_TAGS: readonly Tag[] = ['Session', 'Accounts', 'Tokens']

/**
 * Whether only a signed-in account may call the route: it needs a password or a recent confirmation, or it changes accounts,
 * sessions or tokens. A stolen token must not be able to create access that outlives it, and cannot prove who sends it.
 */
export const refusesTokens = ({ tag, method, input, isSensitive = false }: AdminRoute): boolean =>
  isSensitive ||
  (method === 'POST' && ACCESS_TAGS.includes(tag)) ||
  Object.hasOwn(input?.properties ?? {}, 'password')

/** Whether a key, token, account or endpoint may have been revoked or restricted. */
export const changesAccess = ({ tag, method }: AdminRoute): boolean =>
  method === 'POST' && [...ACCESS_TAGS, 'Keys', 'Webhooks'].includes(tag)

/** A response with headers of its own, such as a cookie or a file name. */
export class WithHeaders<Body> {
  readonly body: Body
  readonly headers: readonly string[]

  constructor(body: Body, headers: readonly string[]) {
    this.body = body
    this.headers = headers
  }
}

/** Checks the types of one route, then drops them, so that all routes fit in one list. */
export const defineRoute = <Input extends TObject, Output extends TSchema>(
  route: AdminRoute<Input, Output>,
): AdminRoute => route as unknown as AdminRoute
