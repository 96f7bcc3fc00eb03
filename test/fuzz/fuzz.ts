import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { readArguments, toChoice, toPositive, toWhole } from '../../build/tool-arguments.ts'
import { toTable } from '../../src/server/terminal.ts'
import { type Exploration, toInputName } from './explore.ts'
import { type Assignment, HEAD_BYTES } from './fuzz-worker.ts'
import { TARGET_NAMES, type TargetName, toCorpusFolder, writeInput } from './target.ts'

const HELP = `npm run fuzz -- [options]

Random changes of inputs, guided by the blocks of the product that they reach, at every place where bytes of others come in.
Findings are written to test/fuzz/findings, and the exit code is 1 if there are any.

  --minutes N   how long inputs are changed, over all targets (default 10); before that, the corpus is replayed
  --only NAME   one target: ${TARGET_NAMES.join(', ')}
  --seed N      other seeds make other changes (default: the time)
  --keep        write the inputs that are needed for all blocks to test/fuzz/corpus, from which npm test replays them
  --json        print the figures as JSON`

const { values } = readArguments(HELP, {
  minutes: { type: 'string', default: '10' },
  only: { type: 'string' },
  seed: { type: 'string' },
  keep: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
})
const names = values.only === undefined ? TARGET_NAMES : [toChoice('--only', values.only, TARGET_NAMES)]
const totalMs = toPositive('--minutes', values.minutes) * 60_000
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : toWhole('--seed', values.seed, 0)

const FINDINGS = join(import.meta.dirname, 'findings')
const MAX_INPUT_BYTES = 1024 * 1024
/** The process may use so much processor time for one input before its thread is ended. */
const HANG_CPU_MS = 20_000
const MAX_HEAP_MB = 1024
/** Larger ones are found again, and would fill the repository. */
const MAX_KEPT_BYTES = 8 * 1024
const MAX_KEPT = 60

type Result = Exploration & { readonly name: TargetName }

const say = (line: string) => {
  if (!values.json) console.log(`${new Date().toISOString().slice(11, 19)}  ${line}`)
}
say(`seed ${seed}, ${names.length} targets`)
const results: Result[] = []
for (const name of names) {
  const result = { name, ...(await fuzz(name, totalMs / names.length)) }
  results.push(result)
  say(`${name}: ${result.executions} inputs, ${result.blocks} blocks, ${result.findings.length} findings`)
  for (const { message, input } of result.findings)
    say(`  ${message} (${writeInput(FINDINGS, `${name}-${toInputName(input)}`, input)})`)
  if (values.keep) keep(result)
}
const rows = results.map(({ name, executions, blocks, corpus, findings }) =>
  [name, executions, blocks, corpus.length, findings.length].map(String),
)
if (values.json)
  console.log(
    JSON.stringify(
      results.map(({ corpus, findings, ...rest }) => ({
        ...rest,
        corpus: corpus.length,
        findings: findings.length,
      })),
    ),
  )
else console.log(`\n${toTable([['target', 'inputs', 'blocks', 'corpus', 'findings'], ...rows])}`)
if (results.some(({ findings }) => findings.length > 0)) process.exitCode = 1

/** An input that ends the thread, or never ends, is a finding; the rest of the time goes to a new thread. */
async function fuzz(name: TargetName, ms: number): Promise<Exploration> {
  const until = performance.now() + ms
  let whole: Exploration = { executions: 0, blocks: 0, corpus: [], findings: [] }
  for (let round = 0; performance.now() < until || round === 0; round++) {
    const part = await runThread({ name, seed: seed + round, ms: until - performance.now() })
    whole = {
      executions: whole.executions + part.executions,
      blocks: Math.max(whole.blocks, part.blocks),
      corpus: part.corpus.length > 0 ? part.corpus : whole.corpus,
      findings: [...whole.findings, ...part.findings].slice(0, 20),
    }
  }
  return whole
}

async function runThread(work: Omit<Assignment, 'shared'>): Promise<Exploration> {
  const shared = new SharedArrayBuffer(HEAD_BYTES + MAX_INPUT_BYTES)
  const head = new Int32Array(shared, 0, 2)
  const worker = new Worker(new URL('./fuzz-worker.ts', import.meta.url), {
    workerData: { ...work, shared } satisfies Assignment,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  })
  const { promise, resolve } = Promise.withResolvers<Exploration>()
  const endWith = (message: string) => {
    const input = Buffer.from(new Uint8Array(shared, HEAD_BYTES, head[1]))
    resolve({ executions: head[0] ?? 0, blocks: 0, corpus: [], findings: [{ message, input }] })
    void worker.terminate()
  }
  let last = { inputs: -1, cpu: process.cpuUsage() }
  const watch = setInterval(() => {
    const inputs = Atomics.load(head, 0)
    if (inputs !== last.inputs) last = { inputs, cpu: process.cpuUsage() }
    const { user, system } = process.cpuUsage(last.cpu)
    if (inputs > 0 && (user + system) / 1000 > HANG_CPU_MS) endWith('an input never ends')
  }, 1000)
  worker.once('message', (result: Exploration) => {
    resolve({
      ...result,
      corpus: result.corpus.map(toBuffer),
      findings: result.findings.map(({ message, input }) => ({ message, input: toBuffer(input) })),
    })
  })
  worker.once('error', (error) => endWith(`the thread ended: ${error.message}`))
  return promise.finally(() => clearInterval(watch))
}

/** A message turns a Buffer into a plain array of bytes. */
function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

function keep({ name, corpus }: Result): void {
  const folder = toCorpusFolder(name)
  rmSync(folder, { recursive: true, force: true })
  for (const input of corpus.filter(({ length }) => length <= MAX_KEPT_BYTES).slice(0, MAX_KEPT))
    writeInput(folder, toInputName(input), input)
}
