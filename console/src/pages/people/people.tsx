import { useState } from 'preact/hooks'
import type { ErasedPerson } from '../../../../src/admin/people.ts'
import type { PersonReport } from '../../../../src/contract/person-report.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { SubmitButton } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { SecretField, SelectField, TextField } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { NUMBER_KINDS } from '../../number-kinds.ts'
import { useMutation } from '../../use-mutation.ts'
import { ErasedPanel, type PersonQuery, ReportView } from './person-report.tsx'

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
        Make one for each number.
      </p>
      <ErrorNote error={ask.error} />
    </Panel>
  )
}
