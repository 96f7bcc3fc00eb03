import type { Context } from '../context.ts'
import type { Static, TObject, TSchema } from '../contract/schema.ts'
import type { ErrorCode } from '../errors.ts'
import type { Scope } from '../keys/api-key.ts'
import type { Caller } from '../keys/authenticate.ts'
import type { Document } from './document.ts'

/** Where an operation's inputs come from. A GET with a body has a query string as its twin. */
export type InputPlace = 'body' | 'body or query' | 'path'

export type Ask<Input> = {
  readonly input: Input
  readonly caller: Caller
  /** Address under which this server was reached, for links in answers. */
  readonly origin: string
}

export type Operation<Request extends TObject = TObject, Response extends TSchema = TSchema> = {
  /** In logs, metrics and the audit: verify_nin. */
  readonly name: string
  /** In OpenAPI: verifyNin. */
  readonly operationId: string
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly tag: 'Identity' | 'Look-ups'
  readonly summary: string
  readonly description: string
  readonly scope: Scope
  readonly inputFrom: InputPlace
  readonly request: Request
  readonly response: Response
  /** The errors of this operation, besides those that every operation can answer. */
  readonly errors: readonly ErrorCode[]
  /** A body is serialised by the response shape; a document is ready bytes. */
  readonly run: (context: Context, ask: Ask<Static<Request>>) => Promise<Static<Response> | Document>
}

/** Keeps the types of one operation's request and response together while it joins the list of all. */
export const defineOperation = <Request extends TObject, Response extends TSchema>(
  operation: Operation<Request, Response>,
): Operation => operation as unknown as Operation
