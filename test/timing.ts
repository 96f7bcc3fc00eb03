/** Two cases that must take the same time. */
export type Pair = { readonly one: () => Promise<unknown>; readonly other: () => Promise<unknown> }

const MAX_T = 4.5
/** The collector and the caches of the processor make differences of up to 2 % between cases that do the same. */
const MAX_SHARE = 0.025
const ROUNDS = 5

type Round = {
  /** Welch's t of both samples. */
  readonly t: number
  /** The difference of their means, as a share of the smaller one. */
  readonly share: number
}

/**
 * The rounds of a measurement, up to the first that shows no difference. A real difference shows in every round, noise of
 * the machine does not.
 */
export async function compareTimes(
  pairs: number,
  toPair: (index: number) => Pair,
): Promise<{ readonly differ: boolean; readonly rounds: readonly Round[] }> {
  const rounds: Round[] = []
  while (rounds.length < ROUNDS && rounds.every(shows))
    rounds.push(await measureRound(pairs, rounds.length * pairs, toPair))
  return { differ: rounds.every(shows), rounds }
}

const shows = ({ t, share }: Round) => Math.abs(t) >= MAX_T && share >= MAX_SHARE

async function measureRound(pairs: number, first: number, toPair: (index: number) => Pair): Promise<Round> {
  const ones: number[] = []
  const others: number[] = []
  for (let index = first; index < first + pairs; index++) {
    const { one, other } = toPair(index)
    const takeOne = () => measure(one, ones)
    const takeOther = () => measure(other, others)
    for (const take of Math.random() < 0.5 ? [takeOne, takeOther] : [takeOther, takeOne]) await take()
  }
  const trim = (list: readonly number[]) => list.toSorted((a, b) => a - b).slice(0, Math.floor(pairs * 0.9))
  return compare(trim(ones), trim(others))
}

async function measure(work: () => Promise<unknown>, samples: number[]): Promise<void> {
  const start = performance.now()
  await work()
  samples.push(performance.now() - start)
}

function compare(one: readonly number[], other: readonly number[]): Round {
  const mean = (list: readonly number[]) => list.reduce((sum, value) => sum + value, 0) / list.length
  const spread = (list: readonly number[]) =>
    list.reduce((sum, value) => sum + (value - mean(list)) ** 2, 0) / (list.length - 1) / list.length
  const difference = mean(one) - mean(other)
  return {
    t: difference / Math.sqrt(spread(one) + spread(other)),
    share: Math.abs(difference) / Math.min(mean(one), mean(other)),
  }
}
