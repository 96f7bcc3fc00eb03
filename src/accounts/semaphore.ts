import { toTooManyTries } from './throttle.ts'

/** Runs at most `atOnce` jobs at the same time and queues `waiting` more. Throws `too_many_tries` when the queue is full. */
export function createSemaphore(atOnce: number, waiting: number): <T>(work: () => Promise<T>) => Promise<T> {
  const queue: (() => void)[] = []
  let running = 0
  const enter = async () => {
    if (running < atOnce) {
      running += 1
      return
    }
    if (queue.length >= waiting) throw toTooManyTries(1000)
    // `leave` passes its slot on without changing the count.
    await new Promise<void>((start) => queue.push(start))
  }
  const leave = () => {
    const next = queue.shift()
    if (next) next()
    else running -= 1
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
