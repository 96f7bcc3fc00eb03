import type { Database } from '../database/database.ts'
import { type SessionDetails, type SessionRow, toSession } from './account-rows.ts'
import { type FactorUse, hasFactor, useFactor } from './factor-rows.ts'

/** Sessions that were opened or last seen before these times have ended. */
type SessionLimits = { readonly openedAfter: number; readonly seenAfter: number }

type Opening = {
  readonly id: Uint8Array
  readonly account: string
  /** The hash that was compared. If the password was changed meanwhile, no session is opened. */
  readonly password: string
  readonly at: number
  readonly details?: SessionDetails
  /** The code of the second factor, which is used up with this. */
  readonly factor?: FactorUse | undefined
}

/** Sessions of the accounts of the console. */
export type SessionTable = {
  readonly findSession: (id: Uint8Array, limits: SessionLimits) => Promise<SessionRow | undefined>
  /** Of one account, or of all. The most recently seen first. */
  readonly listSessions: (account: string | undefined, limits: SessionLimits) => Promise<SessionRow[]>
  /**
   * Resolves to why no session was opened. Meanwhile the password was changed, the code used, the passkey removed, or a second
   * factor added to an account that has shown its password only.
   */
  readonly open: (
    opening: Opening,
  ) => Promise<'wrong_password' | 'wrong_code' | 'wrong_passkey' | 'second_factor_needed' | undefined>
  readonly touch: (id: Uint8Array, at: number) => Promise<void>
  readonly end: (id: Uint8Array) => Promise<boolean>
  /** Ends all sessions of an account but one. Resolves to their number. */
  readonly endAll: (account: string, keep?: Uint8Array) => Promise<number>
  /** The account has entered its password again. */
  readonly confirm: (id: Uint8Array, at: number) => Promise<boolean>
  readonly deleteExpired: (limits: SessionLimits & { readonly now: number }) => Promise<void>
}

const SELECT = `SELECT id, account, role, password, sessions.created_at AS created_at, seen_at, confirmed_at, method, address, browser
  FROM sessions JOIN accounts ON accounts.name = sessions.account`
const IS_OPEN = 'sessions.created_at > $2 AND seen_at > $3'

export function createSessionTable(database: Database): SessionTable {
  const find = database.prepare(`${SELECT} WHERE id = $1 AND ${IS_OPEN}`)
  const list = database.prepare(
    `${SELECT} WHERE (CAST($1 AS TEXT) IS NULL OR account = $1) AND ${IS_OPEN} ORDER BY seen_at DESC, id`,
  )
  return {
    findSession: async (id, { openedAfter, seenAfter }) =>
      toSession(await find.get(id, openedAfter, seenAfter)),
    listSessions: async (account, { openedAfter, seenAfter }) =>
      (await list.all(account ?? null, openedAfter, seenAfter)).flatMap((row) => toSession(row) ?? []),
    open: (opening) => database.transaction((tx) => openInTx(tx, opening)),
    // The account row first, as in all transactions here: another order can deadlock.
    touch: (id, at) =>
      database.transaction(async (tx) => {
        await tx
          .prepare(
            'UPDATE accounts SET last_seen_at = $1 WHERE name = (SELECT account FROM sessions WHERE id = $2)',
          )
          .run(at, id)
        await tx.prepare('UPDATE sessions SET seen_at = $1 WHERE id = $2 AND seen_at < $1').run(at, id)
      }),
    end: async (id) => (await database.prepare('DELETE FROM sessions WHERE id = $1').run(id)) > 0,
    endAll: (account, keep = new Uint8Array()) =>
      database.prepare('DELETE FROM sessions WHERE account = $1 AND id <> $2').run(account, keep),
    confirm: async (id, at) =>
      (await database.prepare('UPDATE sessions SET confirmed_at = $1 WHERE id = $2').run(at, id)) > 0,
    deleteExpired: ({ openedAfter, seenAfter, now }) =>
      database.transaction(async (tx) => {
        await tx
          .prepare('DELETE FROM sessions WHERE created_at <= $1 OR seen_at <= $2')
          .run(openedAfter, seenAfter)
        await tx.prepare('DELETE FROM invitations WHERE expires_at <= $1').run(now)
      }),
  }
}

async function openInTx(tx: Database, opening: Opening) {
  const { id, account, password, at, details, factor } = opening
  const seen = await tx
    .prepare('UPDATE accounts SET last_seen_at = $1 WHERE name = $2 AND password = $3')
    .run(at, account, password)
  if (seen === 0) return 'wrong_password'
  if (factor && !(await useFactor(tx, account, factor)))
    return 'passkey' in factor ? 'wrong_passkey' : 'wrong_code'
  // The account row is locked now, as by those who add a factor.
  const isPasswordOnly = factor === undefined && (details?.method ?? 'password') === 'password'
  if (isPasswordOnly && (await hasFactor(tx, account))) return 'second_factor_needed'
  await tx
    .prepare(
      `INSERT INTO sessions (id, account, created_at, seen_at, confirmed_at, method, address, browser)
       VALUES ($1, $2, $3, $3, $4, $5, $6, $7)`,
    )
    .run(
      ...[id, account, at, details?.confirmedAt ?? at],
      ...[details?.method ?? null, details?.address ?? null, details?.browser ?? null],
    )
  return undefined
}
