import { toCsvLine } from '../contract/csv.ts'
import { DEMO_NOTICE } from '../contract/demo.ts'
import type { PersonReport } from '../contract/person-report.ts'
import { type ReportCard, type ReportPart, toReportParts } from './report-cards.ts'

/** A report for the terminal. */
export const toReportText = (report: PersonReport, strong: (text: string) => string): string =>
  toReportParts(report)
    .map(({ title, cards, notes }) => [strong(title), ...cards.map(toCardText), ...notes, ''].join('\n'))
    .join('\n')

/** A value cannot begin a line of its own, nor send a command to the terminal. */
const toCardText = ({ title, facts }: ReportCard) =>
  [title, ...facts.map(([label, value]) => `  ${label}: ${value}`)]
    .map((line) => line.replaceAll(/\p{Cc}+/gu, ' '))
    .join('\n')

/** One fact of the report a line: section, row, column, value. */
export const toReportCsv = (report: PersonReport): string =>
  [
    toCsvLine(['section', 'row', 'column', 'value']),
    ...toReportParts(report).flatMap(({ title, cards, notes }) => [
      ...cards.flatMap((card, index) =>
        [['Title', card.title], ...card.facts].map(([label, value]) =>
          toCsvLine([title, index + 1, label, value]),
        ),
      ),
      ...notes.map((note) => toCsvLine([title, '', 'Note', note])),
    ]),
  ].join('')

/** A document for print: one file, without scripts and without anything to load. */
export const toReportPage = (report: PersonReport): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="robots" content="noindex">
<title>Report about a person</title>
<style>${REPORT_STYLE}${PAGE_STYLE}</style>
</head>
<body>
<main class="report">
${report.demonstration ? `<p class="demo">${DEMO_NOTICE}</p>\n` : ''}${toLetterhead(report)}<h1>Report about a person</h1>
${toPicture(report)}${toReportParts(report).map(toSection).join('\n')}
</main>
</body>
</html>
`

/** The layout on paper, here and in the console. Words are broken only if they are longer than a line. */
export const REPORT_STYLE = `
@page { size: A4; margin: 12mm 14mm }
.report { display: block; color: #111; font: 9pt/1.3 system-ui, sans-serif; overflow-wrap: break-word }
.report address { margin: 0 0 3mm; padding-bottom: 1.5mm; border-bottom: 0.3mm solid #111; font-style: normal }
.report h1 { font-size: 14pt; margin: 0 0 1mm }
.report h2 { font-size: 11pt; margin: 3mm 0 1mm; color: #111; break-after: avoid }
.report h3 { font-size: 9pt; margin: 0; color: #111 }
.report article { display: block; margin: 0 0 1mm; padding: 0.8mm 2mm; border: 0.2mm solid #999; border-radius: 1mm; background: none; box-shadow: none; break-inside: avoid }
.report dl { display: flex; flex-wrap: wrap; gap: 0 4mm; margin: 0 }
.report dl > div { display: block; max-width: 100% }
.report :is(dt, dd) { display: inline; margin: 0 }
.report dt { color: #555 }
.report dt::after { content: ": " }
.report p { margin: 0 0 1mm; color: #333 }
.report img { float: right; max-height: 40mm; margin: 0 0 2mm 4mm }
`

const PAGE_STYLE = `
.report .demo { border: 0.6mm solid #a00; padding: 2mm; margin: 0 0 4mm; color: #a00; font-weight: 700 }
body { max-width: 182mm; margin: 0 auto; padding: 8mm; background: #fff }
@media print { body { max-width: none; padding: 0 } }
`

/** The organisation that answers. */
function toLetterhead({ organisation }: PersonReport): string {
  const [name, ...lines] = organisation.map(escapeHtml)
  if (name === undefined) return ''
  return `<address><strong>${name}</strong>${lines.map((line) => `<br>${line}`).join('')}</address>\n`
}

function toPicture({ held: { picture } }: PersonReport): string {
  if (!picture || picture.base64 === null) return ''
  const source = `data:${escapeHtml(picture.media_type)};base64,${escapeHtml(picture.base64)}`
  return `<img alt="The picture in the registry" src="${source}">\n`
}

const toSection = ({ title, cards, notes }: ReportPart): string =>
  [
    `<h2>${escapeHtml(title)}</h2>`,
    ...cards.map(toCard),
    ...notes.map((note) => `<p>${escapeHtml(note)}</p>`),
  ].join('\n')

function toCard({ title, facts }: ReportCard): string {
  const items = facts.map(
    ([label, value]) => `<div><dt>${escapeHtml(label)}</dt><dd>${escapeHtml(value)}</dd></div>`,
  )
  return `<article><h3>${escapeHtml(title)}</h3><dl>${items.join('')}</dl></article>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escapeHtml = (text: string) => text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
