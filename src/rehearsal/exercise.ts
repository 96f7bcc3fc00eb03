import { setTimeout as pause } from 'node:timers/promises'
import { UserError } from '../errors.ts'
import { type Callers, createCallers } from './callers.ts'
import { createRecorder, type Finding, type Recorder } from './finding.ts'
import { NotStarted } from './program.ts'
import type { Stage } from './stage.ts'

/** Something that can go wrong, made to go wrong. `S`: where it takes place. */
export type Exercise<S = Stage> = {
  /** For --only and --skip. */
  readonly name: string
  readonly title: string
  /** For --list. */
  readonly about: string
  /** Why it cannot be made here; undefined if it can. */
  readonly findObstacle?: (stage: S) => string | undefined
  readonly run: (stage: S, recorder: Recorder) => Promise<void>
}

/** Makes the exercise. A failure of the exercise itself is a finding too, so that the others are still made. */
export async function runExercise<S>(exercise: Exercise<S>, stage: S): Promise<Finding> {
  const recorder = createRecorder(exercise)
  const obstacle = exercise.findObstacle?.(stage)
  if (obstacle !== undefined) {
    recorder.note(obstacle)
    return recorder.toFinding('skipped')
  }
  try {
    await exercise.run(stage, recorder)
    return recorder.toFinding()
  } catch (error) {
    recorder.note(error instanceof UserError ? error.message : `The exercise failed: ${toKind(error)}.`)
    return recorder.toFinding('could_not_run')
  }
}

/** Without the message, which may quote data. */
const toKind = (error: unknown) => {
  const { name = 'unknown error', code } = error as { name?: string; code?: string }
  return code === undefined ? name : `${name} ${code}`
}

/** A server that can be asked. */
type Askable = Pick<Stage, 'url' | 'key' | 'kind'> & { readonly server?: Stage['server'] }

/** Callers of the server, for one exercise. It is started if it can be and does not run. */
export async function withCallers<T>(
  stage: Askable,
  recorder: Recorder,
  work: (callers: Callers) => Promise<T>,
): Promise<T> {
  await stage.server?.()
  const { key, kind, url } = stage
  const callers = createCallers({ url, key, kind, recorder })
  try {
    return await work(callers)
  } finally {
    callers.close()
  }
}

/** After a fault. That a server does not start again is a finding, not a failure of the exercise. Resolves to whether it started. */
export async function startAgain(
  { server }: Pick<Stage, 'server'>,
  recorder: Pick<Recorder, 'check'>,
  expected: string,
): Promise<boolean> {
  try {
    await server()
    return true
  } catch (error) {
    if (!(error instanceof NotStarted)) throw error
    recorder.check(expected, error.message, false)
    return false
  }
}

const LOOK_MS = 25

/** Resolves to the milliseconds until it was true; undefined if it was not in time. */
export async function waitUntil(
  isTrue: () => boolean | Promise<boolean>,
  withinMs: number,
): Promise<number | undefined> {
  const startedAt = performance.now()
  while (!(await isTrue())) {
    if (performance.now() - startedAt > withinMs) return undefined
    await pause(LOOK_MS)
  }
  return performance.now() - startedAt
}
