import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Config } from '../../context/config.ts'
import { isLoopback } from '../../settings/setting.ts'
import { findRunningServer } from '../database.ts'
import { type Finding, failed, skipped, toWorst, warning } from './finding.ts'

type Listener = {
  readonly setting: string
  readonly host: string
  readonly port: number
}

/** Whether the server can open its ports, or has them open. */
export async function checkPorts(config: Config): Promise<Finding> {
  const check = 'ports'
  const listeners = listListeners(config)
  if (listeners.length === 0) return skipped(check, 'Every port is chosen at the start of the server.')
  const running = await findRunningServer(config)
  const findings: Finding[] = []
  for (const listener of listeners) {
    const code = await tryPort(listener)
    if (code !== undefined && !(code === 'EADDRINUSE' && running !== undefined))
      findings.push(toPortFinding(listener, code))
  }
  const places = listeners.map(({ host, port }) => `${host}:${port}`).join(', ')
  const good = running === undefined ? `Free: ${places}.` : `A server of Tabbat is running at ${running}.`
  return toWorst(check, findings, good)
}

const listListeners = (config: Config): Listener[] =>
  [
    { setting: 'TABBAT_PORT', host: config.host, port: config.port },
    { setting: 'TABBAT_ADMIN_PORT', host: config.adminHost, port: config.adminPort },
    { setting: 'TABBAT_METRICS_PORT', host: config.metricsHost, port: config.metricsPort },
  ].filter((listener): listener is Listener => typeof listener.port === 'number' && listener.port !== 0)

/** Opens the port for a moment. The code of the failure; undefined if there was none. */
async function tryPort({ host, port }: Listener): Promise<string | undefined> {
  const server = createServer()
  try {
    await once(server.listen({ host, port, exclusive: true }), 'listening')
    server.close()
    await once(server, 'close')
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'unknown error'
  }
}

function toPortFinding({ setting, host, port }: Listener, code: string): Finding {
  const place = `${host}:${port} (${setting})`
  if (code === 'EADDRINUSE')
    return failed('', `Another program uses ${place}. Stop it, or choose another port.`)
  if (code === 'EACCES')
    return warning(
      '',
      `This user may not open ${place}. Choose a port from 1024 on, with a proxy in front, or give the server CAP_NET_BIND_SERVICE.`,
    )
  return failed('', `${place} cannot be opened (${code}). Correct the address.`)
}

/** As many addresses as no group of proxies has. */
const WIDE_BITS = { ipv4: 8, ipv6: 16 } as const

/** What callers and their addresses look like behind a proxy. */
export function checkProxy(config: Config): Finding {
  const { publicUrl, trustProxy, tlsCert, host } = config
  const findings: Finding[] = []
  const url = publicUrl === undefined ? undefined : new URL(publicUrl)
  const isPublic = url !== undefined && !isLoopback(url.hostname)
  for (const network of (trustProxy ?? []).filter(isWide))
    findings.push(
      warning(
        '',
        `TABBAT_TRUST_PROXY trusts ${network}: every caller in it can claim any address. Name the proxies only.`,
      ),
    )
  const hasProxy = isPublic && (isLoopback(host) || (url.protocol === 'https:' && tlsCert === undefined))
  if (hasProxy && trustProxy === undefined)
    findings.push(
      warning(
        '',
        `${publicUrl} is served by a proxy, and TABBAT_TRUST_PROXY is not set: all callers have the address of the proxy, so that the IP lists of keys and the limits by address do not work. Set it to the address of the proxy.`,
      ),
    )
  if (isPublic && url.protocol === 'http:')
    findings.push(warning('', `TABBAT_PUBLIC_URL is plain http. Callers should use https.`))
  const good =
    trustProxy === undefined
      ? 'No proxy is trusted: the address of a caller is that of its connection.'
      : `Trusted: ${trustProxy.join(', ')}. They must set X-Forwarded-For.`
  return toWorst('proxy', findings, good)
}

function isWide(network: string): boolean {
  const [address = '', bits] = network.split('/')
  return bits !== undefined && Number(bits) < WIDE_BITS[address.includes(':') ? 'ipv6' : 'ipv4']
}
