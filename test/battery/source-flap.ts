import { setTimeout as pause } from 'node:timers/promises'
import { type Sample, toPart, withServer } from './source-fault.ts'

/** The first source alternates between hanging and answering; the second one always answers. */
type Flap = {
  /** Requests a second, sent on time whether or not earlier ones were answered. */
  readonly rate: number
  readonly everyMs: number
  readonly forMs: number
}

export type FlapReport = Flap & {
  readonly asked: number
  readonly verified: number
  readonly p50: number
  readonly p99: number
  readonly slowestMs: number
  /** Calls that reached the vendors; each may be billed. */
  readonly calls: { readonly first: number; readonly second: number }
  readonly faults: readonly string[]
}

const MAX_P99_MS = 2500
const WARM_UP = 100

export function playFlap(flap: Flap): Promise<FlapReport> {
  return withServer(
    'dojah,blusalt',
    async ({ ask, first, second }) => {
      for (let call = 0; call < WARM_UP; call++) await ask()
      const before = { first: first.count(), second: second.count() }
      let hangs = false
      const flapping = setInterval(() => {
        hangs = !hangs
        first.fail(hangs ? 'slow_headers' : undefined)
      }, flap.everyMs)
      const samples = await askSteadily(ask, flap)
      clearInterval(flapping)
      const calls = { first: first.count() - before.first, second: second.count() - before.second }
      return toReport(flap, samples, calls)
    },
    1024,
  )
}

async function askSteadily(ask: () => Promise<Sample>, { rate, forMs }: Flap): Promise<Sample[]> {
  const asked: Promise<Sample>[] = []
  const startedAt = performance.now()
  const total = Math.round((rate * forMs) / 1000)
  while (asked.length < total) {
    const due = startedAt + (asked.length * 1000) / rate
    await pause(Math.max(0, due - performance.now()))
    asked.push(ask())
  }
  return Promise.all(asked)
}

function toReport(flap: Flap, samples: readonly Sample[], calls: FlapReport['calls']): FlapReport {
  const verified = samples.filter(({ status }) => status === 200).length
  const p99 = toPart(samples, 0.99)
  const faults: string[] = []
  if (verified < samples.length) faults.push(`only ${verified} of ${samples.length} were answered 200`)
  if (p99 > MAX_P99_MS) faults.push(`p99 is ${p99.toFixed(0)} ms`)
  return {
    ...flap,
    asked: samples.length,
    verified,
    p50: toPart(samples, 0.5),
    p99,
    slowestMs: toPart(samples, 1),
    calls,
    faults,
  }
}
