import { expect, test } from 'vitest'
import { drawSoak } from './soak-chart.ts'
import { isWithin, judge } from './soak-judge.ts'
import type { Sample } from './soak-lane.ts'

const FLAT: Sample = {
  ...{ atMs: 0, rssBytes: 2e8, heapBytes: 5e7, descriptors: 40, loopP99Ms: 12, p50Ms: 3, p99Ms: 20 },
  ...{ controlP99Ms: 5, answers: 500, walBytes: 4e6, databaseBytes: 1e8 },
}

/** A run of 80 samples, the last quarter of which is changed. */
const toRun = (change: (sample: Sample) => Partial<Sample>) =>
  Array.from({ length: 80 }, (_each, index) => {
    const sample = { ...FLAT, atMs: index * 5000 }
    return index < 60 ? sample : { ...sample, ...change(sample) }
  })

const listGrown = (samples: readonly Sample[]) =>
  judge(samples).flatMap((verdict) => (isWithin(verdict) ? [] : [verdict.name]))

test('a run in which nothing grows passes, and the database may grow', () => {
  expect(listGrown(toRun(({ databaseBytes }) => ({ databaseBytes: databaseBytes * 3 })))).toEqual([])
})

test.each([
  ['memory, MB', 'rssBytes'],
  ['heap after collection, MB', 'heapBytes'],
  ['descriptors', 'descriptors'],
  ['write-ahead log, MB', 'walBytes'],
  ['p99, ms', 'p99Ms'],
] as const)('%s that is a fifth larger in the last quarter is found', (name, field) => {
  expect(listGrown(toRun((sample) => ({ [field]: sample[field] * 1.2 })))).toEqual([name])
})

test('a p99 that grows as the bare server does is the machine', () => {
  const slower = (factor: number) =>
    toRun((sample) => ({ p99Ms: 30, controlP99Ms: sample.controlP99Ms * factor }))
  expect(listGrown(slower(1.5))).toEqual([])
  expect(listGrown(slower(1.2))).toEqual(['p99, ms'])
})

test('a few slow windows do not decide, and a measure that cannot be read does', () => {
  const samples = toRun(() => ({}))
  expect(listGrown(samples.map((each, at) => (at % 20 < 4 ? { ...each, p99Ms: 8000 } : each)))).toEqual([])
  expect(listGrown(samples.map((each) => ({ ...each, descriptors: Number.NaN })))).toEqual(['descriptors'])
})

test('the chart has a box for each measure of each database', () => {
  const report = { codes: {}, figures: {}, faults: [], samples: toRun(() => ({})) }
  const svg = drawSoak([
    { engine: 'sqlite', ...report },
    { engine: 'postgres', ...report },
  ])
  expect(svg.match(/<polyline/g)).toHaveLength(2 * judge(report.samples).length)
  expect(svg).not.toMatch(/NaN|undefined/)
})
