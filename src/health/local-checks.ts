import { once } from 'node:events'
import { accessSync, constants, type StatsFs, statfsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { Config } from '../context/config.ts'
import { hasTlsProxy, listExposedListeners } from '../context/warnings.ts'
import { isCloseToEnd, readCertificate } from '../crypto/certificate.ts'
import { readSecretFile } from '../crypto/secret-file.ts'
import { refuseUntrustedFolder } from '../crypto/trusted-path.ts'
import { UserError } from '../errors.ts'
import { isLoopback } from '../settings/setting.ts'
import {
  type Checks,
  type Finding,
  type FindingPart,
  failed,
  failedAbout,
  ok,
  runChecks,
  skipped,
  toReason,
  toWorst,
  warning,
  warningAbout,
} from './finding.ts'
import { findRunningServer, isServerWritable } from './running-server.ts'

type Machine = {
  readonly config: Config
  readonly now: number
  /** Set inside a server, which need not look for itself. */
  readonly server?: LiveServer | undefined
}

type LiveServer = {
  /** Whether the audit log can be written now. */
  readonly isWritable: () => Promise<boolean>
}

const LOCAL_CHECKS: Checks<Machine> = {
  'audit log': checkAuditLog,
  settings: ({ config }) => checkSettings(config),
  permissions: ({ config }) => checkPermissions(config),
  disk: ({ config }) => checkDisk(config),
  archives: ({ config }) => checkArchives(config),
  tls: ({ config, now }) => checkTls(config, now),
  ports: ({ config, server }) => (server ? ok('ports', 'This server has them open.') : checkPorts(config)),
  proxy: ({ config }) => checkProxy(config),
}

/** Checks of this machine, which do not need the database. */
export const runLocalChecks = (config: Config, now = Date.now(), server?: LiveServer): Promise<Finding[]> =>
  runChecks(LOCAL_CHECKS, { config, now, server })

/** Whether callers of verifications get answers. */
async function checkAuditLog({ config, server }: Machine): Promise<Finding> {
  const check = 'audit log'
  const isWritable = server ? await server.isWritable() : await isServerWritable(config)
  if (isWritable === undefined) return skipped(check, 'No server answers on the configured port.')
  return isWritable
    ? ok(check, 'The server can write it.')
    : failed(
        check,
        `The server cannot write it, so verifications get 503. ${config.databaseUrl === undefined ? NO_SQLITE : NO_POSTGRES}`,
      )
}

const NO_SQLITE = 'Is the disk full, or does another program hold the database? See the log of the server.'
const NO_POSTGRES =
  'PostgreSQL does not answer, or no server of TABBAT_DATABASE_URL is the primary. If a standby takes over, this ends by itself within a minute. If not, see the log of PostgreSQL, and with Patroni run: patronictl list'

function checkSettings({ unknownSettings, exposedEnvFile }: Config): Finding {
  const findings = unknownSettings.map((name) => warningAbout(name, `${name} is not a setting of Tabbat.`))
  if (exposedEnvFile !== undefined)
    findings.push(
      warningAbout(
        exposedEnvFile,
        `Every user can read the secrets in ${exposedEnvFile}. Type: chmod 600 ${exposedEnvFile}`,
      ),
    )
  return toWorst('settings', findings, 'Every setting is known and valid.')
}

const OTHERS_MAY_READ = 0o044

function checkPermissions({ dataDir }: Config): Finding {
  const check = 'permissions'
  // Windows has no such modes.
  if (process.getuid === undefined) return skipped(check, 'File modes are not checked on this system.')
  const folder = statSync(dataDir, { throwIfNoEntry: false })
  if (!folder)
    return warning(check, `The data folder ${dataDir} does not exist yet. The first start creates it.`)
  const findings: Finding[] = []
  const untrusted = findUntrusted(() => refuseUntrustedFolder(dataDir))
  if (untrusted !== undefined) findings.push(failed('', untrusted))
  else if ((folder.mode & OTHERS_MAY_READ) !== 0)
    findings.push(warning('', `Other users can list ${dataDir}. Type: chmod 700 ${dataDir}`))
  if (!isAllowed(dataDir))
    findings.push(failed('', `This user cannot write to ${dataDir}. Run this as the user of the server.`))
  const exposed = findUntrusted(() => readSecretFile(join(dataDir, 'root.key'), 'private'))
  if (exposed !== undefined && findings.every(({ status }) => status !== 'failed'))
    findings.push(failed('', exposed))
  return toWorst(check, findings, `${dataDir} is private to this user.`)
}

function isAllowed(path: string, mode = constants.W_OK | constants.X_OK): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}

/** Undefined if a file is missing: another check is about the key itself. */
function findUntrusted(read: () => unknown): string | undefined {
  try {
    read()
    return undefined
  } catch (error) {
    return error instanceof UserError ? error.message : undefined
  }
}

const MB = 1e6
const GB = 1e9
/** Free space for a failure and for a warning: so many bytes, or such a part of a small disk. */
const FEW = { bytes: 0.2 * GB, part: 0.05 }
const LOW = { bytes: 2 * GB, part: 0.2 }

/** Whether so much free space of a disk is enough. */
export function toDiskStatus(free: number, size: number): 'ok' | 'warning' | 'failed' {
  const isBelow = ({ bytes, part }: typeof LOW) => free < Math.min(bytes, size * part)
  return isBelow(FEW) ? 'failed' : isBelow(LOW) ? 'warning' : 'ok'
}

