import { createInterface } from 'node:readline'
import { createResultCsv } from '../../batches/result-csv.ts'
import type { ResultRow } from '../../batches/result-row.ts'
import { ERRORS } from '../../errors.ts'
import { type ApiClient, readAnswer, toApiError } from './api-client.ts'
import { addRow, type Counts } from './counts.ts'
import { readFileRows } from './input-file.ts'
import type { OutputFile } from './output-file.ts'
import { toBatchPath, toNetworkError, type VerifiedFile } from './send-part.ts'
import type { SentPart } from './state-file.ts'

type WriteRow = (row: ResultRow) => void

/** Writes results as CSV, or as NDJSON if the name of the file says so. */
export function createWriteRow(
  out: OutputFile,
  name: string,
  { kind }: VerifiedFile,
  isNew: boolean,
): WriteRow {
  if (/\.(ndjson|jsonl)$/i.test(name)) return (row) => out.write(`${JSON.stringify(row)}\n`)
  const csv = createResultCsv([kind])
  if (isNew) out.write(csv.header)
  return (row) => out.write(csv.toLine(row))
}

/** Writes the results of a part in the order of the file, with the rows that could not be read and were not sent. */
export async function writePart(
  client: ApiClient,
  file: VerifiedFile,
  part: SentPart,
  writeRow: WriteRow,
  { before, signal }: { readonly before: Counts; readonly signal: AbortSignal },
): Promise<Counts> {
  let counts = before
  const write = (row: ResultRow) => {
    counts = addRow(counts, row)
    writeRow(row)
  }
  const unread = readUnread(file, part)
  let next = await unread.next()
  const writeUnreadBefore = async (line: number) => {
    for (; !next.done && next.value.line < line; next = await unread.next()) write(next.value)
  }
  if (part.batch !== null)
    for await (const row of fetchResults(client, part.batch, signal)) {
      const line = row.line + part.firstLine - 1
      await writeUnreadBefore(line)
      write({ ...row, line })
    }
  await writeUnreadBefore(Number.POSITIVE_INFINITY)
  return counts
}

async function* fetchResults(
  client: ApiClient,
  batch: string,
  signal: AbortSignal,
): AsyncGenerator<ResultRow> {
  const headers = { accept: 'application/x-ndjson' }
  const path = `${toBatchPath(batch)}/results`
  const response = await client.send({ method: 'GET', path, headers, signal }).catch((error) => {
    throw toNetworkError(client, error)
  })
  if (response.statusCode !== 200) throw toApiError(await readAnswer(response), client.server)
  try {
    for await (const line of createInterface({ input: response })) yield JSON.parse(line) as ResultRow
    if (!response.complete) throw new Error('incomplete')
  } catch (error) {
    throw toNetworkError(client, error as NodeJS.ErrnoException)
  }
}

/** Rows of the part that could not be read. */
async function* readUnread({ path, kind, format }: VerifiedFile, part: SentPart): AsyncGenerator<ResultRow> {
  const { status, message } = ERRORS.validation_failed
  for await (const row of readFileRows(path, kind, format)) {
    if (row.line > part.lastLine) return
    if (row.line < part.firstLine || !('problem' in row)) continue
    const errors = [{ field: null, message: row.problem }]
    const about = { line: row.line, reference: null, operation: `verify_${kind}`, state: 'refused' } as const
    const answer = { status, success: false, code: 'validation_failed', message, match: null, data: null }
    yield { ...about, ...answer, errors }
  }
}
