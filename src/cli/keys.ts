import type { Command } from 'commander'
import { steadyNow } from '../contract/time.ts'
import { OVERLAP } from '../keys/key-options.ts'
import { toKeyState, toKeyView } from '../keys/key-view.ts'
import { revokeKey, rollKey } from '../keys/manage.ts'
import { KEY_OPTIONS } from '../keys/options.ts'
import { say, sayJson, toTable } from '../server/terminal.ts'
import type { Store } from '../store/store.ts'
import { EXISTING, withCommandContext, withStore } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import { addChangeKeyCommand } from './keys-change.ts'
import { addCreateKeyCommand, showNewKey, toDay } from './keys-create.ts'
import { addKeyUsageCommand } from './keys-usage.ts'
import { orWord, REMOVED, readClientCerts, readKeyDuration, readLifetime } from './options.ts'
import { addRotateRootCommand } from './rotate-root.ts'

const ID = 'id of the key, as "tabbat keys list" shows it'

export function addKeysCommand(program: Command): void {
  const keys = program
    .command('keys')
    .description('create, list, change, revoke and roll API keys; rotate the root key')
  addHelp(keys, {
    examples: {
      'keys create --name shop --mode live': 'create a key for live requests',
      'keys revoke k3JbvwRd': 'end a key at once',
    },
  })
  addCreateKeyCommand(keys)
  addListCommand(keys)
  addChangeKeyCommand(keys, ID)
  addRevokeCommand(keys)
  addRollCommand(keys)
  addKeyUsageCommand(keys)
  addRotateRootCommand(keys)
}

function addListCommand(keys: Command): void {
  const command = keys
    .command('list')
    .description('list the keys, without their secrets')
    .option('--json', 'print a JSON array')
    .action((options: { json?: true }) => withStore(({ store }) => list(store, options)))
  addHelp(command, {
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: { 'keys list': 'a table', 'keys list --json': 'a JSON array, with all options of each key' },
  })
}

function addRevokeCommand(keys: Command): void {
  const command = keys
    .command('revoke')
    .description('end a key now; running servers refuse it within a second')
    .argument('<id>', ID)
    .option('--json', 'print a JSON object')
    .action(runRevoke)
  addHelp(command, {
    details: 'It asks for no confirmation. A revoked key cannot be restored: create a new one.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'keys revoke k3JbvwRd': 'the id is in "tabbat keys list"',
      'keys revoke k3JbvwRd --json': 'print JSON',
    },
  })
}

type RollOptions = { overlap?: number; expires?: number | typeof REMOVED; clientCert?: string[]; json?: true }

function addRollCommand(keys: Command): void {
  const command = keys
    .command('roll')
    .description('replace a key by a new one with the same rights; the old one works until the overlap ends')
    .argument('<id>', ID)
    .option('--overlap <time>', `how long the old key still works (default: ${OVERLAP})`, readKeyDuration)
    .option(
      '--expires <time>',
      'time from now until the new key expires, for example 90d, or never (default: as long as the old key was made for)',
      orWord('never', readLifetime),
    )
    .option(
      '--client-cert <fingerprints>',
      KEY_OPTIONS.client_certs.help.replace(/default: .*\)/, 'default: as before)'),
      readClientCerts,
    )
    .option('--json', 'print a JSON object')
    .action((id: string, options: RollOptions) =>
      withCommandContext(async (context) => {
        const overlapMs = options.overlap ?? readKeyDuration(OVERLAP)
        showNewKey(context, await rollKey(context, id, overlapMs, toChanges(options)), options.json)
      }, EXISTING),
    )
  addHelp(command, {
    details: 'The new key is shown once. It continues the counters of the old one. See docs/keys.md.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'keys roll k3JbvwRd': 'the old key works for another 24 hours',
      'keys roll k3JbvwRd --overlap 1h': 'the old key works for another hour',
    },
  })
}

const toChanges = ({ clientCert, expires }: RollOptions) => ({
  ...(clientCert && { clientCerts: clientCert }),
  ...(expires !== undefined && { expiresAt: expires === REMOVED ? undefined : steadyNow() + expires }),
})

/** No confirmation: a leaked key must end at once. */
const runRevoke = (id: string, { json }: { json?: true }) =>
  withCommandContext(async (context) => {
    await revokeKey(context, id)
    if (json) sayJson(context, { id, revoked: true })
    else say(`Key ${id} is revoked.`)
  }, EXISTING)

async function list(store: Store, { json }: { json?: true }): Promise<void> {
  const rows = await store.keys.list()
  if (json) return say(JSON.stringify(rows.map(toKeyView)))
  if (rows.length === 0)
    return say('There are no keys yet. Create one with: tabbat keys create --name <name> --mode test')
  const cells = rows.map((row) => [
    row.id,
    row.mode,
    toKeyState(row),
    toDay(row.createdAt) ?? '',
    toDay(row.expiresAt) ?? 'never',
    row.scopes.join(' '),
    row.name,
  ])
  say(toTable([['id', 'mode', 'state', 'created', 'expires', 'scopes', 'name'], ...cells]))
}
