/** What became of a mutant. `unreached`: no test runs the place. */
export type Result = {
  readonly key: string
  readonly room: string
  readonly file: string
  readonly line: number
  readonly operator: string
  readonly status: 'killed' | 'timeout' | 'survived' | 'unreached'
  /** The test that failed. */
  readonly by?: string | undefined
}

/** Mutants that no test can kill, or that need not be killed, and why. */
export type Explained = { readonly reason: string; readonly mutants: readonly string[] }

type Count = {
  readonly room: string
  readonly mutants: number
  readonly noticed: number
  readonly score: number
}

export type Report = {
  readonly score: number
  readonly mutants: number
  readonly rooms: readonly Count[]
  readonly survivors: readonly (Result & { readonly reason?: string | undefined })[]
  /** Entries of the list that name no mutant, or one that is killed now. */
  readonly stale: readonly string[]
}

export function toReport(
  results: readonly Result[],
  explained: readonly Explained[],
  keys: readonly string[],
): Report {
  const reasons = new Map(
    explained.flatMap(({ mutants, reason }) => mutants.map((mutant) => [mutant, reason] as const)),
  )
  const exists = new Set(keys)
  const noticed = results.filter(isNoticed)
  const byRoom = Map.groupBy(results, ({ room }) => room)
  return {
    ...toCount('all', results),
    rooms: [...byRoom].map(([room, ofRoom]) => toCount(room, ofRoom)),
    survivors: results
      .filter((result) => !isNoticed(result))
      .map((result) => ({ ...result, reason: reasons.get(result.key) })),
    stale: [
      ...[...reasons.keys()].filter((key) => !exists.has(key)).map((key) => `no such mutant: ${key}`),
      ...noticed.filter(({ key }) => reasons.has(key)).map(({ key, by }) => `killed by ${by}: ${key}`),
    ],
  }
}

const isNoticed = ({ status }: Result) => status === 'killed' || status === 'timeout'

function toCount(room: string, results: readonly Result[]): Count {
  const noticed = results.filter(isNoticed).length
  const score = results.length === 0 ? 100 : Math.floor((noticed / results.length) * 1000) / 10
  return { room, mutants: results.length, noticed, score }
}

export function printReport(report: Report): string {
  const lines =
    report.mutants === 0 ? ['No mutant was tried: nothing that was chosen has one.'] : printScores(report)
  return [...lines, ...report.stale.map((entry) => `stale entry in survivors.json, ${entry}`)].join('\n')
}

function printScores({ rooms, score, mutants, survivors }: Report): string[] {
  const explained = survivors.filter(({ reason }) => reason !== undefined)
  const open = survivors.filter(({ reason }) => reason === undefined)
  return [
    ...rooms.map(
      (count) =>
        `${count.room.padEnd(14)} ${String(count.noticed).padStart(6)} of ${String(count.mutants).padStart(6)}  ${count.score.toFixed(1).padStart(5)} %`,
    ),
    `${'all'.padEnd(14)} ${''.padStart(6)}    ${String(mutants).padStart(6)}  ${score.toFixed(1).padStart(5)} %`,
    '',
    `${survivors.length} were not noticed; ${explained.length} of these are explained in test/mutation/survivors.json.`,
    ...open.map(({ status, line, key }) => `  ${status}, line ${line}: ${key}`),
  ]
}
