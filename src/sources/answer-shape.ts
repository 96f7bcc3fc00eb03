/**
 * The shape of a vendor's answer, which contains nothing of the person and may be sent to others: letters are A, digits are 9, and
 * lengths are kept. A number is "number 999", so that its type can be seen; no shape of a text has small letters.
 *
 * Names of members are kept as far as they consist of words that members usually have, or that the vendor file names. Any other word
 * may be the name of a person, and becomes its shape. `personal` are texts that are never kept, such as a first name that is also a word.
 */
export function toAnswerShape(answer: unknown, names: NamesToKeep = {}): unknown {
  const toName = createNameShaper(names)
  const shapeOf = (value: unknown, depth: number): unknown => {
    if (value === null || typeof value === 'boolean') return value
    if (typeof value === 'string') return toTextShape(value)
    if (typeof value === 'number') return `number ${toTextShape(String(value))}`
    if (typeof value !== 'object') return 'nothing'
    if (depth === MAX_DEPTH) return 'too deep'
    const shapeInside = (inner: unknown) => shapeOf(inner, depth + 1)
    if (Array.isArray(value)) return toItems(value, shapeInside)
    return toMembers(Object.entries(value), toName, shapeInside)
  }
  return shapeOf(answer, 0)
}

type NamesToKeep = { readonly known?: readonly string[]; readonly personal?: readonly string[] }

/** The name of a member, of which only known words are kept. */
export function createNameShaper({ known = [], personal = [] }: NamesToKeep): (name: string) => string {
  const words = new Set([...WORDS, ...known.flatMap(splitWords).filter((word) => /^[a-z]{2,20}$/.test(word))])
  const hidden = new Set(personal.map((text) => text.trim().toLowerCase()))
  const isKnown = (word: string) =>
    !hidden.has(word) &&
    (words.has(word) || words.has(word.replace(/s$/, '')) || isCompound(word, words, hidden))
  return (name) => {
    if (name.length > MAX_LENGTH || hidden.has(name.toLowerCase())) return toTextShape(name)
    const keepsDigits = (name.match(/\p{N}/gu)?.length ?? 0) <= MAX_DIGITS
    return name.replaceAll(/[\p{L}\p{M}]+|\p{N}+|[^\p{L}\p{M}\p{N}]+/gu, (part) =>
      keepsDigits && /^\d+$/.test(part) ? part : toNamePart(part, isKnown),
    )
  }
}

const MAX_LENGTH = 64
/** In the name of a member: `address_line_1` keeps its digit. */
const MAX_DIGITS = 2
const MAX_ITEMS = 20
const MAX_MEMBERS = 300
const MAX_DEPTH = 20

const toItems = (items: readonly unknown[], toValue: (value: unknown) => unknown) => [
  ...items.slice(0, MAX_ITEMS).map(toValue),
  ...(items.length > MAX_ITEMS ? [`length ${items.length}`] : []),
]

/** Members whose names have the same shape are counted, so that none is lost. */
function toMembers(
  entries: readonly (readonly [string, unknown])[],
  toName: (name: string) => string,
  toValue: (value: unknown) => unknown,
): object {
  const members = new Map<string, unknown>()
  for (const [name, value] of entries.slice(0, MAX_MEMBERS)) {
    const shape = toName(name)
    let place = shape
    for (let count = 2; members.has(place); count++) place = `${shape} (${count})`
    members.set(place, toValue(value))
  }
  if (entries.length > MAX_MEMBERS) members.set('length', entries.length)
  return Object.fromEntries(members)
}

const toTextShape = (text: string) => {
  const shape = [...text.slice(0, MAX_LENGTH)].map(toCharacterShape).join('')
  return text.length > MAX_LENGTH ? `${shape}… length ${text.length}` : shape
}

function toCharacterShape(character: string): string {
  if (/[\p{L}\p{M}]/u.test(character)) return 'A'
  if (/\p{N}/u.test(character)) return '9'
  if (/\s/.test(character)) return ' '
  return /[!-~]/.test(character) ? character : '?'
}

/** A run of letters, of digits, or of signs. */
function toNamePart(part: string, isKnown: (word: string) => boolean): string {
  if (!/^[A-Za-z]+$/.test(part)) return toTextShape(part)
  return part.replaceAll(WORD, (word) => (isKnown(word.toLowerCase()) ? word : toTextShape(word)))
}

/** firstName is first and Name; NINData is NIN and Data. */
const WORD = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]/g

const splitWords = (text: string) => (text.match(WORD) ?? []).map((word) => word.toLowerCase())

/** `birthcountry` is two words. Short words do not count: Toby is a name. */
function isCompound(word: string, words: ReadonlySet<string>, hidden: ReadonlySet<string>): boolean {
  const isPart = (part: string) => part.length >= 3 && words.has(part) && !hidden.has(part)
  for (let end = 3; end <= word.length - 3; end++) {
    const rest = word.slice(end)
    if (isPart(word.slice(0, end)) && (isPart(rest) || isCompound(rest, words, hidden))) return true
  }
  return false
}

/** No given name or surname that is usual in Nigeria, except `success` and `state`, without which no answer can be understood. */
const WORDS: ReadonlySet<string> = new Set(
  `account action active additional address adress alias amount api app applicant application area attempt attribute authority
  available back balance bank base between billing birth body branch bvn capture card category central channel charge check checks city
  client code codes comment company complete completed confidence consent contact content cost count country created creation currency
  customer data date day description detail details device digit director display district doc document documents dob
  education educational email employer employment endpoint enrolment enrollment entity entry error errors exists expired expires
  expiry extra face family father field fields file first firstname flag foreign formatted found front full fullname gender
  given group guardian has head health height heigth history holder home house id identification identity image
  indigene info information input is issue issued issuer item items job key kin kind kyc landmark lang language last lastname
  length letter level message msg levels lga license line linked list local location maiden mail map marital match matched matches meta method middle
  middlename missing mobile mode month mother name names nation nationality native next nickname nin no nok nspoken number
  occupation of office old on operation organisation origin original ospoken other output owner page parent parents partner passport
  path payload payment permanent person personal phone photo picture place policy position postal presence previous price product
  profession profile provider province psurname purpose query reason record records ref reference region registered registration
  relation relationship religion remark request requested required residence residential response result results sandbox score search
  second secondary section self session sex signature size social source spoken spouse staff state status street string sub subject
  success successful suffix summary surname system tag tax telephone telephoneno tel time timestamp title token total town tracking
  transaction type unique unit updated url user username valid validation value values vendor verification verified verify version
  agent all alternate avatar by call documentno expiration final insight institution job json link liveness metadata module param
  parameter passed percentage raw retrieved return selfie service should smile stamp text trusted ts userid
  village vnin voter wallet watch watchlist watchlisted listed year zip zone`.split(/\s+/),
)
