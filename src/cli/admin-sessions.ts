import type { Command } from 'commander'
import { endSessions, listOpenSessions } from '../accounts/session-list.ts'
import { UserError } from '../errors.ts'
import { say, sayJson, toTable } from '../server/terminal.ts'
import type { Store } from '../store/store.ts'
import { toAccountDeps } from './admin-links.ts'
import { EXISTING, withCommandContext, withStore } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'

type SessionOptions = { end?: true; json?: true }

export function addSessionsCommand(admin: Command): void {
  const command = admin
    .command('sessions')
    .description('list the open sessions of the console, or end those of an account')
    .argument('[name]', 'only the sessions of this account')
    .option('--end', 'end all sessions of the account')
    .option('--json', 'print a JSON array, or with --end a JSON object')
    .action((name: string | undefined, { end, json }: SessionOptions) =>
      end ? runEnd(name, json) : withStore(({ store }) => list(store, name, json)),
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

async function list(store: Store, name: string | undefined, json: true | undefined): Promise<void> {
  const sessions = await listOpenSessions(store, name)
  if (json) return say(JSON.stringify(sessions.map(({ is_own: _, ...session }) => session)))
  if (sessions.length === 0) return say('There are no open sessions.')
  const cells = sessions.map(({ id, account, method, address, browser, created_at, seen_at }) => [
    ...[id, account, method.replace('_', ' ')],
    ...[address ?? 'unknown', browser ?? 'unknown', created_at, seen_at],
  ])
  say(toTable([['id', 'account', 'method', 'address', 'browser', 'opened', 'last seen'], ...cells]))
}

async function runEnd(name: string | undefined, json: true | undefined): Promise<void> {
  if (name === undefined) throw new UserError('Give the name of the account whose sessions end.')
  await withCommandContext(async (context) => {
    const ended = await endSessions(toAccountDeps(context), name)
    if (json) sayJson(context, { name, ended })
    else say(`Ended sessions of ${name}: ${ended}.`)
  }, EXISTING)
}
