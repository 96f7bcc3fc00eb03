import { createHmac, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'

/** Browsers that have signed in to an account before, each known by a signed token. Nothing is stored. */
export type Devices = {
  readonly create: (name: string) => string
  /** The id of the browser; undefined when the token is not for this account. */
  readonly open: (name: string, token: string | undefined) => string | undefined
}

const ID_BYTES = 16
const TOKEN = /^([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/

export function createDevices(key: () => KeyObject): Devices {
  const sign = (name: string, id: string) =>
    createHmac('sha256', key())
      .update(JSON.stringify(['device', name, id]))
      .digest()
  return {
    create: (name) => {
      const id = randomBytes(ID_BYTES).toString('base64url')
      return `${id}.${sign(name, id).toString('base64url')}`
    },
    open: (name, token = '') => {
      const [, id = '', signature = ''] = TOKEN.exec(token) ?? []
      const isSigned = timingSafeEqual(Buffer.from(signature.padEnd(43, 'A'), 'base64url'), sign(name, id))
      return isSigned && id !== '' ? id : undefined
    },
  }
}
