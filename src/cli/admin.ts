import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import {
  type AccountDeps,
  changeRole,
  inviteAccount,
  type NewInvitation,
  removeAccount,
  resetAccount,
} from '../accounts/accounts.ts'
import { dim, say, sayJson, strong, toTable, warn } from '../app/terminal.ts'
import type { Config } from '../config/config.ts'
import { ROLES, type Role } from '../contract/role.ts'
import { UserError } from '../errors.ts'
import type { AccountRow } from '../store/account-rows.ts'
import { COMMAND_LINE } from '../store/account-table.ts'
import type { Store } from '../store/store.ts'
import { addInvitationsCommand } from './admin-invitations.ts'
import { type CommandContext, EXISTING, withCommandContext, withStore } from './command-context.ts'
import { requireConfirmation } from './prompt.ts'

type LinkOptions = { url?: string; json?: true }

export function addAdminCommand(program: Command): void {
  const admin = program
    .command('admin')
    .description('invite people to the console, and manage their accounts')
    .addHelpText(
      'after',
      `
Examples:
  tabbat admin invite                        the first account, which is an owner
  tabbat admin invite --role operator        a one-time link for somebody else
  tabbat admin reset ada                     a one-time link to set a new password
  tabbat admin invitations                   the links that are open; --void <id> makes one void`,
    )
  addLinkCommands(admin)
  addInvitationsCommand(admin)

  admin
    .command('list')
    .description('list the accounts')
    .option('--json', 'print an array for a program')
    .action(({ json }: { json?: true }) => withStore(({ store }) => list(store, json)))

  admin
    .command('role')
    .description('give an account another role; its sessions end')
    .argument('<name>', 'the account')
    .addArgument(new Argument('<role>', 'what it may do').choices(ROLES))
    .option('--json', 'print an object for a program')
    .action((name: string, role: Role, { json }: { json?: true }) =>
      withCommandContext(async (office) => {
        await changeRole(toDesk(office), name, role)
        if (json) sayJson(office, { name, role })
        else say(`${name} has the role ${role} now.`)
      }, EXISTING),
    )

  admin
    .command('remove <name>')
    .description('take an account away; its sessions end')
    .option('--yes', 'do not ask again; needed without a terminal')
    .option('--json', 'print an object for a program')
    .action(runRemove)
}

function addLinkCommands(admin: Command): void {
  admin
    .command('invite')
    .description('make a one-time link for a new account, good for 24 hours; it is shown once')
    .addOption(
      new Option(
        '--role <role>',
        'viewer: may look; operator: may change things; owner: may manage people (default for the first: owner)',
      ).choices(ROLES),
    )
    .option('--url <url>', 'where browsers reach the console (default: the admin listener)', readUrl)
    .option('--json', 'print an object for a program')
    .action(({ role, ...options }: LinkOptions & { role?: Role }) =>
      withCommandContext(async (office) => {
        const url = toConsoleUrl(office.config, options.url)
        showLink(
          office,
          url,
          await inviteAccount(toDesk(office), role ?? (await toFirstRole(office))),
          options.json,
        )
      }),
    )

  admin
    .command('reset <name>')
    .description('make a one-time link that sets a new password for an account')
    .option('--url <url>', 'where browsers reach the console (default: the admin listener)', readUrl)
    .option('--json', 'print an object for a program')
    .action((name: string, options: LinkOptions) =>
      withCommandContext(async (office) => {
        const url = toConsoleUrl(office.config, options.url)
        showLink(office, url, await resetAccount(toDesk(office), name), options.json)
      }, EXISTING),
    )
}

const toDesk = ({ store, auditLog: audit }: CommandContext): AccountDeps => ({
  store,
  audit,
  by: COMMAND_LINE,
})

/** Somebody has to be able to invite the others. After that, what a person may do is said and not assumed. */
async function toFirstRole({ store }: CommandContext): Promise<Role> {
  if (!(await store.accounts.hasAny())) return 'owner'
  throw new UserError(`Say what the account may do: --role ${ROLES.join(', --role ')}.`)
}

function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '')
    return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
  throw new InvalidArgumentError('Give an address such as https://console.example.com.')
}

function toConsoleUrl({ adminHost, adminPort }: Config, given: string | undefined): string {
  if (given !== undefined) return given
  if (adminPort === 'off')
    throw new UserError('The console is off. Set TABBAT_ADMIN_PORT, for the server as well.')
  if (Number(adminPort) === 0)
    throw new UserError('TABBAT_ADMIN_PORT is 0, so only the server knows its port. Give --url.')
  const host = { '0.0.0.0': '127.0.0.1', '::': '::1' }[adminHost] ?? adminHost
  return `http://${host.includes(':') ? `[${host}]` : host}:${adminPort}`
}

/** The token is behind the #: a browser sends that to nobody, so it is in no log on the way. */
function showLink(
  office: CommandContext,
  url: string,
  { token, role, expiresAt }: NewInvitation,
  json: true | undefined,
): void {
  const link = `${url}/console#/invite/${token}`
  const expires_at = new Date(expiresAt).toISOString()
  if (json) {
    sayJson(office, { link, role, expires_at })
    return
  }
  say(strong(link))
  say(dim(`role ${role}, good once, until ${expires_at}`))
  warn('the link is shown this once only: give it to that person and nobody else.')
}

async function list(store: Store, json: true | undefined): Promise<void> {
  const accounts = await store.accounts.list()
  if (json) return say(JSON.stringify(accounts.map(toJson)))
  if (accounts.length === 0)
    return say('There are no accounts yet. Invite the first with: tabbat admin invite')
  const cells = accounts
    .map(toJson)
    .map(({ name, role, created_at, last_seen_at }) => [name, role, created_at, last_seen_at ?? 'never'])
  say(toTable([['name', 'role', 'created', 'last seen'], ...cells]))
}

const toJson = ({ name, role, createdAt, lastSeenAt }: AccountRow) => ({
  name,
  role,
  created_at: new Date(createdAt).toISOString(),
  last_seen_at: lastSeenAt === undefined ? null : new Date(lastSeenAt).toISOString(),
})

async function runRemove(name: string, { yes, json }: { yes?: true; json?: true }): Promise<void> {
  await withCommandContext(async (office) => {
    await requireConfirmation('Take this account away for good?', yes, 'Nothing was removed.')
    await removeAccount(toDesk(office), name)
    if (json) sayJson(office, { name, removed: true })
    else say(`The account ${name} is removed.`)
  }, EXISTING)
}
