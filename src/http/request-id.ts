import { randomUUID } from 'node:crypto'

const SAFE = /^[A-Za-z0-9._-]{8,64}$/

/** The caller's own id if it is safe to repeat, else a new one. */
export const toRequestId = (header: string | string[] | undefined): string =>
  typeof header === 'string' && SAFE.test(header) ? header : `req_${randomUUID().replaceAll('-', '')}`
