import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { WholeLog } from '../audit/archive/whole-log.ts'
import { toShownFilter } from '../audit/audit-filter.ts'
import { auditBy } from '../audit/audit-log.ts'
import { CHECKPOINT_FILE } from '../audit/checkpoint-folder.ts'
import { exportRows } from '../audit/export.ts'
import type { ExtractFormat } from '../audit/extract/extract-format.ts'
import { listExtractFacts, verifyExtract } from '../audit/extract/verify-extract.ts'
import { writeExtract } from '../audit/extract/write-extract.ts'
import { toPublicKey } from '../audit/open-checkpoint.ts'
import { createSigner } from '../audit/signing.ts'
import { AdminError } from '../contract/error.ts'
import type { Actor } from '../contract/role.ts'
import { type Static, Type } from '../contract/schema.ts'
import { AppError, UserError } from '../errors.ts'
import { readBodyPieces } from '../http/body.ts'
import type { Exchange } from '../http/exchange.ts'
import { readKeyNames } from '../keys/key-names.ts'
import type { AdminDeps } from './admin-deps.ts'
import { ExtractQuery, requireFilter } from './audit.ts'
import { ChainCheck } from './chain-check.ts'
import { toFile } from './export-file.ts'
import { type AdminRoute, defineRoute, WithHeaders } from './route.ts'

const tag = 'Audit'

const exportLog = defineRoute({
  name: 'export_audit',
  tag,
  method: 'GET',
  path: '/admin/audit/export',
  summary: 'Every row as NDJSON, chain by chain, in the format of "tabbat audit export".',
  role: 'operator',
  stream: 'application/x-ndjson',
  output: Type.String(),
  run: async (deps, { actor }) => {
    await auditBy(deps, actor).record([{ phase: 'audit_exported', outcome: 'ok' }])
    const pieces = withLog(deps, ({ store }) => exportRows(store.audit))
    return toFile(pieces, 'audit', 'ndjson')
  },
})

const exportNdjson = defineRoute({
  name: 'export_extract_ndjson',
  tag,
  method: 'GET',
  path: '/admin/audit/extract.ndjson',
  summary:
    'What a search finds, as a signed NDJSON file that can be verified alone: "tabbat audit verify-extract". By default all rows of each verification that fits.',
  role: 'operator',
  input: ExtractQuery,
  stream: 'application/x-ndjson',
  output: Type.String(),
  run: (deps, { input, actor }) => exportExtract(deps, actor, input, 'ndjson'),
})

const exportCsv = defineRoute({
  name: 'export_extract_csv',
  tag,
  method: 'GET',
  path: '/admin/audit/extract.csv',
  summary: 'The same as CSV. Cells that a spreadsheet would run as formulas begin with an apostrophe.',
  role: 'operator',
  input: ExtractQuery,
  stream: 'text/csv',
  output: Type.String(),
  run: (deps, { input, actor }) => exportExtract(deps, actor, input, 'csv'),
})

const readPublicKey = defineRoute({
  name: 'read_audit_public_key',
  tag,
  method: 'GET',
  path: '/admin/audit/public-key.pem',
  summary:
    'The public key that checks extracts, checkpoints and proofs (PEM), as "tabbat audit public-key" prints it.',
  role: 'viewer',
  stream: 'application/x-pem-file',
  output: Type.String(),
  run: async ({ context }) => {
    const { publicKey } = createSigner(context.keyring()['audit-signing'])
    return new WithHeaders(toPieces(publicKey), [
      'content-disposition',
      'attachment; filename="tabbat-audit-key.pem"',
    ])
  },
})

async function* toPieces(text: string) {
  yield text
}

/** `facts` are sentences: what the extract holds, and what the check does not show. */
export const ExtractCheck = Type.Object({
  sound: Type.Boolean(),
  rows: Type.Nullable(Type.Integer()),
  facts: Type.Array(Type.String()),
})
export type ExtractCheck = Static<typeof ExtractCheck>

const checkExtract = defineRoute({
  name: 'check_extract',
  tag,
  method: 'POST',
  path: '/admin/audit/extract/check',
  summary:
    'Check an uploaded extract (application/x-ndjson, also for a CSV file; at most 80 MB, not compressed) with the public key of this log.',
  role: 'operator',
  isUpload: true,
  output: ExtractCheck,
  run: async ({ context }, { exchange }) => {
    const { publicKey } = createSigner(context.keyring()['audit-signing'])
    const pieces = checkPieces(readBodyPieces(exchange))
    const result = await verifyExtract(pieces, toPublicKey(publicKey, 'The key'))
    if (result.sound) return { sound: true, rows: result.rows, facts: listExtractFacts(result) }
    const where = result.line === null ? '' : `Line ${result.line}: `
    return { sound: false, rows: null, facts: [`${where}${result.reason}.`] }
  },
})

