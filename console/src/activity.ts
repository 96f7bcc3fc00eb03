/** What a person does. A change of the address is also one of the buttons of the browser. */
const EVENTS = ['pointerdown', 'click', 'keydown', 'input', 'wheel', 'hashchange']

/** Opening the console is the first. */
let acts = 1
let countedActs = 0
/** The time of the last request that a click, a key or an opened page has caused and that the server accepted: it extends the session. */
let countedAt = Date.now()

for (const event of EVENTS)
  addEventListener(
    event,
    () => {
      acts += 1
    },
    { capture: true, passive: true },
  )

export const lastActivityAt = (): number => countedAt

/** The server never counts it. */
const SESSION_PATH = '/admin/session'

/** A request is unattended if nothing was done since the last one that counted. */
export function beginRequest(path: string): { readonly isUnattended: boolean; readonly count: () => void } {
  const before = acts
  const isUnattended = path === SESSION_PATH || before <= countedActs
  return {
    isUnattended,
    count: () => {
      if (isUnattended) return
      countedActs = Math.max(countedActs, before)
      countedAt = Date.now()
    },
  }
}
