import type { KeyObject } from 'node:crypto'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { openWorkerThread } from '../assets/worker-thread.ts'
import { auditBy } from '../audit/audit-by.ts'
import { CHECKPOINT_FILE } from '../audit/checkpoint.ts'
import { createSigner } from '../audit/signing.ts'
import { toVerdictText } from '../audit/verdict-text.ts'
import type { Verdict } from '../audit/verify.ts'
import { toPublicKey } from '../audit/verify-checkpoint.ts'
import type { Context } from '../context/context.ts'
import type { Actor } from '../contract/role.ts'
import { UserError } from '../errors.ts'
import type { StoreOptions } from '../store/store.ts'
import type { ChainCheck } from './shapes/audit.ts'

/** Reads the whole audit log in a thread of its own, one reading at a time. */
export type ChainChecks = {
  /** The reading that is under way, or the last one. */
  readonly read: () => ChainCheck
  /** Refused while one is under way. */
  readonly start: (actor: Actor) => ChainCheck
  /** Resolves when none is under way. */
  readonly finish: () => Promise<void>
  readonly close: () => Promise<void>
}

/** What the thread is given, and what it tells. */
export type CheckInput = {
  readonly store: StoreOptions
  readonly publicKey: KeyObject
  /** The checkpoints.log of this server. */
  readonly file: string
}
export type CheckMessage =
  | { readonly rows: number; readonly total: number }
  | { readonly verdict: Verdict }
  | { readonly refusal: string }

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
const FAILED = 'The log could not be read to the end. See the log of the server.'

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
  const start = (actor: Actor) => {
    if (worker) throw new UserError('The log is being read already. Wait until that has come to its end.')
    startedAt = performance.now()
    check = { ...NONE, state: 'running', started_at: new Date().toISOString(), started_by: actor.name }
    const thread = startThread(context, ({ rows, total }) => {
      check = { ...check, rows, total }
    })
    worker = thread.worker
    finished = thread.result.then(
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

type Rows = { readonly rows: number; readonly total: number }

function startThread(context: CheckContext, onRows: (rows: Rows) => void) {
  const order = toCheckInput(context)
  const worker = openWorkerThread('chain-check', { workerData: order })
  const { promise, resolve, reject } = Promise.withResolvers<Partial<ChainCheck>>()
  worker
    .on('message', (news: CheckMessage) => {
      if ('total' in news) onRows(news)
      else resolve(toResult(news, order.file))
    })
    .once('error', reject)
    .once('exit', () => reject(new Error('the reading of the audit log was ended')))
    .unref()
  return { worker, result: promise }
}

function toCheckInput({ config, keyring }: CheckContext): CheckInput {
  const { dataDir, databaseUrl, checkpointDir = dataDir } = config
  return {
    store: { dataDir, databaseUrl, mustExist: true },
    publicKey: toPublicKey(createSigner(keyring()['audit-signing']).publicKey, 'The key'),
    file: join(checkpointDir, CHECKPOINT_FILE),
  }
}

/** The file is the one that this server writes: it was not kept elsewhere. */
function toResult(news: Exclude<CheckMessage, { total: number }>, path: string): Partial<ChainCheck> {
  if ('refusal' in news) return { state: 'failed', headline: news.refusal }
  const { sound, rows, chains, checkpoints, unsigned } = news.verdict
  const { headline, compared, limits } = toVerdictText(news.verdict, { path, isKeptElsewhere: false })
  const text = { headline, compared: [...compared], limits: [...limits] }
  return { state: sound ? 'sound' : 'faulty', rows, chains, checkpoints, unsigned, ...text }
}
