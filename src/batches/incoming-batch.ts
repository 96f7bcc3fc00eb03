import type { IncomingHttpHeaders } from 'node:http'
import type { Caller } from '../keys/caller.ts'
import type { BatchFormat } from './read-rows.ts'

/** A batch as it arrives. */
export type IncomingBatch = {
  readonly caller: Caller
  readonly person?: string | undefined
  readonly requestId: string
  readonly origin: string
  readonly headers: IncomingHttpHeaders
  readonly format: BatchFormat
  readonly pieces: AsyncIterable<Buffer>
}
