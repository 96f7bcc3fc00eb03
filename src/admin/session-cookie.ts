/** Under TLS the name itself makes browsers refuse a cookie that is not Secure, or that another host has set. */
export const PLAIN = 'tabbat_console'
const SECURE = `__Host-${PLAIN}`

export const readSessionCookie = (header: string | undefined, isSecure: boolean): string | undefined =>
  readCookie(header, isSecure ? SECURE : PLAIN)

/** Under TLS the plain name counts for nothing: whoever sits on the way, or at another port, could have set it. */
function readCookie(header: string | undefined, wanted: string): string | undefined {
  for (const part of (header ?? '').split(';')) {
    const [name = '', value = ''] = part.trim().split('=', 2)
    if (name === wanted && value !== '') return value
  }
  return undefined
}

/** Set-Cookie for a session; without a token it takes the cookie away. It lives as long as the browser, at most. */
export function toSessionCookie(token: string | undefined, isSecure: boolean): string {
  const name = isSecure ? SECURE : PLAIN
  const life = token === undefined ? '; Max-Age=0' : ''
  return `${name}=${token ?? ''}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}${life}`
}

const DEVICE = 'tabbat_device'
const DEVICE_LIFE_S = 90 * 86_400

/** Says that this browser was used to sign in before; it gives no access. */
export const readDeviceCookie = (header: string | undefined, isSecure: boolean): string | undefined =>
  readCookie(header, isSecure ? `__Host-${DEVICE}` : DEVICE)

export function toDeviceCookie(token: string, isSecure: boolean): string {
  const name = isSecure ? `__Host-${DEVICE}` : DEVICE
  return `${name}=${token}; Path=/; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}; Max-Age=${DEVICE_LIFE_S}`
}
