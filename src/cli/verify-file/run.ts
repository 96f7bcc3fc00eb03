import { randomUUID } from 'node:crypto'
import { UserError } from '../../errors.ts'
import type { Progress } from '../progress.ts'
import type { ApiClient } from './api-client.ts'
import { type Counts, NO_COUNTS } from './counts.ts'
import type { CheckedFile } from './input-file.ts'
import { openOutputFile } from './output-file.ts'
import { sendPart, type VerifiedFile, waitForBatch } from './send-part.ts'
import { openStateFile, type RunState, type SentPart } from './state-file.ts'
import { createWriteRow, writePart } from './write-part.ts'

export type Run = {
  readonly client: ApiClient
  readonly file: VerifiedFile
  readonly checked: CheckedFile
  readonly out: string
  readonly progress: Progress
  readonly signal: AbortSignal
}

/** The state of an interrupted run of the same file at the same server. */
export function findInterrupted({
  client,
  checked,
  out,
}: Pick<Run, 'client' | 'checked' | 'out'>): RunState | undefined {
  const state = openStateFile(out).read()
  if (state && (state.digest !== checked.digest || state.server !== client.server))
    throw new UserError(
      `${out}.state belongs to another file, key or server. Delete it to start from the beginning, or choose another --out.`,
    )
  return state
}

/** Verifies the file part by part, and writes the results. An interrupted run continues where it was. */
export async function runFile(run: Run): Promise<Counts> {
  const { client, file, checked, out, progress, signal } = run
  const stateFile = openStateFile(out)
  let state = findInterrupted(run) ?? toFirstState(run)
  stateFile.write(state)
  const output = openOutputFile(out, state.bytes)
  try {
    const writeRow = createWriteRow(output, out, file, state.bytes === 0)
    for (let index = state.written; index < state.parts.length; index++) {
      const part = state.parts[index] as SentPart
      const sent = part.batch === null && part.readable > 0 ? await send(run, part) : part
      state = { ...state, parts: state.parts.with(index, sent) }
      stateFile.write(state)
      const before = state.parts.slice(0, index).reduce((sum, { rows }) => sum + rows, 0)
      if (sent.batch !== null)
        await waitForBatch(client, sent.batch, signal, ({ counts }) => {
          const open = counts.waiting ?? 0
          progress.show(before + part.rows - open, checked.rows)
        })
      const counts = await writePart(client, file, sent, writeRow, { before: state.counts, signal })
      state = { ...state, counts, written: index + 1, bytes: output.sync() }
      stateFile.write(state)
    }
    output.finish()
    stateFile.remove()
    return state.counts
  } finally {
    output.close()
  }
}

const send = async ({ client, file, signal }: Run, part: SentPart): Promise<SentPart> => ({
  ...part,
  batch: await sendPart(client, file, part, signal),
})

const toFirstState = ({ client, checked }: Run): RunState => ({
  version: 1,
  digest: checked.digest,
  server: client.server,
  parts: checked.parts.map((part) => ({ ...part, idempotencyKey: randomUUID(), batch: null })),
  written: 0,
  bytes: 0,
  counts: NO_COUNTS,
})
