import { AdminError } from '../contract/error.ts'
import { holdsPersonNumber, PERSON_NUMBER_RULE } from '../contract/free-text.ts'
import { steadyNow } from '../contract/time.ts'
import { AppError, UserError } from '../errors.ts'
import type { AccountTable, InvitationRow } from './account-table.ts'
import { type AccountDeps, isMac, type LinkDeps, toInvitationMac, toTokenId, withAudit } from './accounts.ts'
import type { FactorUse } from './factor-rows.ts'
import { type Passwords, refuseWeakPassword } from './passwords.ts'
import type { Invitation, OpenInvitation } from './views.ts'

export type Acceptance = {
  readonly token: string
  readonly name: string
  readonly password: string
  /** Needed to reset the password of an account that has a second factor. */
  readonly code?: string
}

/** The account right after a link was used, with its password hash. */
type AcceptedAccount = { readonly name: string; readonly password: string }

type InvitationDeps = Omit<LinkDeps, 'by'> & { readonly passwords: Passwords }

export async function inspectInvitation(deps: FindDeps, token: string): Promise<Invitation> {
  const { role, account, expiresAt } = await findInvitation(deps, token)
  return { role, name: account ?? null, expires_at: new Date(expiresAt).toISOString() }
}

/** Creates the account, or sets its new password and uses the code up. */
export async function acceptInvitation(
  deps: InvitationDeps,
  acceptance: Acceptance,
  factor?: FactorUse,
): Promise<AcceptedAccount> {
  const { store, passwords } = deps
  const { token, name, password } = acceptance
  const invitation = await findInvitation(deps, token)
  await refuseName(store.accounts, invitation, name)
  refuseWeakPassword(name, password)
  const passwordHash = await passwords.hash(name, password)
  const isDone = await (invitation.account === undefined
    ? createAccount(deps, invitation, name, passwordHash)
    : setPassword(deps, invitation, name, { password: passwordHash, factor }))
  if (!isDone) throw new AdminError('invitation_void')
  return { name, password: passwordHash }
}

async function refuseName(table: AccountTable, { account }: InvitationRow, name: string): Promise<void> {
  if (account !== undefined && account !== name) throw new UserError('This link is for another account.')
  if (account === undefined && holdsPersonNumber(name))
    throw new AppError('validation_failed', { errors: { name: [`name ${PERSON_NUMBER_RULE}`] } })
  if (account === undefined && (await table.find(name)))
    throw new UserError(`The account ${name} already exists. Choose another name.`)
}

function createAccount(
  { store, audit }: InvitationDeps,
  { id, role, madeBy }: InvitationRow,
  name: string,
  password: string,
): Promise<boolean> {
  const detail = `${name}, ${role}, invited by ${madeBy}`
  const account = { name, role, password, createdAt: steadyNow(), lastSeenAt: undefined }
  return withAudit({ audit, by: name }, { phase: 'account_created', detail }, () =>
    store.accounts.accept(id, account),
  )
}

function setPassword(
  { store, audit }: InvitationDeps,
  { id, madeBy }: InvitationRow,
  name: string,
  reset: { readonly password: string; readonly factor: FactorUse | undefined },
): Promise<boolean> {
  const detail = `${name}, link made by ${madeBy}`
  return withAudit({ audit, by: name }, { phase: 'password_changed', detail }, async () => {
    const refusal = await store.accounts.acceptReset(id, { ...reset, now: steadyNow() })
    if (refusal) throw new AdminError(refusal)
    return true
  })
}

type FindDeps = Pick<LinkDeps, 'store' | 'keyring'>

async function findInvitation({ store, keyring }: FindDeps, token: string): Promise<InvitationRow> {
  const key = keyring['console-token']
  const id = toTokenId(key, token)
  const invitation = id && (await store.accounts.findInvitation(id, steadyNow()))
  if (!invitation || !isMac(invitation.mac, toInvitationMac(key, invitation)))
    throw new AdminError('invitation_void')
  return invitation
}

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
