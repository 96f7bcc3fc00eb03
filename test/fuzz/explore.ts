import { createHash } from 'node:crypto'
import { createRandom, type Random } from '../audit/random.ts'
import type { CoverageFeedback } from './coverage-feedback.ts'
import { mutate } from './mutate.ts'
import type { Target } from './target.ts'

export type Finding = { readonly message: string; readonly input: Buffer }

export type Exploration = {
  readonly executions: number
  readonly blocks: number
  /** The smallest set of inputs that reaches all blocks, the longest lists of blocks first. */
  readonly corpus: readonly Buffer[]
  readonly findings: readonly Finding[]
}

type ExploreOptions = {
  readonly coverage: CoverageFeedback
  readonly seed: number
  readonly ms: number
  readonly kept: readonly Buffer[]
  /** Called before each input, so that one that never ends is known. */
  readonly onInput: (input: Buffer) => void
}

/** Of the process, for one input of at most 64 KiB. */
const MAX_CPU_MS = 3000
const MAX_GROWN_MB = 256
/** Inputs between two looks at the coverage, which takes milliseconds. */
const ROUND = 24
const MAX_FINDINGS = 20
const SHRINKS = 24

/** Runs changed inputs, and keeps those that reach blocks of the product that no other has reached. */
export async function explore(target: Target, options: ExploreOptions): Promise<Exploration> {
  const { coverage, ms, kept, seed } = options
  const random = createRandom(seed)
  const corpus: Buffer[] = []
  const findings = new Map<string, Finding>()
  let executions = 0
  const run = async (input: Buffer) => {
    executions += 1
    options.onInput(input)
    const message = await findFailure(target, input)
    if (message !== undefined && findings.size < MAX_FINDINGS && !findings.has(message))
      findings.set(message, { message, input })
  }
  /** Keeps the input if it reaches something new. It is made shorter while it does. */
  const consider = async (input: Buffer) => {
    await run(input)
    const blocks = coverage.take()
    if (coverage.add(blocks) === 0) return
    corpus.push(await shrink(input, blocks, random, run, coverage))
  }
  for (const input of [...target.seeds, ...kept]) await consider(input)
  const until = performance.now() + ms
  while (performance.now() < until) {
    const round = Array.from({ length: ROUND }, () =>
      mutate(random.pick(corpus), { random, corpus, words: target.words ?? [] }),
    )
    for (const input of round) await run(input)
    if (coverage.countNew(coverage.take()) > 0) for (const input of round) await consider(input)
  }
  return {
    executions,
    blocks: coverage.count(),
    corpus: await cover(corpus, run, coverage),
    findings: [...findings.values()],
  }
}

/** Undefined if all is well. */
async function findFailure(target: Target, input: Buffer): Promise<string | undefined> {
  const before = { cpu: process.cpuUsage(), peak: process.resourceUsage().maxRSS }
  try {
    await target.run(input)
  } catch (error) {
    return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  }
  const { user, system } = process.cpuUsage(before.cpu)
  const grownMb = (process.resourceUsage().maxRSS - before.peak) / 1024
  if ((user + system) / 1000 > MAX_CPU_MS) return 'an input takes seconds of the processor'
  return grownMb > MAX_GROWN_MB ? 'an input takes hundreds of megabytes' : undefined
}

/** Without pieces that its blocks do not need. */
async function shrink(
  input: Buffer,
  wanted: ReadonlySet<string>,
  random: Random,
  run: (input: Buffer) => Promise<void>,
  coverage: CoverageFeedback,
): Promise<Buffer> {
  let shortest = input
  for (let left = SHRINKS; left > 0 && shortest.length > 1; left--) {
    const at = random.below(shortest.length)
    const length = 1 + random.below(Math.ceil(shortest.length / 4))
    const shorter = Buffer.concat([shortest.subarray(0, at), shortest.subarray(at + length)])
    await run(shorter)
    if (wanted.isSubsetOf(coverage.take())) shortest = shorter
  }
  return shortest
}

/** The inputs that are needed for all blocks, the most fruitful first. */
async function cover(
  corpus: readonly Buffer[],
  run: (input: Buffer) => Promise<void>,
  coverage: CoverageFeedback,
): Promise<Buffer[]> {
  const reached: { readonly input: Buffer; readonly blocks: Set<string> }[] = []
  for (const input of corpus) {
    await run(input)
    reached.push({ input, blocks: coverage.take() })
  }
  const covered = new Set<string>()
  return reached
    .toSorted((one, other) => other.blocks.size - one.blocks.size || one.input.length - other.input.length)
    .filter(({ blocks }) => {
      const before = covered.size
      for (const block of blocks) covered.add(block)
      return covered.size > before
    })
    .map(({ input }) => input)
}

export const toInputName = (input: Uint8Array) =>
  createHash('sha256').update(input).digest('hex').slice(0, 12)
