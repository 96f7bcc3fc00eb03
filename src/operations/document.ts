import { hash } from 'node:crypto'

/** A response that is the same for all callers until the catalogue changes: serialised once, with its ETag. */
export class Document {
  readonly bytes: Buffer
  readonly etag: string
  /** Name, value, name, value. */
  readonly headers: readonly string[]

  constructor(body: object) {
    this.bytes = Buffer.from(JSON.stringify(body))
    this.etag = `"${hash('sha256', this.bytes, 'base64url').slice(0, 27)}"`
    this.headers = [
      'cache-control',
      'private',
      'etag',
      this.etag,
      'content-type',
      'application/json; charset=utf-8',
    ]
  }

  /** Whether the client's copy is current. */
  isCurrent(ifNoneMatch: string | undefined): boolean {
    if (ifNoneMatch === undefined) return false
    return ifNoneMatch
      .split(',')
      .some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === this.etag)
  }
}

const documents = new WeakMap<object, Document>()

/** One document per list. A new catalogue has new lists, so an old response is never served for it. */
export function toDocument(list: object, toBody: () => object): Document {
  const known = documents.get(list)
  if (known) return known
  const document = new Document(toBody())
  documents.set(list, document)
  return document
}
