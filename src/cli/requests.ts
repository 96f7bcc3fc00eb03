import { type Command, Option } from 'commander'
import { UserError } from '../errors.ts'
import { isDrawnByChance } from '../telemetry/logged-id.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import { listRequests, showRequest, tailRequests } from './requests-show.ts'
import { DATE_NOTE, readSince, readUntil } from './time-option.ts'

const SETTINGS = ['TABBAT_REQUESTS_KEEP', 'TABBAT_REQUESTS_MAX']
const NOTE =
  'The log has no personal data. It is written every two seconds: what a crashed process had not written is lost. Requests without a valid key are only counted.'

export function addRequestsCommand(program: Command): void {
  const requests = program
    .command('requests')
    .description('find requests in the request log: by id, key, operation, status, code, time')

  const list = addFilters(requests.command('list'))
    .description('list requests, newest first')
    .option('--since <time>', 'not before a time (2026-11-16T08:00Z) or an age (30m, 6h, 2d)', readSince)
    .option('--until <time>', 'not after a time or an age; with a date, up to its end', readUntil)
    .option('--limit <count>', 'most requests', readLimit, 50)
    .option('--json', 'print a JSON array')
    .action(listRequests)
  addHelp(list, {
    details: `${NOTE} ${DATE_NOTE}`,
    usesDatabase: true,
    settings: SETTINGS,
    exitCodes: EXIT_CODES,
    examples: {
      'requests list --key a1B2c3D4 --status 4xx --since 1h': 'what one key was refused in the last hour',
      'requests list --code validation_failed --json': 'invalid requests, with the names of their fields',
    },
  })

  const show = requests
    .command('show')
    .description('show all about a request, and the command to send it again')
    .argument('<id>', 'a request_id or a request_reference; - reads it from standard input', readId)
    .option('--json', 'print a JSON array')
    .action(showRequest)
  addHelp(show, {
    details: `${NOTE} Several requests may have the same id, if their caller chose it. A caller's own id that does not look random is read from standard input only, because it may be a number or a name.`,
    usesDatabase: true,
    settings: SETTINGS,
    exitCodes: { 0: 'shown', 1: 'the log has no such request, or it could not be read' },
    examples: {
      'requests show req_4f1c2a9be0d84c6f9a7d3e5b1c8f0a62': 'by the X-Request-Id of the response',
      'requests show ver_01k8s2m4q0v6x8z2b4d6f8h0j2k4m6n8p0r2': 'every request of one verification',
    },
  })

  const tail = addFilters(requests.command('tail'))
    .description('print requests as they are answered, until Ctrl-C')
    .option('--json', 'print a JSON object for each')
    .action(tailRequests)
  addHelp(tail, {
    details: `${NOTE} Requests appear two to four seconds after they were answered. If there are more than 200 at once, the newest are shown.`,
    usesDatabase: true,
    settings: SETTINGS,
    exitCodes: EXIT_CODES,
    examples: {
      'requests tail': 'all requests of all servers of this database',
      'requests tail --status 5xx --json': 'failures, for a program',
    },
  })

  addHelp(requests, {
    examples: {
      'requests show req_4f1c2a9be0d84c6f9a7d3e5b1c8f0a62': 'explain one request',
      'requests tail --key a1B2c3D4': 'watch one key',
    },
  })
}

const addFilters = (command: Command): Command =>
  command
    .option('--id <id>', 'with this request_id; - reads it from standard input', readId)
    .option('--reference <reference>', 'of this verification')
    .option('--key <id>', 'of this key, by its public id')
    .addOption(new Option('--mode <mode>', 'of keys of this mode').choices(['test', 'live']))
    .option('--operation <name>', 'of this operation, such as verify_nin')
    .option(
      '--status <status>',
      'with this status: 422, 4xx, 5xx, or 0 if the caller did not wait',
      readStatus,
    )
    .option('--code <code>', 'with this code, such as validation_failed')

function readStatus(text: string): string {
  if (/^(?:0|[1-5][0-9]{2}|[1-5]xx)$/.test(text)) return text
  throw new UserError('A status is a number such as 422, or 4xx or 5xx.')
}

function readLimit(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text)
  throw new UserError('A limit is a whole number from 1 to 999999.')
}

const NAMED = /^(-|ver_[0-9a-z]{36}|own_[0-9a-f]{32})$/

/** The error does not repeat the text: it may be a NIN or a name. */
function readId(text: string): string {
  if (NAMED.test(text) || isDrawnByChance(text)) return text
  throw new UserError(
    "This does not look like an id that was drawn by chance, so it may be personal. Give a caller's own id on standard input, with - in its place: tabbat requests show -",
  )
}
