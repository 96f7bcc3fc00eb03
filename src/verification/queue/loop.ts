type Loop = {
  /** Runs a round soon. */
  readonly wake: () => void
  readonly close: () => Promise<void>
}

/** Between two rounds, also when there is much to do: rounds that are woken often are run together. */
const LEAST_PAUSE_MS = 5
const AFTER_FAILURE_MS = 1000

/** Runs rounds one after another. Each returns the time until the next, unless it is woken sooner. */
export function startLoop(
  round: (wake: () => void) => Promise<number>,
  onFailure: (error: unknown) => void,
): Loop {
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> | undefined
  let isWoken = false
  let isClosed = false

  const schedule = (ms: number) => {
    if (isClosed) return
    clearTimeout(timer)
    timer = setTimeout(run, Math.max(ms, LEAST_PAUSE_MS)).unref()
  }
  const wake = () => {
    if (running) isWoken = true
    else schedule(0)
  }
  const run = () => {
    isWoken = false
    running = round(wake)
      .catch((error) => {
        onFailure(error)
        return AFTER_FAILURE_MS
      })
      .then((ms) => {
        running = undefined
        schedule(isWoken ? 0 : ms)
      })
  }
  schedule(0)
  return {
    wake,
    close: async () => {
      isClosed = true
      clearTimeout(timer)
      await running
    },
  }
}
