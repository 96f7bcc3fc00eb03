import { argon2, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import type { AuditLog } from '../audit/audit-log.ts'
import { AdminError } from '../contract/error.ts'
import type { Actor } from '../contract/role.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../telemetry/log.ts'
import type { AccountRow, AccountTable } from './account-table.ts'
import { withAudit } from './accounts.ts'
import { isConfirmed, type Sessions, toSessionId } from './sessions.ts'
import { type Throttle, type ThrottleKey, toConfirmThrottleKeys, tooManyTriesError } from './throttle.ts'

/** Hashes and compares passwords: argon2id with a secret that is not in the database. */
export type Passwords = {
  /** The text to store: the parameters and the hash. */
  readonly hash: (name: string, password: string) => Promise<string>
  /**
   * Takes the same time when there is no stored hash. Known accounts and browsers have a queue of their own, so that
   * password guessing does not delay them.
   */
  readonly isRight: (
    name: string,
    password: string,
    stored: string | undefined,
    isKnown?: boolean,
  ) => Promise<boolean>
}

export type Cost = { readonly memory: number; readonly passes: number; readonly parallelism: number }
type StoredHash = { readonly cost: Cost; readonly salt: Buffer; readonly hash: Buffer }

/** Above the OWASP minimum (19 MiB, two passes); about 100 ms. Stored with each hash, so that it can be raised later. */
const COST: Cost = { memory: 32 * 1024, passes: 3, parallelism: 1 }
const HASH_BYTES = 32
const SALT_BYTES = 16

/** Each hash takes a thread and 32 MiB. Requests beyond the queue are refused. */
const AT_ONCE = 2
const WAITING = 16
const KNOWN_AT_ONCE = 1

const derive = promisify(argon2)

export function createPasswords(secret: () => KeyObject, usual: Cost = COST): Passwords {
  const runUnknown = createSemaphore(AT_ONCE, WAITING)
  const runKnown = createSemaphore(KNOWN_AT_ONCE, WAITING)
  /** Bound to the name: a hash copied to another account does not work there. */
  const deriveHash = (
    name: string,
    password: string,
    salt: Buffer,
    cost: Cost,
    run = runKnown,
  ): Promise<Buffer> =>
    run(() =>
      derive('argon2id', {
        ...cost,
        message: password.normalize('NFC'),
        nonce: salt,
        tagLength: HASH_BYTES,
        secret: secret().export(),
        associatedData: Buffer.from(name),
      }),
    )
  return {
    hash: async (name, password) => {
      const salt = randomBytes(SALT_BYTES)
      return toText({ cost: usual, salt, hash: await deriveHash(name, password, salt, usual) })
    },
    isRight: async (name, password, stored, isKnown = false) => {
      const known = stored === undefined ? undefined : parse(stored)
      const { cost, salt, hash: expected } = known ?? createDecoy(usual)
      const isSame = timingSafeEqual(
        await deriveHash(name, password, salt, cost, isKnown ? runKnown : runUnknown),
        expected,
      )
      return isSame && known !== undefined
    },
  }
}

const createDecoy = (cost: Cost): StoredHash => ({
  cost,
  salt: randomBytes(SALT_BYTES),
  hash: randomBytes(HASH_BYTES),
})

/** The PHC string format. */
const toText = ({ cost, salt, hash }: StoredHash) =>
  `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${toBase64(salt)}$${toBase64(hash)}`

const toBase64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')

function parse(text: string): StoredHash | undefined {
  const parts = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]{22})\$([^$]{43})$/.exec(text)
  if (!parts) return undefined
  const [, memory, passes, parallelism, salt = '', hash = ''] = parts
  return {
    cost: { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) },
    salt: Buffer.from(salt, 'base64'),
    hash: Buffer.from(hash, 'base64'),
  }
}

const LEAST_CHARACTERS = 12
/** Shorter names occur in good passwords by chance. */
const LEAST_OF_NAME = 3

/** Refuses passwords that are easy to guess. The schema of the input has checked the length in UTF-16 units. */
export function refuseWeakPassword(name: string, password: string): void {
  const problem = findWeakness(name, password.normalize('NFC'))
  if (problem) throw new AppError('validation_failed', { errors: { password: [`password ${problem}`] } })
}

function findWeakness(name: string, password: string): string | undefined {
  if ([...password].length < LEAST_CHARACTERS) return 'must have at least 12 characters'
  if (new Set(password).size === 1) return 'must not be one character repeated'
  if (name.length >= LEAST_OF_NAME && password.toLowerCase().includes(name))
    return 'must not contain the name of the account'
  return undefined
}

