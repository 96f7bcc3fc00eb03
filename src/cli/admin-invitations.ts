import type { Command } from 'commander'
import { listOpenInvitations, voidInvitation } from '../accounts/open-invitations.ts'
import { toCommandAuthor } from '../contract/command-author.ts'
import { say, sayJson, toTable } from '../server/terminal.ts'
import type { Store } from '../store/store.ts'
import { EXISTING, withCommandContext, withStore } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'

export function addInvitationsCommand(admin: Command): void {
  const command = admin
    .command('invitations')
    .description('list the open one-time links, or void one')
    .option('--void <id>', 'void this link')
    .option('--json', 'print a JSON array, or with --void a JSON object')
    .action(({ void: id, json }: { void?: string; json?: true }) =>
      id === undefined ? withStore(({ store }) => list(store, json)) : runVoid(id, json),
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

async function list(store: Store, json: true | undefined): Promise<void> {
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

const runVoid = (id: string, json: true | undefined) =>
  withCommandContext(async ({ store, auditLog: audit, database }) => {
    await voidInvitation({ store, audit, by: toCommandAuthor() }, id)
    if (json) sayJson({ database }, { id, voided: true })
    else say(`The invitation ${id} is void.`)
  }, EXISTING)
