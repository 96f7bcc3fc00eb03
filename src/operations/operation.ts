import type { IncomingHttpHeaders } from 'node:http'
import type { Context } from '../context/context.ts'
import type { Static, TObject, TSchema } from '../contract/schema.ts'
import type { Scope } from '../contract/scope.ts'
import type { ErrorCode } from '../errors.ts'
import type { InputPlace } from '../http/body.ts'
import type { Exchange, Reply } from '../http/exchange.ts'
import type { Caller } from '../keys/caller.ts'
import type { RequestTrace } from '../telemetry/tracing.ts'
import type { VerificationResponse } from '../verification/replay.ts'
import type { Place } from '../verification/verification-request.ts'
import type { Document } from './document.ts'

type OperationRequest<Input> = {
  readonly input: Input
  readonly caller: Caller
  readonly requestId: string
  readonly headers: IncomingHttpHeaders
  /** Address under which this server was reached, for links in responses. */
  readonly origin: string
  /** The console account that sent the request, if it came from the console. */
  readonly person?: string | undefined
  /** Undefined: requests are not traced. */
  readonly trace?: RequestTrace | undefined
  /** Is given the reference of the verification, for error bodies and the request log. */
  readonly exchange?: { reference: string | undefined; readonly place?: Place | undefined } | undefined
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
  /** The errors of this operation, besides those that all operations share. */
  readonly errors: readonly ErrorCode[]
  /** A document may be cached by the client. The response of a verification is sent byte for byte as it was recorded. */
  readonly run: (
    context: Context,
    request: OperationRequest<Static<Request>>,
  ) => Document | Promise<Document | VerificationResponse>
}

/** Checks `run` against the operation's own shapes, then widens the type for the list of all operations. */
export const defineOperation = <Request extends TObject, Response extends TSchema>(
  operation: Operation<Request, Response>,
): Operation => operation as unknown as Operation

type Json = Readonly<Record<string, unknown>>

/** An operation on something that a caller has created, such as a batch or a pending verification. It reads its request and makes its response itself. */
export type ResourceOperation = {
  readonly name: string
  readonly operationId: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly tag: 'Identity' | 'Batches'
  readonly summary: string
  readonly description: string
  /** The key needs one of these. */
  readonly scope: readonly Scope[]
  /** OpenAPI: the parameter in the path. */
  readonly id?: { readonly description: string; readonly example: string }
  /** OpenAPI: the headers of the request, its body, and the successful responses by status. */
  readonly headers?: readonly Json[]
  readonly requestBody?: Json
  readonly responses: Readonly<Record<number, Json>>
  /** The errors of this operation, besides those that all operations share. */
  readonly errors: readonly ErrorCode[]
  readonly run: (context: Context, exchange: Exchange, caller: Caller) => Reply | Promise<Reply>
}
