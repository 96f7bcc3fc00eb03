import { describe, expect, it } from 'vitest'
import { InvalidOption, readClientCerts } from '../../src/keys/key-options.ts'

const HEX = '3f'.repeat(32)

describe('fingerprints of client certificates', () => {
  it.each([
    `sha256:${HEX}`,
    `SHA256:${HEX.toUpperCase()}`,
    HEX.replaceAll(/..(?!$)/g, '$&:').replace(/^/, 'sha256:'),
    ` sha256:${HEX} , sha256:${HEX}`,
  ])('are read from %s', (text) => expect(readClientCerts(text)).toEqual([`sha256:${HEX}`]))

  it('may be several', () => {
    const other = `sha256:${'ab'.repeat(32)}`
    expect(readClientCerts(other, [`sha256:${HEX}`])).toEqual([`sha256:${HEX}`, other])
  })

  it.each(['', HEX, `sha1:${HEX}`, `sha256:${HEX.slice(2)}`, `sha256:${HEX}00`, `sha256:${HEX},x`])(
    'are not read from %j',
    (text) => expect(() => readClientCerts(text)).toThrow(InvalidOption),
  )

  it('are at most eight', () => {
    const many = Array.from({ length: 9 }, (_, index) => `sha256:0${index}${HEX.slice(2)}`)
    expect(readClientCerts(many.slice(1).join())).toHaveLength(8)
    expect(() => readClientCerts(many.join())).toThrow(/one to 8/)
  })
})
