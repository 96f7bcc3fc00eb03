import type { IncomingMessage } from 'node:http'
import { AppError } from '../errors.ts'

/** RFC 9112, section 3.2: HTTP/1.1 needs a Host header, and no request may have two. Node.js shows the first of several. */
export function requireHost({ httpVersion, rawHeaders }: IncomingMessage): void {
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1
  }
  if (hosts === 1 || (hosts === 0 && httpVersion < '1.1')) return
  throw new AppError('malformed_request', { headers: { connection: 'close' } })
}
