import { useState } from 'preact/hooks'
import type { ErasedPerson } from '../../../src/admin/shapes/people.ts'
import type { PersonReport } from '../../../src/contract/person-report.ts'
import { toReportCsv } from '../../../src/people/report-csv.ts'
import { toReportPage } from '../../../src/people/report-page.ts'
import { type ReportSection, toReportSections } from '../../../src/people/report-sections.ts'
import { useHasRole } from '../app-context.ts'
import { saveFile } from '../save-file.ts'
import { peopleTexts as texts } from '../texts/en/people.ts'
import { Facts } from './facts.tsx'
import { Panel } from './panel.tsx'
import { PersonDialog } from './person-dialog.tsx'
import { Empty } from './query-result.tsx'
import { Table } from './table.tsx'

export type PersonQuery = { readonly kind: string; readonly number: string }

type ReportProps = {
  readonly query: PersonQuery
  readonly report: PersonReport
  readonly onReport: (report: PersonReport) => void
  readonly onErased: (erased: ErasedPerson) => void
  readonly onHide: () => void
}

const SAVED = [
  { text: texts.saveJson, name: 'report.json', type: 'application/json', toText: toJson },
  { text: texts.saveCsv, name: 'report.csv', type: 'text/csv', toText: toReportCsv },
  { text: texts.savePage, name: 'report.html', type: 'text/html', toText: toReportPage },
] as const

function toJson(report: PersonReport): string {
  return `${JSON.stringify(report, undefined, 2)}\n`
}

export function ReportView({ query, report, onReport, onErased, onHide }: ReportProps) {
  const isOwner = useHasRole('owner')
  const [open, setOpen] = useState<'reveal' | 'erase'>()
  const close = () => setOpen(undefined)
  return (
    <>
      <div class="bar">
        {isOwner && report.values === 'hidden' && (
          <button type="button" onClick={() => setOpen('reveal')}>
            {texts.showValues}
          </button>
        )}
        {SAVED.map(({ text, name, type, toText }) => (
          <button key={name} type="button" class="plain" onClick={() => saveFile(name, type, toText(report))}>
            {text}
          </button>
        ))}
        <button type="button" class="plain" onClick={onHide}>
          {texts.hide}
        </button>
        {isOwner && (
          <button type="button" class="danger" onClick={() => setOpen('erase')}>
            {texts.erase}
          </button>
        )}
      </div>
      {toReportSections(report).map((section) => (
        <Section key={section.title} section={section} />
      ))}
      {open === 'reveal' && (
        <PersonDialog<PersonReport>
          title={texts.showTitle}
          note={texts.showNote}
          verb={texts.showVerb}
          path="/admin/people/reveal"
          query={query}
          onClose={close}
          onDone={onReport}
        />
      )}
      {open === 'erase' && (
        <PersonDialog<ErasedPerson>
          title={texts.eraseTitle}
          note={texts.eraseNote}
          verb={texts.eraseVerb}
          path="/admin/people/erase"
          query={query}
          isDanger
          onClose={close}
          onDone={onErased}
        />
      )}
    </>
  )
}

function Section({ section: { title, columns, rows, ifEmpty } }: { section: ReportSection }) {
  return (
    <Panel title={title}>
      {rows.length === 0 ? (
        <Empty>
          <p>{ifEmpty}</p>
        </Empty>
      ) : (
        <Table
          label={title}
          columns={columns.map((column, index) => ({
            title: column,
            cell: (row: { cells: readonly string[] }) => <span class="breaks">{row.cells[index]}</span>,
          }))}
          rows={rows.map((cells, index) => ({ cells, index }))}
          keyOf={({ index }) => index}
        />
      )}
    </Panel>
  )
}

export function ErasedPanel({ erased }: { erased: ErasedPerson }) {
  const { remains, is_in_file: isInFile, ...counts } = erased
  const found = Object.entries(counts).filter(([, count]) => count > 0)
  return (
    <Panel title={texts.erasedTitle}>
      <div role="status">
        {found.length === 0 ? (
          <p>{texts.erasedNothing}</p>
        ) : (
          <Facts
            facts={found.map(
              ([name, count]) => [texts.counts[name as keyof typeof texts.counts], count] as const,
            )}
          />
        )}
        {!isInFile && <p class="note warn">{texts.notInFile}</p>}
        <h3>{texts.remains}</h3>
        <ul>
          {remains.map(({ what, why }) => (
            <li key={what}>
              {what}. <span class="dim">{why}</span>
            </li>
          ))}
        </ul>
      </div>
    </Panel>
  )
}
