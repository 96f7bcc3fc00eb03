import { createSecretKey } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createPasswords } from './passwords.ts'
import { createSemaphore } from './semaphore.ts'

const KEY = createSecretKey(Buffer.alloc(32, 7))
const { hash, isRight } = createPasswords(() => KEY)
const PASSWORD = 'a well-kept secret'

describe('a password', () => {
  it('is kept as argon2id, saying how, and never twice in the same way', async () => {
    const [one, two] = await Promise.all([hash('ada', PASSWORD), hash('ada', PASSWORD)])
    expect(one).toMatch(/^\$argon2id\$v=19\$m=32768,t=3,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
    expect(one).not.toBe(two)
  })

  it('is right or wrong, for this account and under this key only', async () => {
    const kept = await hash('ada', PASSWORD)
    const elsewhere = createPasswords(() => createSecretKey(Buffer.alloc(32, 8)))
    expect(
      await Promise.all([
        isRight('ada', PASSWORD, kept),
        isRight('ada', `${PASSWORD} `, kept),
        isRight('bola', PASSWORD, kept),
        elsewhere.isRight('ada', PASSWORD, kept),
        isRight('ada', PASSWORD, undefined),
        isRight('ada', PASSWORD, 'nonsense'),
      ]),
    ).toEqual([true, false, false, false, false, false])
  })

  it('that was hashed at another cost is still good', async () => {
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

describe('the gate', () => {
  it('lets so many in at once, others in turn, and sends the rest away', async () => {
    const enter = createSemaphore(2, 3)
    const order: number[] = []
    const ends: (() => void)[] = []
    const work = (place: number) =>
      enter(async () => {
        order.push(place)
        await new Promise<void>((end) => ends.push(end))
      })
    const works = [0, 1, 2, 3, 4, 5].map(work)
    await expect(works[5]).rejects.toMatchObject({ code: 'too_many_tries', headers: ['retry-after', '1'] })
    expect(order).toEqual([0, 1])
    for (let place = 0; place < 5; place++) {
      ends[place]?.()
      await works[place]
    }
    expect(order).toEqual([0, 1, 2, 3, 4])
  })

  it('hands the place on when work fails', async () => {
    const enter = createSemaphore(1, 1)
    const broken = enter(() => Promise.reject(new Error('broken')))
    const next = enter(async () => 'done')
    await expect(broken).rejects.toThrow('broken')
    expect(await next).toBe('done')
    expect(await enter(async () => 'again')).toBe('again')
  })
})
