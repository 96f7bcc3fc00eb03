import { Socket } from 'node:net'
import { isLoopback } from '../settings/setting.ts'

/** A connection that TABBAT_LOOPBACK_ONLY has refused. */
class OtherMachine extends Error {
  /** Shown in the log. To every client in this program, the machine cannot be reached. */
  readonly code = 'ENETUNREACH'

  constructor() {
    super('connections to other machines are refused by TABBAT_LOOPBACK_ONLY')
    this.name = 'OtherMachine'
  }
}

/**
 * From now on, this process connects to this machine only: every TCP and TLS connection of Node.js begins here. Names other than
 * localhost are not looked up.
 */
export function refuseOtherMachines(): void {
  const connect = Socket.prototype.connect as (...given: unknown[]) => Socket
  const guarded = function (this: Socket, ...given: unknown[]): Socket {
    const { path, host } = toTarget(given)
    if (path || isLoopback(host || 'localhost')) return connect.apply(this, given)
    // As Node.js does: the error comes after the caller has added its listeners.
    process.nextTick(() => this.destroy(new OtherMachine()))
    return this
  }
  Socket.prototype.connect = guarded as typeof Socket.prototype.connect
}

/** `path` is that of a socket of this machine; requests of HTTP have null there. */
type Target = { readonly path?: string | null; readonly host?: string | null }

/** (options), (path), (port, host), or one array of them, which Node.js makes itself. */
function toTarget(given: readonly unknown[]): Target {
  const [first, second] = Array.isArray(given[0]) ? given[0] : given
  if (typeof first === 'object' && first !== null) return first as Target
  if (typeof first === 'string' && !/^\d+$/.test(first)) return { path: first }
  return typeof second === 'string' ? { host: second } : {}
}
