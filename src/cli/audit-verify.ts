import type { KeyObject } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Command } from 'commander'
import { type CheckpointFile, findCheckpointFile, readCheckpoints } from '../audit/checkpoint-file.ts'
import { type ComparedFile, findPlace, toVerdictText } from '../audit/verify/verdict-text.ts'
import type { Verdict } from '../audit/verify/verify-audit-log.ts'
import { verifyStore } from '../audit/verify/verify-store.ts'
import { loadConfig } from '../context/config.ts'
import { toDatabaseText } from '../context/database-text.ts'
import { openStore, type Store } from '../context/store.ts'
import { readServerFacts } from '../database/server-facts.ts'
import { UserError } from '../errors.ts'
import { toFigure } from '../registry/import/progress-line.ts'
import { dim, say, strong } from '../server/terminal.ts'
import { ARCHIVE_OPTION, findNamed, readKeyFile, toPublicKeyOf } from './audit-options.ts'
import { onSchemaWait, storeError, withStore } from './command-context.ts'
import { printDatabase } from './database.ts'
import { addHelp } from './help.ts'
import { createProgress } from './progress.ts'

type Options = {
  checkpoints?: string
  archive?: string[]
  publicKey?: string
  json?: true
}

export function addAuditVerifyCommand(audit: Command): void {
  const command = audit
    .command('verify')
    .description('read the whole audit log, compare it with its checkpoints, and report the first fault')
    .option(
      '--checkpoints <path>',
      'checkpoints that were kept away from this server: a copy of checkpoints.log (also .gz) or of its folder, or a file of received webhooks, one audit.checkpoint a line',
    )
    .option(...ARCHIVE_OPTION)
    .option('--public-key <file>', 'public key of the checkpoints; with it, no root key is needed')
    .option('--json', 'print a JSON object')
    .action((options: Options) =>
      withKeyAndStore(options, (publicKey, store) =>
        runVerify(publicKey, store, findOutside(options), options),
      ),
    )
  addHelp(command, {
    details:
      'It prints what was compared, and what the comparison cannot show. From the database alone it finds rows that were changed, deleted, swapped or inserted. A log that was cut off, rewritten from some row on, or replaced by an older copy is found by checkpoints outside the database. Without --checkpoints, those are checkpoints.log of this server, in TABBAT_CHECKPOINT_DIR or the data folder. An attacker who can write there can change them in the same way: only a copy that was kept elsewhere shows that. docs/audit-format.md describes the format.\n\nRows that were archived are verified in their archives, which --archive or TABBAT_AUDIT_ARCHIVE_DIR names. Archives that are not given are listed.\n\nServers may run meanwhile.',
    usesDatabase: true,
    settings: ['TABBAT_CHECKPOINT_DIR', 'TABBAT_AUDIT_ARCHIVE_DIR'],
    exitCodes: { 0: 'no fault found', 1: 'a fault was found, or the log could not be read' },
    examples: {
      'audit verify': 'check the log against the checkpoints of this server',
      'audit verify --checkpoints /elsewhere/checkpoints.log': 'check it against a copy kept elsewhere',
      'audit verify --checkpoints /elsewhere/events.ndjson': 'check it against the webhooks of a receiver',
    },
  })
}

async function withKeyAndStore(
  { publicKey }: Options,
  work: (publicKey: KeyObject, store: Store) => Promise<void>,
): Promise<void> {
  if (publicKey === undefined) return withStore(({ store, keyring }) => work(toPublicKeyOf(keyring), store))
  const key = readKeyFile(publicKey)
  const config = loadConfig()
  const { dataDir, databaseUrl } = config
  printDatabase(config)
  const store = await openStore({ dataDir, databaseUrl, mustExist: true, isReading: true, onSchemaWait })
  return work(key, store)
    .catch((error) => {
      throw storeError(config, error)
    })
    .finally(store.close)
}

/** Checkpoints that were stored outside the database. */
type OutsideCheckpoints = {
  readonly file: CheckpointFile | undefined
  readonly compared: ComparedFile | undefined
  /** By an option. It must then hold checkpoints. */
  readonly isNamed: boolean
}

/** Called before the database is read, which then has every one of them. */
function findOutside({ checkpoints }: Options): OutsideCheckpoints {
  const file = checkpoints === undefined ? findOwnFile() : findCheckpointFile(checkpoints)
  const compared = file && { path: file.path, place: findPlace(file.path, loadConfig()) }
  return { file, compared, isNamed: checkpoints !== undefined }
}

/** The checkpoints of this server. */
function findOwnFile(): CheckpointFile | undefined {
  const { dataDir, checkpointDir = dataDir } = loadConfig()
  try {
    return findCheckpointFile(checkpointDir)
  } catch {
    // The result says that no file was compared.
    return undefined
  }
}

async function runVerify(
  publicKey: KeyObject,
  store: Store,
  { file, compared, isNamed }: OutsideCheckpoints,
  options: Options,
): Promise<void> {
  const startedAt = performance.now()
  if (file && (await readServerFacts(store.database))?.isStandby) await waitForCheckpoints(store, file)
  const progress = createProgress()
  const archives = findNamed(options.archive, loadConfig())
  const named = { publicKey, file, archives, onProgress: progress.show }
  const verdict = await verifyStore(store, named).finally(progress.clear)
  if (verdict.sound && isNamed && verdict.file.checkpoints === 0)
    throw new UserError(`There is no checkpoint in ${file?.path}.`)
  const seconds = (performance.now() - startedAt) / 1000
  if (!verdict.sound) process.exitCode = 1
  if (options.json) say(toJson(verdict, seconds, compared))
  else report(verdict, seconds, compared)
}

const REPLAY_WAIT_MS = 30_000
const REPLAY_PAUSE_MS = 250

/** A standby may not have received the last checkpoint of the file yet. */
async function waitForCheckpoints({ audit }: Store, file: CheckpointFile): Promise<void> {
  let last = ''
  for await (const checkpoint of readCheckpoints(file))
    if (checkpoint && checkpoint.time > last) last = checkpoint.time
  const until = performance.now() + REPLAY_WAIT_MS
  while (((await audit.lastCheckpoint())?.time ?? '') < last && performance.now() < until)
    await pause(REPLAY_PAUSE_MS)
}

function toJson(verdict: Verdict, seconds: number, compared: ComparedFile | undefined): string {
  const { sound, rows, chains, checkpoints, ends, file, archives, fault } = verdict
  const figures = { sound, rows, chains, checkpoints, seconds: Number(seconds.toFixed(3)), ends, archives }
  const inFile = compared && {
    file: { path: compared.path, checkpoints: file.checkpoints, last: file.last ?? null },
  }
  return JSON.stringify({
    database: toDatabaseText(loadConfig()),
    ...figures,
    ...inFile,
    ...toVerdictText(verdict, compared),
    ...(fault && { fault }),
  })
}

function report(verdict: Verdict, seconds: number, file: ComparedFile | undefined): void {
  const { headline, compared, limits } = toVerdictText(verdict, file)
  say(strong(headline))
  for (const line of compared) say(line)
  for (const line of limits) say(line)
  say(dim(`${seconds.toFixed(1)} s, ${toFigure(verdict.rows / seconds)} rows/s.`))
}
