import type { Pausable } from './paused.ts'

/** A request that waits for a place. */
export type Waiting = {
  readonly keyId: string
  /** Refused then. */
  readonly until: number
  readonly connection: Pausable | undefined
  /** True: it may begin. False: it is refused. */
  readonly settle: (admitted: boolean) => void
}

/** A short line: it is looked through from its beginning each time. */
export function createWaiting() {
  const line: Waiting[] = []
  return {
    size: () => line.length,
    add: (waiting: Waiting) => void line.push(waiting),
    /** Lets all begin for whom `take` finds a place. Callers that left meanwhile are passed over. */
    admit: (take: (keyId: string) => boolean) => {
      for (let index = 0; index < line.length; ) {
        const { keyId, connection, settle } = line[index] as Waiting
        const isGone = connection?.socket.destroyed === true
        if (isGone || take(keyId)) {
          line.splice(index, 1)
          settle(!isGone)
        } else index += 1
      }
    },
    refuseLate: (now: number) => {
      for (const late of line.filter(({ until }) => until < now)) {
        line.splice(line.indexOf(late), 1)
        late.settle(false)
      }
    },
  }
}
