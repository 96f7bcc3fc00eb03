import { InternetBundlesResponse, ProviderPath } from '../contract/bundles.ts'
import { AppError } from '../errors.ts'
import { toDocument } from './document.ts'
import { defineOperation } from './operation.ts'

export const listInternetBundles = defineOperation({
  name: 'list_internet_bundles',
  operationId: 'listInternetBundles',
  method: 'GET',
  path: '/api/v2/internet/data/:provider/lookup',
  tag: 'Look-ups',
  summary: 'List the data bundles of an internet provider',
  description: 'Answers from the catalogue that this server holds in memory; no vendor is asked.',
  scope: 'catalogue:read',
  inputFrom: 'path',
  request: ProviderPath,
  response: InternetBundlesResponse,
  errors: ['provider_not_found'],
  run: ({ catalogue }, { input }) => {
    const bundles = catalogue.listInternetBundles(input.provider)
    if (!bundles) throw new AppError('provider_not_found')
    return toDocument(bundles, () => ({
      success: true,
      data: { status: 'success', message: 'Successful', code: 200, data: bundles },
    }))
  },
})
