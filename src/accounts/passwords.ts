import { argon2, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { AppError } from '../errors.ts'
import { createSemaphore } from './semaphore.ts'

/** Hashing and comparing passwords: argon2id, with a key that is not in the database. */
export type Passwords = {
  /** The text to keep: how it was hashed, and the hash. */
  readonly hash: (name: string, password: string) => Promise<string>
  /**
   * Takes as long where there is nothing to compare with. Known people and browsers do not wait in the line of strangers.
   */
  readonly isRight: (
    name: string,
    password: string,
    kept: string | undefined,
    isKnown?: boolean,
  ) => Promise<boolean>
}

type Cost = { readonly memory: number; readonly passes: number; readonly parallelism: number }
type StoredHash = { readonly cost: Cost; readonly salt: Buffer; readonly hash: Buffer }

/** More than OWASP asks for (19 MiB, two passes); about 100 ms. StoredHash with each hash, so that it can be raised. */
const COST: Cost = { memory: 32 * 1024, passes: 3, parallelism: 1 }
const HASH_BYTES = 32
const SALT_BYTES = 16

/** Each takes a thread and 32 MiB. Whoever comes when so many wait is sent away. */
const AT_ONCE = 2
const WAITING = 16
const KNOWN_AT_ONCE = 1

const derive = promisify(argon2)

export function createPasswords(secret: () => KeyObject): Passwords {
  const enterStranger = createSemaphore(AT_ONCE, WAITING)
  const enterKnown = createSemaphore(KNOWN_AT_ONCE, WAITING)
  /** Bound to the name: a hash that is copied to another account opens nothing there. */
  const hash = (
    name: string,
    password: string,
    salt: Buffer,
    cost: Cost,
    enter = enterKnown,
  ): Promise<Buffer> =>
    enter(() =>
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
      return toText({ cost: COST, salt, hash: await hash(name, password, salt, COST) })
    },
    isRight: async (name, password, kept, isKnown = false) => {
      const known = kept === undefined ? undefined : parse(kept)
      const { cost, salt, hash: wanted } = known ?? createDecoy()
      const isSame = timingSafeEqual(
        await hash(name, password, salt, cost, isKnown ? enterKnown : enterStranger),
        wanted,
      )
      return isSame && known !== undefined
    },
  }
}

const createDecoy = (): StoredHash => ({
  cost: COST,
  salt: randomBytes(SALT_BYTES),
  hash: randomBytes(HASH_BYTES),
})

/** The usual spelling of such hashes. */
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
/** Two letters are part of many a good password. */
const LEAST_OF_NAME = 3

/** What is easily guessed, beyond what the shape of the input refuses. */
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
