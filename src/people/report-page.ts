import type { PersonReport } from '../contract/person-report.ts'
import { type ReportSection, toReportSections } from './report-sections.ts'

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
