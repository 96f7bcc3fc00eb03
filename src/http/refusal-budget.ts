/** Refusals in a tick where the event loop is idle, and how many refusals cost as much as one response. */
const MAX_REFUSALS = 100
const REFUSALS_PER_RESPONSE = 5
/** Responses come in bursts, so the mean of the last ticks counts. */
const MEAN_TICKS = 8

/**
 * How many requests may be refused in the time that the responses leave. It is large when the requests in flight wait for a
 * slow source, and zero when the processor is busy with responses.
 */
export function createRefusalBudget() {
  let loop = performance.eventLoopUtilization()
  let meanResponses = 0
  return {
    restart: () => {
      loop = performance.eventLoopUtilization()
    },
    /** `responses` is their count since the last call. */
    read: (responses: number) => {
      const before = loop
      loop = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(loop, before)
      meanResponses += (responses - meanResponses) / MEAN_TICKS
      return MAX_REFUSALS * (1 - utilization) - REFUSALS_PER_RESPONSE * meanResponses
    },
  }
}