async function exportExtract(deps: AdminDeps, actor: Actor, input: ExtractQuery, format: ExtractFormat) {
  const { store, audit, keyring, isDemo } = deps.context
  const { view = 'verifications', ...given } = input
  const keyNames = await readKeyNames(store.keys)
  const shownFilter = toShownFilter(given)
  const filter = requireFilter(given, keyNames)
  // It would stand in the signed file as a filter, and not be one.
  if (filter.phase !== undefined && view !== 'rows')
    throw new AppError('validation_failed', { errors: { phase: ['phase needs view=rows'] } })
  const detail = `extract of ${view} (${format}), filtered by: ${Object.keys(shownFilter).join(', ') || 'nothing'}`
  await auditBy(deps, actor).record([
    { phase: 'audit_exported', outcome: 'ok', detail, subject: filter.subject ?? null },
  ])
  const signer = createSigner(keyring()['audit-signing'])
  const pieces = withLog(deps, (log) =>
    writeExtract(
      {
        store: log.store,
        archived: log.archived,
        missingArchives: log.missing.length,
        signer,
        isDemo,
        signNow: () => audit.checkpoint(),
      },
      { view, format, filter, shownFilter, keyNames },
    ),
  )
  return toFile(pieces, 'audit-extract', format)
}

/** Archives are opened when the first piece is read: a client may end before. */
async function* withLog(
  { archives, context }: AdminDeps,
  toPieces: (log: WholeLog) => AsyncIterable<string>,
) {
  const signer = createSigner(context.keyring()['audit-signing'])
  const log = await archives.open(toPublicKey(signer.publicKey, 'The key'))
  try {
    yield* toPieces(log)
  } finally {
    await log.close()
  }
}

const readCheck = defineRoute({
  name: 'read_chain_check',
  tag,
  method: 'GET',
  path: '/admin/audit/check',
  summary: 'Progress of the running verification of the log, or the result of the last one.',
  role: 'viewer',
  output: ChainCheck,
  run: async ({ checks }) => checks.read(),
})

const startCheck = defineRoute({
  name: 'start_chain_check',
  tag,
  method: 'POST',
  path: '/admin/audit/check',
  summary: 'Verify the whole log against its checkpoints. One run at a time.',
  role: 'operator',
  output: ChainCheck,
  run: async ({ checks }, { actor }) => checks.start(actor),
})

const startUploadedCheck = defineRoute({
  name: 'start_chain_check_with_file',
  tag,
  method: 'POST',
  path: '/admin/audit/check/file',
  summary:
    'Verify the whole log against an uploaded checkpoints.log (application/x-ndjson, at most 80 MB, not compressed) that was kept elsewhere.',
  role: 'operator',
  isUpload: true,
  output: ChainCheck,
  run: async ({ checks }, { actor, exchange }) => {
    const path = await receiveCheckpoints(exchange)
    try {
      return checks.start(actor, path)
    } catch (error) {
      await rm(dirname(path), { recursive: true, force: true })
      throw error
    }
  },
})

/** The whole log: its verification and its exports. */
export const AUDIT_LOG_ROUTES: readonly AdminRoute[] = [
  readCheck,
  startCheck,
  startUploadedCheck,
  exportLog,
  exportNdjson,
  exportCsv,
  readPublicKey,
  checkExtract,
]

/** A checkpoints.log is rotated at 64 MB. */
const MAX_BYTES = 80 * 1024 * 1024

/** Writes an uploaded checkpoints.log to a folder of its own, and returns its path. */
async function receiveCheckpoints(exchange: Exchange): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tabbat-checkpoints-'))
  const path = join(folder, CHECKPOINT_FILE)
  try {
    await pipeline(checkPieces(readBodyPieces(exchange)), createWriteStream(path, { mode: 0o600 }))
    return path
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

async function* checkPieces(pieces: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  let received = 0
  for await (const piece of pieces) {
    // A compressed file may unpack to any size.
    if (received === 0 && piece[0] === 0x1f)
      throw new UserError('The file is compressed. Unpack it with gunzip, then upload it.')
    received += piece.length
    if (received > MAX_BYTES)
      throw new AdminError('body_too_large', { message: TOO_LARGE, headers: ['connection', 'close'] })
    yield piece
  }
}

const TOO_LARGE =
  'The file is larger than 80 MB. Run on the command line: tabbat audit verify --checkpoints FILE'
