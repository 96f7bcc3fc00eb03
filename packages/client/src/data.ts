import { unexpectedResponse } from './error.ts'
import type { Call, Send } from './transport.ts'

/** The `data` of a successful response. */
export async function readData<Response extends { data: unknown }>(
  send: Send,
  call: Call,
): Promise<Response['data']> {
  const { status, body } = await send(call)
  const { success, data } = Object(body) as { success?: unknown; data?: Response['data'] }
  if (success !== true || typeof data !== 'object') throw unexpectedResponse(status)
  return data
}
