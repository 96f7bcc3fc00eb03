import { parentPort, workerData } from 'node:worker_threads'
import { startCoverageFeedback } from './coverage-feedback.ts'
import { type Exploration, explore } from './explore.ts'
import { readCorpus, TARGETS, type TargetName } from './target.ts'

/** The thread of one target. `shared` holds a count of inputs, the length of the present one, and its bytes. */
export type Assignment = {
  readonly name: TargetName
  readonly seed: number
  readonly ms: number
  readonly shared: SharedArrayBuffer
}

export const HEAD_BYTES = 8

if (parentPort) {
  const { name, seed, ms, shared } = workerData as Assignment
  const coverage = startCoverageFeedback()
  const [head, bytes] = [new Int32Array(shared, 0, 2), new Uint8Array(shared, HEAD_BYTES)]
  const target = await TARGETS[name]()
  const onInput = (input: Buffer) => {
    bytes.set(input.subarray(0, bytes.length))
    head[1] = Math.min(input.length, bytes.length)
    Atomics.add(head, 0, 1)
  }
  const result: Exploration = await explore(target, { coverage, seed, ms, kept: readCorpus(name), onInput })
  await target.close?.()
  parentPort.postMessage(result)
}
