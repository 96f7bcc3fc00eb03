/** A person does not press Ctrl-C again this soon. */
const COPY_MS = 500

/**
 * Leaves out copies: Ctrl-C is sent to all programs of a terminal, and `npm start`, which gets it too, passes it on. systemd and a
 * process that starts workers do the same with SIGTERM.
 */
export function withoutCopies(
  handle: (signal: NodeJS.Signals) => void,
  now: () => number = () => performance.now(),
): (signal: NodeJS.Signals) => void {
  let last: { readonly signal: NodeJS.Signals; readonly at: number } | undefined
  return (signal) => {
    const at = now()
    if (last?.signal === signal && at - last.at < COPY_MS) return
    last = { signal, at }
    handle(signal)
  }
}
