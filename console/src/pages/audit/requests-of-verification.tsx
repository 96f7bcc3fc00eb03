import type { RequestsOfVerification } from '../../../../src/admin/requests.ts'
import { StatusPill } from '../../components/request-rows.tsx'
import { When } from '../../components/when.tsx'
import { useQuery } from '../../use-query.ts'

/** The requests of a verification, while the request log has them. */
export function RequestsOf({ reference }: { reference: string }) {
  const path = `/admin/requests/verifications/${encodeURIComponent(reference)}`
  const { value } = useQuery<RequestsOfVerification>(path)
  if (!value) return null
  return (
    <>
      <h3>Requests</h3>
      {value.requests.length === 0 && <p class="dim">The request log does not have its requests any more.</p>}
      <ul class="attempts">
        {value.requests.map((request) => (
          <li key={request.row}>
            <When at={request.time} to="exact" /> <StatusPill request={request} />{' '}
            <a href={`#/requests?request_id=${request.request_id}`}>
              <code class="breaks">{request.request_id}</code>
            </a>
          </li>
        ))}
      </ul>
    </>
  )
}
