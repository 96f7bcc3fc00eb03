import { appendFileSync } from 'node:fs'
import fc from 'fast-check'
import { afterEach, beforeEach } from 'vitest'

/**
 * Loaded before each test file. While the reach of tests is found, it notes among the blocks that are reached where a test begins and
 * ends, and the processor time that it took: unlike its duration, this is the same on a busy machine.
 */
const to = process.env.TABBAT_MUTATION_HITS
const noted = globalThis as { __hits?: Set<number>[]; __isTestThread?: boolean }
noted.__isTestThread = true
// That a test fails is enough: nobody reads the shortest example.
fc.configureGlobal({ endOnFailure: true })

if (to !== undefined) {
  const begun = new Map<string, { cpu: NodeJS.CpuUsage; at: bigint }>()
  beforeEach(({ task }) => {
    // What earlier tests reached is noted again.
    for (const seen of noted.__hits ?? []) seen.clear()
    begun.set(task.id, { cpu: process.cpuUsage(), at: process.hrtime.bigint() })
    note({ begins: task.fullTestName })
  })
  afterEach(({ task }) => {
    const start = begun.get(task.id)
    const { user, system } = process.cpuUsage(start?.cpu)
    // Tests replace other clocks.
    const ms = Number((process.hrtime.bigint() - (start?.at ?? 0n)) / 1_000_000n)
    note({ ends: task.fullTestName, cpuMs: Math.round((user + system) / 1000), ms })
  })
}

function note(line: object): void {
  appendFileSync(to as string, `${JSON.stringify(line)}\n`)
}
