import { type Command, Option } from 'commander'
import {
  type AdminTokenDeps,
  createAdminToken,
  revokeAdminToken,
  TOKEN_LIFETIME,
  toAdminTokenView,
} from '../accounts/admin-tokens.ts'
import type { Store } from '../context/store.ts'
import { toCommandAuthor } from '../contract/free-text.ts'
import { ROLES, type Role } from '../contract/role.ts'
import { dim, say, sayJson, strong, toTable, warn } from '../server/terminal.ts'
import { type CommandContext, EXISTING, withCommandContext, withStore } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import { readAddresses, readName, readTokenLifetime } from './options.ts'

export function addTokensCommand(program: Command): void {
  const tokens = program
    .command('tokens')
    .description('create, list and revoke tokens of the admin API, for scripts')
  addHelp(tokens, {
    details:
      'A script sends "Authorization: Bearer tbt_admin_…" to the admin listener. API keys of callers are another thing: see "tabbat keys". See docs/admin-api.md.',
    examples: {
      'tokens create --name grafana --role viewer': 'a token that reads, for 90 days',
      'tokens revoke k3JbvwRd': 'end a token at once',
    },
  })
  addCreateCommand(tokens)
  addListCommand(tokens)
  addRevokeCommand(tokens)
}

type CreateOptions = { name: string; role: Role; expires?: number; ip?: string[]; json?: true }

function addCreateCommand(tokens: Command): void {
  const command = tokens
    .command('create')
    .description('create a token; it is shown once and cannot be shown again')
    .requiredOption('--name <name>', 'what the token is for; never the name of a person', readName)
    .addOption(
      new Option('--role <role>', 'what it may do, as for accounts').choices(ROLES).makeOptionMandatory(),
    )
    .option(
      '--expires <time>',
      `time until it expires, for example 12h or 30d; at most 1y (default: ${TOKEN_LIFETIME})`,
      readTokenLifetime,
    )
    .option(
      '--ip <addresses>',
      'IP addresses or networks it may be used from, separated by commas (default: any)',
      readAddresses,
    )
    .option('--json', 'print a JSON object')
    .action((options: CreateOptions) => withCommandContext((context) => create(context, options)))
  addHelp(command, {
    details:
      'Whatever its role, a token may not do what needs a password, and may not change accounts, sessions or tokens.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'tokens create --name grafana --role viewer': 'a token that reads, for 90 days',
      'tokens create --name deploy --role operator --expires 30d --ip 10.0.0.0/8': 'a token with limits',
    },
  })
}

async function create(context: CommandContext, options: CreateOptions): Promise<void> {
  const { name, role, expires = readTokenLifetime(TOKEN_LIFETIME), ip, json } = options
  const tokenOptions = { name, role, lifetimeMs: expires, allowedIps: ip }
  const { text, row } = await createAdminToken(toTokenDeps(context), tokenOptions)
  const view = toAdminTokenView(row)
  if (json) return sayJson(context, { token: text, ...view })
  say(strong(text))
  say(dim(`id ${view.id}, role ${role}, expires ${view.expires_at.slice(0, 10)}`))
  warn('the token is shown only once. Store it now.')
}

function addListCommand(tokens: Command): void {
  const command = tokens
    .command('list')
    .description('list the tokens, without their secrets, newest first')
    .option('--json', 'print a JSON array')
    .action(({ json }: { json?: true }) => withStore(({ store }) => list(store, json)))
  addHelp(command, {
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: { 'tokens list': 'a table', 'tokens list --json': 'a JSON array' },
  })
}

async function list(store: Store, json: true | undefined): Promise<void> {
  const views = (await store.adminTokens.list()).map(toAdminTokenView)
  if (json) return say(JSON.stringify(views))
  if (views.length === 0) return say('There are no tokens yet. Create one with: tabbat tokens create')
  const cells = views.map(({ id, role, state, expires_at, last_used_at, allowed_ips, made_by, name }) => [
    id,
    role,
    state,
    expires_at.slice(0, 10),
    last_used_at ?? 'never',
    allowed_ips?.join(' ') ?? 'any',
    made_by,
    name,
  ])
  say(toTable([['id', 'role', 'state', 'expires', 'last used', 'addresses', 'made by', 'name'], ...cells]))
}

function addRevokeCommand(tokens: Command): void {
  const command = tokens
    .command('revoke')
    .description('end a token now; running servers refuse its next request')
    .argument('<id>', 'id of the token, as "tabbat tokens list" shows it')
    .option('--json', 'print a JSON object')
    .action((id: string, { json }: { json?: true }) =>
      withCommandContext(async (context) => {
        await revokeAdminToken(toTokenDeps(context), id)
        if (json) sayJson(context, { id, revoked: true })
        else say(`Token ${id} is revoked.`)
      }, EXISTING),
    )
  addHelp(command, {
    details: 'It asks for no confirmation. A revoked token cannot be restored: create a new one.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'tokens revoke k3JbvwRd': 'the id is in "tabbat tokens list"',
      'tokens revoke k3JbvwRd --json': 'print JSON',
    },
  })
}

const toTokenDeps = ({ store, keyring, auditLog }: CommandContext): AdminTokenDeps => ({
  store,
  keyring,
  audit: auditLog,
  by: toCommandAuthor(),
})
