import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { receiveCheckpoints } from '../receive-checkpoints.ts'
import { type AdminRoute, defineRoute } from '../route.ts'
import { ChainCheck } from '../shapes/audit.ts'

const tag = 'Audit'

const readCheck = defineRoute({
  name: 'read_chain_check',
  tag,
  method: 'GET',
  path: '/admin/audit/check',
  summary: 'Progress of the running verification of the log, or the result of the last one.',
  role: 'viewer',
  isBackground: true,
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

export const AUDIT_CHECK_ROUTES: readonly AdminRoute[] = [readCheck, startCheck, startUploadedCheck]
