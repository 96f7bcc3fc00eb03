import { arch, cpus, platform, totalmem } from 'node:os'
import { toTable } from '../src/server/terminal.ts'
import { cores } from './cores.ts'
import { generatorName } from './load/generator.ts'
import type { Options } from './options.ts'
import { RATE } from './parts/latency.ts'
import type { Latency, Results } from './parts/part.ts'
import type { VendorFigure } from './parts/vendor.ts'
import type { Figure } from './rounds.ts'
import { type Target, toTargets } from './targets.ts'

export type Report = {
  readonly machine: Readonly<Record<string, string | number>>
  readonly options: Readonly<Record<string, unknown>>
  readonly results: Results
  readonly targets: readonly Target[]
  readonly notes: readonly string[]
  readonly seconds: number
}

export function toReport(
  options: Options,
  results: Results,
  notes: readonly string[],
  seconds: number,
): Report {
  const machine = {
    date: new Date().toISOString(),
    cores: cores.count,
    cpu: cpus()[0]?.model ?? 'unknown',
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${platform()}-${arch()}`,
    node: process.version,
    generator: generatorName,
    binding: cores.sentence,
  }
  const { rounds, records, parts, against } = options
  return {
    machine,
    options: { rounds, seconds: options.seconds, records, parts: [...parts], against },
    results,
    targets: toTargets(results),
    notes,
    seconds: Math.round(seconds),
  }
}

const HEAD = ['', 'requests/s', 'server CPU µs', 'of bare', 'times earlier', '']

/** The report as one table. */
export function toText({ machine, options, results, targets, notes, seconds }: Report): string {
  const {
    vendor = { figures: [], counts: [] },
    lookup = [],
    verify = [],
    slow = [],
    workers = [],
    latency = [],
    capacity = [],
    start,
    memory,
  } = results
  const rows = [
    HEAD,
    ...vendor.figures.map(toVendorRow),
    ...vendor.counts.map(({ name, each }) => toWide(`vendor, one caller, ${name}`, each.toFixed(2))),
    ...[...lookup, ...verify, ...slow, ...workers].map(toRow),
    ...latency.map((each) => toLatencyRow({ ...each, name: `${each.name}, at ${RATE}/s` })),
    ...capacity.map(toLatencyRow),
    ...(start ? toStartRows(start) : []),
    ...(memory ? toMemoryRows(memory) : []),
    toWide('', ''),
    ...targets.map(({ name, wanted, figure, reached }) =>
      toWide(`${toAnswer(reached)} ${name}`, `${figure ?? 'not measured'} (${wanted})`),
    ),
  ]
  return [
    `Tabbat bench, ${machine.date}: ${machine.cores} cores of ${machine.cpu}, ${machine.system}, Node.js ${machine.node}`,
    `${machine.generator}, median of ${options.rounds} rounds of ${options.seconds} s in turn; ${machine.binding}; took ${seconds} s`,
    '',
    toTable(rows),
    ...(notes.length > 0 ? ['', ...notes] : []),
  ].join('\n')
}

const toAnswer = (reached: boolean | undefined) => (reached === undefined ? '  ?' : reached ? 'yes' : ' no')

/** A row whose figure is not a rate. */
const toWide = (name: string, text: string) => [name, '', '', '', '', text]

function toRow({ name, perSecond, cpuMicros, share, timesAgainst, besideMicros, bad }: Figure): string[] {
  const remarks = [
    besideMicros === undefined ? '' : `and ${besideMicros.toFixed(0)} µs in PostgreSQL`,
    bad > 0 ? `${bad} ANSWERS WERE NOT 200` : '',
  ]
  return [
    name,
    perSecond.toFixed(0).padStart(10),
    cpuMicros.toFixed(1).padStart(13),
    (share?.toFixed(2) ?? '').padStart(7),
    (timesAgainst?.toFixed(2) ?? '').padStart(13),
    remarks.filter(Boolean).join(', '),
  ]
}

const toVendorRow = ({ name, perSecond, cpuMicros, p50Ms, p99Ms, bad }: VendorFigure) => [
  name,
  perSecond.toFixed(0).padStart(10),
  cpuMicros.toFixed(1).padStart(13),
  '',
  '',
  `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms${bad > 0 ? `, ${bad} ANSWERS WERE NOT 200` : ''}`,
]

const toLatencyRow = ({ name, p50Ms, p99Ms, maxMs, refused }: Latency) =>
  toWide(
    name,
    `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms, longest ${maxMs.toFixed(1)} ms${refused ? `, ${refused} REFUSED (503)` : ''}`,
  )

const toStartRows = ({ bundleMs, checkoutMs }: NonNullable<Results['start']>): string[][] => [
  toWide('start to ready, bundle', `${bundleMs.toFixed(0)} ms`),
  toWide('start to ready, checkout', `${checkoutMs.toFixed(0)} ms`),
]

function toMemoryRows(memory: NonNullable<Results['memory']>): string[][] {
  const { idleMb, checkoutIdleMb, requests, afterRequestsMb, connections, perConnectionKb } = memory
  return [
    toWide('memory, idle, bundle', `${idleMb.toFixed(0)} MB`),
    toWide('memory, idle, checkout', `${checkoutIdleMb.toFixed(0)} MB`),
    toWide(`memory after ${requests} requests`, `${afterRequestsMb.toFixed(0)} MB`),
    toWide(`memory per idle connection, of ${connections}`, `${perConnectionKb.toFixed(1)} kB`),
  ]
}
