import { useState } from 'preact/hooks'
import type { ErasedPerson } from '../../../src/admin/shapes/people.ts'
import type { PersonReport } from '../../../src/contract/person-report.ts'
import { useAppContext, useHasRole } from '../app-context.ts'
import { SubmitButton } from '../components/dialog.tsx'
import { ErrorNote } from '../components/error-note.tsx'
import { SecretField, SelectField, TextField } from '../components/field.tsx'
import { Panel } from '../components/panel.tsx'
import { ErasedPanel, type PersonQuery, ReportView } from '../components/person-report.tsx'
import { NUMBER_KINDS } from '../number-kinds.ts'
import { peopleTexts as texts } from '../texts/en/people.ts'
import { useMutation } from '../use-mutation.ts'

type Shown = { readonly query: PersonQuery; readonly report: PersonReport }

/** The number is in no address: it is sent in the body of a POST and kept only while the page is open. */
export function People() {
  const isOperator = useHasRole('operator')
  const [shown, setShown] = useState<Shown>()
  const [erased, setErased] = useState<ErasedPerson>()
  if (!isOperator) return <p class="dim">{texts.needsOperator}</p>
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
    <Panel title={texts.ask}>
      <form
        class="bar ends"
        onSubmit={(event) => {
          event.preventDefault()
          ask.run()
        }}
      >
        <SelectField
          label={texts.type}
          value={query.kind}
          onValue={(kind) => setQuery({ ...query, kind })}
          options={NUMBER_KINDS}
        />
        <SecretField
          label={texts.number}
          value={query.number}
          onValue={(number) => setQuery({ ...query, number })}
          placeholder={texts.numberHint}
          maxLength={20}
          error={ask.error?.fields.number}
          required
        />
        <TextField
          label={texts.reason}
          value={reason}
          onValue={setReason}
          help={texts.reasonHelp}
          error={ask.error?.fields.reason}
          minLength={10}
          maxLength={200}
          autocomplete="off"
          required
        />
        <SubmitButton isBusy={ask.isBusy}>{texts.make}</SubmitButton>
      </form>
      <p class="dim">
        {texts.askNote} {texts.otherNumber}
      </p>
      <ErrorNote error={ask.error} />
    </Panel>
  )
}
