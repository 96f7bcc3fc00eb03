import type { Context } from '../context.ts'
import type { AccountRow } from '../store/people-rows.ts'
import { carryOut } from './people/accounts.ts'
import { type Acceptance, acceptInvitation } from './people/invitations.ts'
import { createPasswords, refuseWeakPassword } from './people/passwords.ts'
import { createSessions, type Sessions, toSessionId } from './people/sessions.ts'
import { createSignInMarks, toConfirmMarks } from './people/sign-in-marks.ts'
import { createTries, type Mark } from './people/tries.ts'
import { AdminRefusal } from './refuse.ts'
import type { Person } from './role.ts'

export type SignInAsk = {
  readonly name: string
  readonly password: string
  /** Where the caller is. */
  readonly address: string
}

/** Accounts, invitations and sessions. */
export type People = Pick<Sessions, 'findPerson' | 'describe'> & {
  /** The token of a new session; `wrong_password` or `too_many_tries` otherwise. */
  readonly signIn: (ask: SignInAsk) => Promise<string>
  readonly signOut: (person: Person) => Promise<void>
  /** For what needs the password again. Throws `wrong_password`, and counts like signing in does. */
  readonly confirmPassword: (person: Person, password: string) => Promise<void>
  /** Ends the other sessions of the account. */
  readonly changePassword: (
    person: Person,
    change: { readonly current: string; readonly password: string },
  ) => Promise<void>
  /** Uses a one-time link up; the token of a new session. */
  readonly accept: (acceptance: Acceptance) => Promise<string>
}

export function createPeople(context: Context, now = () => performance.now()): People {
  const { audit, store } = context
  const passwords = createPasswords(() => context.keyring()['console-password'])
  const sessions = createSessions(store.people)
  const tries = createTries(now)
  const { toMarks, remember, isOf } = createSignInMarks()

  const compare = async (name: string, password: string) => {
    const account = await store.people.find(name)
    return { account, isRight: await passwords.isRight(name, password, account?.password) }
  }
  /** The account, if the password is its. What was typed is written down nowhere. */
  const check = async (name: string, password: string, marks: readonly Mark[]): Promise<AccountRow> => {
    audit.requireHealthy()
    const attempt = tries.begin(marks)
    const { account, isRight } = await compare(name, password).catch((error: unknown) => {
      attempt.withdraw()
      throw error
    })
    if (account && isRight) {
      attempt.succeed()
      return account
    }
    attempt.fail()
    // Not waited for: the time of the answer would tell which names there are.
    if (account)
      audit
        .record([{ phase: 'sign_in_failed', outcome: 'wrong_password', detail: account.name }])
        .catch(context.log.failure)
    throw new AdminRefusal('wrong_password')
  }
  const open = async (account: { readonly name: string; readonly password: string }): Promise<string> => {
    const entry = { phase: 'signed_in' }
    const by = { audit, by: account.name }
    const token = await carryOut(by, entry, async () => (await sessions.open(account)) ?? false)
    if (token === false) throw new AdminRefusal('wrong_password')
    return token
  }

  return {
    findPerson: sessions.findPerson,
    describe: sessions.describe,
    signIn: async ({ name: typed, password, address }) => {
      const name = typed.trim().toLowerCase()
      const account = await check(name, password, toMarks(name, address))
      remember(name, address)
      return open(account)
    },
    signOut: (person) =>
      carryOut({ audit, by: person.name }, { phase: 'signed_out' }, () => sessions.end(person)),
    confirmPassword: async ({ name }, password) => {
      await check(name, password, toConfirmMarks(name))
    },
    changePassword: async (person, { current, password }) => {
      const { name } = person
      refuseWeakPassword(name, password)
      const { password: before } = await check(name, current, toConfirmMarks(name))
      const after = await passwords.toKept(name, password)
      const change = { name, before, after, keep: toSessionId(person) }
      const isDone = await carryOut({ audit, by: name }, { phase: 'password_changed', detail: name }, () =>
        store.people.setPassword(change),
      )
      if (!isDone) throw new AdminRefusal('wrong_password')
    },
    accept: async (acceptance) => {
      const account = await acceptInvitation({ store, audit, passwords }, acceptance)
      tries.forgive(isOf(account.name))
      return open(account)
    },
  }
}
