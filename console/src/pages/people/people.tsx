import { useEffect, useState } from 'preact/hooks'
import type { ErasedPerson } from '../../../../src/admin/people.ts'
import type { PersonReport } from '../../../../src/contract/person-report.ts'
import { type ReportCard, type ReportPart, toReportParts } from '../../../../src/people/report-cards.ts'
import { REPORT_STYLE, toReportCsv, toReportPage } from '../../../../src/people/report-formats.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { SubmitButton } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { Facts } from '../../components/facts.tsx'
import { SecretField, SelectField, TextField } from '../../components/field.tsx'
import { GuideLink } from '../../components/guide-link.tsx'
import { Panel } from '../../components/panel.tsx'
import { PersonDialog } from '../../components/person-dialog.tsx'
import { Pill, toOutcomeTone } from '../../components/pill.tsx'
import { toCount, toWords } from '../../format.ts'
import { toGuide } from '../../guide.ts'
import { toHash } from '../../hash.ts'
import { NUMBER_KINDS } from '../../number-kinds.ts'
import { saveFile } from '../../save-file.ts'
import { useMutation } from '../../use-mutation.ts'

type Shown = { readonly query: PersonQuery; readonly report: PersonReport }

/** The number is in no address: it is sent in the body of a POST and kept only while the page is open. */
export function People() {
  const isOperator = useHasRole('operator')
  const [shown, setShown] = useState<Shown>()
  const [erased, setErased] = useState<ErasedPerson>()
  if (!isOperator)
    return <p class="dim">Your role cannot make reports about people. That needs the role operator.</p>
  return (
    <>
      <AskForm
        onReport={(query, report) => {
          setErased(undefined)
          setShown(report && { query, report })
        }}
      />
      {erased && <ErasedPanel erased={erased} />}
      {shown && (
        <ReportView
          key={shown.report.generated_at}
          {...shown}
          onReport={(report) => setShown({ query: shown.query, report })}
          onErased={(result) => {
            setShown(undefined)
            setErased(result)
          }}
          onHide={() => setShown(undefined)}
        />
      )}
    </>
  )
}

function AskForm({ onReport }: { onReport: (query: PersonQuery, report?: PersonReport) => void }) {
  const { api } = useAppContext()
  const [query, setQuery] = useState<PersonQuery>({ kind: 'nin', number: '' })
  const [reason, setReason] = useState('')
  const ask = useMutation(async () => {
    const asked = { ...query, number: query.number.replace(/\s/g, '') }
    onReport(asked)
    onReport(asked, await api.post<PersonReport>('/admin/people/report', { ...asked, reason: reason.trim() }))
  })
  return (
    <Panel title="Report about a person">
      <form
        class="bar ends"
        onSubmit={(event) => {
          event.preventDefault()
          ask.run()
        }}
      >
        <SelectField
          label="Type"
          value={query.kind}
          onValue={(kind) => setQuery({ ...query, kind })}
          options={NUMBER_KINDS}
        />
        <SecretField
          label="Number"
          value={query.number}
          onValue={(number) => setQuery({ ...query, number })}
          placeholder="11 digits"
          maxLength={20}
          error={ask.error?.fields.number}
          required
        />
        <TextField
          label="Reason"
          value={reason}
          onValue={setReason}
          help="10 to 200 characters. No names or numbers: the audit log cannot be edited."
          error={ask.error?.fields.reason}
          minLength={10}
          maxLength={200}
          autocomplete="off"
          required
        />
        <SubmitButton isBusy={ask.isBusy}>Make the report</SubmitButton>
      </form>
      <p class="dim">
        What is held about a person, who asked and what was released. Each report is written to the audit log
        with its reason. A report by NIN does not know the BVN, and a report by BVN does not know the NIN.
        Make one for each number.{' '}
        <GuideLink to={toGuide('people')}>More about the rights of people</GuideLink>
      </p>
      <ErrorNote error={ask.error} />
    </Panel>
  )
}

const COUNTS = {
  records: 'Records',
  pictures: 'Pictures',
  kept_answers: 'Kept answers',
  reused_results: 'Reused results',
  queued_verifications: 'Queued verifications',
  batch_labels: 'Words of callers in batches',
} as const

type PersonQuery = { readonly kind: string; readonly number: string }

type ReportProps = {
  readonly query: PersonQuery
  readonly report: PersonReport
  readonly onReport: (report: PersonReport) => void
  readonly onErased: (erased: ErasedPerson) => void
  readonly onHide: () => void
}

const SAVED = [
  { text: 'Save as JSON', name: 'report.json', type: 'application/json', toText: toJson },
  { text: 'Save as CSV', name: 'report.csv', type: 'text/csv', toText: toReportCsv },
  { text: 'Save as document', name: 'report.html', type: 'text/html', toText: toReportPage },
] as const

function toJson(report: PersonReport): string {
  return `${JSON.stringify(report, undefined, 2)}\n`
}

