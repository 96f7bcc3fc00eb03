import { availableParallelism } from 'node:os'
import { openWorkerThread } from '../../assets/worker-thread.ts'
import type { OpenDatabase } from '../../database/open-database.ts'
import type { PageSource } from '../../database/page-source.ts'
import { type VerifiedArchives, verifyArchives } from '../archive/verify-archives.ts'
import { type AuditSnapshot, withAuditSnapshot } from '../audit-snapshot.ts'
import { type CheckpointFile, readCheckpoints } from '../checkpoint-file.ts'
import { isSameHead, openCheckpoint, type SignedHead } from '../open-checkpoint.ts'
import { createTree } from './merkle-tree.ts'
import { ZERO_HASH } from './row-hasher.ts'
import type { CheckedSegment, CheckedStretch, Segment, Stretch } from './stretch-check.ts'
import { type Verdict, type VerifyOptions, verifyAuditLog, verifyPolicies } from './verify-audit-log.ts'
import { checkHead } from './verify-checkpoints.ts'

type StoreVerifyOptions = VerifyOptions & {
  /** Threads for a long log. */
  readonly threads?: number
  /** With fewer rows, starting threads costs more than it saves. */
  readonly threadsFromRows?: number
}

const THREADS_FROM_ROWS = 50_000
const MAX_THREADS = 8

/** Verifies the log of a store. A long one is read by several threads; if it is not sound, one reads it again to say why. */
export function verifyStore(
  store: Pick<OpenDatabase, 'database' | 'databaseUrl' | 'file'>,
  options: StoreVerifyOptions,
): Promise<Verdict> {
  const { threadsFromRows = THREADS_FROM_ROWS, ...others } = options
  const threads = options.threads ?? Math.min(availableParallelism(), MAX_THREADS)
  return withAuditSnapshot(store, async (scan) => {
    if ((await scan.countRows()) < threadsFromRows) return verifyAuditLog(scan, others)
    const pool = openVerifyPool(await scan.pageSource(), threads)
    const verdict = await verifyInThreads(scan, pool, others).finally(pool.close)
    return verdict ?? verifyAuditLog(scan, others)
  })
}

/** Stretches that wait in a thread while it checks another. */
const WAITING = 1

type Answer = ReturnType<typeof Promise.withResolvers<CheckedStretch | undefined>>

/** Threads that check stretches. */
export function openVerifyPool(
  source: PageSource,
  size: number,
): StretchChecker & { readonly close: () => Promise<void> } {
  const threads = Array.from({ length: size }, () => openThread(source))
  return {
    maxAtOnce: size * (1 + WAITING),
    check: (stretch) => {
      const idlest = threads.reduce((one, other) => (other.waiting() < one.waiting() ? other : one))
      return idlest.check(stretch)
    },
    close: async () => {
      await Promise.all(threads.map(({ close }) => close()))
    },
  }
}

function openThread(source: PageSource) {
  const worker = openWorkerThread('audit-verify', { workerData: source })
  // A thread answers in the order of the requests.
  const answers: Answer[] = []
  let ended: unknown
  const fail = (error: unknown) => {
    ended ??= error
    for (const { reject } of answers.splice(0)) reject(ended)
  }
  worker
    .on('message', (checked: CheckedStretch | null) => answers.shift()?.resolve(checked ?? undefined))
    .on('error', fail)
    .on('exit', () => fail(new Error('a thread of the verification ended')))
  const check: StretchChecker['check'] = (stretch) => {
    if (ended !== undefined) return Promise.reject(ended)
    const answer: Answer = Promise.withResolvers()
    answers.push(answer)
    worker.postMessage(stretch)
    return answer.promise
  }
  return { check, waiting: () => answers.length, close: () => worker.terminate() }
}

/** Checks stretches, several at once. */
type StretchChecker = {
  readonly check: (stretch: Stretch) => Promise<CheckedStretch | undefined>
  /** More than this many at once gain nothing. */
  readonly maxAtOnce: number
}

type ChainState = {
  readonly length: number
  readonly plan: StretchPlan
  readonly progress: ChainProgress
  /** The last head that was planned or checked. */
  head: SignedHead | undefined
  signed: number
}

/** Something is not as it is in a sound log. */
class Unsound extends Error {}

/**
 * Verifies a log in stretches that are checked at once. Returns undefined when anything is wrong or lost: verifyAuditLog then
 * finds the first fault. It must accept nothing that verifyAuditLog does not accept.
 */
