/** Repeated work that never runs twice at the same time. */
type Poll = {
  /** Runs it now, or once more when it is running. */
  readonly now: () => void
  /** Waits for the run under way. */
  readonly close: () => Promise<void>
}

/** Runs the work again `everyMs` after each run, until it is closed. A failed run is followed by the next. */
export function startPoll(work: () => Promise<void>, everyMs: number): Poll {
  let running: Promise<void> | undefined
  let isWanted = false
  let closed = false
  let timer: NodeJS.Timeout | undefined
  const schedule = () => {
    running = undefined
    if (closed) return
    if (isWanted) run()
    else timer = setTimeout(run, everyMs).unref()
  }
  const run = () => {
    clearTimeout(timer)
    isWanted = running !== undefined
    // Store unavailable; reported elsewhere.
    running ??= work()
      .catch(() => {})
      .finally(schedule)
  }
  timer = setTimeout(run, everyMs).unref()
  return {
    now: () => {
      if (!closed) run()
    },
    close: async () => {
      closed = true
      clearTimeout(timer)
      await running
    },
  }
}
