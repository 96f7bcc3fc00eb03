import type { RequestView } from '../../../src/admin/shapes/requests.ts'
import { toMs } from '../format.ts'
import { toHash } from '../hash.ts'
import { requestsTexts as texts } from '../texts/en/requests.ts'
import { CodeBlock, CopyButton } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { Facts } from './facts.tsx'
import { KeyText, StatusPill, toOperationText } from './request-rows.tsx'
import { When } from './when.tsx'

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
    <Dialog title={texts.detailsTitle} onClose={onClose} isWide>
      <Facts
        facts={[
          [texts.requestId, <Copied key="id" text={id} what={texts.theId} />],
          [texts.time, <When key="time" at={request.time} to="exact" />],
          [texts.status, <StatusPill key="status" request={request} />],
          [texts.operation, `${request.method} ${toOperationText(request.operation)}`],
          [texts.key, <KeyText key="key" {...request} />],
          [texts.mode, request.mode],
          [texts.duration, toMs(request.duration_ms)],
          ...(request.fields.length > 0 ? [[texts.fields, request.fields.join(', ')] as const] : []),
          ...(reference === null
            ? []
            : [
                [
                  texts.reference,
                  <Copied key="reference" text={reference} what={texts.theReference} />,
                ] as const,
              ]),
        ]}
      />
      {id.startsWith('own_') && <p class="dim">{texts.ownId}</p>}
      {request.status === 0 && <p>{texts.brokenOffText}</p>}
      {reference !== null && (
        <p>
          <a href={toHash('audit', reference)}>{texts.timeline}</a>
        </p>
      )}
      {command !== undefined && (
        <>
          <h3>{texts.command}</h3>
          <p class="dim">{texts.commandHelp}</p>
          <CodeBlock text={command} what={texts.theCommand} />
        </>
      )}
      <footer>
        <button type="button" onClick={onClose}>
          {texts.close}
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
