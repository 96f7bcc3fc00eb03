import type { Actor, Role } from '../contract/role.ts'
import type { Static, TObject, TSchema } from '../contract/schema.ts'
import type { Exchange } from '../http/exchange.ts'
import type { AdminDeps } from './admin-deps.ts'

/** The parts of the console, which are the chapters of the document. */
export type Tag =
  | 'Session'
  | 'Accounts'
  | 'Overview'
  | 'Try it'
  | 'Keys'
  | 'Audit'
  | 'Catalogue'
  | 'Sources'
  | 'Records'
  | 'Settings'

export type AdminRequest<Input> = {
  /** The body of a POST, the query of a GET, as its shape says. */
  readonly input: Input
  readonly params: Readonly<Record<string, string>>
  readonly actor: Actor
  readonly exchange: Exchange
}

/** One address of the admin API. The document and the table of who may do what are made from the list of these. */
export type AdminRoute<Input extends TObject = TObject, Output extends TSchema = TSchema> = {
  readonly name: string
  readonly tag: Tag
  readonly method: 'GET' | 'POST'
  /** Begins with /admin/. */
  readonly path: string
  readonly summary: string
  /** The least that a person must be; `anyone` needs no session. */
  readonly role: Role | 'anyone'
  readonly input?: Input
  readonly output: Output
  /** What is answered instead of JSON, piece by piece. */
  readonly stream?: 'application/x-ndjson' | 'text/event-stream'
  /** In bytes, where 16 KiB are not enough. */
  readonly bodyLimit?: number
  /** Asked by the page by itself: it does not show that somebody is there. */
  readonly isBackground?: boolean
  readonly run: (
    deps: AdminDeps,
    ask: AdminRequest<Static<Input>>,
  ) => Promise<Static<Output> | WithHeaders<Static<Output> | AsyncIterable<string>> | AsyncIterable<string>>
}

/** An answer that sets a cookie, or names a file. */
export class WithHeaders<Body> {
  readonly body: Body
  readonly headers: readonly string[]

  constructor(body: Body, headers: readonly string[]) {
    this.body = body
    this.headers = headers
  }
}

/** Keeps the types of one route together while it joins the list of all. */
export const defineRoute = <Input extends TObject, Output extends TSchema>(
  route: AdminRoute<Input, Output>,
): AdminRoute => route as unknown as AdminRoute
