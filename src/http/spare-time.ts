/** Refusals in a tick where the event loop has nothing else to do, and what an answer costs in refusals. */
const MOST_REFUSED = 100
const REFUSALS_PER_ANSWER = 5
/** Answers come in bunches: the mean of so many ticks counts. */
const MEAN_TICKS = 8

/**
 * How many requests may be refused with the time that is left beside the answers. It is much where the places are taken by
 * requests that wait for a slow source, and none where the processor is busy with answers.
 */
export function createSpareTime() {
  let loop = performance.eventLoopUtilization()
  let meanAnswered = 0
  return {
    restart: () => {
      loop = performance.eventLoopUtilization()
    },
    /** Since it was asked last; `answered` are the answers meanwhile. */
    read: (answered: number) => {
      const before = loop
      loop = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(loop, before)
      meanAnswered += (answered - meanAnswered) / MEAN_TICKS
      return MOST_REFUSED * (1 - utilization) - REFUSALS_PER_ANSWER * meanAnswered
    },
  }
}
