import type { Context } from '../context/context.ts'
import { toDatabaseText } from '../context/database-text.ts'
import { listWarnings } from '../context/warnings.ts'
import { hasPublicSandboxKey } from '../keys/open-keys.ts'
import { SANDBOX_KEY } from '../keys/sandbox-key.ts'
import { VERSION } from '../version.ts'
import { dim, strong } from './terminal.ts'

type Urls = {
  readonly api: string
  readonly admin: string | undefined
  readonly metrics: string | undefined
}

const toMetrics = (url: string | undefined) => (url === undefined ? 'off' : `${url}/metrics`)

/** Printed after the start: addresses, a call that works, warnings. */
export async function toBanner(context: Context, { api: url, admin, metrics }: Urls): Promise<string> {
  const reachable = url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
  const facts = [
    ['listening on', url],
    ['reference', `${reachable}/docs`],
    ['console', await toConsole(context, admin)],
    ['metrics', toMetrics(metrics ?? admin)],
    ['data', toDatabaseText(context.config)],
    ['catalogue', toAges(context)],
    ...(hasPublicSandboxKey(context.config) ? [['sandbox key', SANDBOX_KEY]] : []),
  ]
  const lines = facts.map(([name = '', value]) => `  ${dim(name.padEnd(13))} ${value}`)
  const trial = hasPublicSandboxKey(context.config) ? ['', dim('  Try it:'), '', toCurl(reachable)] : []
  const warnings = listWarnings(context).map((warning) => `  ${dim('warning:')} ${warning}`)
  return ['', strong(`Tabbat ${VERSION}`), '', ...lines, ...trial, '', ...warnings, ''].join('\n')
}

/** There is no default account: `tabbat admin invite` creates the first. */
async function toConsole({ store }: Context, adminUrl: string | undefined): Promise<string> {
  if (!adminUrl) return 'off'
  const hint = (await store.accounts.hasAny()) ? '' : `  ${dim('first account: tabbat admin invite')}`
  return `${adminUrl}/console${hint}`
}

/** The ages of the lists, because prices change. */
const toAges = ({ catalogue }: Context) =>
  catalogue.asOf.map(({ name, as_of }) => `${name} ${as_of}`).join(', ')

const toCurl = (url: string) =>
  `curl -s ${url}/api/v2/kyc/verify-nin -H 'Authorization: Bearer ${SANDBOX_KEY}' -H 'Content-Type: application/json' -d '{"nin":"12345678901","phone":"08031234567"}'`
