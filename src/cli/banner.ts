import { join } from 'node:path'
import { listUnknownSettings } from '../config.ts'
import { type Context, hasPublicSandboxKey } from '../context.ts'
import { SANDBOX_KEY } from '../keys/sandbox-key.ts'
import { isLoopback } from '../settings.ts'
import { VERSION } from '../version.ts'
import { dim, strong } from './terminal.ts'

/** What a person wants to know right after the start: where it is, a call that works, what is unsafe. */
export function toBanner(context: Context, url: string, adminUrl: string | undefined): string {
  const reachable = url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
  const facts = [
    ['listening on', url],
    ['reference', `${reachable}/docs`],
    ['metrics', adminUrl ? `${adminUrl}/metrics` : 'off'],
    ['data', context.store.place],
    ['catalogue', toAges(context)],
    ...(hasPublicSandboxKey(context.config) ? [['sandbox key', SANDBOX_KEY]] : []),
  ]
  const lines = facts.map(([name = '', value]) => `  ${dim(name.padEnd(13))} ${value}`)
  const trial = hasPublicSandboxKey(context.config) ? ['', dim('  Try it:'), '', toCurl(reachable)] : []
  const warnings = listWarnings(context).map((warning) => `  ${dim('warning:')} ${warning}`)
  return ['', strong(`Tabbat ${VERSION}`), '', ...lines, ...trial, '', ...warnings, ''].join('\n')
}

/** Prices drift: how old the lists are is worth knowing. */
const toAges = ({ catalogue }: Context) =>
  catalogue.asOf.map(({ name, as_of }) => `${name} ${as_of}`).join(', ')

const toCurl = (url: string) =>
  `curl -s ${url}/api/v2/kyc/verify-nin -H 'Authorization: Bearer ${SANDBOX_KEY}' -H 'Content-Type: application/json' -d '{"nin":"12345678901","phone":"08031234567"}'`

/** One line for each default that is fine on a laptop and not in production. */
function listWarnings({ config, rootKeys, line }: Context): string[] {
  const warnings = listUnknownSettings().map((name) => `${name} is not a setting of Tabbat and was ignored.`)
  if (hasPublicSandboxKey(config))
    warnings.push(
      'the public sandbox key is accepted; set TABBAT_SANDBOX=off where real customers are served.',
    )
  if (rootKeys.origin === 'file')
    warnings.push(
      `the root key lies beside the data (${join(config.dataDir, 'root.key')}); set TABBAT_ROOT_KEY_FILE to keep it elsewhere.`,
    )
  if (!isLoopback(config.host)) warnings.push('this is plain HTTP on the network; put TLS in front of it.')
  if (isOpenToEavesdroppers(config.databaseUrl))
    warnings.push('the way to PostgreSQL is not encrypted; add ?sslmode=verify-full to TABBAT_DATABASE_URL.')
  if (config.rateLimit === 'off') warnings.push('the rate limit is off.')
  warnings.push(...line.warnings)
  return warnings
}

function isOpenToEavesdroppers(databaseUrl: string | undefined): boolean {
  if (databaseUrl === undefined) return false
  const { hostname, searchParams } = new URL(databaseUrl)
  return (
    hostname !== '' && !isLoopback(hostname) && !/^(require|verify)/.test(searchParams.get('sslmode') ?? '')
  )
}
