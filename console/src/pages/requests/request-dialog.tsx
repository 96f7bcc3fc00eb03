import type { RequestView } from '../../../../src/admin/requests.ts'
import { CodeBlock, CopyButton } from '../../components/copy.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Facts } from '../../components/facts.tsx'
import { KeyText, StatusPill, toOperationText } from '../../components/request-rows.tsx'
import { When } from '../../components/when.tsx'
import { toMs } from '../../format.ts'
import { toHash } from '../../hash.ts'

type RequestDialogProps = {
  readonly request: RequestView
  /** Undefined for an address without an operation. */
  readonly command: string | undefined
  readonly onClose: () => void
}

/** All about one request, and the command to send it again. */
export function RequestDialog({ request, command, onClose }: RequestDialogProps) {
  const { request_id: id, request_reference: reference } = request
  return (
    <Dialog title="Request" onClose={onClose} isWide>
      <Facts
        facts={[
          ['Request id', <Copied key="id" text={id} what="the request id" />],
          ['Time', <When key="time" at={request.time} to="exact" />],
          ['Status', <StatusPill key="status" request={request} />],
          ['Operation', `${request.method} ${toOperationText(request.operation)}`],
          ['Key', <KeyText key="key" {...request} />],
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
          <p class="dim">
            {'The key comes from the variable TABBAT_KEY. Replace the values in < >: the log has none.'}
          </p>
          <CodeBlock text={command} what="the curl command" />
        </>
      )}
      <footer>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </footer>
    </Dialog>
  )
}

const Copied = ({ text, what }: { text: string; what: string }) => (
  <span class="bar">
    <code class="breaks">{text}</code> <CopyButton text={text} what={what} />
  </span>
)
