import { toIsoTime } from '../contract/time.ts'
import type { LoggedRequest } from './line.ts'

/** A request as the admin API and the command line show it. */
export const toRequestView = (request: LoggedRequest, names: ReadonlyMap<string, string>) => ({
  row: request.row,
  time: toIsoTime(request.at),
  request_id: request.requestId,
  request_reference: request.reference === '' ? null : request.reference,
  key_id: request.keyId,
  key_name: names.get(request.keyId) ?? null,
  mode: request.mode,
  operation: request.operation,
  method: request.method,
  status: request.status,
  code: request.code,
  duration_ms: request.durationMs,
  fields: [...request.fields],
})
