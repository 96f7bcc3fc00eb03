import type { KeyObject } from 'node:crypto'
import type { Command } from 'commander'
import { toFaultText } from '../audit/fault-text.ts'
import type { Verdict } from '../audit/verify.ts'
import { findCheckpointFile } from '../audit/verify-file.ts'
import { verifyStore } from '../audit/verify-store.ts'
import { loadConfig } from '../config.ts'
import { Refusal } from '../errors.ts'
import { toFigure } from '../registry/import/progress-line.ts'
import { openStore, type Store } from '../store/store.ts'
import { readKeyFile, toKeyOf } from './audit-key.ts'
import { withStore } from './office.ts'
import { createProgress } from './progress.ts'
import { dim, say, strong } from './terminal.ts'

type Options = { checkpoints?: string; publicKey?: string; json?: true }

export function addAuditVerifyCommand(audit: Command): void {
  audit
    .command('verify')
    .description('read the whole audit log and say whether it is as it was written, or the first fault')
    .option('--checkpoints <file>', 'a checkpoints.log that was kept away from the database')
    .option('--public-key <file>', 'the key of the checkpoints; with it, no root key is needed')
    .option('--json', 'print an object for a program')
    .addHelpText(
      'after',
      `
Ends with 0 when the log is sound, with 1 when it is not. Servers may go on running.
From the database alone it finds rows that were changed, deleted, swapped or put in. Truncation, a rewritten tail and an
older copy can only be found with --checkpoints, since whoever can do that can take the checkpoints out of the database,
too. The format is described in docs/audit-format.md.`,
    )
    .action((options: Options) =>
      withKeyAndStore(options, (publicKey, store) => runVerify(publicKey, store, options)),
    )
}

async function withKeyAndStore(
  { publicKey }: Options,
  work: (publicKey: KeyObject, store: Store) => Promise<void>,
): Promise<void> {
  if (publicKey === undefined) return withStore(({ store, keyring }) => work(toKeyOf(keyring), store))
  const key = readKeyFile(publicKey)
  const { dataDir, databaseUrl } = loadConfig()
  const store = await openStore({ dataDir, databaseUrl, mustExist: true })
  return work(key, store).finally(store.close)
}

async function runVerify(publicKey: KeyObject, store: Store, { checkpoints, json }: Options): Promise<void> {
  const startedAt = performance.now()
  // Before the database is looked at, which has all that is in the file by then.
  const file = checkpoints === undefined ? undefined : findCheckpointFile(checkpoints)
  const progress = createProgress()
  const options = { publicKey, file, onProgress: progress.show }
  const verdict = await verifyStore(store, options).finally(progress.clear)
  if (verdict.sound && file && verdict.file.checkpoints === 0)
    throw new Refusal(`There is no checkpoint in ${file.path}.`)
  const seconds = (performance.now() - startedAt) / 1000
  if (!verdict.sound) process.exitCode = 1
  if (json) say(toJson(verdict, seconds))
  else report(verdict, seconds, file?.path)
}

function toJson({ sound, rows, chains, checkpoints, fault }: Verdict, seconds: number): string {
  const figures = { sound, rows, chains, checkpoints, seconds: Number(seconds.toFixed(3)) }
  return JSON.stringify(fault ? { ...figures, fault } : figures)
}

function report(verdict: Verdict, seconds: number, path: string | undefined): void {
  const { fault, rows, chains, checkpoints, unsigned, file } = verdict
  const read = `${toFigure(rows)} rows, ${toFigure(chains)} chains and ${toFigure(checkpoints)} checkpoints`
  if (fault) {
    say(strong(`The audit log is NOT sound. First fault: ${toFaultText(fault)}.`))
    say(dim(`Up to there, ${read} are good.`))
  } else {
    say(strong('The audit log is sound.'))
    say(`${read} in ${seconds.toFixed(1)} s (${toFigure(rows / seconds)} rows/s).`)
    if (unsigned > 0) say(`${toFigure(unsigned)} rows are younger than the last checkpoint.`)
  }
  if (file.passedOver > 0) say(`${file.passedOver} lines of ${path} are incomplete and were passed over.`)
  if (file.last !== undefined) say(`The last checkpoint in ${path} is of ${file.last}.`)
  if (path === undefined)
    say(dim('Truncation, a rewritten tail and an older copy can only be found with --checkpoints FILE.'))
}
