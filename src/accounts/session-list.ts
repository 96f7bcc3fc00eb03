import { steadyNow } from '../contract/time.ts'
import { UserError } from '../errors.ts'
import type { AccountTable, SessionRow } from './account-table.ts'
import { type AccountDeps, withAudit } from './accounts.ts'
import { toLimits } from './sessions.ts'
import type { OpenSession } from './views.ts'

const ID_LENGTH = 12

/** Open sessions of one account, or of all; the most recently used first. `own` is the session that asks. */
export async function listOpenSessions(
  { accounts }: { readonly accounts: AccountTable },
  account?: string,
  own?: Uint8Array,
): Promise<OpenSession[]> {
  const isOwn = ({ id }: SessionRow) => own !== undefined && Buffer.compare(id, own) === 0
  const rows = await accounts.listSessions(account, toLimits(steadyNow()))
  return rows.map((row) => toOpenSession(row, isOwn(row)))
}

/** Ends one session of an account. */
export async function endSession(deps: AccountDeps, account: string, id: string): Promise<void> {
  const { accounts } = deps.store
  const rows = await accounts.listSessions(account, toLimits(steadyNow()))
  const found = rows.find((row) => toId(row) === id)
  if (!found) throw toUnknown(id)
  const isDone = await withAudit(deps, { phase: 'sessions_ended', detail: `${account}, ${id}` }, () =>
    accounts.end(found.id),
  )
  if (!isDone) throw toUnknown(id)
}

/** Ends all sessions of an account but one. Resolves to their number. */
export async function endSessions(deps: AccountDeps, account: string, keep?: Uint8Array): Promise<number> {
  const { accounts } = deps.store
  if (!(await accounts.find(account))) throw new UserError('There is no account with this name.')
  const detail = keep === undefined ? account : `${account}, all others`
  return withAudit(deps, { phase: 'sessions_ended', detail }, () => accounts.endAll(account, keep))
}

/** The store identifies a session by the hash of its cookie. The start of that hash names it and gives no access. */
const toId = ({ id }: SessionRow) => Buffer.from(id).toString('hex').slice(0, ID_LENGTH)

const toOpenSession = (row: SessionRow, isOwn: boolean): OpenSession => ({
  id: toId(row),
  account: row.account,
  method: row.method,
  address: row.address ?? null,
  browser: row.browser ?? null,
  created_at: new Date(row.createdAt).toISOString(),
  seen_at: new Date(row.seenAt).toISOString(),
  is_own: isOwn,
})

/** The message repeats the id only if it is a valid one. */
const toUnknown = (id: string) =>
  new UserError(
    `There is no open session ${/^[0-9a-f]{12}$/.test(id) ? id : 'with this id'}. It has ended already.`,
  )

/** Looked for in this order: Edge and Opera also name Chrome, and Chrome also names Safari. */
const BROWSERS: readonly (readonly [sign: RegExp, name: string])[] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Headless)?Chrome\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]

const SYSTEMS: readonly (readonly [sign: RegExp, name: string])[] = [
  [/\bAndroid\b/, 'Android'],
  [/\b(iPhone|iPad)\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

const find = (text: string, names: typeof BROWSERS) => names.find(([sign]) => sign.test(text))?.[1]

/** `Firefox on Linux`, from a User-Agent header. The header itself is not stored: its caller chooses the text. */
export function toBrowserName(userAgent: string | undefined): string | undefined {
  const text = userAgent ?? ''
  const [browser, system] = [find(text, BROWSERS), find(text, SYSTEMS)]
  return browser && system ? `${browser} on ${system}` : (browser ?? system)
}
