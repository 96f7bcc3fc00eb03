import { NoInput, SmeBundlesResponse } from '../contract/bundles.ts'
import { toDocument } from './document.ts'
import { defineOperation } from './operation.ts'

export const listSmeBundles = defineOperation({
  name: 'list_sme_bundles',
  operationId: 'listSmeBundles',
  method: 'GET',
  path: '/api/v2/sme-data/list',
  tag: 'Look-ups',
  summary: 'List the SME data bundles',
  description: 'The sizes in which SME (corporate) data is sold, in ascending order.',
  scope: 'catalogue:read',
  inputFrom: 'path',
  request: NoInput,
  response: SmeBundlesResponse,
  errors: [],
  run: ({ catalogue }) => {
    const bundles = catalogue.listSmeBundles()
    return toDocument(bundles, () => ({
      success: true,
      status: 'success',
      message: 'Successful',
      data: bundles,
    }))
  },
})
