import type { CreatedKey, KeyWithUsage } from '../../../../src/admin/keys.ts'
import { useAppContext } from '../../app-context.ts'
import { Confirm, Dialog } from '../../components/dialog.tsx'
import { Facts } from '../../components/facts.tsx'
import { RollDialog } from '../../components/roll-dialog.tsx'
import { When } from '../../components/when.tsx'
import { toCount } from '../../format.ts'
import { toHash, toKeySearch } from '../../hash.ts'
import { useMutation } from '../../use-mutation.ts'

type RowProps = { readonly row: KeyWithUsage; readonly onClose: () => void }

export function KeyDialog({ row, onClose }: RowProps) {
  return (
    <Dialog title={row.name} onClose={onClose}>
      <Facts facts={toFacts(row)} />
      <footer>
        <a class="button" href={toHash('audit', toKeySearch(row.id))}>
          Show in audit log
        </a>
      </footer>
    </Dialog>
  )
}

const toText = (names: readonly string[], otherwise = 'none') =>
  names.length === 0 ? otherwise : names.join(', ')

const toFacts = (row: KeyWithUsage) =>
  [
    ['Id', <code key="id">{row.id}</code>],
    ['Mode and state', `${row.mode}, ${row.state}`],
    ['Used in 30 days', `${toCount(row.verifications_30d)} verifications`],
    ['Last used', <When key="used" at={row.last_used_at} to="hour" otherwise="never" />],
    ['Scopes', toText(row.scopes)],
    ['Allowed IP addresses', toText(row.allowed_ips ?? [], 'any')],
    ['TLS client certificates', toText(row.client_certs ?? [], 'none needed')],
    ['Also hidden', toText(row.hide)],
    ['Revealed', toText(row.reveal)],
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
  ] as const

export function RevokeDialog({ row, onClose, onDone }: RowProps & { onDone: () => void }) {
  const { api } = useAppContext()
  const mutation = useMutation(async () => {
    await api.post(`/admin/keys/${encodeURIComponent(row.id)}/revoke`)
    onDone()
  })
  const common = { title: 'Revoke this key?', verb: 'Revoke', typed: row.id, mutation, onClose }
  return (
    <Confirm {...common} isDanger>
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
] as const

type RollProps = RowProps & { readonly onCreated: (created: CreatedKey) => void }

export function RollKeyDialog({ row, onClose, onCreated }: RollProps) {
  const { api } = useAppContext()
  const roll = async (overlap: string) =>
    onCreated(await api.post<CreatedKey>(`/admin/keys/${encodeURIComponent(row.id)}/roll`, { overlap }))
  const words = {
    title: 'Roll this key?',
    verb: 'Create the new key',
    label: 'The old key works for another',
  }
  return (
    <RollDialog {...words} overlaps={OVERLAPS} roll={roll} onClose={onClose}>
      <p>
        A new key with the same options replaces <b class="breaks">{row.name}</b>. Both keys work during the
        overlap, so that you can update your programs.
      </p>
    </RollDialog>
  )
}
