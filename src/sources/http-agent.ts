import type { Socket } from 'node:net'
import { Agent, buildConnector, type Dispatcher } from 'undici'
import { afterRunning } from '../telemetry/running-clock.ts'
import { type Progress, SlowConnection } from './http-failure.ts'
import { dropInformational } from './http-informational.ts'
import { lookupPublic } from './public-address.ts'

const CONNECT_MS = 2000
const CONNECTIONS = 128

/** Connects under the rules of this program. `trusted`: also to private addresses. Every request has a deadline of its own. */
export function openAgent(trusted: boolean) {
  const agent = new Agent({
    connections: CONNECTIONS,
    pipelining: 1,
    maxHeaderSize: 16 * 1024,
    // undici's own: the deadline of the request does not count time during which our process stood still.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: createConnect(trusted),
  })
  return { dispatcher: agent.compose(recordSending), close: () => agent.destroy() }
}

/** undici calls onRequestStart when it has a connection and starts to write the request. */
const recordSending: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const progress = (options as { opaque?: Progress }).opaque
  const start = handler.onRequestStart?.bind(handler)
  handler.onRequestStart = (...given) => {
    if (progress) progress.sent = true
    start?.(...given)
  }
  return dispatch(options, handler)
}

/** Connects within two seconds, DNS and TLS included. undici's own timeout may be a second late. */
function createConnect(trusted: boolean): buildConnector.connector {
  const connect = buildConnector({
    timeout: 0,
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED cannot disable it.
    rejectUnauthorized: true,
    ...(trusted ? {} : { lookup: lookupPublic }),
  })
  return (options, done) => {
    // buildConnector returns the socket; its type does not declare that.
    const socket = connect(options, (...result) => {
      cancel()
      if (result[1]) dropInformational(result[1])
      done(...result)
    }) as unknown as Socket
    const cancel = afterRunning(CONNECT_MS, () => socket.destroy(new SlowConnection()))
  }
}
