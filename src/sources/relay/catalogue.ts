import type { CatalogueFiles, InternetFile, TvFile } from '../../contract/catalogue-files.ts'
import { type Static, Type } from '../../contract/schema.ts'
import { toPrice, withoutDuplicates } from '../price-list.ts'
import type { HttpRequest, Send } from '../source.ts'
import { type Call, SourceError } from '../source.ts'
import { toStatusError } from '../status.ts'
import { createReader, objectWith } from '../wire.ts'

const NAME = 'relay'
const NOTE = 'From another server of this API.'

const BundlesReply = objectWith({
  success: Type.Literal(true),
  data: objectWith({
    data: Type.Array(
      objectWith({
        type: Type.String(),
        code: Type.String(),
        price: Type.Unsafe<string | number>({ type: ['string', 'number'] }),
        description: Type.String(),
        duration: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'] })),
      }),
    ),
  }),
})

const AddOnsReply = objectWith({
  success: Type.Literal(true),
  data: Type.Array(
    objectWith({
      add_on_product_code: Type.String(),
      name: Type.String(),
      price: Type.Unsafe<string | number>({ type: ['string', 'number'] }),
    }),
  ),
})

/**
 * The lists of another server of this API. Each of our lists is looked up there. A list that the server does not have stays
 * unchanged; so do products and their prices, because the API has no look-up for them.
 */
export async function fetchRelayCatalogue(
  send: Send,
  current: CatalogueFiles,
  call: Call,
): Promise<CatalogueFiles> {
  const known = new Set<InternetFile | TvFile>([...current.internet, ...current.tv])
  const internet: InternetFile[] = []
  for (const list of current.internet) internet.push(await fetchInternet(send, list, call))
  const tv: TvFile[] = []
  for (const list of current.tv) tv.push(await fetchTv(send, list, call))
  const isUnchanged = [...internet, ...tv].every((list) => known.has(list))
  // A server that has none of the lists is a wrong address.
  if (isUnchanged) throw new SourceError(NAME, 'bad_response', { problem: 'rejected' })
  return { internet, tv }
}

const readBundles = createReader(NAME, BundlesReply)
const readAddOns = createReader(NAME, AddOnsReply)

/** Undefined after a 404. */
async function lookUp<T>(
  send: Send,
  request: HttpRequest,
  call: Call,
  read: (body: unknown) => T,
): Promise<T | undefined> {
  const { status, body } = await send(request, call)
  if (status === 404) return undefined
  if (status !== 200) throw toStatusError(NAME, status)
  return read(body)
}

async function fetchInternet(send: Send, list: InternetFile, call: Call): Promise<InternetFile> {
  const path = `/internet/data/${list.segment}/lookup`
  const reply = await lookUp(send, { method: 'GET', path }, call, readBundles)
  if (!reply) return list
  const bundles = reply.data.data.flatMap(({ code, price, description, duration }) => {
    const plain = toPrice(NAME, price)
    return plain === undefined ? [] : [{ code, price: plain, description, duration: duration ?? '' }]
  })
  return { ...list, note: NOTE, bundles: withoutDuplicates(NAME, bundles) }
}

async function fetchTv(send: Send, list: TvFile, call: Call): Promise<TvFile> {
  const known: { readonly product: string; readonly addOns: TvFile['add_ons'] }[] = []
  for (const { code } of list.products) {
    const reply = await lookUp(send, toAddOnsRequest(list.type, code), call, readAddOns)
    if (reply) known.push({ product: code, addOns: toAddOns(reply) })
  }
  if (known.length === 0) return list
  const isKnown = (code: string) => known.some(({ product }) => product === code)
  const sold = withoutDuplicates(
    NAME,
    known.flatMap(({ addOns }) => addOns),
  )
  const add_ons = sold.map((addOn) => ({
    ...addOn,
    products: known
      .filter(({ addOns }) => addOns.some(({ code }) => code === addOn.code))
      .map(({ product }) => product),
  }))
  return { ...list, note: NOTE, products: list.products.filter(({ code }) => isKnown(code)), add_ons }
}

/** The API takes a body with GET. Proxies may drop it, so the query has the same inputs. */
function toAddOnsRequest(type: string, productCode: string): HttpRequest {
  const inputs = { type, productCode }
  return { method: 'GET', path: '/cable-tv/fetch-tv-add-ons', query: inputs, body: inputs }
}

const toAddOns = ({ data }: Static<typeof AddOnsReply>): TvFile['add_ons'] =>
  data.flatMap(({ add_on_product_code: code, name, price }) => {
    const plain = toPrice(NAME, price)
    return plain === undefined ? [] : [{ code, name, price: plain, products: [] }]
  })
