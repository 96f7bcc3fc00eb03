import type { Context } from '../context/context.ts'
import type { Scope } from '../contract/scope.ts'
import type { ErrorCode } from '../errors.ts'
import type { Exchange, Reply } from '../http/exchange.ts'
import type { Caller } from '../keys/caller.ts'

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
