import { createHash } from 'node:crypto'
import { DEFECTS } from './defects.ts'
import { createPostgresTemplate } from './postgres/template.ts'
import { openProduct } from './product.ts'
import { type RunReport, runSeed } from './run.ts'
import { createTemplate, type Engine, removeRoot, type Template, toRoot } from './template.ts'

/** What one run tells the parent. */
export type SeedResult = Omit<RunReport, 'trace'> & {
  /** Equal for equal runs. */
  readonly fingerprint: string
  /** Only if it was asked for. */
  readonly trace?: readonly string[]
}

export type SeedRequest = {
  readonly seed: number
  readonly engine: Engine
  readonly withTrace: boolean
}

/** Runs the seeds that its parent sends, one at a time. node test/simulation/child.ts [name of a planted defect, or nothing] [address of PostgreSQL] */
const [name = '', postgresUrl = ''] = process.argv.slice(2)
await openProduct(name === '' ? [] : [DEFECTS[name]?.defect ?? unknownDefect(name)])
const root = toRoot()
process.on('exit', () => removeRoot(root))
process.on('disconnect', () => process.exit())
/** Made when the first seed needs it. */
const templates = new Map<Engine, Template>()

async function toTemplate(engine: Engine): Promise<Template> {
  const made =
    templates.get(engine) ??
    (await (engine === 'postgres' ? createPostgresTemplate(root, postgresUrl) : createTemplate(root)))
  templates.set(engine, made)
  return made
}

process.on('message', async ({ seed, engine, withTrace }: SeedRequest) => {
  const { trace, ...report } = await runSeed(seed, await toTemplate(engine), root)
  const fingerprint = createHash('sha256').update(trace.join('\n')).digest('hex').slice(0, 16)
  const result: SeedResult = { ...report, fingerprint, ...(withTrace && { trace }) }
  process.send?.(result)
})
process.send?.('ready')

function unknownDefect(given: string): never {
  throw new Error(`no defect is called ${given}; known are: ${Object.keys(DEFECTS).join(', ')}`)
}
