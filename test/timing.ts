/** Two cases that must take the same time. */
export type Pair = { readonly one: () => Promise<unknown>; readonly other: () => Promise<unknown> }

const LIMIT = 4.5
const ROUNDS = 5

/**
 * Welch's t of both samples, in the quietest of several rounds. A real difference shows in every round, noise of the
 * machine does not. The first quiet round ends the test.
 */
export async function compareTimes(
  pairs: number,
  toPair: (index: number) => Pair,
): Promise<{ readonly best: number; readonly limit: number; readonly seen: readonly number[] }> {
  const seen: number[] = []
  while (seen.length < ROUNDS && seen.every((t) => t >= LIMIT))
    seen.push(Math.abs(await measureRound(pairs, seen.length * pairs, toPair)))
  return { best: Math.min(...seen), limit: LIMIT, seen }
}

async function measureRound(pairs: number, first: number, toPair: (index: number) => Pair): Promise<number> {
  const ones: number[] = []
  const others: number[] = []
  for (let index = first; index < first + pairs; index++) {
    const { one, other } = toPair(index)
    const takeOne = () => measure(one, ones)
    const takeOther = () => measure(other, others)
    for (const take of Math.random() < 0.5 ? [takeOne, takeOther] : [takeOther, takeOne]) await take()
  }
  const trim = (list: readonly number[]) => list.toSorted((a, b) => a - b).slice(0, Math.floor(pairs * 0.9))
  return welch(trim(ones), trim(others))
}

async function measure(work: () => Promise<unknown>, samples: number[]): Promise<void> {
  const start = performance.now()
  await work()
  samples.push(performance.now() - start)
}

function welch(one: readonly number[], other: readonly number[]): number {
  const mean = (list: readonly number[]) => list.reduce((sum, value) => sum + value, 0) / list.length
  const spread = (list: readonly number[]) =>
    list.reduce((sum, value) => sum + (value - mean(list)) ** 2, 0) / (list.length - 1) / list.length
  return (mean(one) - mean(other)) / Math.sqrt(spread(one) + spread(other))
}
