import { assets, readAssetText } from '../assets/asset.ts'
import type { InternetFile, SmeFile, TvFile } from '../contract/bundles.ts'
import {
  type InternetBundle,
  type SmeBundle,
  TV_TYPES,
  type TvAddOn,
  type TvType,
} from '../contract/bundles.ts'

/** A TV product with its add-ons, in the catalogue's spelling. */
type TvProductAddOns = { readonly product_code: string; readonly add_ons: readonly TvAddOn[] }

type TvProduct = {
  readonly type: TvType
  readonly code: string
  readonly name: string
  readonly price: string
}

/** The date of a list, shown to operators because prices change. */
type ListAge = { readonly name: string; readonly as_of: string; readonly note?: string }

/** The lists in memory. Every list is frozen and the same object each time, so an answer can be cached by it. */
export type Catalogue = {
  readonly providers: readonly string[]
  readonly tvProducts: readonly TvProduct[]
  readonly asOf: readonly ListAge[]
  readonly listInternetBundles: (segment: string) => readonly InternetBundle[] | undefined
  readonly listSmeBundles: () => readonly SmeBundle[]
  readonly findTvProduct: (type: TvType, productCode: string) => TvProductAddOns | undefined
}

// These providers sell no add-ons, so the answer is certain even for an unknown product.
const WITHOUT_ADD_ONS: readonly TvType[] = ['STARTIMES', 'SHOWMAX']
const NO_ADD_ONS: readonly TvAddOn[] = Object.freeze([])

export function createCatalogue(files: CatalogueFolder): Catalogue {
  const internet = new Map(files.internet.map((file) => [file.segment, toInternetBundles(file)]))
  const sme = freezeAll(files.sme.bundles)
  const tv = new Map(files.tv.flatMap(toTvEntries))

  return Object.freeze({
    providers: Object.freeze([...internet.keys()]),
    tvProducts: freezeAll(
      files.tv.flatMap(({ type, products }) => products.map((product) => ({ type, ...product }))),
    ),
    asOf: toAges(files),
    listInternetBundles: (segment) => internet.get(segment.toLowerCase()),
    listSmeBundles: () => sme,
    findTvProduct: (type, productCode) => {
      const known = tv.get(toTvKey(type, productCode))
      if (known !== undefined || !WITHOUT_ADD_ONS.includes(type)) return known
      return { product_code: productCode, add_ons: NO_ADD_ONS }
    },
  } satisfies Catalogue)
}

function toInternetBundles({ type, bundles }: InternetFile): readonly InternetBundle[] {
  return freezeAll(
    bundles.map(({ code, price, description, duration }) => ({
      type,
      code,
      amount: price,
      price,
      description,
      duration,
    })),
  )
}

function toTvEntries({ type, products, add_ons }: TvFile) {
  return products.map((product): [string, TvProductAddOns] => {
    const own = add_ons
      .filter((addOn) => addOn.products.includes(product.code))
      .map(({ code, name, price }) => ({
        add_on_product_code: code,
        product_code: product.code,
        name,
        price,
        type,
      }))
    return [
      toTvKey(type, product.code),
      Object.freeze({ product_code: product.code, add_ons: freezeAll(own) }),
    ]
  })
}

const toTvKey = (type: TvType, productCode: string) => `${type} ${productCode.toLowerCase()}`

function toAges({ internet, sme, tv }: CatalogueFolder): readonly ListAge[] {
  const lists = [
    ...internet.map((file) => ({ name: file.segment, file })),
    { name: 'sme', file: sme },
    ...tv.map((file) => ({ name: file.type.toLowerCase(), file })),
  ]
  return freezeAll(
    lists.map(({ name, file: { as_of, note } }) => ({
      name,
      as_of,
      ...(note === undefined ? {} : { note }),
    })),
  )
}

function freezeAll<T extends object>(items: readonly T[]): readonly T[] {
  return Object.freeze(items.map((item) => Object.freeze(item)))
}

export type CatalogueFolder = {
  readonly internet: readonly InternetFile[]
  readonly sme: SmeFile
  readonly tv: readonly TvFile[]
}

/** The path in the repository. */
const SHIPPED_FOLDER = 'src/catalogue/data'

export const SME = 'sme.json'
export const TV = TV_TYPES.map((type) => `${type.toLowerCase()}.json`)

/** The lists that ship with the program. Not validated here: the tests do that. */
export function readShippedFolder(): CatalogueFolder {
  const read = <T>(file: string) => JSON.parse(readAssetText(`${SHIPPED_FOLDER}/${file}`)) as T
  return {
    internet: toInternetFiles(assets.list(SHIPPED_FOLDER)).map((file) => read<InternetFile>(file)),
    sme: read<SmeFile>(SME),
    tv: TV.map((file) => read<TvFile>(file)),
  }
}

export function toInternetFiles(names: readonly string[]) {
  return names
    .filter((file) => file.endsWith('.json') && !file.startsWith('.') && file !== SME && !TV.includes(file))
    .sort()
}
