import { useCallback, useState } from 'preact/hooks'
import type { RecordCounts, RecordView } from '../../../../src/admin/records.ts'
import type { Static } from '../../../../src/contract/schema.ts'
import { useAppContext, useHasRole } from '../../app-context.ts'
import { SubmitButton } from '../../components/dialog.tsx'
import { ErrorNote } from '../../components/error-note.tsx'
import { SecretField, SelectField } from '../../components/field.tsx'
import { Panel } from '../../components/panel.tsx'
import { Empty, QueryResult } from '../../components/query-result.tsx'
import { toCount } from '../../format.ts'
import { NUMBER_KINDS } from '../../number-kinds.ts'
import { useMutation } from '../../use-mutation.ts'
import { useQuery } from '../../use-query.ts'
import { FoundRecord, type RecordQuery, type ShownRecord } from './found-record.tsx'
import { UnlockPanel } from './unlock-panel.tsx'

export function Records() {
  const query = useQuery<Static<typeof RecordCounts>>('/admin/records')
  const isOperator = useHasRole('operator')
  return (
    <>
      <Panel title="Your own records">
        <QueryResult query={query} lines={2}>
          {({ nin, bvn, pictures }) =>
            nin + bvn === 0 ? (
              <Empty>
                <p>
                  There are no records. Import them with <code>tabbat import</code>; each record is encrypted.
                </p>
              </Empty>
            ) : (
              <dl class="tiles">
                {toTiles({ nin, bvn, pictures }).map(([name, count]) => (
                  <div key={name}>
                    <dt>{name}</dt>
                    <dd>
                      <b>{toCount(count)}</b>
                    </dd>
                  </div>
                ))}
              </dl>
            )
          }
        </QueryResult>
      </Panel>
      {isOperator ? (
        <>
          <LookUp />
          <UnlockPanel />
        </>
      ) : (
        <p class="dim">Your role shows only the number of records. Looking one up needs the role operator.</p>
      )}
    </>
  )
}

const toTiles = ({ nin, bvn, pictures }: Static<typeof RecordCounts>) =>
  [
    ['NIN records', nin],
    ['BVN records', bvn],
    ['Pictures', pictures],
  ] as const

function LookUp() {
  const { api } = useAppContext()
  const [input, setInput] = useState<RecordQuery>({ kind: 'nin', number: '' })
  const [shown, setShown] = useState<ShownRecord>()
  const lookUp = useMutation(async (query: RecordQuery) => {
    setShown(undefined)
    setShown({ query, view: await api.post<RecordView>('/admin/records/lookup', query) })
  })
  const hide = useCallback(() => setShown(undefined), [])
  return (
    <Panel title="Look up a record">
      <form
        class="bar ends"
        onSubmit={(event) => {
          event.preventDefault()
          lookUp.run({ ...input, number: input.number.replace(/\s/g, '') })
        }}
      >
        <SelectField
          label="Type"
          value={input.kind}
          onValue={(kind) => setInput({ ...input, kind })}
          options={NUMBER_KINDS}
        />
        <SecretField
          label="Number"
          value={input.number}
          onValue={(number) => setInput({ ...input, number })}
          inputMode="numeric"
          placeholder="11 digits"
          maxLength={14}
        />
        <SubmitButton isBusy={lookUp.isBusy}>Look up</SubmitButton>
      </form>
      <p class="dim">Values are masked. Each look-up is written to the audit log.</p>
      <ErrorNote error={lookUp.error} />
      {shown && <FoundRecord shown={shown} onShown={setShown} onHide={hide} />}
    </Panel>
  )
}
