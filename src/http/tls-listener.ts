import { constants } from 'node:crypto'
import type { Server as HttpServer } from 'node:http'
import type { Server, Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { DAY_MS } from '../contract/time.ts'
import { type Certificate, InvalidCertificate, isCloseToEnd, readCertificate } from '../crypto/certificate.ts'
import type { Log } from '../telemetry/log.ts'
import type { HttpSettings } from './settings.ts'

export type TlsOptions = {
  readonly certificate: TlsCertificate
  /** Ask callers for a certificate. It is not checked here: an API key may require a certain one. */
  readonly asksCaller: boolean
}

/** For browsers: this host is used over TLS only, for a year. */
export const HSTS = ['strict-transport-security', 'max-age=31536000'] as const

const HANDSHAKE_MS = 5000

/**
 * Listens with TLS, and hands each connection to the HTTP server after its handshake. So the HTTP server has the same limits
 * with TLS as without. A new certificate is used from the next handshake on; open connections stay.
 */
export function createTlsListener(
  http: HttpServer,
  { certificate, asksCaller }: TlsOptions,
  maxHandshakes: number,
): Server {
  // The default is made of the arguments of the process, which differ between workers.
  const sessionIdContext = asksCaller ? 'tabbat api' : 'tabbat admin'
  // Not imported: a server without TLS does not load it.
  const listener = process.getBuiltinModule('node:tls').createServer(
    {
      ...toContext(certificate.current()),
      sessionIdContext,
      handshakeTimeout: HANDSHAKE_MS,
      requestCert: asksCaller,
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
      // As http.Server does.
      allowHalfOpen: true,
      noDelay: true,
    },
    (socket) => {
      handshakes.end(socket)
      http.emit('connection', socket)
    },
  )
  const handshakes = createHandshakes(maxHandshakes)
  certificate.onChange((changed) => {
    // Node.js gives the workers of a node the same keys. A new context would have keys of its own.
    const ticketKeys = listener.getTicketKeys()
    listener.setSecureContext({ ...toContext(changed), sessionIdContext, ticketKeys })
  })
  // Starts the timeouts of requests, which http.Server checks only while it listens.
  listener.on('listening', () => http.emit('listening'))
  listener.on('connection', handshakes.begin)
  listener.on('tlsClientError', (_error, socket) => void socket.destroy())
  return listener
}

/**
 * For TLS 1.2 only suites with a key exchange of their own for each connection, and with authenticated encryption: a stolen key
 * opens no recorded connection, and attacks on CBC do not apply. Those of TLS 1.3 are all so.
 */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

const toContext = ({ cert, key }: Certificate) => ({
  cert,
  key,
  ciphers: CIPHERS,
  minVersion: 'TLSv1.2' as const,
  // The certificate of a caller is read once for each connection.
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
})

/** The connections before the end of their handshake. A further one closes the oldest. */
function createHandshakes(max: number) {
  const open = new Map<string, Socket>()
  const nameOf = ({ remoteAddress, remotePort }: Socket | TLSSocket) => `${remoteAddress} ${remotePort}`
  const close = (name: string, socket: Socket) => {
    open.delete(name)
    socket.destroy()
  }
  return {
    begin: (socket: Socket): void => {
      const name = nameOf(socket)
      const [oldest] = open.size >= max ? open : []
      if (oldest) close(...oldest)
      open.set(name, socket)
      socket.once('close', () => open.delete(name))
    },
    end: (socket: TLSSocket): void => void open.delete(nameOf(socket)),
  }
}

/** The certificate of the listeners. It is replaced while the server runs when its files change. */
export type TlsCertificate = {
  readonly current: () => Certificate
  readonly onChange: (use: (certificate: Certificate) => void) => void
  /** Looks at the files. */
  readonly check: () => void
  readonly close: () => void
}

/** The content is compared: a Kubernetes secret changes by a symbolic link, and times may be kept by a copy. */
const CHECK_MS = 5000
/** Undefined without TABBAT_TLS_CERT. Throws when the files hold no usable pair. */
export function openTlsCertificate(
  { tlsCert, tlsKey }: Pick<HttpSettings, 'tlsCert' | 'tlsKey'>,
  log: Pick<Log, 'event'>,
  { now = Date.now, checkMs = CHECK_MS } = {},
): TlsCertificate | undefined {
  if (tlsCert === undefined || tlsKey === undefined) return undefined
  const users: ((certificate: Certificate) => void)[] = []
  let current = readCertificate(tlsCert, tlsKey)
  // Taken when two checks in a row saw the same: a file that is being written changes in between.
  let candidate: Certificate | undefined
  let problem: string | undefined
  let warnedAt = Number.NEGATIVE_INFINITY

  const take = (certificate: Certificate) => {
    current = certificate
    candidate = undefined
    for (const use of users) use(certificate)
    log.event('info', 'tls_certificate_replaced', { ends: new Date(certificate.notAfter).toISOString() })
    warnedAt = Number.NEGATIVE_INFINITY
  }
  const look = () => {
    const found = readCertificate(tlsCert, tlsKey)
    problem = undefined
    if (isSame(found, current)) candidate = undefined
    else if (candidate && isSame(found, candidate)) take(found)
    else candidate = found
  }
  const warnNearEnd = () => {
    const leftMs = current.notAfter - now()
    if (!isCloseToEnd(current, now()) || now() - warnedAt < DAY_MS) return
    warnedAt = now()
    log.event('warn', leftMs > 0 ? 'tls_certificate_ends_soon' : 'tls_certificate_expired', {
      ends: new Date(current.notAfter).toISOString(),
    })
  }
  const check = () => {
    try {
      look()
    } catch (error) {
      candidate = undefined
      const reason = error instanceof InvalidCertificate ? error.problem : 'unreadable'
      if (reason !== problem) log.event('warn', 'tls_certificate_refused', { problem: reason })
      problem = reason
    }
    warnNearEnd()
  }
  warnNearEnd()
  const timer = setInterval(check, checkMs).unref()
  return {
    current: () => current,
    onChange: (use) => void users.push(use),
    check,
    close: () => clearInterval(timer),
  }
}

const isSame = (one: Certificate, other: Certificate) => one.cert === other.cert && one.key === other.key
