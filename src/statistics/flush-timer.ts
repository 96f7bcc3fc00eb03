const FLUSH_EVERY_MS = 2000

/** Writes what was gathered in memory, every two seconds and at the end: a crash loses a few seconds of it. */
type FlushTimer = {
  /** One write at a time; a call during a write shares it. */
  readonly flush: () => Promise<void>
  readonly close: () => Promise<void>
}

export function startFlushTimer(write: () => Promise<void>): FlushTimer {
  let flushing: Promise<void> | undefined
  const flush = () => {
    flushing ??= write().finally(() => {
      flushing = undefined
    })
    return flushing
  }
  const timer = setInterval(() => void flush(), FLUSH_EVERY_MS).unref()
  return {
    flush,
    close: async () => {
      clearInterval(timer)
      await flushing
      await flush()
    },
  }
}