function checkDisk({ dataDir, checkpointDir, auditArchiveDir, databaseUrl }: Config): Finding {
  const folders = new Set([dataDir, checkpointDir ?? dataDir, auditArchiveDir ?? dataDir])
  const findings = [...folders].flatMap((folder) => checkFree(folder))
  const where = databaseUrl === undefined ? '' : ' The disk of PostgreSQL is not checked.'
  const finding = toWorst('disk', findings, findings.map((each) => each.text).join(' '))
  return { ...finding, text: `${finding.text || 'The data folder does not exist yet.'}${where}` }
}

/** Nothing of a folder that does not exist yet. */
function checkFree(folder: string): DiskFinding[] {
  try {
    return statSync(folder, { throwIfNoEntry: false }) ? [toFreeFinding(folder, statfsSync(folder))] : []
  } catch (error) {
    return [failedAbout(folder, toReason(error))]
  }
}

type DiskFinding = FindingPart | (Finding & { readonly about: string })

function toFreeFinding(folder: string, { bavail, blocks, bsize }: StatsFs): DiskFinding {
  const free = bavail * bsize
  const status = toDiskStatus(free, blocks * bsize)
  const size = free < GB / 10 ? `${Math.floor(free / MB)} MB` : `${(free / GB).toFixed(1)} GB`
  const text = free < MB ? `The disk of ${folder} is full.` : `${size} are free at ${folder}.`
  const advice = {
    ok: '',
    warning: ' Free some space.',
    failed: ' Verifications get 503 when nothing can be written: free some space.',
  }[status]
  return { check: '', about: folder, status, text: `${text}${advice}` }
}

/** The server writes archives only if TABBAT_AUDIT_KEEP is set. */
function checkArchives({ auditArchiveDir: folder, auditKeep }: Config): Finding {
  const check = 'archives'
  if (folder === undefined)
    return skipped(check, 'No folder is configured. All audit rows stay in the database.')
  const writes = auditKeep !== 'off'
  const stats = statSync(folder, { throwIfNoEntry: false })
  if (!stats)
    return writes
      ? warning(check, `The folder ${folder} does not exist yet. The first archive creates it.`)
      : warning(check, `There is no folder ${folder}. Correct TABBAT_AUDIT_ARCHIVE_DIR.`)
  if (!stats.isDirectory())
    return failed(check, `${folder} is not a folder. Correct TABBAT_AUDIT_ARCHIVE_DIR.`)
  if (!isAllowed(folder, constants.R_OK | constants.X_OK))
    return failed(check, `This user cannot read ${folder}. Run this as the user of the server.`)
  if (writes && !isAllowed(folder))
    return failed(check, `This user cannot write to ${folder}, so no month can be archived.`)
  refuseUntrustedFolder(folder)
  return ok(check, `${folder} can be ${writes ? 'written' : 'read'}.`)
}

function checkTls(config: Config, now: number): Finding {
  const check = 'tls'
  const { tlsCert, tlsKey } = config
  if (tlsCert === undefined || tlsKey === undefined) return checkPlain(check, config)
  const certificate = readCertificate(tlsCert, tlsKey)
  const ends = `${new Date(certificate.notAfter).toISOString().slice(0, 10)}`
  if (certificate.notAfter <= now)
    return failed(check, `The certificate ended on ${ends}. Replace its files.`)
  if (certificate.notBefore > now) return failed(check, 'The certificate is not valid yet. Check the clock.')
  if (isCloseToEnd(certificate, now)) return warning(check, `The certificate ends on ${ends}. Renew it.`)
  return ok(check, `The certificate is valid until ${ends}.`)
}

function checkPlain(check: string, config: Config): Finding {
  const exposed = listExposedListeners(config)
  if (hasTlsProxy(config))
    return exposed.length === 0
      ? ok(
          check,
          `Off. The proxy of ${config.publicUrl} has TLS. The network between it and this server must be private.`,
        )
      : warning(
          check,
          `Plain HTTP on the network: ${exposed.join(', ')}. Put a proxy with TLS in front, or let only a private network reach them.`,
        )
  return exposed.length === 0
    ? ok(check, 'Off. The listeners can be reached from this machine only.')
    : warning(check, 'A listener is plain HTTP on the network. Set TABBAT_TLS_CERT, or use a proxy with TLS.')
}

type Listener = {
  readonly setting: string
  readonly host: string
  readonly port: number
}

/** Whether the server can open its ports, or has them open. */
async function checkPorts(config: Config): Promise<Finding> {
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

/** A wider network has more than proxies in it. Of IPv6, a whole site has 48 bits. */
const NARROW_BITS = { ipv4: 16, ipv6: 48 } as const

/** What callers and their addresses look like behind a proxy. */
function checkProxy(config: Config): Finding {
  const { publicUrl, trustProxy, tlsCert, host } = config
  const findings: Finding[] = []
  const url = publicUrl === undefined ? undefined : new URL(publicUrl)
  const isPublic = url !== undefined && !isLoopback(url.hostname)
  for (const network of (trustProxy ?? []).filter(isWide))
    findings.push(
      warning(
        '',
        `TABBAT_TRUST_PROXY trusts ${network}: every machine in it can claim the address of any caller. Name the addresses of the proxies, or a network of their own.`,
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
  return bits !== undefined && Number(bits) < NARROW_BITS[address.includes(':') ? 'ipv6' : 'ipv4']
}
