import { TvAddOnsRequest, TvAddOnsResponse, type TvType } from '../contract/bundles.ts'
import { AppError } from '../errors.ts'
import { Document, toDocument } from './document.ts'
import { defineOperation } from './operation.ts'

export const listTvAddOns = defineOperation({
  name: 'list_tv_add_ons',
  operationId: 'listTvAddOns',
  method: 'GET',
  path: '/api/v2/cable-tv/fetch-tv-add-ons',
  tag: 'Look-ups',
  summary: 'List the add-ons of a cable TV product',
  description:
    'The inputs are a JSON body, although the method is GET. Clients that cannot send one use the query string, or the QUERY method with the same body. Inputs given twice must agree.',
  scope: 'catalogue:read',
  inputFrom: 'body or query',
  request: TvAddOnsRequest,
  response: TvAddOnsResponse,
  errors: [
    'malformed_json',
    'conflicting_input',
    'product_not_found',
    'body_too_large',
    'unsupported_media_type',
    'validation_failed',
  ],
  run: ({ catalogue }, { input }) => {
    const product = catalogue.findTvProduct(input.type.toUpperCase() as TvType, input.productCode)
    if (!product) throw new AppError('product_not_found')
    const toBody = () => ({
      success: true,
      status: 'success',
      message: `Add-ons for ${product.product_code} fetched successfully`,
      data: product.add_ons,
    })
    // Products without add-ons share one empty list: a document cached for it would name another product.
    return product.add_ons.length > 0 ? toDocument(product.add_ons, toBody) : new Document(toBody())
  },
})
