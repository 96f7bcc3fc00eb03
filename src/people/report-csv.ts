import { toCsvLine } from '../contract/csv.ts'
import type { PersonReport } from '../contract/person-report.ts'
import { toReportSections } from './report-sections.ts'

/** One cell of the report a line: section, row, column, value. */
export const toReportCsv = (report: PersonReport): string =>
  [
    toCsvLine(['section', 'row', 'column', 'value']),
    ...toReportSections(report).flatMap(({ title, columns, rows }) =>
      rows.flatMap((cells, index) =>
        cells.map((cell, column) => toCsvLine([title, index + 1, columns[column], cell])),
      ),
    ),
  ].join('')
