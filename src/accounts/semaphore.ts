import { toTooManyTries } from './throttle.ts'

/** Lets so many in at once; others wait in line, and those who find the line too long are sent away. */
export function createSemaphore(atOnce: number, waiting: number): <T>(work: () => Promise<T>) => Promise<T> {
  const line: (() => void)[] = []
  let inside = 0
  const enter = async () => {
    if (inside < atOnce) {
      inside += 1
      return
    }
    if (line.length >= waiting) throw toTooManyTries(1000)
    // Whoever leaves hands over the place.
    await new Promise<void>((go) => line.push(go))
  }
  const leave = () => {
    const next = line.shift()
    if (next) next()
    else inside -= 1
  }
  return async (work) => {
    await enter()
    try {
      return await work()
    } finally {
      leave()
    }
  }
}
