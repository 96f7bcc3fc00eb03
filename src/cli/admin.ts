import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import type { AccountRow } from '../accounts/account-table.ts'
import {
  changeRole,
  inviteAccount,
  type LinkDeps,
  type NewInvitation,
  removeAccount,
  resetAccount,
} from '../accounts/accounts.ts'
import { listOpenInvitations, voidInvitation } from '../accounts/invitations.ts'
import { resetSecondFactors } from '../accounts/second-factors.ts'
import { endSessions, listOpenSessions } from '../accounts/sessions.ts'
import type { Config } from '../context/config.ts'
import type { Store } from '../context/store.ts'
import { toCommandAuthor } from '../contract/free-text.ts'
import { ROLES, type Role } from '../contract/role.ts'
import { UserError } from '../errors.ts'
import { toListenerUrl } from '../http/address.ts'
import { dim, say, sayJson, strong, toTable, warn } from '../server/terminal.ts'
import { type CommandContext, EXISTING, withCommandContext, withStore } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import { requireConfirmation } from './prompt.ts'

export function addAdminCommand(program: Command): void {
  const admin = program.command('admin').alias('accounts').description('manage the accounts of the console')
  addHelp(admin, {
    details: 'There is no default account: "tabbat admin invite" prints a one-time link for the first.',
    examples: {
      'admin invite': 'a link for the first account, which is an owner',
      'admin list': 'list the accounts',
    },
  })
  addInviteCommand(admin)
  addResetCommand(admin)
  addInvitationsCommand(admin)
  addListCommand(admin)
  addRoleCommand(admin)
  addRemoveCommand(admin)
  addSessionsCommand(admin)
  addResetFactorsCommand(admin)
}

function addListCommand(admin: Command): void {
  const command = admin
    .command('list')
    .description('list the accounts')
    .option('--json', 'print a JSON array')
    .action(({ json }: { json?: true }) => withStore(({ store }) => listAccounts(store, json)))
  addHelp(command, {
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: { 'admin list': 'a table', 'admin list --json': 'a JSON array' },
  })
}

function addRoleCommand(admin: Command): void {
  const command = admin
    .command('role')
    .description('change the role of an account; its sessions end')
    .argument('<name>', 'the account')
    .addArgument(new Argument('<role>', 'the new role').choices(ROLES))
    .option('--json', 'print a JSON object')
    .action((name: string, role: Role, { json }: { json?: true }) =>
      withCommandContext(async (context) => {
        await changeRole(toAccountDeps(context), name, role)
        if (json) sayJson(context, { name, role })
        else say(`${name} now has the role ${role}.`)
      }, EXISTING),
    )
  addHelp(command, {
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: { 'admin role ada owner': 'make ada an owner', 'admin role ada viewer': 'make ada a viewer' },
  })
}

function addRemoveCommand(admin: Command): void {
  const command = admin
    .command('remove')
    .description('delete an account; its sessions end')
    .argument('<name>', 'the account')
    .option('--yes', 'do not ask for confirmation; required without a terminal')
    .option('--json', 'print a JSON object')
    .action(runRemove)
  addHelp(command, {
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: { 'admin remove ada': 'ask, then delete', 'admin remove ada --yes': 'delete without asking' },
  })
}

async function listAccounts(store: Store, json: true | undefined): Promise<void> {
  const withFactors = await store.factors.listAccounts()
  const accounts = (await store.accounts.list()).map((row) => toJson(row, withFactors))
  if (json) return say(JSON.stringify(accounts))
  if (accounts.length === 0)
    return say('There are no accounts yet. Create the first with: tabbat admin invite')
  const cells = accounts.map((account) => [
    account.name,
    account.role,
    account.has_second_factor ? 'yes' : 'no',
    account.created_at,
    account.last_seen_at ?? 'never',
  ])
  say(toTable([['name', 'role', 'second factor', 'created', 'last seen'], ...cells]))
}

const toJson = ({ name, role, createdAt, lastSeenAt }: AccountRow, withFactors: ReadonlySet<string>) => ({
  name,
  role,
  has_second_factor: withFactors.has(name),
  created_at: new Date(createdAt).toISOString(),
  last_seen_at: lastSeenAt === undefined ? null : new Date(lastSeenAt).toISOString(),
})

