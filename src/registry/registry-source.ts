import type { BvnRecord } from '../contract/bvn.ts'
import type { NinRecord } from '../contract/nin.ts'
import { toLocalPhone } from '../contract/person.ts'
import type { Kind } from '../crypto/mac.ts'
import type { RecordQuestion, RecordRows } from '../sources/lookup.ts'
import { type Answer, type LocalSource, type Source, SourceError } from '../sources/source.ts'
import { toPictureMark } from './media-link.ts'
import type { Entry } from './record-codec.ts'
import type { Registry } from './registry.ts'

/** The registry as a source. */
export function toRegistrySource({ find, open, toQuestion, isEmpty }: Registry): Source {
  return createRegistrySource({
    isEmpty,
    findBvn: async (bvn) => (await find('bvn', bvn))?.record,
    findNin: async (nin) => toNinRecord(await find('nin', nin)),
    local: {
      toQuestion,
      openBvn: (bvn, rows) => {
        const entry = open('bvn', bvn, rows)
        return entry instanceof Promise ? entry.then((opened) => opened?.record) : entry?.record
      },
      openNin: (nin, rows) => {
        const entry = open('nin', nin, rows)
        return entry instanceof Promise ? entry.then(toNinRecord) : toNinRecord(entry)
      },
    },
  })
}

/** The link to the picture is made for each API key: see media-link.ts. */
function toNinRecord(entry: Entry<'nin'> | undefined): NinRecord | undefined {
  if (!entry) return undefined
  const { record, mediaId } = entry
  return { ...record, personal_info: { ...record.personal_info, image_url: toPictureMark(mediaId) } }
}

type RegistryReader = {
  readonly findNin: (nin: string) => Promise<NinRecord | undefined>
  readonly findBvn: (bvn: string) => Promise<BvnRecord | undefined>
  readonly isEmpty: (kind: Kind) => boolean | Promise<boolean>
  readonly local?: LocalReader
}

/** The same from rows that were read before. */
type LocalReader = {
  readonly toQuestion: (kind: Kind, number: string) => RecordQuestion
  readonly openNin: (nin: string, rows: RecordRows) => Opened<NinRecord>
  readonly openBvn: (bvn: string, rows: RecordRows) => Opened<BvnRecord>
}

type Opened<T> = T | undefined | Promise<T | undefined>

/**
 * A masked second phone may be the requested one, so neither answer is certain. The first phone is never masked: the import
 * refuses that.
 */
function requireReadable(
  { personal_info: { phone_number, phone_number_2 } }: BvnRecord,
  phone: string,
): void {
  if (!phone_number_2?.startsWith('*') || phone_number === toLocalPhone(phone)) return
  throw new SourceError('registry', 'bad_response', { problem: 'mixed_phones' })
}

/** The operator's own records. An empty registry fails instead of answering "not found". */
export function createRegistrySource({ findNin, findBvn, isEmpty, local }: RegistryReader): Source {
  const refuseEmpty = async (kind: Kind) => {
    if (await isEmpty(kind)) throw new SourceError('registry', 'unreachable')
  }
  return {
    name: 'registry',
    findNin: async ({ nin }) => {
      await refuseEmpty('nin')
      return toAnswer(await findNin(nin))
    },
    findBvn: async ({ bvn, phone }) => {
      await refuseEmpty('bvn')
      return toReadableAnswer(await findBvn(bvn), phone)
    },
    ...(local && { local: createLocalSource(local, isEmpty) }),
  }
}

function createLocalSource(
  { toQuestion, openNin, openBvn }: LocalReader,
  isEmpty: RegistryReader['isEmpty'],
): LocalSource {
  const find = <T>(kind: Kind, open: () => Opened<T>, toFound: (record: T | undefined) => Answer<T>) => {
    const empty = isEmpty(kind)
    const record = empty === false ? open() : findUnlessEmpty(empty, open)
    return record instanceof Promise ? record.then(toFound) : toFound(record)
  }
  return {
    toQuestion,
    findNin: ({ nin }, rows) => find('nin', () => openNin(nin, rows), toAnswer),
    findBvn: ({ bvn, phone }, rows) =>
      find(
        'bvn',
        () => openBvn(bvn, rows),
        (record) => toReadableAnswer(record, phone),
      ),
  }
}

async function findUnlessEmpty<T>(empty: boolean | Promise<boolean>, open: () => Opened<T>) {
  if (await empty) throw new SourceError('registry', 'unreachable')
  return open()
}

const toAnswer = <T>(record: T | undefined): Answer<T> =>
  record === undefined ? { found: false } : { found: true, record }

function toReadableAnswer(record: BvnRecord | undefined, phone: string): Answer<BvnRecord> {
  if (record) requireReadable(record, phone)
  return toAnswer(record)
}
