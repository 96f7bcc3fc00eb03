/** One thing that an exercise has compared. Neither text has personal data. */
export type Check = { readonly expected: string; readonly seen: string; readonly ok: boolean }

/** An answer to a caller of the exercise. */
export type Sample = {
  /** When it was asked, in milliseconds since the exercise began. */
  readonly at: number
  /** How long it took. */
  readonly ms: number
  /** The HTTP status; 0 if there was no answer. */
  readonly status: number
  /** The error code, `verified`, `pending`, `no_answer`, or what is wrong with a body. */
  readonly code: string
}

/** `could_not_run`: the exercise itself failed, so it says nothing about the service. */
type Status = 'as_expected' | 'differed' | 'skipped' | 'could_not_run'

/** The result of one exercise. */
export type Finding = {
  readonly name: string
  readonly title: string
  readonly status: Status
  readonly checks: readonly Check[]
  /** What a reader must know besides: a reason for skipping, or what the exercise does not show. */
  readonly notes: readonly string[]
  /** From the fault until the service or its log showed it. */
  readonly detectMs: number | null
  /** From the end of the fault until the service worked as before. */
  readonly recoverMs: number | null
  readonly tookMs: number
  /** When the fault was there, in milliseconds since the exercise began. */
  readonly faults: readonly { readonly from: number; readonly to: number; readonly label: string }[]
  readonly samples: readonly Sample[]
}

/** Where an exercise writes what it sees. */
export type Recorder = {
  /** Milliseconds since the exercise began. */
  readonly now: () => number
  readonly check: (expected: string, seen: string, ok: boolean) => void
  readonly note: (text: string) => void
  /** The fault is there until the returned function is called. */
  readonly beginFault: (label: string) => () => void
  readonly detected: (ms: number) => void
  readonly recovered: (ms: number) => void
  readonly sample: (sample: Sample) => void
  readonly toFinding: (status?: Status) => Finding
}

export function createRecorder({ name, title }: { readonly name: string; readonly title: string }): Recorder {
  const startedAt = performance.now()
  const now = () => Math.round(performance.now() - startedAt)
  const checks: Check[] = []
  const notes: string[] = []
  const samples: Sample[] = []
  const faults: { from: number; to: number; label: string }[] = []
  const slowest = { detectMs: null as number | null, recoverMs: null as number | null }
  /** Of several faults in one exercise, the slowest counts. */
  const keepSlowest = (which: keyof typeof slowest) => (ms: number) => {
    slowest[which] = Math.max(slowest[which] ?? 0, Math.round(ms))
  }
  return {
    now,
    check: (expected, seen, ok) => void checks.push({ expected, seen, ok }),
    note: (text) => void notes.push(text),
    beginFault: (label) => {
      const fault = { from: now(), to: Number.POSITIVE_INFINITY, label }
      faults.push(fault)
      return () => {
        fault.to = Math.min(fault.to, now())
      }
    },
    detected: keepSlowest('detectMs'),
    recovered: keepSlowest('recoverMs'),
    sample: (sample) => void samples.push(sample),
    toFinding: (status = toStatus(checks)) => ({
      name,
      title,
      status,
      checks,
      notes,
      ...slowest,
      tookMs: now(),
      faults: faults.map((fault) => ({ ...fault, to: Math.min(fault.to, now()) })),
      samples: samples.toSorted((a, b) => a.at - b.at),
    }),
  }
}

/** An exercise that compared nothing shows nothing. */
function toStatus(checks: readonly Check[]): Status {
  if (checks.length === 0) return 'could_not_run'
  return checks.every(({ ok }) => ok) ? 'as_expected' : 'differed'
}

/** 0: all as expected. 1: something differed. 2: an exercise could not be run, one of the named ones was skipped, or none was made. */
export function toExitCode(
  findings: readonly Pick<Finding, 'name' | 'status'>[],
  /** Those that the operator asked for by name. */
  named: readonly string[] = [],
): 0 | 1 | 2 {
  const has = (status: Status) => findings.some((finding) => finding.status === status)
  if (has('differed')) return 1
  const isMissing = findings.some(({ name, status }) => status === 'skipped' && named.includes(name))
  return isMissing || has('could_not_run') || !has('as_expected') ? 2 : 0
}

/** "3 of 40 answers: 2 times 503 source_unavailable, once no answer". */
export function toAnswersText(samples: readonly Sample[]): string {
  const counts = new Map<string, number>()
  for (const { status, code } of samples) {
    const kind = status === 0 ? 'no answer' : `${status} ${code}`
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  if (counts.size === 0) return 'no answers'
  return [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .map(([kind, count]) => `${count} × ${kind}`)
    .join(', ')
}

/** "320 ms", "4.1 s", "2 min 47 s", "9 h". */
export function toTime(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 100_000) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`
}

export const WORDS: Readonly<Record<Finding['status'], string>> = {
  as_expected: 'as expected',
  differed: 'differed',
  skipped: 'skipped',
  could_not_run: 'could not run',
}

/** "noticed after 0.6 s · back after 5.0 s · took 12 s". */
export const toTimes = ({
  detectMs,
  recoverMs,
  tookMs,
}: Pick<Finding, 'detectMs' | 'recoverMs' | 'tookMs'>) =>
  [
    detectMs === null ? '' : `noticed after ${toTime(detectMs)}`,
    recoverMs === null ? '' : `back after ${toTime(recoverMs)}`,
    `took ${toTime(tookMs)}`,
  ]
    .filter((text) => text !== '')
    .join(' · ')
