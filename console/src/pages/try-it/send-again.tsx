import type { ComponentChildren } from 'preact'
import type { AuditTimeline } from '../../../../src/admin/audit.ts'
import type { RequestList, RequestView } from '../../../../src/admin/requests.ts'
import type { TryForm, TryForms } from '../../../../src/admin/try.ts'
import { KeyLink } from '../../components/object-page.tsx'
import { Loading, QueryResult } from '../../components/query-result.tsx'
import { StatusPill } from '../../components/request-rows.tsx'
import { toHash } from '../../hash.ts'
import { useQuery } from '../../use-query.ts'

/** What the logs know of a request. Numbers, phones, names and keys are in none. */
export type Known = {
  readonly request: RequestView
  readonly input: Readonly<Record<string, string>>
  readonly headers: Readonly<Record<string, string>>
}

type SentAgainProps = {
  readonly id: string
  readonly children: (known: Known | undefined) => ComponentChildren
}

/** Reads what is known of a request. */
export function SentAgain({ id, children }: SentAgainProps) {
  const query = useQuery<RequestList>(`/admin/requests?${new URLSearchParams({ request_id: id })}`)
  return (
    <QueryResult query={query}>
      {({ rows: [request] }) => {
        if (!request)
          return (
            <>
              <p class="note warn">The request log does not have this request any more.</p>
              {children(undefined)}
            </>
          )
        const { request_reference: reference } = request
        if (reference === null) return <>{children({ request, input: {}, headers: {} })}</>
        return (
          <WithTimeline request={request} reference={reference}>
            {children}
          </WithTimeline>
        )
      }}
    </QueryResult>
  )
}

type WithTimelineProps = {
  readonly request: RequestView
  readonly reference: string
  readonly children: SentAgainProps['children']
}

/** The audit log has the purpose, the consent and the amount, unless the request was refused before anybody was looked up. */
function WithTimeline({ request, reference, children }: WithTimelineProps) {
  const query = useQuery<AuditTimeline>(`/admin/audit/timelines/${encodeURIComponent(reference)}`)
  if (!query.value && !query.error) return <Loading />
  return <>{children(toKnown(request, query.value))}</>
}

function toKnown(request: RequestView, timeline: AuditTimeline | undefined): Known {
  const rows = timeline?.rows ?? []
  const find = (name: 'amount' | 'consent_reference') => rows.find((row) => row[name])?.[name]
  return {
    request,
    input: toGiven({ amount: find('amount') }),
    headers: toGiven({
      'X-Purpose': timeline?.purpose,
      'X-Consent-Reference': find('consent_reference'),
      // A verification that began in the queue was asked for so.
      Prefer: rows[0]?.phase === 'queued' ? 'respond-async' : null,
    }),
  }
}

const toGiven = (values: Readonly<Record<string, string | null | undefined>>) =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => Boolean(entry[1])))

type AgainNoteProps = { readonly known: Known; readonly form: TryForm; readonly forms: TryForms }

/** Says what is filled in and what must be typed again. */
export function AgainNote({ known: { request, input }, form, forms }: AgainNoteProps) {
  const unknown = form.fields.filter(({ name }) => input[name] === undefined)
  const toNames = (isRequired: boolean) =>
    unknown.flatMap(({ name, required }) => (required === isRequired ? [name] : [])).join(', ')
  const isSandbox = forms.sandbox_key?.slice(KEY_ID.from, KEY_ID.to) === request.key_id
  return (
    <div class="note" role="status">
      <p>
        As the request{' '}
        <a class="breaks" href={toHash('requests', request.request_id)}>
          {request.request_id}
        </a>
        , which got <StatusPill request={request} />, with the key{' '}
        <KeyLink id={request.key_id} name={request.key_name} />.
      </p>
      {unknown.length > 0 && (
        <p>
          Type again: <b>{toNames(true)}</b>
          {toNames(false) !== '' && `; if they were sent, also ${toNames(false)}`}. No log has what was sent
          in them.
        </p>
      )}
      <p>
        {isSandbox
          ? 'The key was the public sandbox key: leave the field empty. '
          : 'Enter the key as well: it is stored nowhere. '}
        {form.headers.length > 0 &&
          'An Idempotency-Key is stored as a hash only. Without the same one, this is a new verification, which may be billed.'}
      </p>
    </div>
  )
}

/** Where a key has its public id: `tbt_test_` is before it. */
const KEY_ID = { from: 9, to: 17 }
