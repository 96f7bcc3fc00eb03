import { type Command, InvalidArgumentError, Option } from 'commander'
import { type AccountDeps, inviteAccount, type NewInvitation, resetAccount } from '../accounts/accounts.ts'
import type { Config } from '../config/config.ts'
import { toListenerUrl } from '../config/listener-url.ts'
import { toCommandAuthor } from '../contract/command-author.ts'
import { ROLES, type Role } from '../contract/role.ts'
import { UserError } from '../errors.ts'
import { dim, say, sayJson, strong, warn } from '../server/terminal.ts'
import { type CommandContext, EXISTING, withCommandContext } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'

type LinkOptions = { url?: string; json?: true }

/** The commands that print a one-time link: invite and reset. */
export function addAdminLinkCommands(admin: Command): void {
  addInviteCommand(admin)
  addResetCommand(admin)
}

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

export const toAccountDeps = ({ store, auditLog: audit }: CommandContext): AccountDeps => ({
  store,
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

function toConsoleUrl(config: Config, given: string | undefined): string {
  const { adminHost, adminPort } = config
  if (given !== undefined) return given
  if (adminPort === 'off')
    throw new UserError('The console is off. Set TABBAT_ADMIN_PORT, here and for the server.')
  if (Number(adminPort) === 0)
    throw new UserError('TABBAT_ADMIN_PORT is 0, so the port is known to the server only. Give --url.')
  return toListenerUrl(config, { host: adminHost, port: adminPort })
}

/** The token follows the #, which browsers do not send: it appears in no log. */
function showLink(
  context: CommandContext,
  url: string,
  { token, role, expiresAt }: NewInvitation,
  json: true | undefined,
): void {
  const link = `${url}/console#/invite/${token}`
  const expires_at = new Date(expiresAt).toISOString()
  if (json) {
    sayJson(context, { link, role, expires_at })
    return
  }
  say(strong(link))
  say(dim(`role ${role}, works once, until ${expires_at}`))
  warn('the link is shown only once. Give it to that person only.')
}
