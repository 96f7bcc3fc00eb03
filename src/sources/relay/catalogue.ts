import type { CatalogueFiles, InternetFile, TvFile } from '../../contract/catalogue-files.ts'
import { type Static, Type } from '../../contract/schema.ts'
import { toPrice, withoutDuplicates } from '../price-list.ts'
import type { HttpReply, HttpRequest } from '../source.ts'
import { type Call, SourceError } from '../source.ts'
import { toStatusError } from '../status.ts'
import { createReader, part } from '../wire.ts'

const NAME = 'relay'
const NOTE = 'From another server of this API.'

const BundlesReply = part({
  success: Type.Literal(true),
  data: part({
    data: Type.Array(
      part({
        type: Type.String(),
        code: Type.String(),
        price: Type.Unsafe<string | number>({ type: ['string', 'number'] }),
        description: Type.String(),
        duration: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'] })),
      }),
    ),
  }),
})

const AddOnsReply = part({
  success: Type.Literal(true),
  data: Type.Array(
    part({
      add_on_product_code: Type.String(),
      name: Type.String(),
      price: Type.Unsafe<string | number>({ type: ['string', 'number'] }),
    }),
  ),
})

type Ask = (question: HttpRequest, call: Call) => Promise<HttpReply>

/**
 * The lists of another server of this API, through its own look-ups: what we list is asked for there, one by one. What that
 * server does not know at all stays as it is; so do products and their prices, for which there is no look-up.
 */
export async function fetchRelayCatalogue(
  ask: Ask,
  current: CatalogueFiles,
  call: Call,
): Promise<CatalogueFiles> {
  const known = new Set<InternetFile | TvFile>([...current.internet, ...current.tv])
  const internet: InternetFile[] = []
  for (const list of current.internet) internet.push(await fetchInternet(ask, list, call))
  const tv: TvFile[] = []
  for (const list of current.tv) tv.push(await fetchTv(ask, list, call))
  const isStranger = [...internet, ...tv].every((list) => known.has(list))
  // Nothing found at all is a wrong address, not a server without lists.
  if (isStranger) throw new SourceError(NAME, 'bad_response', { trouble: 'rejected' })
  return { internet, tv }
}

const readBundles = createReader(NAME, BundlesReply)
const readAddOns = createReader(NAME, AddOnsReply)

/** Undefined when that server answers that it does not know this. */
async function lookUp<T>(
  ask: Ask,
  question: HttpRequest,
  call: Call,
  read: (body: unknown) => T,
): Promise<T | undefined> {
  const { status, body } = await ask(question, call)
  if (status === 404) return undefined
  if (status !== 200) throw toStatusError(NAME, status)
  return read(body)
}

async function fetchInternet(ask: Ask, list: InternetFile, call: Call): Promise<InternetFile> {
  const path = `/internet/data/${list.segment}/lookup`
  const reply = await lookUp(ask, { method: 'GET', path }, call, readBundles)
  if (!reply) return list
  const bundles = reply.data.data.flatMap(({ code, price, description, duration }) => {
    const plain = toPrice(NAME, price)
    return plain === undefined ? [] : [{ code, price: plain, description, duration: duration ?? '' }]
  })
  return { ...list, note: NOTE, bundles: withoutDuplicates(NAME, bundles) }
}

async function fetchTv(ask: Ask, list: TvFile, call: Call): Promise<TvFile> {
  const known: { readonly product: string; readonly addOns: TvFile['add_ons'] }[] = []
  for (const { code } of list.products) {
    const reply = await lookUp(ask, toAddOnsQuestion(list.type, code), call, readAddOns)
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

/** The API wants the inputs as a body, although the method is GET; where that gets lost on the way, the query has them. */
function toAddOnsQuestion(type: string, productCode: string): HttpRequest {
  const inputs = { type, productCode }
  return { method: 'GET', path: '/cable-tv/fetch-tv-add-ons', query: inputs, body: inputs }
}

const toAddOns = ({ data }: Static<typeof AddOnsReply>): TvFile['add_ons'] =>
  data.flatMap(({ add_on_product_code: code, name, price }) => {
    const plain = toPrice(NAME, price)
    return plain === undefined ? [] : [{ code, name, price: plain, products: [] }]
  })