export async function verifyInThreads(
  scan: AuditSnapshot,
  checker: StretchChecker,
  options: VerifyOptions,
  partRows?: number,
): Promise<Verdict | undefined> {
  try {
    return await verifySound(scan, checker, options, partRows)
  } catch (error) {
    // SQLite can hold integers that JavaScript cannot.
    if (error instanceof Unsound || (error as NodeJS.ErrnoException).code === 'ERR_OUT_OF_RANGE')
      return undefined
    throw error
  }
}

async function verifySound(
  scan: AuditSnapshot,
  checker: StretchChecker,
  options: VerifyOptions,
  partRows: number | undefined,
): Promise<Verdict> {
  const { publicKey, file, onProgress } = options
  requireThat((await scan.lossStatements()).length === 0 && (await scan.openLosses()).length === 0)
  const archives = await verifyArchives(scan, options)
  if ('reason' in archives) throw new Unsound()
  const total = await scan.countRows()
  const chains = await readChains(scan, total, partRows)
  const references = new Set<string>()
  let rows = 0
  const queue = createQueue(scan, checker, (stretch, checked) => {
    const { progress } = chains.get(stretch.chain) as ChainState
    requireThat(progress.hash() === stretch.previous)
    for (const [index, segment] of stretch.segments.entries())
      requireThat(progress.add(segment, checked.segments[index] as CheckedStretch['segments'][number]))
    for (const reference of checked.references) references.add(reference)
    rows += (stretch.segments.at(-1)?.upTo ?? stretch.after) - stretch.after
    onProgress?.(rows, total)
  })
  let checkpoints = 0
  for await (const page of scan.checkpoints())
    for (const checkpoint of page) {
      const opened = openCheckpoint(checkpoint, publicKey)
      if ('wrong' in opened) throw new Unsound()
      for (const head of opened.heads.filter((each) => !archives.explains(each)))
        await planHead(scan, chains.get(head.chain), head, queue.add)
      checkpoints += 1
    }
  for (const { plan, length } of chains.values()) await queue.add([...plan.addRows(length), ...plan.flush()])
  await queue.drain()
  requireThat(rows === total && (await verifyPolicies(scan, references)) === undefined)
  const filled = [...chains].filter(([chain, { length }]) => length > 0 && !archives.find(chain))
  const live = filled.reduce((sum, [, { length }]) => sum + length, 0)
  const signed = filled.reduce((sum, [, state]) => sum + state.signed, 0)
  return {
    fault: undefined,
    sound: true,
    checkpoints,
    file: await verifyFile(scan, file, archives),
    losses: [],
    archives: archives.verdict,
    rows: live,
    chains: filled.length,
    unsigned: live - signed,
    ends: filled.map(([chain, { length, progress }]) => ({ chain, sequence: length, hash: progress.hash() })),
  }
}

/** All rows must belong to known chains. */
async function readChains(scan: AuditSnapshot, total: number, partRows: number | undefined) {
  const chains = new Map<string, ChainState>()
  let sum = 0
  for (const chain of await scan.chains()) {
    const length = await scan.lastSequence(chain)
    requireThat(Number.isSafeInteger(length) && length >= 0)
    const plan = createStretchPlan(chain, partRows)
    chains.set(chain, { length, plan, progress: createChainProgress(), head: undefined, signed: 0 })
    sum += length
  }
  requireThat(sum === total)
  return chains
}

/** Checkpoints that overlap, as those of two nodes can, are compared with the rows one by one. */
async function planHead(
  scan: AuditSnapshot,
  state: ChainState | undefined,
  head: SignedHead,
  submit: (stretches: readonly PlannedStretch[]) => Promise<void>,
): Promise<void> {
  if (!state || head.sequence > state.length) throw new Unsound()
  if (isSameHead(state.head, head)) return
  state.head = head
  state.signed = Math.max(state.signed, head.sequence)
  if (head.from < state.plan.planned()) return requireThat((await checkHead(scan, head, '')) === undefined)
  state.progress.expect(head)
  await submit([...state.plan.addRows(head.from), ...state.plan.addHead(head)])
}

/** Every checkpoint of the file must be in the database or in an archive. */
async function verifyFile(
  scan: AuditSnapshot,
  file: CheckpointFile | undefined,
  archives: VerifiedArchives,
): Promise<Verdict['file']> {
  let seen: Verdict['file'] = { checkpoints: 0, unreadable: 0, last: undefined }
  for await (const checkpoint of file ? readCheckpoints(file) : []) {
    if (!checkpoint) {
      seen = { ...seen, unreadable: seen.unreadable + 1 }
      continue
    }
    requireThat((await scan.hasCheckpoint(checkpoint)) || archives.holds(checkpoint))
    seen = { ...seen, checkpoints: seen.checkpoints + 1, last: checkpoint.time }
  }
  return seen
}

