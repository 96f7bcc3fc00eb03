import type { Command } from 'commander'
import { loadNodeName } from '../audit/chain-claim.ts'
import { UserError } from '../errors.ts'
import { openChannels } from '../notices/channels.ts'
import { toIncidentView } from '../notices/incident-view.ts'
import { testNotices } from '../notices/notices.ts'
import { say, sayJson, toTable } from '../server/terminal.ts'
import { EXISTING, withCommandContext, withStore } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import { readCount } from './options.ts'

export function addNoticesCommand(program: Command): void {
  const notices = program
    .command('notices')
    .description('messages to people about incidents: send a test, see what was told')
  addHelp(notices, {
    details: 'Channels are e-mail, Slack and Teams: see docs/notices.md.',
    examples: {
      'notices test': 'send a test message to every channel',
      'notices list': 'the last incidents, and whether people were told',
    },
  })
  addTestCommand(notices)
  addListCommand(notices)
}

const SETTINGS = ['TABBAT_NOTICES_SMTP', 'TABBAT_NOTICES_TO', 'TABBAT_NOTICES_SLACK', 'TABBAT_NOTICES_TEAMS']

function addTestCommand(notices: Command): void {
  const command = notices
    .command('test')
    .description('send a test message to every channel once, and print what became of it')
    .option('--json', 'print a JSON object')
    .action(runTest)
  addHelp(command, {
    details: 'It is sent from this machine, also in quiet hours. Use the settings of the server.',
    usesDatabase: true,
    settings: SETTINGS,
    exitCodes: { 0: 'every channel took the message', 1: 'one did not, or none is configured' },
    examples: { 'notices test': 'a line for each channel', 'notices test --json': 'print JSON' },
  })
}

const runTest = ({ json }: { json?: true }) =>
  withCommandContext(async (context) => {
    const { config, audit, store } = context
    const channels = openChannels(config)
    if (channels.length === 0)
      throw new UserError(
        'No channel is configured. Set TABBAT_NOTICES_SMTP, _SLACK or _TEAMS: see docs/notices.md.',
      )
    const node = loadNodeName(config.dataDir)
    const results = await testNotices({ channels, node, config, audit, table: store.incidents })
    await Promise.all(channels.map((channel) => channel.close()))
    if (json) sayJson(context, { results })
    else
      for (const { channel, host, ok, explanation, duration_ms } of results)
        say(`${channel} (${host}): ${ok ? 'sent' : 'FAILED'} after ${duration_ms} ms. ${explanation}`)
    if (results.some(({ ok }) => !ok)) process.exitCode = 1
  }, EXISTING)

const SHOWN = 20
const MAX_SHOWN = 1000

type ListOptions = { limit?: number; json?: true }

function addListCommand(notices: Command): void {
  const command = notices
    .command('list')
    .description('the incidents that people were told of, the newest first')
    .option('--limit <number>', `how many, at most ${MAX_SHOWN} (default: ${SHOWN})`, readCount)
    .option('--json', 'print a JSON array, with every notice')
    .action(({ limit, json }: ListOptions) =>
      withStore(async ({ store }) => {
        const rows = await store.incidents.list({ most: Math.min(limit ?? SHOWN, MAX_SHOWN) })
        const views = rows.map(toIncidentView)
        if (json) return say(JSON.stringify(views))
        if (views.length === 0) return say('There was no incident.')
        const cells = views.map(({ began_at, ended_at, level, name, node, notices: told }) => [
          began_at,
          ended_at ?? 'lasts',
          level,
          node === null ? name : `${name} (${node})`,
          told.map(({ channel, kind, state }) => `${channel} ${kind} ${state}`).join(', ') || 'no channel',
        ])
        say(toTable([['began', 'ended', 'level', 'incident', 'notices'], ...cells]))
      }),
    )
  addHelp(command, {
    details: 'Incidents are kept for 90 days after their end.',
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: { 'notices list': 'a table', 'notices list --limit 100 --json': 'a JSON array' },
  })
}
