export type CrashOptions = {
  readonly rounds: number
  /** Waits until leases expire. */
  readonly isPatient: boolean
  readonly say: (line: string) => void
}

export type CrashReport = {
  readonly title: string
  readonly faults: readonly string[]
  readonly figures: Readonly<Record<string, number>>
}

export const toReport = (
  title: string,
  faults: readonly string[],
  figures: CrashReport['figures'],
): CrashReport => ({ title, faults, figures })

const MAX_FAULTS = 20

/** The figures and the first faults, as text. */
export function printReport({ title, faults, figures }: CrashReport): string {
  const width = Math.max(...Object.keys(figures).map((name) => name.length))
  const lines = Object.entries(figures).map(([name, value]) => `  ${name.padEnd(width)}  ${value}`)
  const verdict = faults.length === 0 ? 'nothing lost, nothing twice, chain sound' : `${faults.length} FAULTS`
  return [
    title,
    ...lines,
    `  ${verdict}`,
    ...faults.slice(0, MAX_FAULTS).map((fault) => `  - ${fault}`),
  ].join('\n')
}
