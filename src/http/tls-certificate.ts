import { DAY_MS } from '../contract/time.ts'
import { type Certificate, InvalidCertificate, isCloseToEnd, readCertificate } from '../crypto/certificate.ts'
import type { Log } from '../telemetry/log.ts'
import type { HttpSettings } from './settings.ts'

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
