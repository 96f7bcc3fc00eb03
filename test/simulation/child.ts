import { createHash } from 'node:crypto'
import { DEFECTS } from './defects.ts'
import { openProduct } from './product.ts'
import { type RunReport, runSeed } from './run.ts'
import { createTemplate, removeRoot, toRoot } from './template.ts'

/** What one run tells the parent. */
export type SeedResult = Omit<RunReport, 'trace'> & {
  /** Equal for equal runs. */
  readonly fingerprint: string
  /** Only if it was asked for. */
  readonly trace?: readonly string[]
}

export type SeedRequest = { readonly seed: number; readonly withTrace: boolean }

/** Runs the seeds that its parent sends, one at a time. node test/simulation/child.ts [name of a planted defect] */
const [name] = process.argv.slice(2)
await openProduct(name === undefined ? [] : [DEFECTS[name]?.defect ?? unknownDefect(name)])
const root = toRoot()
process.on('exit', () => removeRoot(root))
process.on('disconnect', () => process.exit())
const template = await createTemplate(root)

process.on('message', async ({ seed, withTrace }: SeedRequest) => {
  const { trace, ...report } = await runSeed(seed, template, root)
  const fingerprint = createHash('sha256').update(trace.join('\n')).digest('hex').slice(0, 16)
  const result: SeedResult = { ...report, fingerprint, ...(withTrace && { trace }) }
  process.send?.(result)
})
process.send?.('ready')

function unknownDefect(given: string): never {
  throw new Error(`no defect is called ${given}; known are: ${Object.keys(DEFECTS).join(', ')}`)
}
