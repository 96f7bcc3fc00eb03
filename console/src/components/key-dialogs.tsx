import type { CreatedKey, KeyWithUsage } from '../../../src/admin/shapes/keys.ts'
import { useAppContext } from '../app-context.ts'
import { toCount } from '../format.ts'
import { toHash, toKeySearch } from '../hash.ts'
import { keysTexts as texts } from '../texts/en/keys.ts'
import { fill } from '../texts/fill.ts'
import { useMutation } from '../use-mutation.ts'
import { Confirm, Dialog } from './dialog.tsx'
import { Facts } from './facts.tsx'
import { RollDialog } from './roll-dialog.tsx'
import { When } from './when.tsx'

type RowProps = { readonly row: KeyWithUsage; readonly onClose: () => void }

export function KeyDialog({ row, onClose }: RowProps) {
  return (
    <Dialog title={row.name} onClose={onClose}>
      <Facts facts={toFacts(row)} />
      <footer>
        <a class="button" href={toHash('audit', toKeySearch(row.id))}>
          {texts.showInAudit}
        </a>
      </footer>
    </Dialog>
  )
}

const toText = (names: readonly string[], otherwise = texts.none) =>
  names.length === 0 ? otherwise : names.join(', ')

const toFacts = (row: KeyWithUsage) =>
  [
    [texts.id, <code key="id">{row.id}</code>],
    [texts.modeAndState, `${row.mode}, ${row.state}`],
    [texts.used, texts.toVerifications(toCount(row.verifications_30d))],
    [texts.lastUsed, <When key="used" at={row.last_used_at} to="hour" otherwise={texts.never} />],
    [texts.scopes, toText(row.scopes)],
    [texts.addresses, toText(row.allowed_ips ?? [], texts.any)],
    [texts.certificates, toText(row.client_certs ?? [], texts.noneNeeded)],
    [texts.hidden, toText(row.hide)],
    [texts.revealed, toText(row.reveal)],
    [texts.people, texts.toAtMost(toCount(row.subjects_per_day))],
    [texts.consent, row.requires_consent ? texts.consentRequired : texts.consentOptional],
    [texts.match, row.require_match ?? texts.none],
    [texts.whenDown, row.async_when_down ? texts.whenDownPending : texts.whenDownError],
    [texts.owner, row.owner ?? texts.none],
    [texts.note, row.note ?? texts.none],
    [texts.created, <When key="created" at={row.created_at} />],
    [texts.expires, <When key="expires" at={row.expires_at} otherwise={texts.never} />],
    ...(row.revoked_at ? [[texts.revoked, <When key="revoked" at={row.revoked_at} />] as const] : []),
    ...(row.rolled_to ? [[texts.rolledTo, <code key="rolled">{row.rolled_to}</code>] as const] : []),
  ] as const

export function RevokeDialog({ row, onClose, onDone }: RowProps & { onDone: () => void }) {
  const { api } = useAppContext()
  const mutation = useMutation(async () => {
    await api.post(`/admin/keys/${encodeURIComponent(row.id)}/revoke`)
    onDone()
  })
  const common = { title: texts.revokeTitle, verb: texts.revoke, typed: row.id, mutation, onClose }
  return (
    <Confirm {...common} isDanger>
      <p>{fill(texts.revokeText, { name: <b class="breaks">{row.name}</b>, id: <code>{row.id}</code> })}</p>
    </Confirm>
  )
}

const OVERLAPS = (['0s', '1h', '24h', '7d'] as const).map((value) => ({ value, text: texts.overlaps[value] }))

type RollProps = RowProps & { readonly onCreated: (created: CreatedKey) => void }

export function RollKeyDialog({ row, onClose, onCreated }: RollProps) {
  const { api } = useAppContext()
  const roll = async (overlap: string) =>
    onCreated(await api.post<CreatedKey>(`/admin/keys/${encodeURIComponent(row.id)}/roll`, { overlap }))
  const words = { title: texts.rollTitle, verb: texts.rollVerb, label: texts.overlap }
  return (
    <RollDialog {...words} overlaps={OVERLAPS} roll={roll} onClose={onClose}>
      <p>{fill(texts.rollText, { name: <b class="breaks">{row.name}</b> })}</p>
    </RollDialog>
  )
}
