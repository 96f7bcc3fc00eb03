import { toCsvLine } from '../contract/csv.ts'
import type { PersonReport } from '../contract/person-report.ts'
import { toLagosDate } from '../contract/time.ts'

/** A table of a report. The same for the terminal, CSV, the printed page and the console. */
export type ReportSection = {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** Instead of a table without rows. */
  readonly ifEmpty: string
}

type Field = { readonly name: string; readonly value: string }

/** A report as tables, in the order of reading. Nothing here needs Node: the console uses it too. */
export function toReportSections(report: PersonReport): ReportSection[] {
  return [toAbout(report), ...toHeldSections(report), ...toRecordedSections(report)]
}

const toAbout = (report: PersonReport): ReportSection => ({
  title: 'This report',
  columns: ['what', 'value'],
  rows: [
    ['number', `${report.kind.toUpperCase()} ${report.number}`],
    ['made at', report.generated_at],
    ['made by', report.generated_by],
    ['reason', report.reason],
    ['values', report.values === 'shown' ? 'shown' : 'hidden: only which fields are filled'],
  ],
  ifEmpty: '',
})

function toHeldSections({ held }: PersonReport): ReportSection[] {
  const { record, picture } = held
  const withFields = <T extends { readonly fields: readonly Field[] }>(
    items: readonly T[],
    toCells: (item: T) => readonly string[],
  ) => items.flatMap((item) => item.fields.map(({ name, value }) => [...toCells(item), name, value]))
  return [
    {
      title: 'Record in the registry',
      columns: ['field', 'value'],
      rows: record
        ? [
            ['day of the last import that contained it', toLagosDate(Date.parse(record.updated_at))],
            ...record.fields.map(({ name, value }) => [name, value]),
            ...(picture ? [['picture', `${picture.media_type}, ${picture.bytes} bytes`]] : []),
          ]
        : [],
      ifEmpty: 'There is no record of this number.',
    },
    {
      title: 'Answers kept under Idempotency-Keys',
      columns: ['reference', 'key', 'outcome', 'kept until', 'field', 'value'],
      rows: withFields(held.kept_answers, (kept) => [
        kept.request_reference ?? '',
        toKey(kept),
        kept.outcome ?? '',
        kept.kept_until,
      ]),
      ifEmpty: 'No answers are kept.',
    },
    {
      title: 'Pending verifications and their answers',
      columns: ['reference', 'key', 'state', 'accepted', 'kept until', 'field', 'value'],
      rows: withFields(held.queued, (queued) => [
        queued.request_reference,
        toKey(queued),
        queued.state,
        queued.accepted_at,
        queued.kept_until,
      ]),
      ifEmpty: 'None.',
    },
    {
      title: 'Rows of batches',
      columns: ['batch', 'line', 'reference', 'key', 'state', "caller's word"],
      rows: held.batch_rows.map((row) => [
        row.batch,
        String(row.line),
        row.request_reference,
        toKey(row),
        row.is_waiting ? 'waiting' : 'asked',
        row.label,
      ]),
      ifEmpty: 'None.',
    },
    {
      title: 'Results of vendors kept for reuse',
      columns: ['vendor', 'kept until', 'field', 'value'],
      rows: withFields(held.reused_results, ({ source, kept_until }) => [source, kept_until]),
      ifEmpty: 'None.',
    },
  ]
}

const toRecordedSections = (report: PersonReport): ReportSection[] => [
  {
    title: 'Who asked',
    columns: [
      'started',
      'key',
      'mode',
      'operation',
      'outcome',
      'fields released',
      'consent',
      'purpose',
      'sources',
      'given again',
      'reference',
    ],
    rows: report.requests.map((request) => [
      request.started_at,
      toKey(request),
      request.mode ?? '',
      request.operation ?? '',
      request.outcome ?? 'no outcome recorded',
      request.fields_released.join(' '),
      request.consent_reference ?? '',
      request.purpose ?? '',
      request.sources.map(({ name, result }) => `${name}: ${result}`).join(', '),
      request.replayed_at.join(' '),
      request.request_reference,
    ]),
    ifEmpty: 'The audit log has no verification of this number.',
  },
  {
    title: 'Other accesses',
    columns: ['time', 'what', 'outcome', 'detail'],
    rows: report.accesses.map(({ time, what, outcome, detail, key_name }) => [
      time,
      what,
      outcome ?? '',
      [key_name && `key ${key_name}`, detail].filter(Boolean).join('; '),
    ]),
    ifEmpty: 'None.',
  },
  {
    title: 'Erasures',
    columns: ['time'],
    rows: report.erased_at.map((time) => [time]),
    ifEmpty: 'None.',
  },
  {
    title: 'Counted under a keyed hash of the number',
    columns: ['what', 'count'],
    rows: [['failed matches of the last day', String(report.held.failed_matches)]],
    ifEmpty: '',
  },
  {
    title: 'What this report cannot know',
    columns: ['limit'],
    rows: report.limits.map((limit) => [limit]),
    ifEmpty: '',
  },
]

const toKey = ({ key_id, key_name }: { readonly key_id: string | null; readonly key_name: string | null }) =>
  key_name ?? key_id ?? ''

/** A document for print: one file, without scripts and without anything to load. */
export const toReportPage = (report: PersonReport): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="robots" content="noindex">
<title>Report about a person</title>
<style>${STYLE}</style>
</head>
<body>
<h1>Report about a person</h1>
${toPicture(report)}${toReportSections(report).map(toSection).join('\n')}
</body>
</html>
`

const STYLE = `
@page { size: A4; margin: 16mm }
body { font: 10pt/1.4 system-ui, sans-serif; color: #111; background: #fff; max-width: 190mm; margin: 0 auto; padding: 8mm }
h1 { font-size: 18pt; margin: 0 0 6mm } h2 { font-size: 12pt; margin: 7mm 0 2mm; break-after: avoid }
table { border-collapse: collapse; width: 100%; table-layout: fixed }
th, td { border: 0.2mm solid #999; padding: 1mm 1.5mm; text-align: left; vertical-align: top; overflow-wrap: anywhere; font-size: 8pt }
th { background: #eee } tr { break-inside: avoid } img { max-height: 45mm; float: right }
@media print { body { padding: 0; max-width: none } }
`

function toPicture({ held: { picture } }: PersonReport): string {
  if (!picture || picture.base64 === null) return ''
  const source = `data:${escapeHtml(picture.media_type)};base64,${escapeHtml(picture.base64)}`
  return `<img alt="The picture in the registry" src="${source}">\n`
}

function toSection({ title, columns, rows, ifEmpty }: ReportSection): string {
  const heading = `<h2>${escapeHtml(title)}</h2>`
  if (rows.length === 0) return `${heading}\n<p>${escapeHtml(ifEmpty)}</p>`
  const toRow = (cells: readonly string[], tag: 'td' | 'th') =>
    `<tr>${cells.map((cell) => `<${tag}>${escapeHtml(cell)}</${tag}>`).join('')}</tr>`
  const body = rows.map((cells) => toRow(cells, 'td')).join('\n')
  return `${heading}\n<table>\n<thead>${toRow(columns, 'th')}</thead>\n<tbody>\n${body}\n</tbody>\n</table>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escapeHtml = (text: string) => text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')

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
