import { useState } from 'preact/hooks'
import type { CreatedKey, KeyWithUsage } from '../../../src/admin/shapes/keys.ts'
import { useAppContext } from '../app-context.ts'
import { toCount } from '../format.ts'
import { toHash, toKeySearch } from '../hash.ts'
import { useMutation } from '../use-mutation.ts'
import { Confirm, Dialog } from './dialog.tsx'
import { Facts } from './facts.tsx'
import { SelectField } from './field.tsx'
import { When } from './when.tsx'

type RowProps = { readonly row: KeyWithUsage; readonly onClose: () => void }

export function KeyDialog({ row, onClose }: RowProps) {
  const list = (names: readonly string[], otherwise: string) =>
    names.length === 0 ? otherwise : names.join(', ')
  return (
    <Dialog title={row.name} onClose={onClose}>
      <Facts
        facts={[
          ['Id', <code key="id">{row.id}</code>],
          ['Mode and state', `${row.mode}, ${row.state}`],
          ['Used in 30 days', `${toCount(row.verifications_30d)} verifications`],
          ['Last used', <When key="used" at={row.last_used_at} to="hour" otherwise="never" />],
          ['Scopes', list(row.scopes, 'none')],
          ['Allowed IP addresses', list(row.allowed_ips ?? [], 'any')],
          ['TLS client certificates', list(row.client_certs ?? [], 'none needed')],
          ['Also hidden', list(row.hide, 'none')],
          ['Revealed', list(row.reveal, 'none')],
          ['Distinct people per day', `at most ${toCount(row.subjects_per_day)}`],
          ['Consent reference', row.requires_consent ? 'required' : 'optional'],
          ['Details that must match', row.require_match ?? 'none'],
          ['While no source can answer', row.async_when_down ? '202 (pending)' : '502, 503 or 504'],
          ['Owner', row.owner ?? 'none'],
          ['Note', row.note ?? 'none'],
          ['Created', <When key="created" at={row.created_at} />],
          ['Expires', <When key="expires" at={row.expires_at} otherwise="never" />],
          ...(row.revoked_at ? [['Revoked', <When key="revoked" at={row.revoked_at} />] as const] : []),
          ...(row.rolled_to ? [['Rolled to', <code key="rolled">{row.rolled_to}</code>] as const] : []),
        ]}
      />
      <footer>
        <a class="button" href={toHash('audit', toKeySearch(row.id))}>
          Show in audit log
        </a>
      </footer>
    </Dialog>
  )
}

export function RevokeDialog({ row, onClose, onDone }: RowProps & { onDone: () => void }) {
  const { api } = useAppContext()
  const mutation = useMutation(async () => {
    await api.post(`/admin/keys/${encodeURIComponent(row.id)}/revoke`)
    onDone()
  })
  return (
    <Confirm
      title="Revoke this key?"
      verb="Revoke"
      mutation={mutation}
      onClose={onClose}
      typed={row.id}
      isDanger
    >
      <p>
        Requests with <b class="breaks">{row.name}</b> (<code>{row.id}</code>) are refused within a second, on
        other nodes within 5 seconds. A revoked key cannot be restored.
      </p>
    </Confirm>
  )
}

const OVERLAPS = [
  { value: '0s', text: 'None: the old key stops working at once' },
  { value: '1h', text: '1 hour' },
  { value: '24h', text: '24 hours' },
  { value: '7d', text: '7 days' },
]

export function RollDialog({
  row,
  onClose,
  onCreated,
}: RowProps & { onCreated: (created: CreatedKey) => void }) {
  const { api } = useAppContext()
  const [overlap, setOverlap] = useState('24h')
  const mutation = useMutation(async () => {
    onCreated(await api.post<CreatedKey>(`/admin/keys/${encodeURIComponent(row.id)}/roll`, { overlap }))
  })
  return (
    <Confirm title="Roll this key?" verb="Create the new key" mutation={mutation} onClose={onClose}>
      <p>
        A new key with the same options replaces <b class="breaks">{row.name}</b>. Both keys work during the
        overlap, so that you can update your programs.
      </p>
      <SelectField
        label="The old key works for another"
        value={overlap}
        onValue={setOverlap}
        options={OVERLAPS}
      />
    </Confirm>
  )
}
