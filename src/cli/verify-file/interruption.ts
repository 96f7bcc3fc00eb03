const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const
type SignalName = keyof typeof EXIT_CODES

/** The first signal ends the run in order; the second ends the process. */
export function listenForInterruption() {
  const controller = new AbortController()
  let received: SignalName | undefined
  const onSignal = (name: SignalName) => {
    received = name
    stop()
    controller.abort()
  }
  const stop = () => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.off(name, onSignal)
  }
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, onSignal)
  return { signal: controller.signal, exitCode: () => received && EXIT_CODES[received], stop }
}
