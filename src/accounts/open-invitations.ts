import { steadyNow } from '../contract/time.ts'
import { UserError } from '../errors.ts'
import type { InvitationRow } from './account-rows.ts'
import type { AccountTable } from './account-table.ts'
import { type AccountDeps, withAudit } from './accounts.ts'
import type { OpenInvitation } from './views.ts'

const ID_LENGTH = 12

/** One-time links that can still be used, oldest first. */
export const listOpenInvitations = async ({
  accounts,
}: {
  readonly accounts: AccountTable
}): Promise<OpenInvitation[]> => (await accounts.listInvitations(steadyNow())).map(toOpenInvitation)

export async function voidInvitation(deps: AccountDeps, id: string): Promise<void> {
  const { accounts } = deps.store
  const found = (await accounts.listInvitations(steadyNow())).find((row) => toId(row) === id)
  if (!found) throw toUnknown(id)
  const { role, account, madeBy } = found
  const detail = `${id}, ${account ?? role}, made by ${madeBy}`
  const isDone = await withAudit(deps, { phase: 'invitation_voided', detail }, () =>
    accounts.voidInvitation(found.id),
  )
  if (!isDone) throw toUnknown(id)
}

/** The store identifies a link by the hash of its token. The start of that hash names the link and cannot be used to open it. */
const toId = ({ id }: InvitationRow) => Buffer.from(id).toString('hex').slice(0, ID_LENGTH)

const toOpenInvitation = (row: InvitationRow): OpenInvitation => ({
  id: toId(row),
  role: row.role,
  account: row.account ?? null,
  made_by: row.madeBy,
  created_at: new Date(row.createdAt).toISOString(),
  expires_at: new Date(row.expiresAt).toISOString(),
})

/** The message repeats the id only if it is a valid one: the caller may have pasted the link itself. */
const toUnknown = (id: string) =>
  new UserError(
    `There is no open invitation ${/^[0-9a-f]{12}$/.test(id) ? id : 'with this id'}. It was used, voided or has expired.`,
  )