type TakeStretch = (stretch: Stretch, checked: CheckedStretch) => void

/** Keeps the threads busy, and takes results in the order of the stretches. */
function createQueue(scan: AuditSnapshot, { check, maxAtOnce }: StretchChecker, take: TakeStretch) {
  const underWay: { readonly stretch: Stretch; readonly checked: Promise<CheckedStretch | undefined> }[] = []
  const takeFirst = async () => {
    const first = underWay.shift()
    const checked = await first?.checked
    if (!first || !checked) throw new Unsound()
    take(first.stretch, checked)
  }
  return {
    add: async (stretches: readonly PlannedStretch[]) => {
      for (const planned of stretches) {
        if (underWay.length >= maxAtOnce) await takeFirst()
        const stretch = { ...planned, previous: await readHash(scan, planned) }
        const checked = check(stretch)
        // Not awaited when an earlier stretch is not sound.
        checked.catch(() => {})
        underWay.push({ stretch, checked })
      }
    },
    drain: async () => {
      while (underWay.length > 0) await takeFirst()
    },
  }
}

/** The hash of the row before a stretch. That it is the computed one is checked when the stretch before is. */
async function readHash(scan: AuditSnapshot, { chain, after }: PlannedStretch): Promise<string> {
  if (after === 0) return ZERO_HASH
  const [hash = ''] = await scan.hashes(chain, after - 1, after)
  requireThat(hash.length === ZERO_HASH.length)
  return hash
}

function requireThat(isSo: boolean): void {
  if (!isSo) throw new Unsound()
}

/** Rows of a chain for one thread, without the hash before them. */
type PlannedStretch = {
  readonly chain: string
  readonly after: number
  readonly segments: readonly Segment[]
}

/** Divides a chain into stretches. A Merkle root can be put together from parts only at a power of two. */
type StretchPlan = {
  /** The sequence up to which rows are planned. */
  readonly planned: () => number
  /** Plans rows without a root. */
  readonly addRows: (upTo: number) => PlannedStretch[]
  /** Plans the rows that a checkpoint covers; they must follow those that are planned. */
  readonly addHead: (head: SignedHead) => PlannedStretch[]
  /** What is planned, but not enough for a stretch. */
  readonly flush: () => PlannedStretch[]
}

const PART_ROWS = 2 ** 16

function createStretchPlan(chain: string, partRows = PART_ROWS): StretchPlan {
  let after = 0
  let planned = 0
  let segments: Segment[] = []
  const flush = () => {
    if (segments.length === 0) return []
    const stretch = { chain, after, segments }
    after = planned
    segments = []
    return [stretch]
  }
  const add = (upTo: number, hasRoot: boolean) => {
    const full: PlannedStretch[] = []
    while (planned < upTo) {
      planned = Math.min(planned + partRows, upTo)
      segments.push({ upTo: planned, hasRoot })
      if (planned - after >= partRows) full.push(...flush())
    }
    return full
  }
  return {
    planned: () => planned,
    addRows: (upTo) => add(upTo, false),
    addHead: (head) => add(head.sequence, true),
    flush,
  }
}

/** Puts the checked segments of a chain together, in order, and compares them with what checkpoints say. */
type ChainProgress = {
  readonly expect: (head: SignedHead) => void
  /** False when the segment contradicts a checkpoint. */
  readonly add: (segment: Segment, checked: CheckedSegment) => boolean
  /** The hash of the last row so far. */
  readonly hash: () => string
}

function createChainProgress(): ChainProgress {
  const expected: SignedHead[] = []
  let parts: string[] = []
  let last = ZERO_HASH
  return {
    expect: (head) => void expected.push(head),
    hash: () => last,
    add: ({ upTo, hasRoot }, { hash, root }) => {
      last = hash
      if (!hasRoot || root === undefined) return !hasRoot
      parts.push(root)
      const [head] = expected
      if (!head || upTo > head.sequence) return false
      if (upTo < head.sequence) return true
      expected.shift()
      const whole = joinParts(parts)
      parts = []
      return head.hash === hash && head.root === whole
    },
  }
}

function joinParts(parts: readonly string[]): string | undefined {
  const tree = createTree()
  for (const part of parts) tree.addPart(part)
  return tree.root()
}