function ReportView({ query, report, onReport, onErased, onHide }: ReportProps) {
  const isOwner = useHasRole('owner')
  const [open, setOpen] = useState<'reveal' | 'erase'>()
  const close = () => setOpen(undefined)
  return (
    <>
      <div class="bar">
        {isOwner && report.values === 'hidden' && (
          <button type="button" onClick={() => setOpen('reveal')}>
            Show values…
          </button>
        )}
        <button type="button" onClick={() => print()}>
          Print
        </button>
        {SAVED.map(({ text, name, type, toText }) => (
          <button key={name} type="button" class="plain" onClick={() => saveFile(name, type, toText(report))}>
            {text}
          </button>
        ))}
        <button type="button" class="plain" onClick={onHide}>
          Hide the report
        </button>
        {isOwner && (
          <button type="button" class="danger" onClick={() => setOpen('erase')}>
            Erase this person…
          </button>
        )}
      </div>
      <Report report={report} />
      {open === 'reveal' && (
        <PersonDialog<PersonReport>
          title="Show the values of this report?"
          note="The report is made again, with personal data in the clear. Your name, the reason and the time are written to the audit log."
          verb="Show values"
          path="/admin/people/reveal"
          query={query}
          onClose={close}
          onDone={onReport}
        />
      )}
      {open === 'erase' && (
        <PersonDialog<ErasedPerson>
          title="Erase all data about this person?"
          note="The record, the picture, kept answers, pending questions, rows of batches and reused results are erased at once. This cannot be undone. Your name, the reason and the time are written to the audit log."
          verb="Erase"
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

/** As it is printed. */
function Report({ report }: { report: PersonReport }) {
  usePrintLayout()
  const [name, ...lines] = report.organisation
  const { picture } = report.held
  return (
    <div class="report">
      {name === undefined ? (
        <p class="dim no-print">
          Set TABBAT_ORGANISATION to have the name and address of your organisation at the head of the printed
          report.
        </p>
      ) : (
        <address class="print-only">
          <strong>{name}</strong>
          {lines.map((line) => (
            <div key={line}>{line}</div>
          ))}
        </address>
      )}
      <h1 class="print-only">Report about a person</h1>
      {picture?.base64 && (
        <img
          class="print-only"
          alt="In the registry"
          src={`data:${picture.media_type};base64,${picture.base64}`}
        />
      )}
      {toReportParts(report).map((part) => (
        <Part key={part.title} part={part} />
      ))}
    </div>
  )
}

/** The content security policy allows no inline styles, but it allows this. */
function usePrintLayout(): void {
  useEffect(() => {
    const sheet = new CSSStyleSheet({ media: 'print' })
    sheet.replaceSync(REPORT_STYLE)
    document.adoptedStyleSheets.push(sheet)
    return () => {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet)
    }
  }, [])
}

/** A number that a client uses in its tests may have thousands of look-ups. */
const MAX_CARDS = 100

function Part({ part: { title, cards, notes } }: { part: ReportPart }) {
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? cards : cards.slice(0, MAX_CARDS)
  return (
    <Panel title={title}>
      {shown.map((card, index) => (
        <Card key={index} card={card} />
      ))}
      {shown.length < cards.length && (
        <p>
          These are the first {toCount(shown.length)} of {toCount(cards.length)}.{' '}
          <button type="button" class="small no-print" onClick={() => setWhole(true)}>
            Show all
          </button>
        </p>
      )}
      {notes.map((note) => (
        <p key={note} class="dim">
          {note}
        </p>
      ))}
    </Panel>
  )
}

function Card({ card: { title, outcome, facts, reference } }: { card: ReportCard }) {
  return (
    <article>
      <div class="bar">
        <h3>{title}</h3>
        {outcome && <Pill tone={toOutcomeTone(outcome)}>{toWords(outcome)}</Pill>}
        {reference && (
          <a class="push no-print" href={toHash('audit', reference)} aria-label={`Timeline of ${reference}`}>
            Timeline
          </a>
        )}
      </div>
      <Facts facts={facts} />
    </article>
  )
}

function ErasedPanel({ erased }: { erased: ErasedPerson }) {
  const { remains, is_in_file: isInFile, ...counts } = erased
  const found = Object.entries(counts).filter(([, count]) => count > 0)
  return (
    <Panel title="Erased">
      <div role="status">
        {found.length === 0 ? (
          <p>No data was stored under this number. Nothing was erased.</p>
        ) : (
          <Facts
            facts={found.map(([name, count]) => [COUNTS[name as keyof typeof COUNTS], count] as const)}
          />
        )}
        {!isInFile && (
          <p class="note warn">
            The erasure is not in erasures.log yet. A server adds it within a minute, if it can write there.
            Without it, a restore of an older backup brings the person back.
          </p>
        )}
        <h3>What remains, and why</h3>
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
