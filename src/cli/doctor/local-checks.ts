import { accessSync, constants, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { listNetworkListeners } from '../../context/warnings.ts'
import { isCloseToEnd, readCertificate } from '../../crypto/certificate.ts'
import { readSecretFile } from '../../crypto/secret-file.ts'
import { refuseUntrustedFolder } from '../../crypto/trusted-path.ts'
import { UserError } from '../../errors.ts'
import { type Finding, failed, ok, skipped, toWorst, warning } from './finding.ts'

/** Checks of this machine, without the database. */
export const runLocalChecks = (config: Config, now = Date.now()): Finding[] => [
  checkSettings(config),
  checkPermissions(config),
  checkDisk(config),
  checkTls(config, now),
]

function checkSettings({ unknownSettings, exposedEnvFile }: Config): Finding {
  const findings = unknownSettings.map((name) => warning('', `${name} is not a setting of Tabbat.`))
  if (exposedEnvFile !== undefined)
    findings.push(
      warning('', `Every user can read the secrets in ${exposedEnvFile}. Type: chmod 600 ${exposedEnvFile}`),
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
  if (!isWritable(dataDir))
    findings.push(failed('', `This user cannot write to ${dataDir}. Run this as the user of the server.`))
  const exposed = findUntrusted(() => readSecretFile(join(dataDir, 'root.key'), 'private'))
  if (exposed !== undefined && findings.every(({ status }) => status !== 'failed'))
    findings.push(failed('', exposed))
  return toWorst(check, findings, `${dataDir} is private to this user.`)
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK | constants.X_OK)
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

const GB = 1e9
const FEW_BYTES = 0.2 * GB
const LOW_BYTES = 2 * GB

function checkDisk({ dataDir, checkpointDir, databaseUrl }: Config): Finding {
  const folders = [...new Set([dataDir, checkpointDir ?? dataDir])].filter((folder) =>
    statSync(folder, { throwIfNoEntry: false }),
  )
  const findings = folders.map((folder) => checkFree(folder))
  const where = databaseUrl === undefined ? '' : ' The disk of PostgreSQL is not checked.'
  const { status, text } = toWorst('disk', findings, findings.map((each) => each.text).join(' '))
  return { check: 'disk', status, text: `${text || 'The data folder does not exist yet.'}${where}` }
}

function checkFree(folder: string): Finding {
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  const text = `${(free / GB).toFixed(1)} GB are free at ${folder}.`
  if (free < FEW_BYTES) return failed('', `${text} The server stops when the disk is full: free some space.`)
  return free < LOW_BYTES ? warning('', `${text} Free some space.`) : ok('', text)
}

function checkTls(config: Config, now: number): Finding {
  const check = 'tls'
  const { tlsCert, tlsKey } = config
  if (tlsCert === undefined || tlsKey === undefined) {
    return listNetworkListeners(config).length === 0
      ? ok(check, 'Off. The listeners can be reached from this machine only.')
      : warning(
          check,
          'A listener is plain HTTP on the network. Set TABBAT_TLS_CERT, or use a proxy with TLS.',
        )
  }
  try {
    const certificate = readCertificate(tlsCert, tlsKey)
    const ends = `${new Date(certificate.notAfter).toISOString().slice(0, 10)}`
    if (certificate.notAfter <= now)
      return failed(check, `The certificate ended on ${ends}. Replace its files.`)
    if (certificate.notBefore > now)
      return failed(check, 'The certificate is not valid yet. Check the clock.')
    if (isCloseToEnd(certificate, now)) return warning(check, `The certificate ends on ${ends}. Renew it.`)
    return ok(check, `The certificate is valid until ${ends}.`)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return failed(check, error.message)
  }
}
