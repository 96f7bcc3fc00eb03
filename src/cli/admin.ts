import { Argument, type Command } from 'commander'
import { changeRole, removeAccount } from '../accounts/accounts.ts'
import { ROLES, type Role } from '../contract/role.ts'
import { say, sayJson, toTable } from '../server/terminal.ts'
import type { AccountRow } from '../store/account-rows.ts'
import type { Store } from '../store/store.ts'
import { addInvitationsCommand } from './admin-invitations.ts'
import { addAdminLinkCommands, toAccountDeps } from './admin-links.ts'
import { addResetFactorsCommand } from './admin-reset-factors.ts'
import { addSessionsCommand } from './admin-sessions.ts'
import { EXISTING, withCommandContext, withStore } from './command-context.ts'
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
  addAdminLinkCommands(admin)
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
    .action(({ json }: { json?: true }) => withStore(({ store }) => list(store, json)))
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

async function list(store: Store, json: true | undefined): Promise<void> {
  const withFactors = await store.factors.listAccounts()
  const accounts = (await store.accounts.list()).map((row) => toJson(row, withFactors))
  if (json) return say(JSON.stringify(accounts))
  if (accounts.length === 0)
    return say('There are no accounts yet. Create the first with: tabbat admin invite')
  const cells = accounts.map((account) => [
    ...[account.name, account.role, account.has_second_factor ? 'yes' : 'no'],
    ...[account.created_at, account.last_seen_at ?? 'never'],
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
