import { writeFileSync } from 'node:fs'

/** Loaded before the program (`--import`): SIGUSR2 sets its wall clock back by a day. */
const DAY_MS = 86_400_000
const Real = Date
let setBackMs = 0

class SteppingDate extends Real {
  constructor(...given: readonly unknown[]) {
    if (given.length === 0) super(SteppingDate.now())
    else super(...(given as [number]))
  }

  static override now(): number {
    return Real.now() - setBackMs
  }
}

globalThis.Date = SteppingDate as DateConstructor

process.on('SIGUSR2', () => {
  setBackMs += DAY_MS
  // The test waits for this file.
  writeFileSync(String(process.env.STEPPED_FILE), String(setBackMs))
})
