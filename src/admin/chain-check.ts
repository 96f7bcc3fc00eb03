import type { KeyObject } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { openWorkerThread } from '../assets/worker-thread.ts'
import { auditBy } from '../audit/audit-log.ts'
import { toPublicKey } from '../audit/open-checkpoint.ts'
import { createSigner } from '../audit/signing.ts'
import { type ComparedFile, findPlace, toVerdictText } from '../audit/verify/verdict-text.ts'
import type { Verdict } from '../audit/verify/verify-audit-log.ts'
import type { Context } from '../context/context.ts'
import type { Actor } from '../contract/role.ts'
import { type Static, Type } from '../contract/schema.ts'
import type { DatabaseOptions } from '../database/open-database.ts'
import { UserError } from '../errors.ts'
import { Time } from './fields.ts'

/** The verification of the log that is running, or the last one. */
export const ChainCheck = Type.Object({
  state: Type.Enum(['none', 'running', 'sound', 'faulty', 'failed'] as const),
  rows: Type.Integer(),
  total: Type.Integer(),
  chains: Type.Integer(),
  checkpoints: Type.Integer(),
  unsigned: Type.Integer(),
  seconds: Type.Number(),
  started_at: Type.Nullable(Time),
  started_by: Type.Nullable(Type.String()),
  /** The result, what was compared, and what this cannot detect: the text of "tabbat audit verify". */
  headline: Type.Nullable(Type.String()),
  compared: Type.Array(Type.String()),
  limits: Type.Array(Type.String()),
})
export type ChainCheck = Static<typeof ChainCheck>

/** Verifies the whole audit log in a worker thread, one run at a time. */
export type ChainChecks = {
  /** The current run, or the last one. */
  readonly read: () => ChainCheck
  /**
   * Throws a `UserError` while a run is in progress. An uploaded checkpoints.log is compared instead of the one of this server,
   * and deleted afterwards with its folder.
   */
  readonly start: (actor: Actor, uploaded?: string) => ChainCheck
  /** Resolves when no run is in progress. */
  readonly finish: () => Promise<void>
  readonly close: () => Promise<void>
}

const NONE: ChainCheck = {
  state: 'none',
  rows: 0,
  total: 0,
  chains: 0,
  checkpoints: 0,
  unsigned: 0,
  seconds: 0,
  started_at: null,
  started_by: null,
  headline: null,
  compared: [],
  limits: [],
}
const FAILED = 'The verification stopped with an error. See the server log.'

type CheckContext = Pick<Context, 'config' | 'keyring' | 'audit' | 'log'>

export function createChainChecks(context: CheckContext): ChainChecks {
  let check = NONE
  let startedAt = 0
  let worker: Worker | undefined
  let finished = Promise.resolve()
  let closing = false
  const measure = () => Number(((performance.now() - startedAt) / 1000).toFixed(3))

  const end = async (actor: Actor, result: Partial<ChainCheck>) => {
    check = { ...check, ...result, seconds: measure() }
    worker = undefined
    const detail = `${check.rows} rows, ${check.chains} chains`
    await auditBy({ context }, actor)
      .record([{ phase: 'audit_verified', outcome: check.state, detail }])
      .catch(context.log.failure)
  }
  const start = (actor: Actor, uploaded?: string) => {
    if (worker) throw new UserError('A verification of the log is already running. Wait until it has ended.')
    startedAt = performance.now()
    check = { ...NONE, state: 'running', started_at: new Date().toISOString(), started_by: actor.name }
    const thread = startThread(context, uploaded, ({ rows, total }) => {
      check = { ...check, rows, total }
    })
    worker = thread.worker
    finished = thread.result
      .finally(() => uploaded && rm(dirname(uploaded), { recursive: true, force: true }))
      .then(
        (result) => end(actor, result),
        (error: unknown) => {
          if (!closing) context.log.failure(error)
          return end(actor, { state: 'failed', headline: FAILED })
        },
      )
    return check
  }

  return {
    read: () => (check.state === 'running' ? { ...check, seconds: measure() } : check),
    start,
    finish: () => finished,
    close: async () => {
      closing = true
      await worker?.terminate()
      await finished
    },
  }
}

type Progress = { readonly rows: number; readonly total: number }

function startThread(
  context: CheckContext,
  uploaded: string | undefined,
  onProgress: (progress: Progress) => void,
) {
  const input = { ...toCheckInput(context), uploaded }
  const compared: ComparedFile =
    uploaded === undefined
      ? { path: input.folder, place: findPlace(input.folder, context.config) }
      : { path: UPLOADED, place: 'elsewhere' }
  const worker = openWorkerThread('chain-check', { workerData: input })
  const { promise, resolve, reject } = Promise.withResolvers<Partial<ChainCheck>>()
  worker
    .on('message', (message: CheckMessage) => {
      if ('total' in message) onProgress(message)
      else resolve(toResult(message, compared))
    })
    .once('error', reject)
    .once('exit', () => reject(new Error('the worker thread ended before the audit log was verified')))
    .unref()
  return { worker, result: promise }
}

function toCheckInput({ config, keyring }: CheckContext): Omit<CheckInput, 'uploaded'> {
  const { dataDir, databaseUrl, checkpointDir = dataDir } = config
  return {
    store: { dataDir, databaseUrl, mustExist: true },
    publicKey: toPublicKey(createSigner(keyring()['audit-signing']).publicKey, 'The key'),
    folder: checkpointDir,
    archiveDir: config.auditArchiveDir,
  }
}

/** The text says what the compared checkpoints cannot show. */
function toResult(
  message: Exclude<CheckMessage, { total: number }>,
  file: ComparedFile,
): Partial<ChainCheck> {
  if ('problem' in message) return { state: 'failed', headline: message.problem }
  const { sound, rows, chains, checkpoints, unsigned } = message.verdict
  const { headline, compared, limits } = toVerdictText(message.verdict, file)
  const text = { headline, compared: [...compared], limits: [...limits] }
  return { state: sound ? 'sound' : 'faulty', rows, chains, checkpoints, unsigned, ...text }
}

/** The input of the worker thread that verifies the audit log. */
export type CheckInput = {
  readonly store: DatabaseOptions
  readonly publicKey: KeyObject
  /** The folder of checkpoints.log. */
  readonly folder: string
  /** An uploaded file, which is compared instead. */
  readonly uploaded: string | undefined
  /** The folder of archives. */
  readonly archiveDir: string | undefined
}

/** A message of the worker thread: progress, then a result. */
export type CheckMessage =
  | { readonly rows: number; readonly total: number }
  | { readonly verdict: Verdict }
  | { readonly problem: string }

/** How the result names an uploaded file: its name is the user's own matter. */
export const UPLOADED = 'the uploaded file'
