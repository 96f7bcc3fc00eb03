/** Over TLS the prefix `__Host-` makes browsers reject a cookie that is not Secure or was set by another host. */
export const SESSION_COOKIE = 'tabbat_console'
const SECURE = `__Host-${SESSION_COOKIE}`

export const toCookieName = (name: string, isSecure: boolean) => (isSecure ? `__Host-${name}` : name)

export const readNamedCookie = (
  header: string | undefined,
  name: string,
  isSecure: boolean,
): string | undefined => readCookie(header, toCookieName(name, isSecure))

export const readSessionCookie = (header: string | undefined, isSecure: boolean): string | undefined =>
  readCookie(header, isSecure ? SECURE : SESSION_COOKIE)

/** Over TLS the plain name is ignored: a server on another port or a network attacker could have set it. */
function readCookie(header: string | undefined, wanted: string): string | undefined {
  for (const part of (header ?? '').split(';')) {
    const [name = '', value = ''] = part.trim().split('=', 2)
    if (name === wanted && value !== '') return value
  }
  return undefined
}

/** Set-Cookie for a session. Without a token it deletes the cookie. It ends with the browser session. */
export function toSessionCookie(token: string | undefined, isSecure: boolean): string {
  const name = isSecure ? SECURE : SESSION_COOKIE
  const life = token === undefined ? '; Max-Age=0' : ''
  return `${name}=${token ?? ''}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}${life}`
}

const DEVICE = 'tabbat_device'
const DEVICE_LIFE_S = 90 * 86_400

/** Marks a browser that has signed in before. It gives no access. */
export const readDeviceCookie = (header: string | undefined, isSecure: boolean): string | undefined =>
  readCookie(header, isSecure ? `__Host-${DEVICE}` : DEVICE)

export function toDeviceCookie(token: string, isSecure: boolean): string {
  const name = isSecure ? `__Host-${DEVICE}` : DEVICE
  return `${name}=${token}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}; Max-Age=${DEVICE_LIFE_S}`
}