async function runRemove(name: string, { yes, json }: { yes?: true; json?: true }): Promise<void> {
  await withCommandContext(async (context) => {
    await requireConfirmation('Permanently delete this account?', yes, 'Nothing was deleted.')
    await removeAccount(toAccountDeps(context), name)
    if (json) sayJson(context, { name, removed: true })
    else say(`The account ${name} is deleted.`)
  }, EXISTING)
}

type LinkOptions = { url?: string; json?: true }

function addInviteCommand(admin: Command): void {
  const command = admin
    .command('invite')
    .description('create a one-time link for a new account; it is shown once and works for 24 hours')
    .addOption(
      new Option(
        '--role <role>',
        'viewer: may read; operator: may change things; owner: may manage accounts (default for the first account: owner)',
      ).choices(ROLES),
    )
    .option('--url <url>', 'URL of the console in a browser (default: the admin listener)', readUrl)
    .option('--json', 'print a JSON object')
    .action(({ role, ...options }: LinkOptions & { role?: Role }) =>
      withCommandContext(async (context) => {
        const url = toConsoleUrl(context.config, options.url)
        const invitation = await inviteAccount(toAccountDeps(context), role ?? (await toFirstRole(context)))
        showLink(context, url, invitation, options.json)
      }),
    )
  addHelp(command, {
    usesDatabase: true,
    settings: ['TABBAT_ADMIN_HOST', 'TABBAT_ADMIN_PORT'],
    exitCodes: EXIT_CODES,
    examples: {
      'admin invite': 'a link for the first account, which is an owner',
      'admin invite --role operator --url https://console.example.com': 'a link for another account',
    },
  })
}

function addResetCommand(admin: Command): void {
  const command = admin
    .command('reset')
    .description('create a one-time link that sets a new password for an account')
    .argument('<name>', 'the account')
    .option('--url <url>', 'URL of the console in a browser (default: the admin listener)', readUrl)
    .option('--json', 'print a JSON object')
    .action((name: string, options: LinkOptions) =>
      withCommandContext(async (context) => {
        const url = toConsoleUrl(context.config, options.url)
        showLink(context, url, await resetAccount(toAccountDeps(context), name), options.json)
      }, EXISTING),
    )
  addHelp(command, {
    usesDatabase: true,
    settings: ['TABBAT_ADMIN_HOST', 'TABBAT_ADMIN_PORT'],
    exitCodes: EXIT_CODES,
    examples: {
      'admin reset ada': 'a link for the account ada',
      'admin reset ada --url https://console.example.com': 'the same, for a console behind a proxy',
    },
  })
}

export const toAccountDeps = ({ store, keyring, auditLog: audit }: CommandContext): LinkDeps => ({
  store,
  keyring,
  audit,
  by: toCommandAuthor(),
})

/** The first account is an owner, because an owner is needed to invite others. Later, the role must be given. */
async function toFirstRole({ store }: CommandContext): Promise<Role> {
  if (!(await store.accounts.hasAny())) return 'owner'
  throw new UserError(`Give the role of the account: --role ${ROLES.join(', --role ')}.`)
}

function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '')
    return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
  throw new InvalidArgumentError('Give a URL such as https://console.example.com.')
}

export function toConsoleUrl(config: Config, given?: string): string {
  const { adminHost, adminPort } = config
  if (given !== undefined) return given
  if (adminPort === 'off')
    throw new UserError('The console is off. Set TABBAT_ADMIN_PORT, here and for the server.')
  if (Number(adminPort) === 0)
    throw new UserError('TABBAT_ADMIN_PORT is 0, so the port is known to the server only. Give --url.')
  return toListenerUrl(config, { host: adminHost, port: adminPort })
}

/** The token follows the #, which browsers do not send: it appears in no log. */
export const toInvitationLink = (url: string, { token }: NewInvitation) => `${url}/console#/invite/${token}`

function showLink(
  context: CommandContext,
  url: string,
  invitation: NewInvitation,
  json: true | undefined,
): void {
  const { role, expiresAt } = invitation
  const link = toInvitationLink(url, invitation)
  const expires_at = new Date(expiresAt).toISOString()
  if (json) {
    sayJson(context, { link, role, expires_at })
    return
  }
  say(strong(link))
  say(dim(`role ${role}, works once, until ${expires_at}`))
  warn('the link is shown only once. Give it to that person only.')
}

