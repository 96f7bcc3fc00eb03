import { join } from 'node:path'
import { UserError } from '../errors.ts'
import { createCallers, isVerified } from './callers.ts'
import { quietCopy, tamperRow } from './copied-database.ts'
import {
  type CopiedData,
  copyRemovals,
  createCopyFolders,
  type FoundBackup,
  restoreCopy,
} from './copy-data.ts'
import { type Exercise, waitUntil } from './exercise.ts'
import { type Recorder, toTime } from './finding.ts'
import { readReason, type Settings } from './program.ts'
import type { Stage } from './stage.ts'

type Verified = {
  readonly sound: boolean
  readonly headline: string
  readonly rows: number
  readonly fault?: { readonly chain?: string; readonly sequence?: number }
}

const verifyLog = async (
  { program }: Stage,
  settings: Settings,
): Promise<Verified & { code: number | null }> => {
  const { code, stdout, stderr } = await program.run(settings, 'audit', 'verify', '--json')
  // Without a result: it could not read the log.
  if (stdout === '') return { sound: false, headline: readReason(stderr), rows: 0, code }
  return { ...(JSON.parse(stdout) as Verified), code }
}

const restore: Exercise = {
  name: 'restore',
  title: 'A backup is restored',
  about:
    'the newest backup of --backup is restored elsewhere, its log is verified, a server starts on it and answers',
  run: async (stage, recorder) => {
    const file = stage.backup?.file ?? (await makeBackup(stage, recorder))
    const folder = join(stage.folder, 'restored')
    const data = createCopyFolders(folder)
    const { TABBAT_DATABASE_URL: _url, ...rest } = stage.settings
    const settings = { ...rest, TABBAT_DATA_DIR: data.dataDir, TABBAT_CHECKPOINT_DIR: data.checkpointDir }
    copyRemovals(stage.config, data.checkpointDir)
    const from = recorder.now()
    const end = recorder.beginFault('the data is gone')
    const createdAt = await tryRestore(stage, settings, file)
    const { expected, notes } = describeRestore(stage)
    recorder.check(expected, createdAt.text, createdAt.at !== undefined)
    for (const note of notes) recorder.note(note)
    if (stage.backup !== undefined) checkFolder(recorder, stage.backup)
    if (createdAt.at === undefined) return
    if (stage.backup !== undefined)
      recorder.note(`The backup is of ${createdAt.text}: what came later would be lost with it.`)
    await quietCopy(data, stage.receiver.copiedUrl)
    const isBack = await checkRestored(stage, recorder, settings)
    end()
    if (isBack) recorder.recovered(recorder.now() - from)
    const { sound, headline, rows } = await verifyLog(stage, settings)
    recorder.check('its audit log is whole', sound ? `${rows} rows, no fault` : headline, sound)
  },
}

type Restoring = {
  readonly backup: unknown
  readonly data: Pick<CopiedData, 'databaseUrl'>
  readonly config: Pick<Stage['config'], 'databaseUrl'>
}

/** What is restored into what. A second database of PostgreSQL is not at hand, so it is always SQLite. */
export function describeRestore({ backup, data, config }: Restoring) {
  const whose = backup === undefined ? 'made now from the copy, none of yours' : 'yours'
  if (data.databaseUrl === undefined && config.databaseUrl === undefined)
    return { expected: `the backup can be restored (${whose})`, notes: [] }
  return {
    expected: `the backup can be restored into SQLite (${whose})`,
    notes: ['The restore was into SQLite. A restore into PostgreSQL was not rehearsed.'],
  }
}

/** The newest backup may be one that cannot be read: then an older one was restored. */
export function checkFolder(recorder: Pick<Recorder, 'check'>, { unreadable }: FoundBackup): void {
  if (unreadable.length > 0)
    recorder.check(
      'every backup in the folder can be read',
      `the time of these cannot be read, so they may be newer and damaged: ${unreadable.join(', ')}`,
      false,
    )
}

/** Without a backup of the operator: the way itself can still be shown. */
async function makeBackup(stage: Stage, recorder: Recorder): Promise<string> {
  const file = join(stage.folder, 'rehearsal.backup')
  await stage.runJson('backup', file)
  recorder.note(
    'No backup of yours was restored, but one that was made now from the copy. Name yours with --backup.',
  )
  return file
}

async function tryRestore(stage: Stage, settings: Settings, file: string) {
  try {
    const at = await restoreCopy(stage.program, settings, file)
    return { at, text: `${at}, ${toTime(Date.now() - Date.parse(at))} old` }
  } catch (error) {
    return { at: undefined, text: (error as Error).message }
  }
}

const ANSWER_MS = 20_000

/** A server starts on the restored data, and verifies a synthetic person. Whatever keeps it from that is a finding. */
export async function checkRestored(
  stage: Pick<Stage, 'program' | 'noVendor' | 'kind'>,
  recorder: Recorder,
  settings: Settings,
): Promise<boolean> {
  const { seen, isVerified: ok } = await askRestored(stage, recorder, settings).catch((error) => {
    if (!(error instanceof UserError)) throw error
    return { seen: error.message, isVerified: false }
  })
  recorder.check('a server starts on the restored data and verifies', seen, ok)
  return ok
}

async function askRestored(
  { program, noVendor, kind }: Pick<Stage, 'program' | 'noVendor' | 'kind'>,
  recorder: Recorder,
  settings: Settings,
): Promise<{ seen: string; isVerified: boolean }> {
  const mode = noVendor === undefined ? 'live' : 'test'
  const made = await program.run(settings, 'keys', 'create', '--name', 'rehearsal', '--mode', mode, '--json')
  if (made.code !== 0) throw new UserError(`No key could be made on it: ${readReason(made.stderr)}`)
  const { key } = JSON.parse(made.stdout) as { key: string }
  const server = await program.startServer(settings)
  const callers = createCallers({ url: () => server.url, key, kind, recorder })
  try {
    let seen = ''
    const tookMs = await waitUntil(async () => {
      const answer = await callers.ask(callers.nextQuestion())
      seen = `${answer.status} ${answer.code}`
      return isVerified(answer)
    }, ANSWER_MS)
    return { seen, isVerified: tookMs !== undefined }
  } finally {
    callers.close()
    await server.stop()
  }
}

const tamperedLog: Exercise = {
  name: 'tampered-log',
  title: 'The audit log is changed',
  about: 'one row of the log is changed in the copy, and tabbat audit verify must name it',
  run: async (stage, recorder) => {
    const { settings, data } = stage
    const before = await verifyLog(stage, settings)
    recorder.check(
      'the log is whole before',
      before.sound ? `${before.rows} rows, no fault` : before.headline,
      before.sound,
    )
    if (!before.sound) return
    const row = await tamperRow(data)
    const end = recorder.beginFault('a row is changed')
    const from = recorder.now()
    const changed = await verifyLog(stage, settings)
    if (!changed.sound) recorder.detected(recorder.now() - from)
    await row.repair()
    end()
    const place = `row ${row.sequence} of chain ${row.chain}`
    const isNamed = changed.fault?.chain === row.chain && Number(changed.fault?.sequence) === row.sequence
    recorder.check('tabbat audit verify ends with 1', `exit code ${changed.code}`, changed.code === 1)
    recorder.check(`it names ${place}`, changed.headline, isNamed)
    const after = await verifyLog(stage, settings)
    recorder.check('with the row as it was, the log is whole again', after.headline, after.sound)
  },
}

export const DATA_EXERCISES: readonly Exercise[] = [restore, tamperedLog]