/** Runs at most `atOnce` jobs at the same time and queues `waiting` more. Throws `too_many_tries` when the queue is full. */
export function createSemaphore(atOnce: number, waiting: number): <T>(work: () => Promise<T>) => Promise<T> {
  const queue: (() => void)[] = []
  let running = 0
  const enter = async () => {
    if (running < atOnce) {
      running += 1
      return
    }
    if (queue.length >= waiting) throw tooManyTriesError(1000)
    // `leave` passes its slot on without changing the count.
    await new Promise<void>((start) => queue.push(start))
  }
  const leave = () => {
    const next = queue.shift()
    if (next) next()
    else running -= 1
  }
  return async (work) => {
    await enter()
    try {
      return await work()
    } finally {
      leave()
    }
  }
}

/** What a signed-in account does with its password. All throw `wrong_password` or `too_many_tries`. */
export type PasswordActions = {
  /**
   * For actions that need the password again. An account of single sign-on has none: it must have signed in a few minutes
   * ago, else `confirm_first`.
   */
  readonly confirmPassword: (actor: Actor, password: string | undefined) => Promise<void>
  /** The same, and it holds for some minutes of this session. */
  readonly confirmSession: (actor: Actor, password: string) => Promise<void>
  /** Ends the other sessions of the account. */
  readonly changePassword: (
    actor: Actor,
    change: { readonly current: string; readonly password: string },
  ) => Promise<void>
}

type Deps = {
  readonly audit: AuditLog
  readonly store: { readonly accounts: AccountTable }
  readonly passwords: Passwords
  readonly check: PasswordCheck
  readonly sessions: Pick<Sessions, 'confirm'>
}

export function createPasswordActions({ audit, store, passwords, check, sessions }: Deps): PasswordActions {
  const confirm = ({ name }: Actor, password: string) =>
    check({ name, password, throttleKeys: toConfirmThrottleKeys(name), isKnown: true })
  return {
    confirmPassword: async (actor, password) => {
      if (actor.token !== undefined) throw new AdminError('session_required')
      if (password !== undefined) return void (await confirm(actor, password))
      // By the session, which is bound to its method: an empty column of the account is not.
      if (actor.method !== 'sso')
        throw new AppError('validation_failed', { errors: { password: ['password is required'] } })
      if (!isConfirmed(actor)) throw new AdminError('confirm_first')
    },
    confirmSession: async (actor, password) => {
      await confirm(actor, password)
      const isDone = await withAudit({ audit, by: actor.name }, { phase: 'confirmed' }, () =>
        sessions.confirm(actor),
      )
      if (!isDone) throw new AdminError('signed_out')
    },
    changePassword: async (actor, { current, password }) => {
      const { name } = actor
      refuseWeakPassword(name, password)
      const { password: before } = await confirm(actor, current)
      const after = await passwords.hash(name, password)
      const change = { name, before, after, keep: toSessionId(actor) }
      const isDone = await withAudit({ audit, by: name }, { phase: 'password_changed', detail: name }, () =>
        store.accounts.setPassword(change),
      )
      if (!isDone) throw new AdminError('wrong_password')
    },
  }
}

type PasswordAttempt = {
  readonly name: string
  readonly password: string
  readonly throttleKeys: readonly ThrottleKey[]
  /** True for a signed-in account, or a browser that has signed in before. */
  readonly isKnown: boolean
}

type CheckDeps = {
  readonly context: {
    readonly audit: AuditLog
    readonly store: { readonly accounts: AccountTable }
    readonly log: Log
  }
  readonly passwords: Passwords
  readonly throttle: Throttle
}

/** Returns the account if the password is right, else throws `wrong_password`. Neither input is logged or stored. */
type PasswordCheck = (attempt: PasswordAttempt) => Promise<AccountRow>

export const createPasswordCheck =
  ({ context: { audit, store, log }, passwords, throttle }: CheckDeps): PasswordCheck =>
  async ({ name, password, throttleKeys, isKnown }) => {
    const compare = async () => {
      const account = await store.accounts.find(name)
      return { account, isRight: await passwords.isRight(name, password, account?.password, isKnown) }
    }
    audit.requireHealthy()
    const attempt = await throttle.begin(throttleKeys)
    const { account, isRight } = await compare().catch(async (error: unknown) => {
      await attempt.withdraw()
      throw error
    })
    if (account && isRight) {
      await attempt.succeed()
      return account
    }
    await attempt.fail()
    // Not awaited: the response time would tell which names exist.
    if (account)
      audit
        .record([{ phase: 'sign_in_failed', outcome: 'wrong_password', detail: account.name }])
        .catch(log.failure)
    throw new AdminError('wrong_password')
  }
