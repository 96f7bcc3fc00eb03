import { createSecretKey } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createPasswords, createSemaphore } from '../../src/accounts/passwords.ts'

const KEY = createSecretKey(Buffer.alloc(32, 7))
const { hash, isRight } = createPasswords(() => KEY)
const PASSWORD = 'a well-kept secret'

describe('a password hash', () => {
  it('is argon2id with its parameters and a random salt', async () => {
    const [one, two] = await Promise.all([hash('ada', PASSWORD), hash('ada', PASSWORD)])
    expect(one).toMatch(/^\$argon2id\$v=19\$m=32768,t=3,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
    expect(one).not.toBe(two)
  })

  it('matches only the same password, account and secret', async () => {
    const stored = await hash('ada', PASSWORD)
    const elsewhere = createPasswords(() => createSecretKey(Buffer.alloc(32, 8)))
    expect(
      await Promise.all([
        isRight('ada', PASSWORD, stored),
        isRight('ada', `${PASSWORD} `, stored),
        isRight('bola', PASSWORD, stored),
        elsewhere.isRight('ada', PASSWORD, stored),
        isRight('ada', PASSWORD, undefined),
        isRight('ada', PASSWORD, 'nonsense'),
      ]),
    ).toEqual([true, false, false, false, false, false])
  })

  it('is computed for a name without an account too', async () => {
    const derived: string[] = []
    const secret = () => {
      derived.push('argon2id')
      return KEY
    }
    const usual = { memory: 64, passes: 2, parallelism: 1 }
    const counted = createPasswords(secret, usual)
    const stored = await counted.hash('ada', PASSWORD)
    const workFor = async (name: string, hashed: string | undefined) => {
      derived.length = 0
      expect(await counted.isRight(name, 'a wrong password', hashed)).toBe(false)
      return derived.length
    }
    expect(await workFor('ada', stored)).toBe(1)
    expect(await workFor('nobody', undefined)).toBe(1)
  })

  it('with another cost still matches', async () => {
    const cheap = '$argon2id$v=19$m=1024,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$'
    const { argon2Sync } = await import('node:crypto')
    const hash = argon2Sync('argon2id', {
      message: PASSWORD,
      nonce: Buffer.alloc(16),
      memory: 1024,
      passes: 1,
      parallelism: 1,
      tagLength: 32,
      secret: KEY.export(),
      associatedData: Buffer.from('ada'),
    })
    expect(await isRight('ada', PASSWORD, cheap + hash.toString('base64').replace(/=+$/, ''))).toBe(true)
  })
})

describe('the semaphore', () => {
  it('runs two at once, queues three, and refuses the sixth', async () => {
    const run = createSemaphore(2, 3)
    const order: number[] = []
    const ends: (() => void)[] = []
    const work = (index: number) =>
      run(async () => {
        order.push(index)
        await new Promise<void>((end) => ends.push(end))
      })
    const works = [0, 1, 2, 3, 4, 5].map(work)
    await expect(works[5]).rejects.toMatchObject({ code: 'too_many_tries', headers: ['retry-after', '1'] })
    expect(order).toEqual([0, 1])
    for (let index = 0; index < 5; index++) {
      ends[index]?.()
      await works[index]
    }
    expect(order).toEqual([0, 1, 2, 3, 4])
  })

  it('frees the slot when a job fails', async () => {
    const run = createSemaphore(1, 1)
    const broken = run(() => Promise.reject(new Error('broken')))
    const next = run(async () => 'done')
    await expect(broken).rejects.toThrow('broken')
    expect(await next).toBe('done')
    expect(await run(async () => 'again')).toBe('again')
  })
})
