import type { Results } from './parts/part.ts'
import { toName } from './parts/workers.ts'
import type { Figure } from './rounds.ts'

export type Target = {
  readonly name: string
  readonly wanted: string
  /** Undefined when it was not measured. */
  readonly figure: string | undefined
  readonly reached: boolean | undefined
}

type Limit = { readonly least: number } | { readonly most: number }

/** What was wanted, and whether this run reached it. The worst of several figures counts. */
export function toTargets({
  lookup = [],
  verify = [],
  workers = [],
  latency = [],
  startMs,
  memory,
}: Results): Target[] {
  const find = (list: readonly Figure[], sign: string) => list.find(({ name }) => name.startsWith(sign))
  const test = find(verify, 'verify-nin, test')
  const live = find(verify, 'verify-nin, live, SQLite')
  const express = verify.filter(({ name }) => name.startsWith('Express'))
  const bundles = find(lookup, 'list-internet-bundles')
  const toRatios = (figure: Figure | undefined, peers: readonly (Figure | undefined)[]) =>
    peers.flatMap((peer) => (figure && peer ? [figure.perSecond / peer.perSecond] : []))
  const shares = lookup.flatMap(({ name, share }) => (name.startsWith('list-') && share ? [share] : []))
  const costs = (['GET', 'POST'] as const).flatMap((method) => {
    const [one, two] = [1, 2].map((count) => find(workers, toName(method, count)))
    return one && two ? [two.cpuMicros / one.cpuMicros] : []
  })
  return [
    toTarget('each look-up, of bare node:http', { least: 0.85 }, shares),
    toTarget('verify-nin, test mode, of bare POST', { least: 0.5 }, toList(test?.share)),
    toTarget('verify-nin, live, SQLite, of bare POST', { least: 0.4 }, toList(live?.share)),
    toTarget('verify-nin, test mode, times Express', { least: 3 }, toRatios(test, express)),
    toTarget('verify-nin, live, SQLite, times Express', { least: 3 }, toRatios(live, express)),
    toTarget('look-up, times Prism', { least: 10 }, toRatios(bundles, [find(lookup, 'Prism')])),
    toTarget('look-up, times Mockoon', { least: 10 }, toRatios(bundles, [find(lookup, 'Mockoon')])),
    toTarget('2 workers, CPU per request, of 1 worker', { most: 1.1 }, costs),
    toTarget(
      'p99 at 500 requests a second, ms',
      { most: 10 },
      latency.map(({ p99Ms }) => p99Ms),
    ),
    toTarget('start to ready, ms', { most: 500 }, toList(startMs)),
    toTarget('idle memory, MB', { most: 120 }, toList(memory?.idleMb)),
    { ...toTarget('cost, 10 000 to 2 million records', { most: 1.2 }, []), figure: 'npm run bench:registry' },
  ]
}

const toList = (figure: number | undefined) => (figure === undefined ? [] : [figure])

function toTarget(name: string, limit: Limit, figures: readonly number[]): Target {
  const wanted = 'least' in limit ? `at least ${limit.least}` : `at most ${limit.most}`
  if (figures.length === 0) return { name, wanted, figure: undefined, reached: undefined }
  const worst = 'least' in limit ? Math.min(...figures) : Math.max(...figures)
  const reached = 'least' in limit ? worst >= limit.least : worst <= limit.most
  return { name, wanted, figure: worst >= 100 ? worst.toFixed(0) : worst.toFixed(2), reached }
}
