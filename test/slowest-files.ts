import { relative } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'

const SHOWN = 10

/** Prints the test files that took the longest. */
export class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length <= SHOWN) return
    const timed = modules.map((module) => {
      const { duration, collectDuration, setupDuration } = module.diagnostic()
      return { file: relative('.', module.moduleId), ms: duration + collectDuration + setupDuration }
    })
    const slowest = timed.sort((one, other) => other.ms - one.ms).slice(0, SHOWN)
    const lines = slowest.map(({ file, ms }) => `  ${(ms / 1000).toFixed(1).padStart(6)} s  ${file}`)
    process.stdout.write(`\n The ${SHOWN} slowest files\n${lines.join('\n')}\n`)
  }
}
