import { useState } from 'preact/hooks'
import type { CreatedEndpoint, Endpoint, TestResult } from '../../../../src/admin/webhooks.ts'
import { useAppContext } from '../../app-context.ts'
import { Confirm, Dialog } from '../../components/dialog.tsx'
import { Facts } from '../../components/facts.tsx'
import { Pill } from '../../components/pill.tsx'
import { RollDialog } from '../../components/roll-dialog.tsx'
import { When } from '../../components/when.tsx'
import { toMs } from '../../format.ts'
import { useMutation } from '../../use-mutation.ts'

type RowProps = { readonly row: Endpoint; readonly onClose: () => void }

const toPath = ({ id }: Endpoint, action: string) => `/admin/webhooks/${encodeURIComponent(id)}/${action}`

const REASONS = {
  operator: 'by an operator',
  gone: 'the receiver answered 410',
  failing: 'the receiver failed for five days',
} as const

export function EndpointDialog({ row, onClose }: RowProps) {
  return (
    <Dialog title={row.name} onClose={onClose}>
      <Facts
        facts={[
          ['Id', <code key="id">{row.id}</code>],
          [
            'Address',
            <span key="url" class="breaks">
              {row.url}
            </span>,
          ],
          ['State', row.disabled_reason ? `${row.state}: ${REASONS[row.disabled_reason]}` : row.state],
          ['Events', row.events.join(', ')],
          ['Keys', row.keys.join(', ') || 'all: it belongs to the operator'],
          ['Created', <When key="created" at={row.created_at} />],
          ['Failing since', <When key="failing" at={row.failing_since} otherwise="it does not fail" />],
          ['Old secret signs until', <When key="old" at={row.old_secret_until} otherwise="never rolled" />],
        ]}
      />
    </Dialog>
  )
}

export function TestEndpointDialog({ row, onClose }: RowProps) {
  const { api } = useAppContext()
  const [result, setResult] = useState<TestResult>()
  const mutation = useMutation(async () => setResult(await api.post<TestResult>(toPath(row, 'test'))))
  if (result) return <TestResultDialog row={row} result={result} onClose={onClose} />
  return (
    <Confirm title="Send a test event?" verb="Send" mutation={mutation} onClose={onClose}>
      <p>
        <b class="breaks">{row.name}</b> gets the event <code>webhook.test</code> once, with a signature.
      </p>
    </Confirm>
  )
}

function TestResultDialog({ row, result, onClose }: RowProps & { result: TestResult }) {
  return (
    <Dialog title={`Test of ${row.name}`} onClose={onClose}>
      <p>
        <Pill tone={result.ok ? 'good' : 'bad'}>{result.ok ? 'delivered' : 'not delivered'}</Pill>
      </p>
      <p>{result.explanation}</p>
      <Facts
        facts={[
          ['Status', result.status === null ? 'no response' : String(result.status)],
          ['Duration', toMs(result.duration_ms)],
        ]}
      />
      <footer>
        <button type="button" class="main" onClick={onClose}>
          Close
        </button>
      </footer>
    </Dialog>
  )
}

const OVERLAPS = [
  { value: '0s', text: 'None: the old secret has leaked' },
  { value: '24h', text: '24 hours' },
  { value: '7d', text: '7 days' },
]

type RollProps = RowProps & { readonly onCreated: (created: CreatedEndpoint) => void }

export function RollSecretDialog({ row, onClose, onCreated }: RollProps) {
  const { api } = useAppContext()
  const roll = async (overlap: string) =>
    onCreated(await api.post<CreatedEndpoint>(toPath(row, 'roll'), { overlap }))
  const words = {
    title: 'Roll the secret?',
    verb: 'Create the new secret',
    label: 'The old secret signs for another',
  }
  return (
    <RollDialog {...words} overlaps={OVERLAPS} roll={roll} onClose={onClose}>
      <p>
        <b class="breaks">{row.name}</b> gets a new secret. During the overlap each request has two
        signatures, by the new and by the old secret.
      </p>
    </RollDialog>
  )
}

type ChangeProps = RowProps & { readonly onDone: () => void }

export function SwitchEndpointDialog({ row, onClose, onDone }: ChangeProps) {
  const { api } = useAppContext()
  const what = row.state === 'disabled' ? 'enable' : 'disable'
  const mutation = useMutation(async () => {
    await api.post(toPath(row, what))
    onDone()
  })
  return (
    <Confirm
      title={what === 'enable' ? 'Enable this endpoint?' : 'Disable this endpoint?'}
      verb={what === 'enable' ? 'Enable' : 'Disable'}
      mutation={mutation}
      onClose={onClose}
      isDanger={what === 'disable'}
    >
      <p>
        {what === 'enable'
          ? 'Events that waited are sent now.'
          : 'Nothing is sent until it is enabled. Events that happen meanwhile are not stored for it.'}
      </p>
    </Confirm>
  )
}

export function DeleteEndpointDialog({ row, onClose, onDone }: ChangeProps) {
  const { api } = useAppContext()
  const mutation = useMutation(async () => {
    await api.post(toPath(row, 'delete'))
    onDone()
  })
  return (
    <Confirm
      title="Delete this endpoint?"
      verb="Delete"
      mutation={mutation}
      onClose={onClose}
      typed={row.id}
      isDanger
    >
      <p>
        <b class="breaks">{row.name}</b> is deleted with its secret and its deliveries. What waits is not
        sent. This cannot be undone.
      </p>
    </Confirm>
  )
}
