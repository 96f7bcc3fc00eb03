import type { RequestList, RequestView } from '../../../../src/admin/requests.ts'
import { CodeBlock, CopyButton } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { KeyLink, ObjectPage } from '../../components/object-page.tsx'
import { Panel } from '../../components/panel.tsx'
import { StatusPill, toOperationText } from '../../components/request-rows.tsx'
import { When } from '../../components/when.tsx'
import { isTriable, toMs } from '../../format.ts'
import { toHash } from '../../hash.ts'
import { useQuery } from '../../use-query.ts'

/** One request. A caller may use an id twice: all requests with it are shown. */
export function RequestPage({ id }: { id: string }) {
  const query = useQuery<RequestList>(`/admin/requests?${new URLSearchParams({ request_id: id })}`)
  return (
    <ObjectPage list="requests" listTitle="requests" name={id} query={query} missing={<MissingRequest />}>
      {({ rows, commands, messages }) => (
        <>
          {rows.length === 0 && <MissingRequest />}
          {rows.map((request) => (
            <RequestPanel
              key={request.row}
              request={request}
              command={commands[request.operation]}
              message={messages[request.code]}
            />
          ))}
        </>
      )}
    </ObjectPage>
  )
}

const MissingRequest = () => (
  <p>
    The request log has no request with this id. It appears a few seconds after it was answered, and is
    deleted after the time of <code>TABBAT_REQUESTS_KEEP</code>.
  </p>
)

type RequestPanelProps = {
  readonly request: RequestView
  /** Undefined for an address without an operation. */
  readonly command: string | undefined
  /** The message of the error; undefined for an answer. */
  readonly message: string | undefined
}

/** All about one request, and the command to send it again. */
function RequestPanel({ request, command, message }: RequestPanelProps) {
  const { request_id: id, request_reference: reference } = request
  return (
    <Panel title="Request">
      <Facts
        facts={[
          ['Request id', <Copied key="id" text={id} what="the request id" />],
          ['Time', <When key="time" at={request.time} to="exact" />],
          ['Status', <StatusPill key="status" request={request} />],
          ...(message === undefined ? [] : [['The caller was told', message] as const]),
          ['Operation', `${request.method} ${toOperationText(request.operation)}`],
          ['Key', <KeyLink key="key" id={request.key_id} name={request.key_name} />],
          ['Mode', request.mode],
          ['Duration', toMs(request.duration_ms)],
          ...(request.fields.length > 0 ? [['Wrong fields', request.fields.join(', ')] as const] : []),
          ...(reference === null
            ? []
            : [['Reference', <Copied key="reference" text={reference} what="the reference" />] as const]),
        ]}
      />
      {id.startsWith('own_') && (
        <p class="dim">
          The caller's own id may be personal, so only a hash of it is stored. Searching for the id finds it.
        </p>
      )}
      {request.status === 0 && <p>The caller closed the connection before the response.</p>}
      {reference !== null && (
        <p>
          <a href={toHash('audit', reference)}>Timeline of the verification</a>
        </p>
      )}
      {command !== undefined && (
        <>
          <h3>Send it again</h3>
          {isTriable(request.operation) && (
            <p>
              <a class="button" href={`${toHash('try')}?${new URLSearchParams({ request: id })}`}>
                Send again in Try it
              </a>
            </p>
          )}
          <p class="dim">
            {'The key comes from the variable TABBAT_KEY. Replace the values in < >: the log has none.'}
          </p>
          <CodeBlock text={command} what="the curl command" />
        </>
      )}
    </Panel>
  )
}

const Copied = ({ text, what }: { text: string; what: string }) => (
  <span class="bar">
    <code class="breaks">{text}</code> <CopyButton text={text} what={what} />
  </span>
)
