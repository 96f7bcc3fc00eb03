import { once } from 'node:events'
import { createServer } from 'node:net'
import { UserError } from '../errors.ts'

/** Refuses ports that are taken, before the data is made, which takes a minute or more. Port 0 is any that is free. */
export async function requireFreePorts(ports: readonly number[]): Promise<void> {
  const listeners = ports.map(() => createServer())
  try {
    for (const [index, listener] of listeners.entries()) {
      listener.listen({ host: '127.0.0.1', port: ports[index] })
      await once(listener, 'listening').catch(toPortError)
    }
  } finally {
    for (const listener of listeners.filter(({ listening }) => listening))
      await once(listener.close(), 'close')
  }
}

export function toPortError(error: NodeJS.ErrnoException): never {
  if (error.code !== 'EADDRINUSE' && error.code !== 'EACCES') throw error
  throw new UserError('A port is taken. Choose others with --port and --admin-port, or leave them out.')
}
