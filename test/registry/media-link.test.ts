import { createSecretKey, randomBytes } from 'node:crypto'
import { afterEach, expect, it, vi } from 'vitest'
import {
  openMediaToken,
  renewMediaLinks,
  toPictureMark,
  toPicturePath,
} from '../../src/registry/media-link.ts'

const KEY = createSecretKey(randomBytes(32))
const ID = '00112233445566778899aabbccddeeff'
const ORIGIN = 'https://verify.example'
const toBody = (path: string) => JSON.stringify({ data: { image_url: ORIGIN + path, religion: '' } })
const toLink = (key = KEY) => toPicturePath(key, toPictureMark(ID), 'k3JbvwRd')
const tokenOf = (body: string) => /\/media\/([^"]*)"/.exec(body)?.[1] ?? ''

afterEach(() => void vi.restoreAllMocks())

it('a link in a stored answer is made again for the key that reads it, after its time too', () => {
  const stored = toBody(toLink())
  const now = Date.now()
  vi.spyOn(Date, 'now').mockReturnValue(now + 16 * 60_000)
  expect(openMediaToken(KEY, tokenOf(stored))).toBeUndefined()
  const read = renewMediaLinks(KEY, stored, 'p9WqRt2Z')
  const link = openMediaToken(KEY, tokenOf(read))
  expect([link?.mediaId.toString('hex'), link?.keyId]).toEqual([ID, 'p9WqRt2Z'])
  expect(JSON.parse(read).data.image_url.startsWith(`${ORIGIN}/media/`)).toBe(true)
})

it('no link is made from one that this server has not signed, or that is not at the end of a text', () => {
  const foreign = toBody(toLink(createSecretKey(randomBytes(32))))
  const changed = toBody(toLink().replace(/.$/, (last) => (last === 'A' ? 'E' : 'A')))
  const within = toBody(`${toLink()}/more`)
  for (const body of [foreign, changed, within, toBody('/media/x'), toBody('')])
    expect(renewMediaLinks(KEY, body, 'p9WqRt2Z')).toBe(body)
})
