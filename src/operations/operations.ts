import { cancelBatch } from './cancel-batch.ts'
import { cancelVerification } from './cancel-verification.ts'
import { createBatch } from './create-batch.ts'
import { getBatch } from './get-batch.ts'
import { getBatchResults } from './get-batch-results.ts'
import { getVerification } from './get-verification.ts'
import { listInternetBundles } from './list-internet-bundles.ts'
import { listSmeBundles } from './list-sme-bundles.ts'
import { listTvAddOns } from './list-tv-add-ons.ts'
import type { Operation, ResourceOperation } from './operation.ts'
import { verifyBvn } from './verify-bvn.ts'
import { verifyNin } from './verify-nin.ts'

/** All operations of the API. To add one, write its file and add it here. */
export const OPERATIONS: readonly Operation[] = [
  verifyNin,
  verifyBvn,
  listInternetBundles,
  listSmeBundles,
  listTvAddOns,
]

/** Operations on what callers have created. */
export const RESOURCE_OPERATIONS: readonly ResourceOperation[] = [
  getVerification,
  cancelVerification,
  createBatch,
  getBatch,
  getBatchResults,
  cancelBatch,
]