function addInvitationsCommand(admin: Command): void {
  const command = admin
    .command('invitations')
    .description('list the open one-time links, or void one')
    .option('--void <id>', 'void this link')
    .option('--json', 'print a JSON array, or with --void a JSON object')
    .action(({ void: id, json }: { void?: string; json?: true }) =>
      id === undefined
        ? withStore(({ store }) => listInvitations(store, json))
        : voidInvitationById(id, json),
    )
  addHelp(command, {
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'admin invitations': 'list the open links',
      'admin invitations --void 01k8s2m4': 'void one; its id is in the list',
    },
  })
}

async function listInvitations(store: Store, json: true | undefined): Promise<void> {
  const invitations = await listOpenInvitations(store)
  if (json) return say(JSON.stringify(invitations))
  if (invitations.length === 0) return say('There are no open invitations.')
  const cells = invitations.map(({ id, role, account, made_by, created_at, expires_at }) => [
    id,
    account === null ? 'new account' : `password of ${account}`,
    role,
    made_by,
    created_at,
    expires_at,
  ])
  say(toTable([['id', 'for', 'role', 'created by', 'created', 'expires'], ...cells]))
}

const voidInvitationById = (id: string, json: true | undefined) =>
  withCommandContext(async ({ store, auditLog: audit, database }) => {
    await voidInvitation({ store, audit, by: toCommandAuthor() }, id)
    if (json) sayJson({ database }, { id, voided: true })
    else say(`The invitation ${id} is void.`)
  }, EXISTING)

type SessionOptions = { end?: true; json?: true }

function addSessionsCommand(admin: Command): void {
  const command = admin
    .command('sessions')
    .description('list the open sessions of the console, or end those of an account')
    .argument('[name]', 'only the sessions of this account')
    .option('--end', 'end all sessions of the account')
    .option('--json', 'print a JSON array, or with --end a JSON object')
    .action((name: string | undefined, { end, json }: SessionOptions) =>
      end ? endAccountSessions(name, json) : withStore(({ store }) => listSessions(store, name, json)),
    )
  addHelp(command, {
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'admin sessions': 'list the open sessions of all accounts',
      'admin sessions ada --end': 'end the sessions of ada; she must sign in again',
    },
  })
}

async function listSessions(store: Store, name: string | undefined, json: true | undefined): Promise<void> {
  const sessions = await listOpenSessions(store, name)
  if (json) return say(JSON.stringify(sessions.map(({ is_own: _, ...session }) => session)))
  if (sessions.length === 0) return say('There are no open sessions.')
  const cells = sessions.map(({ id, account, method, address, browser, created_at, seen_at }) => [
    id,
    account,
    method.replace('_', ' '),
    address ?? 'unknown',
    browser ?? 'unknown',
    created_at,
    seen_at,
  ])
  say(toTable([['id', 'account', 'method', 'address', 'browser', 'opened', 'last seen'], ...cells]))
}

async function endAccountSessions(name: string | undefined, json: true | undefined): Promise<void> {
  if (name === undefined) throw new UserError('Give the name of the account whose sessions end.')
  await withCommandContext(async (context) => {
    const ended = await endSessions(toAccountDeps(context), name)
    if (json) sayJson(context, { name, ended })
    else say(`Ended sessions of ${name}: ${ended}.`)
  }, EXISTING)
}

function addResetFactorsCommand(admin: Command): void {
  const command = admin
    .command('reset-2fa')
    .description('delete the second factors of an account that has lost them; its sessions end')
    .argument('<name>', 'the account')
    .option('--json', 'print a JSON object')
    .action((name: string, { json }: { json?: true }) =>
      withCommandContext(async (context) => {
        await resetSecondFactors({ ...toAccountDeps(context), store: context.store }, name)
        if (json) sayJson(context, { name, reset: true })
        else say(`The second factors of ${name} are deleted. The password alone signs in now.`)
      }, EXISTING),
    )
  addHelp(command, {
    details: 'Make sure that the request comes from that person: the password alone then signs in.',
    usesDatabase: true,
    settings: ['TABBAT_TWO_FACTOR'],
    exitCodes: EXIT_CODES,
    examples: {
      'admin reset-2fa ada': 'ada can sign in with the password, and set up a new second factor',
      'admin reset-2fa ada --json': 'the same, with a JSON object as the result',
    },
  })
}
