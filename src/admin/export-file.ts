import { toCsvLine } from '../contract/csv.ts'
import { WithHeaders } from './route.ts'
import { createPace } from './stream-limit.ts'

/** For all exports of this process. */
const pace = createPace()

/** A file that a browser saves while it arrives. */
export function toFile(pieces: AsyncIterable<string>, title: string, format: 'csv' | 'ndjson') {
  const name = `${title}-${new Date().toISOString().slice(0, 10)}.${format}`
  return new WithHeaders(pace(pieces), ['content-disposition', `attachment; filename="${name}"`])
}

type Columns<Row> = Readonly<Record<string, (row: Row) => unknown>>

type CsvExport<Row, Position> = {
  readonly title: string
  readonly columns: Columns<Row>
  /** The newest first; `next` is undefined on the last page. */
  readonly readPage: (
    before: Position | undefined,
  ) => Promise<{ readonly rows: readonly Row[]; readonly next: Position | undefined }>
}

/** All pages of a list as one CSV file. */
export const toCsvFile = <Row, Position>(wanted: CsvExport<Row, Position>) =>
  toFile(toCsvPieces(wanted), wanted.title, 'csv')

async function* toCsvPieces<Row, Position>(wanted: CsvExport<Row, Position>): AsyncIterable<string> {
  const { columns, readPage } = wanted
  yield toCsvLine(Object.keys(columns))
  let before: Position | undefined
  do {
    const { rows, next } = await readPage(before)
    const read = Object.values(columns)
    yield rows.map((row) => toCsvLine(read.map((toCell) => toCell(row)))).join('')
    before = next
  } while (before !== undefined)
}
