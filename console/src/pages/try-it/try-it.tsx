import { useState } from 'preact/hooks'
import type { TryForms } from '../../../../src/admin/try.ts'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { toOperation } from '../../format.ts'
import { useQuery } from '../../use-query.ts'
import { OperationForm } from './operation-form.tsx'

export function TryIt() {
  const query = useQuery<TryForms>('/admin/try')
  return <QueryResult query={query}>{(forms) => <Operations forms={forms} />}</QueryResult>
}

function Operations({ forms }: { forms: TryForms }) {
  const [name, setName] = useState(forms.operations[0]?.operation ?? '')
  const [key, setKey] = useState('')
  const form = forms.operations.find(({ operation }) => operation === name)
  if (!form) return <Empty>There are no operations.</Empty>
  return (
    <>
      <fieldset class="tabs">
        <legend class="visually-hidden">Operation</legend>
        {forms.operations.map(({ operation }) => (
          <button
            key={operation}
            type="button"
            class="plain"
            aria-pressed={operation === name}
            onClick={() => setName(operation)}
          >
            {toOperation(operation)}
          </button>
        ))}
      </fieldset>
      <OperationForm key={name} form={form} forms={forms} apiKey={key} onKey={setKey} />
    </>
  )
}
