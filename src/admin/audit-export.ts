import type { WholeLog } from '../audit/archive/whole-log.ts'
import { toAuditFilter, toShownFilter } from '../audit/audit-filter.ts'
import { auditBy } from '../audit/audit-log.ts'
import { exportRows } from '../audit/export.ts'
import type { ExtractFormat } from '../audit/extract/extract-format.ts'
import { writeExtract } from '../audit/extract/write-extract.ts'
import { toPublicKey } from '../audit/open-checkpoint.ts'
import { createSigner } from '../audit/signing.ts'
import type { Actor } from '../contract/role.ts'
import { Type } from '../contract/schema.ts'
import { readKeyNames } from '../keys/key-names.ts'
import type { AdminDeps } from './admin-deps.ts'
import { ExtractQuery } from './audit.ts'
import { type AdminRoute, defineRoute, WithHeaders } from './route.ts'
import { createPace } from './stream-limit.ts'

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

async function exportExtract(deps: AdminDeps, actor: Actor, input: ExtractQuery, format: ExtractFormat) {
  const { store, audit, keyring } = deps.context
  const { view = 'verifications', ...given } = input
  const keyNames = await readKeyNames(store.keys)
  const shownFilter = toShownFilter(given)
  const filter = toAuditFilter(given, keyNames)
  const detail = `extract of ${view} (${format}), filtered by: ${Object.keys(shownFilter).join(', ') || 'nothing'}`
  await auditBy(deps, actor).record([
    { phase: 'audit_exported', outcome: 'ok', detail, subject: filter.subject ?? null },
  ])
  const signer = createSigner(keyring()['audit-signing'])
  const pieces = withLog(deps, (log) =>
    writeExtract(
      {
        ...{ store: log.store, archived: log.archived, missingArchives: log.missing.length },
        ...{ signer, signNow: () => audit.checkpoint() },
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

/** For all exports of this process. */
const pace = createPace()

function toFile(pieces: AsyncIterable<string>, title: string, format: ExtractFormat) {
  const name = `${title}-${new Date().toISOString().slice(0, 10)}.${format}`
  return new WithHeaders(pace(pieces), ['content-disposition', `attachment; filename="${name}"`])
}

export const AUDIT_EXPORT_ROUTES: readonly AdminRoute[] = [exportLog, exportNdjson, exportCsv]
