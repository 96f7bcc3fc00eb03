import { realpathSync } from 'node:fs'
import { dirname, relative, sep } from 'node:path'
import { toFaultText, toVisible } from './fault.ts'
import type { ChainEnd, Verdict } from './verify-audit-log.ts'
import type { StatedLoss } from './verify-checkpoints.ts'

/** The checkpoints.log that was compared. */
export type ComparedFile = { readonly path: string; readonly place: CheckpointPlace }

/** The result of a check in sentences, used by the command line and the console. */
type VerdictText = {
  readonly headline: string
  /** What was compared. */
  readonly compared: readonly string[]
  /** What this comparison cannot show. */
  readonly limits: readonly string[]
}

/** Further chains are counted, not listed. */
const MAX_ENDS = 4

export function toVerdictText(verdict: Verdict, file?: ComparedFile): VerdictText {
  const { fault } = verdict
  return {
    headline: fault
      ? `The audit log is NOT sound. First fault: ${toFaultText(fault)}.`
      : toSoundHeadline(verdict, file),
    compared: [
      `${fault ? 'Sound before the fault' : 'Compared'}: ${listCompared(verdict, file).join(', ')}.`,
      ...(fault ? [] : listEnds(verdict.ends)),
      ...listFileFacts(verdict, file),
      ...verdict.losses.map(toLossText),
    ],
    limits: fault ? [] : listLimits(verdict, file),
  }
}

/** The sentence that says what was found also says what cannot be found: it may be all that is read. */
function toSoundHeadline({ file: { last }, archives: { missing } }: Verdict, file?: ComparedFile): string {
  const without = missing.length > 0 ? `, without ${count(missing.length, 'archive')} of it,` : ''
  const found = `No difference was found between the audit log${without} and the checkpoints`
  if (!file || last === undefined || file.place === 'data folder')
    return `${found} on this server, but a cut at the end of the log cannot be seen without checkpoints that were kept elsewhere.`
  if (file.place === 'other folder')
    return `${found} in ${file.path}, but a cut at the end of the log cannot be seen if it was also made there, where this server can write.`
  return `${found} in ${file.path}, but a cut after ${last} cannot be seen without newer checkpoints.`
}

const listCompared = (
  { rows, chains, checkpoints, file: { checkpoints: inFile }, archives: { compared } }: Verdict,
  file?: ComparedFile,
) => [
  `${count(rows, 'row')} in ${count(chains, 'chain')}`,
  `${count(checkpoints, 'checkpoint')} in the database`,
  file ? `${count(inFile, 'checkpoint')} in ${file.path}` : 'no file of checkpoints',
  ...(compared.length > 0
    ? [`${count(sumRows(compared), 'row')} in ${count(compared.length, 'archive')}`]
    : []),
]

function listEnds(ends: readonly ChainEnd[]): string[] {
  const shown = ends
    .slice(0, MAX_ENDS)
    .map(
      ({ chain, sequence, hash }) =>
        `The last row of chain ${toVisible(chain)} is row ${sequence}, hash ${hash}.`,
    )
  return ends.length > MAX_ENDS ? [...shown, `${ends.length - MAX_ENDS} more chains were compared.`] : shown
}

function listFileFacts({ file: { unreadable, last } }: Verdict, file?: ComparedFile): string[] {
  if (!file) return []
  return [
    ...(unreadable > 0 ? [`Skipped: ${count(unreadable, 'incomplete line')} of ${file.path}.`] : []),
    ...(last === undefined ? [] : [`The last checkpoint in ${file.path} is of ${last}.`]),
  ]
}

function listLimits({ unsigned, archives, file: { last } }: Verdict, file?: ComparedFile): string[] {
  const young =
    unsigned > 0
      ? [`Newer than the last checkpoint and not covered by a signature: ${count(unsigned, 'row')}.`]
      : []
  return [
    ...young,
    ...listArchiveLimits(archives),
    ...(file?.place === 'elsewhere' && last ? [toLimitOfFile(file.path, last)] : WITHOUT_CHECKPOINTS),
  ]
}

function listArchiveLimits({ missing, notRemoved }: Verdict['archives']): string[] {
  const numbers = missing.map(({ number }) => number).join(', ')
  return [
    ...(missing.length > 0
      ? [
          `Not compared: ${count(sumRows(missing), 'row')} in ${count(missing.length, 'archive')} (number ${numbers}). Their ends are signed in the database. To compare them, run: tabbat audit verify --archive FILE`,
        ]
      : []),
    ...(notRemoved > 0
      ? [`Archived, and not yet removed from the database: ${count(notRemoved, 'row')}.`]
      : []),
  ]
}

const sumRows = (archives: readonly { readonly rows: number }[]) =>
  archives.reduce((sum, { rows }) => sum + rows, 0)

const WITHOUT_CHECKPOINTS = [
  'Not compared: checkpoints that this server cannot change. Without them, this check cannot find that the end of the log was removed or rewritten, or that an older copy was restored, if the checkpoints in the database and in the folder of this server were changed in the same way.',
  'To find that, upload a checkpoints.log that was kept elsewhere on the page Audit of the console, or run: tabbat audit verify --checkpoints FILE',
]

const toLimitOfFile = (path: string, last: string) =>
  `This holds up to ${last}, the time of the last checkpoint in ${path}. Rows that were removed or rewritten after that time can be found only by a later check, with a newer checkpoint from there.`

const toLossText = ({ chain, kept, acknowledged, by, time }: StatedLoss) =>
  `Lost and recorded at ${toVisible(time)} by ${toVisible(by)}: rows ${kept + 1} to ${acknowledged} of chain ${toVisible(chain)}, which callers were answered on.`

const count = (number: number, noun: string) =>
  `${String(number).replace(/\B(?=(\d{3})+$)/g, ' ')} ${noun}${number === 1 ? '' : 's'}`

/**
 * Where the checkpoints are that the log was compared with: in the data folder; in another folder to which this server writes;
 * or in a copy that this server does not write.
 */
type CheckpointPlace = 'data folder' | 'other folder' | 'elsewhere'

type Folders = { readonly dataDir: string; readonly checkpointDir?: string | undefined }

/** The place of a file, or of a folder with checkpoints. */
export function findPlace(path: string, { dataDir, checkpointDir = dataDir }: Folders): CheckpointPlace {
  const real = toReal(path)
  if (![real, dirname(real)].includes(toReal(checkpointDir))) return 'elsewhere'
  return isInside(toReal(checkpointDir), toReal(dataDir)) ? 'data folder' : 'other folder'
}

/** A folder that does not exist holds nothing. */
function toReal(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

const isInside = (path: string, folder: string) => {
  const way = relative(folder, path)
  return way === '' || !(way === '..' || way.startsWith(`..${sep}`))
}
