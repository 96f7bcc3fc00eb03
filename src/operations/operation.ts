import type { IncomingHttpHeaders } from 'node:http'
import type { Context } from '../context/context.ts'
import type { Static, TObject, TSchema } from '../contract/schema.ts'
import type { Scope } from '../contract/scope.ts'
import type { ErrorCode } from '../errors.ts'
import type { InputPlace } from '../http/input.ts'
import type { Caller } from '../keys/caller.ts'
import type { VerificationResponse } from '../verification/verify.ts'
import type { Document } from './document.ts'

export type OperationRequest<Input> = {
  readonly input: Input
  readonly caller: Caller
  readonly requestId: string
  readonly headers: IncomingHttpHeaders
  /** Address under which this server was reached, for links in answers. */
  readonly origin: string
  /** The account of the console that makes this call, if it is made there. */
  readonly person?: string | undefined
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
  /** A document may be cached by the caller; what is finished was audited, with its bytes, and goes out as it is. */
  readonly run: (
    context: Context,
    ask: OperationRequest<Static<Request>>,
  ) => Document | Promise<Document | VerificationResponse>
}

/** Keeps the types of one operation's request and response together while it joins the list of all. */
export const defineOperation = <Request extends TObject, Response extends TSchema>(
  operation: Operation<Request, Response>,
): Operation => operation as unknown as Operation
